#include "models/io/safetensors.h"

#include "data/base/log.h"
#include "kernels/tensor.h"
#include "models/io/durable.h"
#include "models/io/half.h"
#include "models/io/mismatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct safetensors_file {
    char *path;
    const char *name; /* file name without folder */
    unsigned char *map;
    size_t size;
    size_t data;    /* offset of the data area */
    json_t *header; /* owns the names of entries */
};

enum {
    MAX_HEADER = 100000000,
    PAGE = 4096,
    SHARED_FROM = 1 << 16 /* minimum number of elements or bytes for several threads */
};

static const struct {
    const char *name;
    int bits;
    enum safetensors_dtype dtype;
} dtypes[] = {
    { "F32", 32, ST_F32 },          { "BF16", 16, ST_BF16 },    { "F16", 16, ST_F16 },
    { "F64", 64, ST_F64 },          { "BOOL", 8, ST_OTHER },    { "U8", 8, ST_OTHER },
    { "I8", 8, ST_OTHER },          { "U16", 16, ST_OTHER },    { "I16", 16, ST_OTHER },
    { "U32", 32, ST_OTHER },        { "I32", 32, ST_OTHER },    { "U64", 64, ST_OTHER },
    { "I64", 64, ST_OTHER },        { "C64", 64, ST_OTHER },    { "F8_E4M3", 8, ST_OTHER },
    { "F8_E5M2", 8, ST_OTHER },     { "F8_E8M0", 8, ST_OTHER }, { "F4", 4, ST_OTHER },
    { "F6_E2M3", 6, ST_OTHER },     { "F6_E3M2", 6, ST_OTHER }, { "F8_E4M3FNUZ", 8, ST_OTHER },
    { "F8_E5M2FNUZ", 8, ST_OTHER },
};

static int refuse(struct error *err, const char *path, const char *name, const char *what)
{
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\": %s", path, name, what);
}

static int map_file(struct safetensors_file *f, struct error *err)
{
    struct stat st;
    int rc = -1, fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* does not block on a pipe */

    if (fd < 0 || fstat(fd, &st) != 0) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", f->path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 8) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a safetensors file, got %lld bytes", f->path,
                  (long long)st.st_size);
        goto out;
    }
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        error_set(err, EXIT_CODE_MEMORY, "%s: cannot map %lld bytes: %s", f->path, (long long)st.st_size,
                  strerror(errno));
        goto out;
    }
    f->map = map;
    f->size = (size_t)st.st_size;
    rc = 0;
out:
    if (fd >= 0)
        close(fd); /* the mapping outlives the descriptor */
    return rc;
}

/* Returns whether valid JSON contains -0. Jansson reads it as an integer; the official reader refuses it. */
static bool has_minus_zero(const char *text, uint64_t n)
{
    bool quoted = false;

    for (uint64_t i = 0; i + 2 < n; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && text[i] == '-' && text[i + 1] == '0' && strchr(" \t\r\n,]}", text[i + 2]))
            return true;
    }
    return false;
}

/* Parses the header: its length in 8 bytes, then JSON. */
static int parse_header(struct safetensors_file *f, struct error *err)
{
    uint64_t n = 0;
    json_error_t e;

    for (int i = 7; i >= 0; i--)
        n = n << 8 | f->map[i];
    if (n > MAX_HEADER || n > f->size - 8)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: expected a header of at most %d bytes inside the file, got %llu of %zu bytes", f->path,
                         MAX_HEADER, (unsigned long long)n, f->size);
    const char *text = (const char *)f->map + 8;
    uint64_t blank = 0;
    while (blank < n && strchr(" \t\r\n", text[blank]) && text[blank])
        blank++;
    if (blank == n || text[blank] != '{')
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: header: expected {", f->path);
    f->header = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (!f->header)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: header: byte %d: %s", f->path, e.position, e.text);
    if (has_minus_zero(text, n))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: header: expected whole numbers, got -0", f->path);
    f->data = 8 + (size_t)n;
    return 0;
}

static int check_metadata(const struct safetensors_file *f, json_t *metadata, struct error *err)
{
    const char *key;
    json_t *value;

    if (json_is_null(metadata))
        return 0;
    if (!json_is_object(metadata))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: __metadata__: expected an object", f->path);
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return error_set(
        err, EXIT_CODE_CHECKPOINT, "%s: __metadata__: \"%.200s\": expected a string", f->path, key);
    return 0;
}

