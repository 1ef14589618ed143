#include "data/base/shard.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/out_file.h"
#include "data/base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads decimal digits up to the character `end`. */
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

/* Tasks are shards only if the array contains all of them.  An array of the two tasks that are repeated has other
 * numbers. */
static int read_slurm(int64_t *index, int64_t *count, struct error *err)
{
    int64_t id = 0, first = 0, last = 0;

    if (read_variable("SLURM_ARRAY_TASK_ID", &id, err) || read_variable("SLURM_ARRAY_TASK_MIN", &first, err) ||
        read_variable("SLURM_ARRAY_TASK_MAX", &last, err) || read_variable("SLURM_ARRAY_TASK_COUNT", count, err))
        return -1;
    if (first > 1 || last - first + 1 != *count || id < first || id > last)
        return error_set(err, EXIT_CODE_USAGE,
                         "slurm: expected an array of all tasks from 0 or 1, got task %lld of %lld from %lld to %lld; "
                         "use --shard I/N to repeat a single task",
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

static char *shard_manifest_path(const char *out, int index, int count)
{
    char *path;

    CHECK(asprintf(&path, "%s.%d-of-%d.shard", out, index, count) >= 0, "no memory for a name");
    return path;
}

enum { VERSION = 1, HASH_TEXT = 17 };

int shard_manifest_lock(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) /* a file system may not support locks */
        return fd;
    close(fd);
    return error_set(err, EXIT_CODE_USAGE, "%s: another process is working on this shard", path);
}

int shard_manifest_write(const char *path, const struct shard_manifest *m, struct error *err)
{
    char hash[HASH_TEXT];

    snprintf(hash, sizeof hash, "%016" PRIx64, m->hash);
    json_t *o = json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:s, s:b, s:O}", "version", VERSION, "index", m->shard.index,
                          "count", m->shard.count, "first", m->shard.range.first, "end", m->shard.range.end, "bytes",
                          m->bytes, "hash", hash, "failed", m->failed, "run", m->run);
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

/* Checks the fields of a run that other functions read. */
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

static int read_fields(struct shard_manifest *m, const json_t *o, const char *path, struct error *err)
{
    int64_t version;
    const char *hash;

    if (json_get_int(o, "version", VERSION, VERSION, &version, path, err) || read_shard(&m->shard, o, path, err) ||
        json_get_int(o, "bytes", 0, INT64_MAX, &m->bytes, path, err) ||
        json_get_bool(o, "failed", &m->failed, path, err) || !(hash = json_get_string(o, "hash", path, err)))
        return -1;
    if (sscanf(hash, "%16" SCNx64, &m->hash) != 1)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"hash\": expected 16 digits, got \"%.100s\"", path, hash);
    m->run = json_incref(json_get_object(o, "run", path, err));
    return m->run ? check_run(m->run, path, err) : -1;
}

/* SHARD_DONE if the manifest is not locked and not empty. */
static enum shard_state state_of(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum shard_state state = SHARD_DONE;
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return SHARD_MISSING;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, fd < 0 ? strerror(errno) : "expected a regular file");
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

int shard_manifest_parse(struct shard_manifest *m, const char *path, struct error *err)
{
    json_t *o = json_read_file(path, err);

    *m = (struct shard_manifest){ 0 };
    int rc = o ? read_fields(m, o, path, err) : -1;
    json_decref(o);
    return rc;
}

enum shard_state shard_manifest_read(struct shard_manifest *m, const char *path, struct error *err)
{
    enum shard_state state = state_of(path, err);

    *m = (struct shard_manifest){ 0 };
    return state == SHARD_DONE && shard_manifest_parse(m, path, err) ? SHARD_BROKEN : state;
}

void shard_manifest_release(struct shard_manifest *m)
{
    json_decref(m->run);
    *m = (struct shard_manifest){ 0 };
}

static const char *value_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text && *text ? text : "none";
}

/* The first member of `a` that is missing or different in b; NULL if there is none. */
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

/* Describes a field in which two runs differ. */
static void tell_difference(const char *field, const json_t *one, const json_t *others, char *text, size_t size)
{
    const json_t *a = json_object_get(one, field), *b = json_object_get(others, field);
    const char *name = json_is_object(b) ? other_member(b, a) : NULL;

    if (strcmp(field, "input") == 0)
        snprintf(text, size, "has another input, with %lld records; the others have one with %lld",
                 (long long)json_integer_value(json_object_get(a, "records")),
                 (long long)json_integer_value(json_object_get(b, "records")));
    else if (name && strcmp(field, "settings") == 0)
        snprintf(text, size, "was made with --%s %.100s, the others with %.100s", name, value_of(a, name),
                 value_of(b, name));
    else if (name)
        snprintf(text, size, "was made with other contents of --%s", name);
    else
        snprintf(text, size, "has the %s %.100s, the others %.100s", field, value_of(one, field),
                 value_of(others, field));
}

