/* Part of hdf5.h: reading. */
#include "models/checkpoint/checksum.h"
#include "models/checkpoint/hdf5.h"
#include "models/checkpoint/hdf5_format.h"
#include "models/checkpoint/hdf5_seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Groups within groups; how often a structure of the file may be looked at. */
enum { MAX_DEPTH = 4, LOOKS = 4 };

/* A tensor of the file, and where its header is. */
struct hdf5_place {
    struct hdf5_tensor tensor;
    int64_t at;
};

/* Tensors being listed. */
struct listing {
    struct hdf5_reader *r;
    struct hdf5_file f;
    int64_t bytes; /* of all tensors so far */
    struct error *err;
};

static int refuse(const struct hdf5_reader *r, const char *name, const char *what, struct error *err)
{
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %.300s%s%s", r->path, name, *name ? ": " : "", what);
}

static int add_tensor(struct listing *l, const char *name, int64_t at, const struct hdf5_tensor *t)
{
    struct hdf5_reader *r = l->r;

    l->bytes += hdf5_tensor_size(t) * (int64_t)hdf5_type_size(t->type);
    if (l->bytes > l->f.bytes)
        return refuse(r, name, "its shape does not fit the file", l->err);
    GROW(r->places, r->n, r->cap);
    r->places[r->n] = (struct hdf5_place){ *t, at };
    r->places[r->n++].tensor.name = xstrdup(name);
    return 0;
}

static int list_object(struct listing *l, const char *name, int64_t at, int depth);

static int list_link(struct listing *l, const char *group, const struct hdf5_link *link, int depth)
{
    char full[HDF5_MAX_NAME];
    int n = snprintf(full, sizeof full, "%s%s%s", group, *group ? "/" : "", link->name);

    if (n < 0 || n >= (int)sizeof full || depth > MAX_DEPTH)
        return refuse(l->r, group, "holds longer names than a checkpoint does", l->err);
    if (link->at < 0)
        return refuse(l->r, full, "not a tensor or group of this file", l->err);
    return list_object(l, full, link->at, depth);
}

static int list_object(struct listing *l, const char *name, int64_t at, int depth)
{
    struct hdf5_object o;
    int rc = hdf5_object_read(&l->f, at, &o);

    if (rc)
        refuse(l->r, name, l->f.fault, l->err);
    else if (!o.group)
        rc = add_tensor(l, name, at, &o.tensor);
    for (int i = 0; i < o.links.n && rc == 0; i++)
        rc = list_link(l, name, &o.links.list[i], depth + 1);
    hdf5_object_release(&o);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct hdf5_place *)a)->tensor.name, ((const struct hdf5_place *)b)->tensor.name);
}

/* The places by name, and the tensors of them. */
static int sort_tensors(struct hdf5_reader *r, struct error *err)
{
    if (r->n)
        qsort(r->places, (size_t)r->n, sizeof *r->places, by_name);
    for (int i = 1; i < r->n; i++)
        if (!by_name(&r->places[i - 1], &r->places[i]))
            return refuse(r, r->places[i].tensor.name, "stands there twice", err);
    r->tensors = xcalloc((size_t)(r->n ? r->n : 1), sizeof *r->tensors);
    for (int i = 0; i < r->n; i++)
        r->tensors[i] = r->places[i].tensor;
    return 0;
}

int hdf5_open(struct hdf5_reader *r, const char *path, struct error *err)
{
    *r = (struct hdf5_reader){ .path = xstrdup(path) };
    r->fd = seal_open(path, &r->bytes, err);
    struct listing l = { .r = r, .f = { .fd = r->fd, .bytes = r->bytes - SEAL_BYTES }, .err = err };
    int rc = r->fd < 0 ? -1 : 0;

    hdf5_allow(&l.f, LOOKS);
    int64_t root = rc ? -1 : hdf5_root(&l.f);
    if (rc == 0 && root < 0)
        rc = refuse(r, "", l.f.fault, err);
    if (rc || list_object(&l, "", root, 0) || sort_tensors(r, err)) {
        hdf5_close(r);
        return -1;
    }
    return 0;
}

void hdf5_close(struct hdf5_reader *r)
{
    if (r->path && r->fd >= 0)
        close(r->fd);
    for (int i = 0; i < r->n; i++)
        free((char *)(uintptr_t)r->places[i].tensor.name);
    free(r->places);
    free(r->tensors);
    free(r->path);
    *r = (struct hdf5_reader){ .fd = -1 };
}

static const struct hdf5_place *find_place(const struct hdf5_reader *r, const char *name)
{
    struct hdf5_place key = { .tensor.name = name };
    return r->n ? bsearch(&key, r->places, (size_t)r->n, sizeof key, by_name) : NULL;
}

const struct hdf5_tensor *hdf5_find(const struct hdf5_reader *r, const char *name)
{
    const struct hdf5_place *place = find_place(r, name);
    return place ? &r->tensors[place - r->places] : NULL;
}

/* Whether a header says of the tensor what it said when it was listed. */
static bool same_tensor(const struct hdf5_tensor *a, const struct hdf5_tensor *b)
{
    return a->type == b->type && a->ndim == b->ndim && !memcmp(a->shape, b->shape, sizeof a->shape);
}

int hdf5_get(const struct hdf5_reader *r, const struct hdf5_tensor *t, void *out, uint64_t *sum, struct error *err)
{
    struct hdf5_file f = { .fd = r->fd, .bytes = r->bytes - SEAL_BYTES };
    struct hdf5_object o;
    uint64_t found = 0;

    hdf5_allow(&f, LOOKS);
    int rc = hdf5_object_read(&f, find_place(r, t->name)->at, &o);
    if (rc == 0 && !same_tensor(&o.tensor, t))
        rc = hdf5_fail(&f, "was changed while it was read");
    if (rc == 0 && !o.summed)
        rc = hdf5_fail(&f, "no checksum beside it");
    if (rc == 0)
        rc = hdf5_data_read(&f, &o, out);
    if (rc)
        refuse(r, t->name, f.fault, err);
    else if ((found = checksum_of(out, (size_t)hdf5_tensor_size(t) * hdf5_type_size(t->type))) != o.sum)
        rc = error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: checksum: expected %016llx, got %016llx", r->path, t->name,
                       (unsigned long long)o.sum, (unsigned long long)found);
    hdf5_object_release(&o);
    if (sum)
        *sum = found;
    return rc;
}