/* Fills e->ndim, e->shape and e->size. Overflow is an error. */
static int parse_shape(struct safetensors_entry *e, const json_t *shape, const char *path, struct error *err)
{
    if (!json_is_array(shape))
        return refuse(err, path, e->name, "shape: expected an array");
    e->ndim = (int)json_array_size(shape);
    e->size = 1;
    for (int d = 0; d < e->ndim; d++) {
        const json_t *v = json_array_get(shape, (size_t)d);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return refuse(err, path, e->name, "shape: expected non-negative integers");
        int64_t n = json_integer_value(v);
        if (d < SAFETENSORS_MAX_DIMS)
            e->shape[d] = n;
        if (__builtin_mul_overflow(e->size, n, &e->size))
            return refuse(err, path, e->name, "shape: overflows");
    }
    return 0;
}

static int parse_dtype(struct safetensors_entry *e, const json_t *dtype, int *bits, const char *path, struct error *err)
{
    if (!json_is_string(dtype))
        return refuse(err, path, e->name, "dtype: expected a string");
    e->dtype_name = json_string_value(dtype);
    for (int i = 0; i < ARRAY_LEN(dtypes); i++)
        if (!strcmp(dtypes[i].name, e->dtype_name) && strlen(e->dtype_name) == json_string_length(dtype)) {
            e->dtype = dtypes[i].dtype;
            *bits = dtypes[i].bits;
            return 0;
        }
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\": unknown dtype \"%.40s\"", path, e->name,
                     e->dtype_name);
}

/* Fills e->data and e->bytes, which must lie inside the file and agree with shape and type. */
static int parse_offsets(struct safetensors_entry *e, const struct safetensors_file *f, const json_t *offsets, int bits,
                         struct error *err)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    int64_t wanted;

    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return refuse(err, f->path, e->name, "data_offsets: expected a pair of integers");
    int64_t b = json_integer_value(begin), n = json_integer_value(end);
    if (b < 0 || n < b || (uint64_t)n > f->size - f->data)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: tensor \"%.200s\": data_offsets [%lld, %lld], data has %zu bytes", f->path, e->name,
                         (long long)b, (long long)n, f->size - f->data);
    if (__builtin_mul_overflow(e->size, bits, &wanted) || wanted % 8 != 0)
        return refuse(err, f->path, e->name, "shape: overflows or ends inside a byte");
    if (wanted / 8 != n - b)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\": %lld bytes, its shape wants %lld", f->path,
                         e->name, (long long)(n - b), (long long)(wanted / 8));
    e->data = f->map + f->data + b;
    e->bytes = (size_t)(n - b);
    return 0;
}

static int parse_entry(struct safetensors *s, int file, const char *name, const json_t *o, struct error *err)
{
    const struct safetensors_file *f = &s->files[file];
    struct safetensors_entry e = { .name = name, .file = file };
    int bits = 0;

    if (!json_is_object(o))
        return refuse(err, f->path, name, "expected an object");
    if (parse_dtype(&e, json_object_get(o, "dtype"), &bits, f->path, err) ||
        parse_shape(&e, json_object_get(o, "shape"), f->path, err) ||
        parse_offsets(&e, f, json_object_get(o, "data_offsets"), bits, err))
        return -1;
    CHECK(s->n < INT_MAX / 2, "more tensors than a header can hold");
    GROW(s->entries, s->n, s->cap);
    s->entries[s->n++] = e;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct safetensors_entry *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct safetensors_entry *)a)->name, ((const struct safetensors_entry *)b)->name);
}

/* Checks that the tensors of one file, starting at entry `first`, fill its data area without gaps and overlaps. */
static int check_layout(struct safetensors *s, int file, int first, struct error *err)
{
    const struct safetensors_file *f = &s->files[file];
    const unsigned char *at = f->map + f->data;

    if (s->n > first)
        qsort(s->entries + first, (size_t)(s->n - first), sizeof *s->entries, by_place);
    for (int i = first; i < s->n; at += s->entries[i++].bytes)
        if (s->entries[i].data != at)
            return refuse(err, f->path, s->entries[i].name,
                          s->entries[i].data < at ? "overlaps another tensor" : "a gap before its data");
    if (at != f->map + f->size)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %zu bytes after the last tensor", f->path,
                         (size_t)(f->map + f->size - at));
    return 0;
}

