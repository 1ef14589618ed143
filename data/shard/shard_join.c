#include "data/shard/shard_join.h"

#include "data/shard/shard_mark.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/out_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED = 400 }; /* characters of the faulty shards' numbers */

struct shard_set {
    const char *shards;
    int n;
    struct shard_mark *marks; /* [n] */
    enum shard_state *states;
    char **broken;     /* what is wrong with marks that cannot be read */
    const json_t *run; /* of most marks; NULL: of none */
    int faulty;
    char list[LISTED]; /* "3,7" */
};

/* N of the name BASE.I-of-N, or of its mark's or its part file's; 0 of another name. */
static int count_of_name(const char *name, const char *base)
{
    size_t n = strlen(base);
    int index, count, end = 0;

    if (strncmp(name, base, n) != 0 || name[n] != '.')
        return 0;
    if (sscanf(name + n + 1, "%d-of-%d%n", &index, &count, &end) != 2 || index < 1 || index > count)
        return 0;
    const char *rest = name + n + 1 + end;
    return !*rest || strcmp(rest, ".shard") == 0 || strcmp(rest, ".part") == 0 ? count : 0;
}

/* All names beside OUT must be of one N. */
static int find_count(struct shard_set *s, struct error *err)
{
    const char *slash = strrchr(s->shards, '/'), *base = slash ? slash + 1 : s->shards;
    size_t above = slash ? (size_t)(slash - s->shards) : 0;
    char *folder = strndup(slash ? s->shards : ".", above ? above : 1);
    DIR *dir = opendir(folder);
    int rc = dir ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", folder, strerror(errno));

    for (struct dirent *e; dir && rc == 0 && (e = readdir(dir));) {
        int n = count_of_name(e->d_name, base);
        if (n && s->n && n != s->n)
            rc = error_set(err, EXIT_CODE_DATA,
                           "%s: shards of %d and shards of %d are there; expected those of one run, remove the others",
                           s->shards, s->n < n ? s->n : n, s->n < n ? n : s->n);
        s->n = n ? n : s->n;
    }
    if (rc == 0 && (s->n == 0 || s->n > SHARDS_MAX))
        rc = error_set(err, EXIT_CODE_DATA, "%s: no shards are there; expected %s.1-of-N and so on", s->shards, base);
    if (dir)
        closedir(dir);
    free(folder);
    return rc;
}

static void add_fault(struct shard_set *s, int i, const char *what)
{
    size_t n = strlen(s->list), room = sizeof s->list - n;

    log_error("%s.%d-of-%d: %s", s->shards, i, s->n, what);
    if (room > sizeof ",65536 ...")
        snprintf(s->list + n, room, "%s%d", s->faulty ? "," : "", i);
    else if (!text_ends_with(s->list, "..."))
        snprintf(s->list + n, room, " ...");
    s->faulty++;
}

/* That of more than half, where there is one (Boyer and Moore, 1981); else of one of them. */
static const json_t *common_run(const struct shard_set *s)
{
    const json_t *run = NULL;
    int votes = 0;

    for (int i = 0; i < s->n; i++) {
        if (s->states[i] != SHARD_DONE)
            continue;
        if (votes == 0)
            run = s->marks[i].run;
        votes += json_equal(run, s->marks[i].run) ? 1 : -1;
    }
    return run;
}

static bool is_there(const char *path, int64_t *bytes)
{
    struct stat st = { 0 };
    bool found = stat(path, &st) == 0 && S_ISREG(st.st_mode);

    *bytes = st.st_size;
    return found;
}

/* Why shard i, which has its mark, cannot be joined; "" where it can. */
static void check_mark(const struct shard_set *s, int i, char *why, size_t size)
{
    const struct shard_mark *m = &s->marks[i - 1];
    int64_t bytes, begins = i > 1 ? s->marks[i - 2].shard.range.end : 0;
    int64_t records = json_integer_value(json_object_get(json_object_get(m->run, "input"), "records"));
    bool before = i == 1 || s->marks[i - 2].shard.index == i - 1;
    char *path = shard_path(s->shards, i, s->n);

    shard_run_difference(m->run, s->run, why, size);
    if (m->shard.index != i || m->shard.count != s->n)
        snprintf(why, size, "its mark is of shard %d of %d", m->shard.index, m->shard.count);
    else if (!*why && !is_there(path, &bytes))
        snprintf(why, size, "is missing");
    else if (!*why && bytes != m->bytes)
        snprintf(why, size, "has %lld bytes, not the %lld that its mark tells of", (long long)bytes,
                 (long long)m->bytes);
    else if (!*why && before && m->shard.range.first != begins)
        snprintf(why, size, "begins behind record %lld, the one before it ends with record %lld",
                 (long long)m->shard.range.first, (long long)begins);
    else if (!*why && i == s->n && m->shard.range.end != records)
        snprintf(why, size, "ends with record %lld of %lld", (long long)m->shard.range.end, (long long)records);
    free(path);
}

