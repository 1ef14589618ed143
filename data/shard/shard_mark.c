#include "data/shard/shard_mark.h"

#include "data/util/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORM = 1, SUM_TEXT = 17 };

int shard_mark_lock(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) /* a file system may have no locks */
        return fd;
    close(fd);
    return error_set(err, EXIT_CODE_USAGE, "%s: another process works on this shard", path);
}

int shard_mark_write(const char *path, const struct shard_mark *m, struct error *err)
{
    char sum[SUM_TEXT];

    snprintf(sum, sizeof sum, "%016" PRIx64, m->sum);
    json_t *o = json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:s, s:b, s:O}", "form", FORM, "index", m->shard.index,
                          "count", m->shard.count, "first", m->shard.range.first, "end", m->shard.range.end, "bytes",
                          m->bytes, "sum", sum, "failed", m->failed, "run", m->run);
    int rc = json_write_file(path, o, err);

    json_decref(o);
    return rc;
}

static int read_shard(struct shard *s, const json_t *o, const char *path, struct error *err)
{
    int64_t index, count;

    if (json_get_int(o, "count", 1, SHARDS_MAX, &count, path, err) ||
        json_get_int(o, "index", 1, count, &index, path, err) ||
        json_get_int(o, "first", 0, INT64_MAX, &s->range.first, path, err) ||
        json_get_int(o, "end", s->range.first, INT64_MAX, &s->range.end, path, err))
        return -1;
    s->index = (int)index;
    s->count = (int)count;
    return 0;
}

/* The parts of a run that others look into. */
static int check_run(const json_t *run, const char *path, struct error *err)
{
    const json_t *input = json_get_object(run, "input", path, err);
    int64_t records;

    return !input || json_get_int(input, "records", 0, INT64_MAX, &records, path, err) ||
                   !json_get_string(run, "command", path, err) || !json_get_object(run, "settings", path, err) ||
                   !json_get_object(run, "files", path, err)
               ? -1
               : 0;
}

static int read_fields(struct shard_mark *m, const json_t *o, const char *path, struct error *err)
{
    int64_t form;
    const char *sum;

    if (json_get_int(o, "form", FORM, FORM, &form, path, err) || read_shard(&m->shard, o, path, err) ||
        json_get_int(o, "bytes", 0, INT64_MAX, &m->bytes, path, err) ||
        json_get_bool(o, "failed", &m->failed, path, err) || !(sum = json_get_string(o, "sum", path, err)))
        return -1;
    if (sscanf(sum, "%16" SCNx64, &m->sum) != 1)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"sum\": expected 16 digits, got \"%.100s\"", path, sum);
    m->run = json_incref(json_get_object(o, "run", path, err));
    return m->run ? check_run(m->run, path, err) : -1;
}

/* Whether nobody has it, and there is something in it. */
static enum shard_state state_of(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum shard_state state = SHARD_DONE;
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return SHARD_MISSING;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, fd < 0 ? strerror(errno) : "is not a file");
        state = SHARD_BROKEN;
    } else if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
        state = SHARD_RUNNING;
    } else if (st.st_size == 0) {
        state = SHARD_UNFINISHED;
    }
    if (fd >= 0)
        close(fd);
    return state;
}

int shard_mark_parse(struct shard_mark *m, const char *path, struct error *err)
{
    json_t *o = json_read_file(path, err);

    *m = (struct shard_mark){ 0 };
    int rc = o ? read_fields(m, o, path, err) : -1;
    json_decref(o);
    return rc;
}

enum shard_state shard_mark_read(struct shard_mark *m, const char *path, struct error *err)
{
    enum shard_state state = state_of(path, err);

    *m = (struct shard_mark){ 0 };
    return state == SHARD_DONE && shard_mark_parse(m, path, err) ? SHARD_BROKEN : state;
}

void shard_mark_release(struct shard_mark *m)
{
    json_decref(m->run);
    *m = (struct shard_mark){ 0 };
}

static const char *value_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text && *text ? text : "none";
}

/* The first member of `a` that b has otherwise, or not; NULL: none. */
static const char *other_member(const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)a, name, value)
    {
        if (!json_equal(value, json_object_get(b, name)))
            return name;
    }
    return NULL;
}

/* Two runs that differ in that field. */
static void tell_difference(const char *field, const json_t *one, const json_t *others, char *text, size_t size)
{
    const json_t *a = json_object_get(one, field), *b = json_object_get(others, field);
    const char *name = json_is_object(b) ? other_member(b, a) : NULL;

    if (strcmp(field, "input") == 0)
        snprintf(text, size, "is of another input, of %lld records; the others are of one of %lld",
                 (long long)json_integer_value(json_object_get(a, "records")),
                 (long long)json_integer_value(json_object_get(b, "records")));
    else if (name && strcmp(field, "settings") == 0)
        snprintf(text, size, "was made with --%s %.100s, the others with %.100s", name, value_of(a, name),
                 value_of(b, name));
    else if (name)
        snprintf(text, size, "was made with other bytes in what --%s names", name);
    else
        snprintf(text, size, "has the %s %.100s, the others %.100s", field, value_of(one, field),
                 value_of(others, field));
}

void shard_run_difference(const json_t *one, const json_t *others, char *text, size_t size)
{
    const char *field = other_member(others, one);

    *text = '\0';
    if (field)
        tell_difference(field, one, others, text, size);
    else if (!json_equal(one, others))
        snprintf(text, size, "tells of more than the others");
}