/* Maps a file and adds its tensors. Takes path. */
static int add_file(struct safetensors *s, char *path, struct error *err)
{
    const char *name;
    json_t *value;
    int file = s->n_files, first = s->n;

    s->files = xrealloc(s->files, (size_t)(file + 1) * sizeof *s->files);
    struct safetensors_file *f = &s->files[s->n_files++];
    const char *slash = strrchr(path, '/');
    *f = (struct safetensors_file){ .path = path, .name = slash ? slash + 1 : path };
    if (map_file(f, err) || parse_header(f, err))
        return -1;
    json_object_foreach(f->header, name, value) if (strcmp(name, "__metadata__")
                                                        ? parse_entry(s, file, name, value, err)
                                                        : check_metadata(f, value, err)) return -1;
    return check_layout(s, file, first, err);
}

/* Sorts the tensors of all files by name, and refuses duplicates. */
static int sort_entries(struct safetensors *s, struct error *err)
{
    if (s->n)
        qsort(s->entries, (size_t)s->n, sizeof *s->entries, by_name);
    for (int i = 1; i < s->n; i++)
        if (!by_name(&s->entries[i - 1], &s->entries[i]))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\" occurs in %s too", s->path,
                             s->entries[i].name, safetensors_file_path(s, &s->entries[i - 1]));
    return 0;
}

/* Joins the first `length` bytes of dir and a name; the caller frees the path. */
static char *join_path(const char *dir, size_t length, const char *name)
{
    size_t n = length + strlen(name) + 2;
    char *path = xmalloc(n);
    snprintf(path, n, "%.*s%s%s", (int)length, dir, length && dir[length - 1] != '/' ? "/" : "", name);
    return path;
}

/* Shards, listed by an index. */

enum { MAX_SHARDS = 10000, MAX_INDEX = 100000000 };

/* A shard must be a plain file name in the folder of the index. */
static bool plain_name(const char *name)
{
    return *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") && strcmp(name, "..");
}

static int add_shard(struct safetensors *s, size_t dir, const char *tensor, const json_t *value, struct error *err)
{
    const char *name = json_string_value(value);

    if (!name || !plain_name(name))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: weight_map: \"%.200s\": \"%.200s\" is not a plain file name",
                         s->path, tensor, name ? name : "(not a string)");
    for (int i = 0; i < s->n_files; i++)
        if (!strcmp(s->files[i].name, name))
            return 0;
    if (s->n_files == MAX_SHARDS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected at most %d shards", s->path, MAX_SHARDS);
    return add_file(s, join_path(s->path, dir, name), err);
}

/* Checks that each tensor of the index is in its shard. */
static int check_index(const struct safetensors *s, json_t *map, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(map, name, value)
    {
        const struct safetensors_entry *e = safetensors_find(s, name);
        if (!e || strcmp(s->files[e->file].name, json_string_value(value)))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\" is not in %.200s", s->path, name,
                             json_string_value(value));
    }
    return 0;
}

/* Tensors that the index omits are read nevertheless, as in transformers. */
static void warn_unlisted(const struct safetensors *s, const json_t *map)
{
    struct name_list unlisted = { 0 };

    for (int i = 0; i < s->n; i++)
        if (!json_object_get(map, s->entries[i].name))
            name_list_add(&unlisted, "%.100s", s->entries[i].name);
    if (unlisted.n)
        log_warn("%s: %d tensors of its shards are not in weight_map, but are read: %s", s->path, unlisted.n,
                 unlisted.text);
}

/* Returns the length of NAME in NAME-00002-of-00003.safetensors, or 0. */
static size_t shard_name(const char *file)
{
    const char *of = strstr(file, "-of-"), *dash = of;

    while (dash && dash > file && dash[-1] >= '0' && dash[-1] <= '9')
        dash--;
    return dash && dash < of && dash > file && dash[-1] == '-' && text_ends_with(file, ".safetensors")
               ? (size_t)(dash - file)
               : 0;
}

static bool opened(const struct safetensors *s, const char *name)
{
    for (int i = 0; i < s->n_files; i++)
        if (!strcmp(s->files[i].name, name))
            return true;
    return false;
}

/* Warns of files that are named like shards but are not in the index. They may belong to another model, or be missing
 * from the index. */