static void check_shard(struct shard_set *s, int i)
{
    char *path = shard_path(s->shards, i, s->n);
    char why[512] = "";
    int64_t bytes;

    switch (s->states[i - 1]) {
    case SHARD_MISSING:
        snprintf(why, sizeof why, "%s", is_there(path, &bytes) ? "has no mark beside it" : "is missing");
        break;
    case SHARD_RUNNING:
        snprintf(why, sizeof why, "a process works on it");
        break;
    case SHARD_UNFINISHED:
        snprintf(why, sizeof why, "is unfinished");
        break;
    case SHARD_BROKEN:
        snprintf(why, sizeof why, "its mark is broken: %.400s", s->broken[i - 1]);
        break;
    case SHARD_DONE:
        check_mark(s, i, why, sizeof why);
    }
    if (*why)
        add_fault(s, i, why);
    free(path);
}

static int check_all(struct shard_set *s, struct error *err)
{
    struct error bad = { 0 };

    for (int i = 1; i <= s->n; i++) {
        char *path = shard_mark_path(s->shards, i, s->n);
        s->states[i - 1] = shard_mark_read(&s->marks[i - 1], path, &bad);
        s->broken[i - 1] = s->states[i - 1] == SHARD_BROKEN ? xstrdup(bad.text) : NULL;
        free(path);
    }
    s->run = common_run(s);
    for (int i = 1; i <= s->n; i++)
        check_shard(s, i);
    if (s->faulty == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: %d of %d shards are to be run again: %s", s->shards, s->faulty, s->n,
                     s->list);
}

static int copy_shard(const struct shard_set *s, int i, struct out_file *o, struct error *err)
{
    const struct shard_mark *m = &s->marks[i - 1];
    char *path = shard_path(s->shards, i, s->n), bytes[1 << 15];
    FILE *in = fopen(path, "rbe");
    uint64_t sum = HASH_START;
    size_t n;
    int rc = 0;

    while (in && (n = fread(bytes, 1, sizeof bytes, in)) > 0) {
        sum = hash_bytes(sum, bytes, n);
        fwrite(bytes, 1, n, o->f);
    }
    if (!in || ferror(in))
        rc = error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", path, strerror(errno));
    else if (sum != m->sum)
        rc =
            error_set(err, EXIT_CODE_DATA, "%s: holds other bytes than its mark tells of: run shard %d again", path, i);
    if (in)
        fclose(in);
    free(path);
    return rc;
}

/* None of the shards may be written over. */
static int check_target(const struct shard_set *s, const char *out, struct error *err)
{
    int rc = 0;

    for (int i = 1; i <= s->n && rc == 0; i++) {
        char *paths[] = { shard_path(s->shards, i, s->n), shard_mark_path(s->shards, i, s->n) };
        for (int k = 0; k < ARRAY_LEN(paths); k++) {
            if (same_path(paths[k], out))
                rc = error_set(err, EXIT_CODE_USAGE, "--out: %s is one of the shards; expected another file", out);
            free(paths[k]);
        }
    }
    return rc;
}

static int copy_all(const struct shard_set *s, const char *out, struct error *err)
{
    struct out_file o = { 0 };
    int rc = check_target(s, out, err) ? -1 : out_file_open(&o, out, err);

    for (int i = 1; i <= s->n && rc == 0; i++)
        rc = copy_shard(s, i, &o, err);
    if (rc == 0)
        rc = out_file_commit(&o, err);
    out_file_abort(&o);
    return rc;
}

static void count(const struct shard_set *s, struct shard_join_counts *counts)
{
    *counts = (struct shard_join_counts){ .shards = s->n, .records = s->marks[s->n - 1].shard.range.end };
    for (int i = 0; i < s->n; i++)
        counts->failed += s->marks[i].failed;
}

int shard_join(const struct shard_join_request *q, struct shard_join_counts *counts, struct error *err)
{
    struct shard_set s = { .shards = q->shards };

    if (find_count(&s, err))
        return -1;
    s.marks = xcalloc((size_t)s.n, sizeof *s.marks);
    s.states = xcalloc((size_t)s.n, sizeof *s.states);
    s.broken = xcalloc((size_t)s.n, sizeof *s.broken);
    int rc = check_all(&s, err) ? -1 : copy_all(&s, q->out ? q->out : q->shards, err);
    if (rc == 0)
        count(&s, counts);
    for (int i = 0; i < s.n; i++) {
        shard_mark_release(&s.marks[i]);
        free(s.broken[i]);
    }
    free(s.marks);
    free(s.states);
    free(s.broken);
    return rc;
}
