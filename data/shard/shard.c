#include "data/shard/shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits alone, up to `end`. */
static bool read_number(const char *text, char end, int64_t *n, const char **rest)
{
    char *stop;

    errno = 0;
    *n = *text >= '0' && *text <= '9' ? strtoll(text, &stop, 10) : -1;
    if (*n < 0 || errno || *stop != end)
        return false;
    *rest = stop + 1;
    return true;
}

static int read_variable(const char *name, int64_t *n, struct error *err)
{
    const char *text = getenv(name), *rest;

    if (!text)
        return error_set(err, EXIT_CODE_USAGE, "slurm: %s is not set; expected a task of a job array (sbatch --array)",
                         name);
    if (!read_number(text, '\0', n, &rest))
        return error_set(err, EXIT_CODE_USAGE, "slurm: %s: expected a number, got '%.100s'", name, text);
    return 0;
}

/* Tasks are shards only where all of them are there: an array of two tasks that are run again has other numbers. */
static int read_slurm(int64_t *index, int64_t *count, struct error *err)
{
    int64_t id = 0, first = 0, last = 0;

    if (read_variable("SLURM_ARRAY_TASK_ID", &id, err) || read_variable("SLURM_ARRAY_TASK_MIN", &first, err) ||
        read_variable("SLURM_ARRAY_TASK_MAX", &last, err) || read_variable("SLURM_ARRAY_TASK_COUNT", count, err))
        return -1;
    if (first > 1 || last - first + 1 != *count || id < first || id > last)
        return error_set(err, EXIT_CODE_USAGE,
                         "slurm: expected an array of all tasks from 0 or 1, got task %lld of %lld from %lld to %lld; "
                         "--shard I/N names one of those that are run again",
                         (long long)id, (long long)*count, (long long)first, (long long)last);
    *index = id - first + 1;
    return 0;
}

int shard_parse(struct shard *s, const char *text, struct error *err)
{
    int64_t index = 0, count = 0;
    const char *rest = text;

    if (strcmp(text, "slurm") == 0) {
        if (read_slurm(&index, &count, err))
            return -1;
    } else if (!read_number(text, '/', &index, &rest) || !read_number(rest, '\0', &count, &rest)) {
        return error_set(err, EXIT_CODE_USAGE, "expected I/N, such as 3/16, or slurm, got '%.100s'", text);
    }
    if (count > SHARDS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "expected at most %d shards, got '%.100s'", SHARDS_MAX, text);
    if (index < 1 || index > count)
        return error_set(err, EXIT_CODE_USAGE, "expected I/N with I from 1 to N, got '%.100s'", text);
    *s = (struct shard){ .index = (int)index, .count = (int)count };
    return 0;
}

void shard_cut(struct shard *s, int64_t records, int64_t grain)
{
    int64_t grains = (records + grain - 1) / grain;
    int64_t first = grains * (s->index - 1) / s->count * grain, end = grains * s->index / s->count * grain;

    s->range = (struct record_range){ true, first < records ? first : records, end < records ? end : records };
}

char *shard_path(const char *out, int index, int count)
{
    char *path;

    CHECK(asprintf(&path, "%s.%d-of-%d", out, index, count) >= 0, "no memory for a name");
    return path;
}

char *shard_mark_path(const char *out, int index, int count)
{
    char *path;

    CHECK(asprintf(&path, "%s.%d-of-%d.shard", out, index, count) >= 0, "no memory for a name");
    return path;
}