/* Describes how `one` differs from the others; "" if it does not. */
static void shard_run_difference(const json_t *one, const json_t *others, char *text, size_t size)
{
    const char *field = other_member(others, one);

    *text = '\0';
    if (field)
        tell_difference(field, one, others, text, size);
    else if (!json_equal(one, others))
        snprintf(text, size, "has more fields than the others");
}

enum { BLOCKS = 16, BLOCK = 4096, LEVELS = 2 };

/* Hashes blocks at equal distances, including the first and the last.  They contain the headers of SQLite and ambit.h5
 * files, which hold hashes of the rest. */
static uint64_t sample_file(uint64_t h, const char *path, int64_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char bytes[BLOCK];

    h = hash_bytes(h, &size, sizeof size);
    for (int64_t i = 0; i < BLOCKS && fd >= 0; i++) {
        off_t at = size > BLOCK ? (size - BLOCK) * i / (BLOCKS - 1) : 0;
        ssize_t n = pread(fd, bytes, sizeof bytes, at);
        h = hash_bytes(h, bytes, n > 0 ? (size_t)n : 0);
    }
    if (fd >= 0)
        close(fd);
    return h;
}

static bool is_read(const char *name)
{
    static const char *const ends[] = { ".h5", ".safetensors", ".gguf", ".sqlite", ".sqlite3", ".db" };
    static const char *const names[] = {
        "config.json", "adapter_config.json", "tokenizer.json", "vocab.txt", "def.txt", "fill.txt",
        "sql.txt",     "rewrite.txt",         "e2e.txt",        "gold.txt"
    };

    for (int i = 0; i < ARRAY_LEN(ends); i++)
        if (text_ends_with(name, ends[i]))
            return true;
    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static uint64_t sample_folder(uint64_t h, const char *path)
{
    char *copy = xstrdup(path), *paths[] = { copy, NULL };
    FTS *walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);

    for (FTSENT *e; walk && (e = fts_read(walk));) {
        if (e->fts_info == FTS_F && is_read(e->fts_name))
            h = sample_file(hash_text(h, e->fts_name), e->fts_path, e->fts_statp->st_size);
        if (e->fts_level >= LEVELS)
            fts_set(walk, e, FTS_SKIP);
    }
    if (walk)
        fts_close(walk);
    free(copy);
    return h;
}

uint64_t shard_sample(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return HASH_START;
    return S_ISDIR(st.st_mode)   ? sample_folder(HASH_START, path)
           : S_ISREG(st.st_mode) ? sample_file(HASH_START, path, st.st_size)
                                 : HASH_START;
}

enum { LISTED = 400 }; /* maximum characters of the list of faulty shards */

struct shard_set {
    const char *shards;
    int n;
    struct shard_manifest *manifests; /* [n] */
    enum shard_state *states;
    char **broken;     /* [n] errors of manifests that cannot be read */
    const json_t *run; /* run of the majority of manifests; NULL: no manifest */
    int faulty;
    char list[LISTED]; /* "3,7" */
};

/* N of the name BASE.I-of-N, or of its manifest or journal; 0 for other names. */
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

/* Determines N, which must be the same for all names beside OUT. */
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
                           "%s: expected the shards of one run, got shards of %d and shards of %d; remove the others",
                           s->shards, s->n < n ? s->n : n, s->n < n ? n : s->n);
        s->n = n ? n : s->n;
    }
    if (rc == 0 && (s->n == 0 || s->n > SHARDS_MAX))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected %s.1-of-N and so on, got no shards", s->shards, base);
    if (dir)
        closedir(dir);
    free(folder);
    return rc;
}

static void add_fault(struct shard_set *s, int i, const char *what)
{
    size_t n = strlen(s->list), space = sizeof s->list - n;

    log_error("%s.%d-of-%d: %s", s->shards, i, s->n, what);
    if (space > sizeof ",65536 ...")
        snprintf(s->list + n, space, "%s%d", s->faulty ? "," : "", i);
    else if (!text_ends_with(s->list, "..."))
        snprintf(s->list + n, space, " ...");
    s->faulty++;
}

