#include "data/sqlite/database_state.h"

#include "data/base/whole_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void look(struct file_state *f, const char *path, const char *end)
{
    char name[PATH_MAX + 16];
    struct stat st;

    *f = (struct file_state){ 0 };
    snprintf(name, sizeof name, "%s%s", path, end);
    if (stat(name, &st) == 0)
        *f = (struct file_state){ (int64_t)st.st_dev,
                                  (int64_t)st.st_ino,
                                  st.st_size,
                                  { st.st_mtim.tv_sec, st.st_mtim.tv_nsec },
                                  { st.st_ctim.tv_sec, st.st_ctim.tv_nsec } };
}

/* The kernel updates times in ticks of up to 10 ms.  If all nanoseconds are zero, the file system stores whole
 * seconds. */
static bool is_young(const struct file_state *f)
{
    struct timespec now;
    bool coarse = f->written[1] == 0 && f->changed[1] == 0;
    double age = 1e9;

    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < 2; i++) {
        const int64_t *t = i ? f->changed : f->written;
        double since = (double)(now.tv_sec - t[0]) + 1e-9 * (double)(now.tv_nsec - t[1]);
        age = since < age && since > -1 ? since : age;
    }
    return f->inode && age < (coarse ? 2 : DATABASE_STATE_SETTLES);
}

void database_state_look(struct database_state *s, const char *path)
{
    char target[PATH_MAX];

    *s = (struct database_state){ 0 };
    if (!realpath(path, target))
        return;
    look(&s->file, target, "");
    look(&s->wal, target, "-wal");
    look(&s->journal, target, "-journal");
    look(&s->shm, target, "-shm");
    s->shm = (struct file_state){ .device = s->shm.device,
                                  .inode = s->shm.inode }; /* it changes through mapped memory without new times */
    s->young = is_young(&s->file) || is_young(&s->journal);
    s->young_wal = is_young(&s->wal);
}

static bool same(const struct file_state *a, const struct file_state *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool database_state_same_but_wal(const struct database_state *before, const struct database_state *after)
{
    return !before->young && same(&before->file, &after->file) && same(&before->journal, &after->journal) &&
           same(&before->shm, &after->shm) && before->wal.device == after->wal.device &&
           before->wal.inode == after->wal.inode;
}

bool database_state_same(const struct database_state *before, const struct database_state *after)
{
    return database_state_same_but_wal(before, after) && !before->young_wal && same(&before->wal, &after->wal);
}

/* A missing file and an empty one count as the same. */
static uint64_t add_hash(uint64_t hash, const char *path, const char *end)
{
    char name[PATH_MAX + 16];
    struct stat st;

    snprintf(name, sizeof name, "%s%s", path, end);
    if (stat(name, &st) || st.st_size == 0)
        return hash;
    uint64_t more = hash_file(name);
    return hash_bytes(hash_text(hash, end), &more, sizeof more);
}

uint64_t database_hash(const char *path)
{
    char target[PATH_MAX];
    uint64_t hash = realpath(path, target) ? hash_file(target) : 0;

    return hash ? add_hash(add_hash(hash, target, "-wal"), target, "-journal") : 0;
}