static void warn_unread(const struct safetensors *s, size_t dir)
{
    const char *own = s->files[0].name;
    size_t n = shard_name(own);
    char *folder = dir ? join_path(s->path, dir, "") : xstrdup(".");
    DIR *d = n ? opendir(folder) : NULL;
    struct name_list unread = { 0 };

    for (struct dirent *e; d && (e = readdir(d));)
        if (shard_name(e->d_name) == n && !strncmp(e->d_name, own, n) && !opened(s, e->d_name))
            name_list_add(&unread, "%.100s", e->d_name);
    if (unread.n)
        log_warn("%s: %d files with names of shards are not in weight_map and are ignored: %s", s->path, unread.n,
                 unread.text);
    if (d)
        closedir(d);
    free(folder);
}

/* Opens the shards of the index s->path. */
static int open_index(struct safetensors *s, struct error *err)
{
    const char *slash = strrchr(s->path, '/'), *name;
    size_t dir = slash ? (size_t)(slash - s->path) + 1 : 0;
    struct stat st;
    json_error_t e;
    json_t *value;
    int rc = -1;

    if (stat(s->path, &st) == 0 && st.st_size > MAX_INDEX)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected at most %d bytes", s->path, MAX_INDEX);
    json_t *root = json_load_file(s->path, JSON_REJECT_DUPLICATES, &e);
    json_t *map = json_object_get(root, "weight_map");
    if (!root)
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: line %d: %s", s->path, e.line, e.text);
    else if (!json_is_object(map) || !json_object_size(map))
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: weight_map: expected an object that is not empty", s->path);
    else
        rc = 0;
    json_object_foreach(map, name, value)
    {
        if (rc == 0)
            rc = add_shard(s, dir, name, value, err);
    }
    if (rc == 0 && (rc = sort_entries(s, err)) == 0)
        rc = check_index(s, map, err);
    if (rc == 0) {
        warn_unlisted(s, map);
        warn_unread(s, dir);
    }
    json_decref(root);
    return rc;
}

/* Returns the path of the first weights file in a folder, and its index in names in *i. The first two are supported.
 * NULL: there is none. */

