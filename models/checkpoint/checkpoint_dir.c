/* Part of checkpoint.h: folders of checkpoints. */
#include "data/util/json.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *step_path(const char *out, int64_t step, const char *ending)
{
    size_t n = strlen(out) + strlen(ending) + 40;
    char *path = xmalloc(n);
    snprintf(path, n, "%s/checkpoint-%" PRId64 "%s", out, step, ending);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

/* A folder and all in it; one that is not there is fine. */
static int remove_tree(const char *path, struct error *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot remove: %s", path, strerror(errno));
    return 0;
}

static int sync_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)where;
    int flags = type == FTW_DP ? O_RDONLY | O_DIRECTORY : O_RDONLY, fd = open(path, flags | O_CLOEXEC);
    int rc = fd < 0 || (fsync(fd) != 0 && errno != EINVAL) ? -1 : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* The step of "checkpoint-N" followed by `ending`, or -1. */
static int64_t step_of(const char *name, const char *ending)
{
    char again[64];
    int64_t step = -1;

    if (sscanf(name, "checkpoint-%18" SCNd64, &step) != 1 || step < 0)
        return -1;
    snprintf(again, sizeof again, "checkpoint-%" PRId64 "%s", step, ending);
    return strcmp(name, again) ? -1 : step;
}

struct step_list {
    int64_t *v;
    int n, cap;
};

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Newest first; a folder that is not there has none. */
static int list_steps(const char *out, const char *ending, struct step_list *s, struct error *err)
{
    DIR *d = opendir(out);

    *s = (struct step_list){ 0 };
    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", out, strerror(errno));
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (step_of(e->d_name, ending) >= 0) {
            GROW(s->v, s->n, s->cap);
            s->v[s->n++] = step_of(e->d_name, ending);
        }
    closedir(d);
    if (s->n)
        qsort(s->v, (size_t)s->n, sizeof *s->v, descending);
    return 0;
}

char *checkpoint_dir_begin(const char *out, int64_t step, struct error *err)
{
    char *tmp = step_path(out, step, ".tmp");

    if (make_dirs(out, err) == 0 && remove_tree(tmp, err) == 0 && make_dirs(tmp, err) == 0)
        return tmp;
    free(tmp);
    return NULL;
}

/* Under .tmp again before anything in it goes, so that half of one is never taken for whole. */
static int drop(const char *out, int64_t step, struct error *err)
{
    char *path = step_path(out, step, ""), *tmp = step_path(out, step, ".tmp");
    int rc = remove_tree(tmp, err);

    if (rc == 0 && rename(path, tmp) != 0)
        rc = error_set(err, EXIT_CODE_FAILURE, "%s: %s", tmp, strerror(errno));
    if (rc == 0)
        rc = remove_tree(tmp, err);
    free(path);
    free(tmp);
    return rc;
}

/* A new folder of that name appears, or trades places with the one that was there, which is then removed. */
static int publish(const char *tmp, const char *path, struct error *err)
{
    unsigned flags = access(path, F_OK) == 0 ? RENAME_EXCHANGE : 0;

    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, flags) != 0)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot be put in place: %s", path, strerror(errno));
    return durable_sync_parent(path, err) || (flags == RENAME_EXCHANGE && remove_tree(tmp, err)) ? -1 : 0;
}

int checkpoint_dir_commit(const char *out, int64_t step, int keep, struct error *err)
{
    char *path = step_path(out, step, ""), *tmp = step_path(out, step, ".tmp");
    struct step_list s = { 0 };
    int rc = -1;

    CHECK(keep >= 1, "keep %d checkpoints", keep);
    if (nftw(tmp, sync_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        error_set(err, EXIT_CODE_FAILURE, "%s: cannot sync: %s", tmp, strerror(errno));
        goto out;
    }
    if (publish(tmp, path, err) || list_steps(out, "", &s, err))
        goto out;
    rc = 0;
    for (int i = 0, kept = 1; i < s.n && rc == 0; i++)
        if (s.v[i] != step && ++kept > keep)
            rc = drop(out, s.v[i], err);
out:
    free(s.v);
    free(path);
    free(tmp);
    return rc;
}

int checkpoint_newest(const char *out, char **path, struct error *err)
{
    struct step_list s;

    *path = NULL;
    if (list_steps(out, "", &s, err))
        return -1;
    if (s.n)
        *path = step_path(out, s.v[0], "");
    free(s.v);
    return 0;
}

int checkpoint_latest(const char *out, char **path, struct error *err)
{
    struct step_list s;
    int rc = list_steps(out, ".tmp", &s, err);

    for (int i = 0; i < s.n && rc == 0; i++) {
        char *tmp = step_path(out, s.v[i], ".tmp");
        rc = remove_tree(tmp, err);
        free(tmp);
    }
    free(s.v);
    *path = NULL;
    return rc ? -1 : checkpoint_newest(out, path, err);
}
