#include "data/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 36 }; /* "key sum failed ", before the record */

static int cannot(const struct part_file *p, const char *what, struct error *err)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot %s: %s", p->path ? p->path : "the output", what,
                     strerror(errno));
}

/* Lines go where they belong at once when that is no file. */
static int open_special(struct part_file *p, const char *out, struct error *err)
{
    p->f = fopen(out, "wbe");
    return p->f ? 0 : error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", out, strerror(errno));
}

int part_open(struct part_file *p, const char *out, bool resume, struct error *err)
{
    struct stat st;

    *p = (struct part_file){ .f = stdout };
    if (strcmp(out, "-") == 0)
        return 0;
    if (stat(out, &st) == 0 && !S_ISREG(st.st_mode))
        return open_special(p, out, err);
    CHECK(asprintf(&p->path, "%s.part", out) >= 0, "no memory for a name");
    int fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (resume ? 0 : O_TRUNC), 0666);
    p->f = fd < 0 ? NULL : fdopen(fd, "r+b");
    p->reading = resume;
    return p->f ? 0 : cannot(p, "write", err);
}

/* The record of the line that was read, when it is whole. */
static const char *record_of(const char *line, ssize_t n, uint64_t *key, int *failed)
{
    uint64_t sum;

    if (n <= HEAD || line[n - 1] != '\n' || sscanf(line, "%16" SCNx64 " %16" SCNx64 " %1d ", key, &sum, failed) != 3)
        return NULL;
    return hash_bytes(HASH_START, line + HEAD, (size_t)n - HEAD) == sum ? line + HEAD : NULL;
}

bool part_next(struct part_file *p, uint64_t key, bool *failed)
{
    uint64_t found;
    int bad;

    if (!p->reading)
        return false;
    off_t start = ftello(p->f);
    ssize_t n = getline(&p->line, &p->cap, p->f);
    if (record_of(p->line, n, &found, &bad) && found == key) {
        *failed = bad;
        return true;
    }
    p->reading = false;
    if (fseeko(p->f, start, SEEK_SET) || ftruncate(fileno(p->f), start))
        clearerr(p->f); /* what cannot be cut off cannot be written over either, and writing says so */
    return false;
}

int part_write(struct part_file *p, uint64_t key, bool failed, const json_t *record, struct error *err)
{
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    size_t n = text ? strlen(text) : 0;

    if (!text)
        return error_set(err, EXIT_CODE_MEMORY, "out of memory for a record's result");
    text[n] = '\n'; /* in place of its end */
    if (p->path)
        fprintf(p->f, "%016" PRIx64 " %016" PRIx64 " %d ", key, hash_bytes(HASH_START, text, n + 1), failed);
    fwrite(text, 1, n + 1, p->f);
    free(text);
    return ferror(p->f) ? cannot(p, "write", err) : 0;
}

int part_flush(struct part_file *p, struct error *err)
{
    return fflush(p->f) ? cannot(p, "write", err) : 0;
}

static int copy_records(struct part_file *p, struct out_file *o, struct error *err)
{
    ssize_t n;

    rewind(p->f);
    while ((n = getline(&p->line, &p->cap, p->f)) > HEAD)
        if (fwrite(p->line + HEAD, 1, (size_t)n - HEAD, o->f) != (size_t)n - HEAD)
            break; /* out_file_commit says so */
    return ferror(p->f) ? cannot(p, "read", err) : out_file_commit(o, err);
}

int part_commit(struct part_file *p, const char *out, struct error *err)
{
    struct out_file o;

    part_next(p, 0, &(bool){ false }); /* cuts off what an earlier run had beyond the input */
    if (part_flush(p, err))
        return -1;
    if (!p->path)
        return 0;
    if (out_file_open(&o, out, err))
        return -1;
    int rc = copy_records(p, &o, err);
    out_file_abort(&o);
    if (rc == 0)
        unlink(p->path);
    return rc;
}

/* How far the lines go that are whole: a disk that is full cuts the last one. */
static off_t whole_lines(int fd)
{
    char block[4096];
    off_t size = lseek(fd, 0, SEEK_END);

    for (off_t end = size; end > 0;) {
        off_t start = end > (off_t)sizeof block ? end - (off_t)sizeof block : 0;
        ssize_t n = pread(fd, block, (size_t)(end - start), start);
        if (n <= 0)
            return size;
        const char *last = memrchr(block, '\n', (size_t)n);
        if (last)
            return start + (last - block) + 1;
        end = start;
    }
    return 0;
}

static bool keep_whole_lines(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    off_t size = whole_lines(fd);
    if (size > 0 ? ftruncate(fd, size) : unlink(path))
        size = 1; /* it stays as it is, and whoever goes on with it leaves out what is not whole */
    close(fd);
    return size > 0;
}

bool part_close(struct part_file *p)
{
    bool opened = p->path && p->f;

    if (p->f && p->f != stdout)
        fclose(p->f);
    bool left = opened && keep_whole_lines(p->path);
    free(p->path);
    free(p->line);
    *p = (struct part_file){ 0 };
    return left;
}