static char *find_weights(const char *dir, int *i)
{
    static const char *const names[] = { "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                         "pytorch_model.bin.index.json" };

    for (*i = 0; *i < ARRAY_LEN(names); ++*i) {
        char *path = join_path(dir, strlen(dir), names[*i]);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

bool safetensors_in(const char *dir)
{
    int i;
    char *path = find_weights(dir, &i);

    free(path);
    return path && i < 2;
}

/* Returns model.safetensors or the index. Pickled weights are an error with advice. */
static char *find_in_dir(const char *dir, struct error *err)
{
    int i;
    char *path = find_weights(dir, &i);

    if (i < 2)
        return path;
    if (path)
        error_set(
            err, EXIT_CODE_CHECKPOINT,
            "%s: pickled weights are not supported; convert them once: python3 -c \"import transformers as t; d = '%s'; "
            "[c.from_pretrained(d).save_pretrained('NEW_DIR') for c in (getattr(t, "
            "t.AutoConfig.from_pretrained(d).architectures[0]), t.AutoTokenizer)]\"",
            path, dir);
    else
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected model.safetensors or model.safetensors.index.json", dir);
    free(path);
    return NULL;
}

int safetensors_open(struct safetensors *s, const char *path, struct error *err)
{
    struct stat st;
    int rc;

    *s = (struct safetensors){ 0 };
    if (stat(path, &st) != 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    s->path = S_ISDIR(st.st_mode) ? find_in_dir(path, err) : xstrdup(path);
    if (!s->path)
        return -1;
    if (text_ends_with(s->path, ".json"))
        rc = open_index(s, err);
    else if ((rc = add_file(s, xstrdup(s->path), err)) == 0)
        rc = sort_entries(s, err);
    if (rc)
        safetensors_close(s);
    return rc;
}

void safetensors_close(struct safetensors *s)
{
    for (int i = 0; i < s->n_files; i++) {
        struct safetensors_file *f = &s->files[i];
        if (f->map)
            munmap(f->map, f->size);
        json_decref(f->header);
        free(f->path);
    }
    free(s->files);
    free(s->entries);
    free(s->path);
    *s = (struct safetensors){ 0 };
}

const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name)
{
    struct safetensors_entry key = { .name = name };
    return s->n ? bsearch(&key, s->entries, (size_t)s->n, sizeof key, by_name) : NULL;
}

const char *safetensors_file_path(const struct safetensors *s, const struct safetensors_entry *e)
{
    return s->files[e->file].path;
}

static float f32_at(const unsigned char *p, enum safetensors_dtype dtype)
{
    uint16_t h;
    double d;

    if (dtype == ST_F64) {
        memcpy(&d, p, sizeof d);
        return (float)d;
    }
    memcpy(&h, p, sizeof h);
    return dtype == ST_BF16 ? f32_from_bf16(h) : f32_from_f16(h);
}

static void check_range(const struct safetensors_entry *e, int64_t from, int64_t n)
{
    CHECK(from >= 0 && n >= 0 && n <= e->size - from, "%s: elements %lld + %lld of %lld", e->name, (long long)from,
          (long long)n, (long long)e->size);
}

static size_t width_of(const struct safetensors_entry *e)
{
    return e->size ? e->bytes / (size_t)e->size : 0;
}

const unsigned char *safetensors_fetch(const struct safetensors_entry *e, int64_t from, int64_t n)
{
    check_range(e, from, n);
    const unsigned char *data = e->data + (size_t)from * width_of(e);
    size_t bytes = (size_t)n * width_of(e);
    unsigned sum = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum) if (bytes >= SHARED_FROM)
    for (size_t at = 0; at < bytes; at += PAGE)
        sum += *(const volatile unsigned char *)(data + at);
    (void)sum;
    return data;
}

int safetensors_read_f32(const struct safetensors *s, const struct safetensors_entry *e, float *out, int64_t from,
                         int64_t n, struct error *err)
{
    check_range(e, from, n);
    if (e->dtype == ST_OTHER)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\": expected F32, BF16, F16 or F64, got %s",
                         safetensors_file_path(s, e), e->name, e->dtype_name);
    size_t width = width_of(e);
    const unsigned char *p = e->data + (size_t)from * width;

    if (e->dtype == ST_F32) {
        if (n)
            memcpy(out, p, (size_t)n * sizeof *out);
        return 0;
    }
#pragma omp parallel for schedule(static) if (n >= SHARED_FROM)
    for (int64_t i = 0; i < n; i++)
        out[i] = f32_at(p + (size_t)i * width, e->dtype);
    return 0;
}

bool safetensors_same(const struct safetensors *s, const struct safetensors_entry *a, const struct safetensors_entry *b)
{
    enum { PIECE = 1 << 12 };
    float x[PIECE], y[PIECE];
    bool same = a->ndim == b->ndim && a->ndim <= SAFETENSORS_MAX_DIMS && a->size == b->size &&
                !memcmp(a->shape, b->shape, sizeof a->shape);

    if (!same || a->dtype == b->dtype)
        return same && a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
    for (int64_t at = 0, n; at < a->size && same; at += n) {
        n = a->size - at < PIECE ? a->size - at : PIECE;
        same = safetensors_read_f32(s, a, x, at, n, NULL) == 0 && safetensors_read_f32(s, b, y, at, n, NULL) == 0 &&
               !memcmp(x, y, (size_t)n * sizeof *x);
    }
    return same;
}

/* Writing. */

enum { CHUNK = 1 << 16 }; /* elements that are converted at a time */

struct safetensors_writer {
    char *path, *tmp;
    int fd, n;
    enum safetensors_dtype dtype;
    int64_t *begin, *size; /* [n] byte offset in the file, number of elements */
};

static int64_t elements(const struct safetensors_spec *spec)
{
    int64_t n = 1;
    for (int d = 0; d < spec->ndim; d++)
        CHECK(spec->shape[d] >= 0 && !__builtin_mul_overflow(n, spec->shape[d], &n), "%s: shape", spec->name);
    return n;
}

static int by_spec_name(const void *a, const void *b)
{
    return strcmp((*(const struct safetensors_spec *const *)a)->name,
                  (*(const struct safetensors_spec *const *)b)->name);
}

static json_t *entry_json(const struct safetensors_spec *spec, const char *dtype, int64_t begin, int64_t end)
{
    json_t *shape = json_array();
    for (int d = 0; d < spec->ndim; d++)
        json_array_append_new(shape, json_integer(spec->shape[d]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype, "shape", shape, "data_offsets", (json_int_t)begin,
                     (json_int_t)end);
}

/* Returns the text of the header. Fills w->begin and w->size with offsets in the data area; *total is its length. */
static char *header_text(struct safetensors_writer *w, const struct safetensors_spec *specs, int64_t *total)
{
    const struct safetensors_spec **order = xmalloc((size_t)w->n * sizeof *order);
    const int64_t width = w->dtype == ST_F32 ? 4 : 2;
    json_t *root = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");

    for (int i = 0; i < w->n; i++)
        order[i] = &specs[i];
    qsort(order, (size_t)w->n, sizeof *order, by_spec_name);
    *total = 0;
    for (int i = 0; i < w->n; i++) {
        int64_t k = order[i] - specs;
        CHECK(i == 0 || strcmp(order[i - 1]->name, order[i]->name), "tensor %s twice", order[i]->name);
        w->size[k] = elements(order[i]);
        w->begin[k] = *total;
        *total += w->size[k] * width;
        json_object_set_new(root, order[i]->name,
                            entry_json(order[i], w->dtype == ST_F32 ? "F32" : "BF16", w->begin[k], *total));
    }
    char *text = json_dumps(root, JSON_COMPACT);
    CHECK(text, "the header is not JSON: a name is not UTF-8");
    json_decref(root);
    free(order);
    return text;
}

static int write_header(struct safetensors_writer *w, const struct safetensors_spec *specs, struct error *err)
{
    int64_t total;
    char *text = header_text(w, specs, &total);
    size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    unsigned char *head = xmalloc(8 + padded);

    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    memcpy(head + 8, text, length);
    memset(head + 8 + length, ' ', padded - length);
    for (int i = 0; i < w->n; i++)
        w->begin[i] += (int64_t)(8 + padded);
    int rc = durable_write(w->fd, head, 8 + padded, 0, w->tmp, err);
    if (rc == 0 && ftruncate(w->fd, (off_t)(8 + padded) + (off_t)total) != 0)
        rc = error_set(err, EXIT_CODE_FAILURE, "%s: %s", w->tmp, strerror(errno));
    free(head);
    free(text);
    return rc;
}

struct safetensors_writer *safetensors_create(const char *path, const struct safetensors_spec *specs, int n,
                                              enum safetensors_dtype dtype, struct error *err)
{
    CHECK(dtype == ST_F32 || dtype == ST_BF16, "written as F32 or BF16 only");
    struct safetensors_writer *w = xcalloc(1, sizeof *w);
    size_t length = strlen(path) + sizeof ".tmp";

    w->path = xstrdup(path);
    w->tmp = xmalloc(length);
    snprintf(w->tmp, length, "%s.tmp", path);
    w->n = n;
    w->dtype = dtype;
    w->begin = xcalloc((size_t)n, sizeof *w->begin);
    w->size = xcalloc((size_t)n, sizeof *w->size);
    w->fd = open(w->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0)
        error_set(err, EXIT_CODE_FAILURE, "%s: %s", w->tmp, strerror(errno));
    if (w->fd < 0 || write_header(w, specs, err)) {
        safetensors_finish(w, -1, err);
        return NULL;
    }
    return w;
}

int safetensors_put(struct safetensors_writer *w, int i, const float *values, int64_t from, int64_t n,
                    struct error *err)
{
    uint16_t half[CHUNK];

    CHECK(i >= 0 && i < w->n && from >= 0 && n >= 0 && n <= w->size[i] - from, "tensor %d: elements %lld + %lld", i,
          (long long)from, (long long)n);
    if (w->dtype == ST_F32)
        return durable_write(w->fd, values, (size_t)n * 4, w->begin[i] + from * 4, w->tmp, err);
    for (int64_t done = 0; done < n; done += CHUNK) {
        int64_t count = n - done < CHUNK ? n - done : CHUNK;
        for (int64_t k = 0; k < count; k++)
            half[k] = bf16_from_f32(values[done + k]);
        if (durable_write(w->fd, half, (size_t)count * 2, w->begin[i] + (from + done) * 2, w->tmp, err))
            return -1;
    }
    return 0;
}

int safetensors_finish(struct safetensors_writer *w, int rc, struct error *err)
{
    if (!w)
        return rc;
    if (rc == 0)
        rc = durable_rename(w->fd, w->tmp, w->path, err);
    if (w->fd >= 0) {
        close(w->fd);
        unlink(w->tmp); /* does nothing after the rename */
    }
    free(w->path);
    free(w->tmp);
    free(w->begin);
    free(w->size);
    free(w);
    return rc;
}
