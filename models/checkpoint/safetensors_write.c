/* Part of safetensors.h: writing. */
#include "kernels/tensor.h"
#include "models/checkpoint/durable.h"
#include "models/checkpoint/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 16 }; /* elements converted at a time */

struct safetensors_writer {
    char *path, *tmp;
    int fd, n;
    enum safetensors_dtype dtype;
    int64_t *begin, *size; /* per spec: byte offset in the file, elements */
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

/* The header's text, and in w where each tensor goes (from the start of the data area); *total is the end of it. */
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
        unlink(w->tmp); /* after the rename there is nothing left to remove */
    }
    free(w->path);
    free(w->tmp);
    free(w->begin);
    free(w->size);
    free(w);
    return rc;
}
