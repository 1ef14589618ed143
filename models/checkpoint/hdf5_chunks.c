/* Part of hdf5_format.h: the numbers of a tensor, in one piece or in chunks that a B-tree lists. */
#include "models/checkpoint/hdf5_format_impl.h"

#include <stdlib.h>
#include <string.h>

enum { NODE_HEADER = 24, CHUNK_NODE = 1, FLETCHER_BYTES = 4, MAX_ENTRIES = 1 << 12 };

/* A tensor whose chunks are being read. */
struct chunks {
    struct hdf5_file *f;
    const struct hdf5_object *o;
    unsigned char *out;
    int64_t size;                /* bytes of a number */
    int64_t bytes;               /* bytes of a chunk */
    int64_t grid[HDF5_MAX_DIMS]; /* chunks along each dimension */
    int64_t n, found;            /* chunks in all; those that were read */
    bool *done;                  /* per chunk */
};

static int damaged(const struct chunks *c)
{
    return hdf5_fail(c->f, "its data are damaged");
}

/* Copies what of a chunk, whose first number stands at `from`, lies inside the tensor: runs of its last dimension. */
static void put_chunk(const struct chunks *c, const int64_t *from, const unsigned char *p)
{
    const int64_t *shape = c->o->tensor.shape, *chunk = c->o->chunk;
    int ndim = c->o->tensor.ndim, last = ndim - 1;
    int64_t at[HDF5_MAX_DIMS] = { 0 }, rows = c->bytes / c->size / chunk[last];
    int64_t run = shape[last] - from[last] < chunk[last] ? shape[last] - from[last] : chunk[last];

    for (int64_t row = 0; row < rows; row++, p += chunk[last] * c->size) {
        int64_t to = 0, rest = row;
        bool inside = true;
        for (int d = last - 1; d >= 0; rest /= chunk[d--])
            at[d] = from[d] + rest % chunk[d];
        at[last] = from[last];
        for (int d = 0; d < ndim; d++) {
            inside = inside && at[d] < shape[d];
            to = to * shape[d] + at[d];
        }
        if (inside)
            memcpy(c->out + to * c->size, p, (size_t)(run * c->size));
    }
}

/* A chunk's key: its length behind the filter, the filters it is without, and where it stands. */
static int read_chunk(struct chunks *c, struct hdf5_bytes key, int64_t at)
{
    int64_t from[HDF5_MAX_DIMS], cell = 0;
    bool ok = (int64_t)hdf5_take(&key, 4) == c->bytes + FLETCHER_BYTES && hdf5_take(&key, 4) == 0;

    for (int d = 0; d < c->o->tensor.ndim; d++) {
        from[d] = hdf5_take_place(&key);
        ok = ok && from[d] >= 0 && from[d] < c->o->tensor.shape[d] && from[d] % c->o->chunk[d] == 0;
        cell = ok ? cell * c->grid[d] + from[d] / c->o->chunk[d] : 0;
    }
    if (!ok || c->done[cell])
        return damaged(c);
    unsigned char *p = hdf5_load(c->f, at, c->bytes + FLETCHER_BYTES);
    if (!p)
        return -1;
    put_chunk(c, from, p);
    c->done[cell] = true;
    c->found++;
    free(p);
    return 0;
}

static int read_node(struct chunks *c, int64_t at, int level);

/* Entries of a node: keys, and addresses of what stands behind each. */
static int read_entries(struct chunks *c, int64_t at, int n, int level)
{
    const int64_t key = 8 + 8 * (c->o->tensor.ndim + 1), bytes = n * (key + 8);
    unsigned char *p = hdf5_load(c->f, at, bytes);
    struct hdf5_bytes b = { p, (size_t)bytes, false };
    int rc = p ? 0 : -1;

    for (int i = 0; i < n && rc == 0; i++) {
        struct hdf5_bytes k = hdf5_take_bytes(&b, (size_t)key);
        int64_t child = hdf5_take_place(&b);
        rc = level ? read_node(c, child, level - 1) : read_chunk(c, k, child);
    }
    free(p);
    return rc;
}

/* A node whose level is known but for the root's (-1). */
static int read_node(struct chunks *c, int64_t at, int level)
{
    unsigned char *p = hdf5_load(c->f, at, NODE_HEADER);
    struct hdf5_bytes b = { p, NODE_HEADER, false };

    if (!p)
        return -1;
    bool ok = hdf5_take_text(&b, "TREE") && hdf5_take(&b, 1) == CHUNK_NODE;
    int own = (int)hdf5_take(&b, 1), n = (int)hdf5_take(&b, 2);
    free(p);
    if (!ok || (level >= 0 && own != level) || n < 1 || n > MAX_ENTRIES)
        return damaged(c);
    return read_entries(c, at + NODE_HEADER, n, own);
}

static int read_chunks(struct hdf5_file *f, const struct hdf5_object *o, void *out)
{
    struct chunks c = { .f = f, .o = o, .out = out, .size = (int64_t)hdf5_type_size(o->tensor.type), .n = 1 };

    c.bytes = c.size;
    for (int d = 0; d < o->tensor.ndim; d++) {
        c.bytes *= o->chunk[d];
        c.grid[d] = (o->tensor.shape[d] - 1) / o->chunk[d] + 1;
        c.n *= c.grid[d];
    }
    c.done = xcalloc((size_t)c.n, sizeof *c.done);
    int rc = read_node(&c, o->data, -1);
    if (rc == 0 && c.found != c.n)
        rc = damaged(&c);
    free(c.done);
    return rc;
}

int hdf5_data_read(struct hdf5_file *f, const struct hdf5_object *o, void *out)
{
    if (hdf5_tensor_size(&o->tensor) == 0)
        return 0;
    if (o->chunk[0])
        return read_chunks(f, o, out);
    unsigned char *p = hdf5_load(f, o->data, o->data_bytes);
    if (!p)
        return -1;
    memcpy(out, p, (size_t)o->data_bytes);
    free(p);
    return 0;
}