/* The run of the majority (Boyer and Moore 1981), or of any manifest if there is no majority. */
static const json_t *common_run(const struct shard_set *s)
{
    const json_t *run = NULL;
    int votes = 0;

    for (int i = 0; i < s->n; i++) {
        if (s->states[i] != SHARD_DONE)
            continue;
        if (votes == 0)
            run = s->manifests[i].run;
        votes += json_equal(run, s->manifests[i].run) ? 1 : -1;
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

/* Writes why shard i, whose manifest is complete, cannot be joined; "" if it can. */
static void check_manifest(const struct shard_set *s, int i, char *why, size_t size)
{
    const struct shard_manifest *m = &s->manifests[i - 1];
    int64_t bytes, begins = i > 1 ? s->manifests[i - 2].shard.range.end : 0;
    int64_t records = json_integer_value(json_object_get(json_object_get(m->run, "input"), "records"));
    bool before = i == 1 || s->manifests[i - 2].shard.index == i - 1;
    char *path = shard_path(s->shards, i, s->n);

    shard_run_difference(m->run, s->run, why, size);
    if (m->shard.index != i || m->shard.count != s->n)
        snprintf(why, size, "its manifest is of shard %d of %d", m->shard.index, m->shard.count);
    else if (!*why && !is_there(path, &bytes))
        snprintf(why, size, "is missing");
    else if (!*why && bytes != m->bytes)
        snprintf(why, size, "has %lld bytes, its manifest says %lld", (long long)bytes, (long long)m->bytes);
    else if (!*why && before && m->shard.range.first != begins)
        snprintf(why, size, "starts after record %lld, but the shard before it ends with record %lld",
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
        snprintf(why, sizeof why, "%s", is_there(path, &bytes) ? "has no manifest" : "is missing");
        break;
    case SHARD_RUNNING:
        snprintf(why, sizeof why, "another process is working on it");
        break;
    case SHARD_UNFINISHED:
        snprintf(why, sizeof why, "is unfinished");
        break;
    case SHARD_BROKEN:
        snprintf(why, sizeof why, "its manifest is broken: %.400s", s->broken[i - 1]);
        break;
    case SHARD_DONE:
        check_manifest(s, i, why, sizeof why);
    }
    if (*why)
        add_fault(s, i, why);
    free(path);
}

static int check_all(struct shard_set *s, struct error *err)
{
    struct error bad = { 0 };

    for (int i = 1; i <= s->n; i++) {
        char *path = shard_manifest_path(s->shards, i, s->n);
        s->states[i - 1] = shard_manifest_read(&s->manifests[i - 1], path, &bad);
        s->broken[i - 1] = s->states[i - 1] == SHARD_BROKEN ? xstrdup(bad.text) : NULL;
        free(path);
    }
    s->run = common_run(s);
    for (int i = 1; i <= s->n; i++)
        check_shard(s, i);
    if (s->faulty == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: %d of %d shards must be run again: %s", s->shards, s->faulty, s->n,
                     s->list);
}

static int copy_shard(const struct shard_set *s, int i, struct out_file *o, struct error *err)
{
    const struct shard_manifest *m = &s->manifests[i - 1];
    char *path = shard_path(s->shards, i, s->n), bytes[1 << 15];
    FILE *in = fopen(path, "rbe");
    uint64_t hash = HASH_START;
    size_t n;
    int rc = 0;

    while (in && (n = fread(bytes, 1, sizeof bytes, in)) > 0) {
        hash = hash_bytes(hash, bytes, n);
        fwrite(bytes, 1, n, o->f);
    }
    if (!in || ferror(in))
        rc = error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", path, strerror(errno));
    else if (hash != m->hash)
        rc = error_set(err, EXIT_CODE_DATA, "%s: differs from its manifest: run shard %d again", path, i);
    if (in)
        fclose(in);
    free(path);
    return rc;
}

/* Refuses to overwrite a shard. */
static int check_target(const struct shard_set *s, const char *out, struct error *err)
{
    int rc = 0;

    for (int i = 1; i <= s->n && rc == 0; i++) {
        char *paths[] = { shard_path(s->shards, i, s->n), shard_manifest_path(s->shards, i, s->n) };
        for (int k = 0; k < ARRAY_LEN(paths); k++) {
            if (same_path(paths[k], out))
                rc = error_set(err, EXIT_CODE_USAGE, "--out: %s is one of the shards; choose another file", out);
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
    *counts = (struct shard_join_counts){ .shards = s->n, .records = s->manifests[s->n - 1].shard.range.end };
    for (int i = 0; i < s->n; i++)
        counts->failed += s->manifests[i].failed;
}

int shard_join(const struct shard_join_request *q, struct shard_join_counts *counts, struct error *err)
{
    struct shard_set s = { .shards = q->shards };

    if (find_count(&s, err))
        return -1;
    s.manifests = xcalloc((size_t)s.n, sizeof *s.manifests);
    s.states = xcalloc((size_t)s.n, sizeof *s.states);
    s.broken = xcalloc((size_t)s.n, sizeof *s.broken);
    int rc = check_all(&s, err) ? -1 : copy_all(&s, q->out ? q->out : q->shards, err);
    if (rc == 0)
        count(&s, counts);
    for (int i = 0; i < s.n; i++) {
        shard_manifest_release(&s.manifests[i]);
        free(s.broken[i]);
    }
    free(s.manifests);
    free(s.states);
    free(s.broken);
    return rc;
}
