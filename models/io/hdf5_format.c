#include "models/io/hdf5_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A buffer that is parsed from its start. `ended` is set by an attempt to read past the end. */
struct hdf5_bytes {
    const unsigned char *p;
    size_t n;
    bool ended;
};

/* Takes the next n bytes as a buffer; none if fewer are left. */
static struct hdf5_bytes take_bytes(struct hdf5_bytes *b, size_t n)
{
    struct hdf5_bytes taken = { b->p, n, false };

    if (n > b->n) {
        b->ended = true;
        b->n = 0;
        return (struct hdf5_bytes){ b->p, 0, true };
    }
    b->p += n;
    b->n -= n;
    return taken;
}

/* Takes the next n bytes as a little-endian number; 0 if fewer are left. */
static uint64_t take(struct hdf5_bytes *b, int n)
{
    struct hdf5_bytes taken = take_bytes(b, (size_t)n);
    uint64_t x = 0;

    for (size_t i = taken.n; i-- > 0;)
        x = x << 8 | taken.p[i];
    return x;
}

/* Takes an address or length of 8 bytes; -1 if it exceeds INT64_MAX. */
static int64_t take_place(struct hdf5_bytes *b)
{
    uint64_t x = take(b, 8);

    return x > INT64_MAX ? -1 : (int64_t)x;
}

/* Takes the bytes of a text. Returns whether they match. */
static bool take_text(struct hdf5_bytes *b, const char *text)
{
    struct hdf5_bytes taken = take_bytes(b, strlen(text));

    return !taken.ended && memcmp(taken.p, text, taken.n) == 0;
}

int hdf5_fail(struct hdf5_file *f, const char *fault)
{
    if (!f->fault)
        f->fault = fault;
    return -1;
}

void hdf5_allow(struct hdf5_file *f, int times)
{
    f->left = f->bytes > INT64_MAX / times ? INT64_MAX : times * f->bytes;
    f->fault = NULL;
}

static int read_fully(int fd, unsigned char *out, size_t n, int64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, out + done, n - done, (off_t)(at + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

/* Reads n bytes at an address; the caller frees them. NULL if they lie outside the file, or if the read budget is used
 * up. */
static unsigned char *load(struct hdf5_file *f, int64_t at, int64_t n)
{
    if (at < 0 || n <= 0 || at > f->bytes || n > f->bytes - at) {
        hdf5_fail(f, "an address lies outside the file");
        return NULL;
    }
    if (n > f->left) {
        hdf5_fail(f, "its parts overlap");
        return NULL;
    }
    f->left -= n;
    unsigned char *p = xmalloc((size_t)n);
    if (read_fully(f->fd, p, (size_t)n, HDF5_HEADER_BYTES + at) == 0)
        return p;
    free(p);
    hdf5_fail(f, "cannot be read");
    return NULL;
}

/* Links of a large group: a fractal heap holds them, and a B-tree lists their heap IDs. */

enum {
    HEAP_HEADER = 146,
    INDIRECT_HEADER = 17, /* signature, version, address of the heap, block offset of four bytes */
    TREE_HEADER = 38,
    NODE_HEADER = 6, /* signature, version, type */
    CHECKSUM_BYTES = 4,
    LINKS_BY_NAME = 5, /* type of the B-tree */
    RECORD = 11,       /* a hash, and a heap ID of ID bytes */
    ID = 7,
    PLACE_BITS = 32, /* bits of an offset in the heap */
    MAX_BLOCK_BITS = 30,
    MAX_TREE_DEPTH = 8,
    MAX_NODE = 1 << 20
};

/* A fractal heap. Block sizes double from row to row, except in the first two rows. Rows up to the maximum direct block
 * size hold objects; rows after them hold indirect blocks. */
struct heap {
    int width;          /* blocks in a row */
    int64_t start, max; /* bytes of the smallest and of the largest direct block */
    int64_t root;
    int rows; /* rows of the root block; 0: the root is a direct block */
};

static bool plain_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~' || name[i] == '/')
            return false;
    return n > 0;
}

/* Reads a link message. */
static int read_link_message(struct hdf5_file *f, struct hdf5_bytes b, struct hdf5_links *links)
{
    enum { LENGTH_BYTES = 3, ORDERED = 4, TYPED = 8, ENCODED = 16 };
    bool version = take(&b, 1) == 1;
    int flags = (int)take(&b, 1), type = flags & TYPED ? (int)take(&b, 1) : 0;

    take_bytes(&b, (flags & ORDERED ? 8 : 0) + (flags & ENCODED ? 1 : 0));
    uint64_t length = take(&b, 1 << (flags & LENGTH_BYTES));
    struct hdf5_bytes name = take_bytes(&b, length < HDF5_MAX_NAME ? (size_t)length : b.n + 1);
    if (!version || name.ended || !plain_name((const char *)name.p, name.n))
        return hdf5_fail(f, "holds an invalid name");
    GROW(links->list, links->n, links->cap);
    struct hdf5_link *l = &links->list[links->n++];
    memcpy(l->name, name.p, name.n);
    l->name[name.n] = '\0';
    l->at = type ? -1 : take_place(&b);
    return b.ended ? hdf5_fail(f, "holds a truncated link") : 0;
}

static bool power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static int read_heap(struct hdf5_file *f, struct heap *h, int64_t at)
{
    unsigned char *p = load(f, at, HEAP_HEADER);
    struct hdf5_bytes b = { p, HEAP_HEADER, false };

    if (!p)
        return -1;
    bool ok = take_text(&b, "FRHP") && take(&b, 1) == 0;
    ok = ok && take(&b, 2) == ID && take(&b, 2) == 0; /* length of heap IDs; length of filters */
    take_bytes(&b, 1 + 4 + 12 * 8); /* flags, largest object, and statistics of free, used, huge and tiny objects */
    h->width = (int)take(&b, 2);
    h->start = take_place(&b);
    h->max = take_place(&b);
    ok = ok && take(&b, 2) == PLACE_BITS;
    take_bytes(&b, 2);
    h->root = take_place(&b);
    h->rows = (int)take(&b, 2);
    free(p);
    ok = ok && power_of_two(h->width) && power_of_two(h->start) && power_of_two(h->max) && h->start <= h->max &&
         h->max <= INT64_C(1) << MAX_BLOCK_BITS && h->rows <= PLACE_BITS;
    return ok ? 0 : hdf5_fail(f, "its heap is not in ambit's format");
}

/* Returns the address in entry i of an indirect block. */
static int64_t read_entry(struct hdf5_file *f, int64_t block, int64_t i)
{
    unsigned char *p = block < 0 ? NULL : load(f, block + INDIRECT_HEADER + 8 * i, 8);
    struct hdf5_bytes b = { p, 8, false };
    int64_t at = p ? take_place(&b) : -1;

    free(p);
    return at;
}

/* Returns the number of rows of an indirect block of this size. */
static int rows_of(const struct heap *h, int64_t bytes)
{
    int rows = 1;

    for (int64_t all = h->width * h->start; all < bytes; all *= 2)
        rows++;
    return rows;
}

/* Returns the file address of n bytes at an offset in the heap, or -1. They must lie in one block. */
static int64_t find_place(struct hdf5_file *f, const struct heap *h, int64_t place, int64_t n)
{
    int64_t block = h->root, size = h->start;

    for (int rows = h->rows; rows > 0 && block >= 0;) {
        int row = 0;
        /* Find the row of the offset, then its block in the row. A block that is larger than a direct block may be is
         * an indirect block, and the search goes on in it. */
        for (size = h->start; row < rows && place >= h->width * size; row++) {
            place -= h->width * size;
            size = h->start << (row > 0 ? row : 0);
        }
        if (row == rows)
            return -1;
        block = read_entry(f, block, (int64_t)row * h->width + place / size);
        place %= size;
        rows = size > h->max ? rows_of(h, size) : 0;
    }
    return block >= 0 && place <= size - n ? block + place : -1;
}

/* Reads the object with this heap ID, which is a link message. */
static int read_link(struct hdf5_file *f, const struct heap *h, struct hdf5_bytes id, struct hdf5_links *links)
{
    bool managed = take(&id, 1) == 0;
    int64_t place = (int64_t)take(&id, PLACE_BITS / 8), n = (int64_t)take(&id, 2);
    int64_t at = managed ? find_place(f, h, place, n) : -1;
    unsigned char *p = at < 0 ? NULL : load(f, at, n);

    if (!p)
        return hdf5_fail(f, "a link is not in its heap");
    int rc = read_link_message(f, (struct hdf5_bytes){ p, (size_t)n, false }, links);
    free(p);
    return rc;
}

/* Sizes that all nodes of a B-tree share. */
struct tree {
    int64_t node;
    int count;                     /* bytes of the record count of a child */
    int total[MAX_TREE_DEPTH + 1]; /* [height] bytes of the total record count of a child; 0 for leaves */
    int depth;
};

static int bytes_of(int64_t n)
{
    int bytes = 1;

    while (n >>= 8)
        bytes++;
    return bytes;
}

/* Computes the width of record counts as the specification does: bytes needed for the maximum number of records. */
static void count_bytes(struct tree *t)
{
    int64_t max = (t->node - NODE_HEADER - CHECKSUM_BYTES) / RECORD, below = max;

    t->count = bytes_of(max);
    t->total[0] = 0;
    for (int d = 1; d <= t->depth; d++) {
        int pointer = 8 + t->count + t->total[d - 1];
        max = (t->node - NODE_HEADER - CHECKSUM_BYTES - pointer) / (RECORD + pointer);
        below = below > INT64_MAX / MAX_NODE ? INT64_MAX / MAX_NODE : (max + 1) * below + max;
        t->total[d] = bytes_of(below);
    }
}

static int read_tree_node(struct hdf5_file *f, const struct heap *h, const struct tree *t, int64_t at, int64_t n,
                          int depth, struct hdf5_links *links);

static int read_children(struct hdf5_file *f, const struct heap *h, const struct tree *t, struct hdf5_bytes b,
                         int64_t n, int depth, struct hdf5_links *links)
{
    int rc = 0;

    for (int64_t i = 0; i <= n && rc == 0; i++) {
        int64_t child = take_place(&b), records = (int64_t)take(&b, t->count);
        take_bytes(&b, (size_t)t->total[depth - 1]);
        rc = b.ended ? -1 : read_tree_node(f, h, t, child, records, depth - 1, links);
    }
    return rc;
}

/* Reads the node at an address with n records, and all nodes below it. */
static int read_tree_node(struct hdf5_file *f, const struct heap *h, const struct tree *t, int64_t at, int64_t n,
                          int depth, struct hdf5_links *links)
{
    unsigned char *p = load(f, at, t->node);
    struct hdf5_bytes b = { p, (size_t)t->node, false };
    int rc = 0;

    if (!p)
        return -1;
    if (!take_text(&b, depth ? "BTIN" : "BTLF") || take(&b, 1) != 0 || take(&b, 1) != LINKS_BY_NAME)
        rc = hdf5_fail(f, "the B-tree of its links is not in ambit's format");
    for (int64_t i = 0; i < n && rc == 0; i++) {
        struct hdf5_bytes record = take_bytes(&b, RECORD);
        take_bytes(&record, RECORD - ID);
        rc = b.ended ? -1 : read_link(f, h, record, links);
    }
    if (rc == 0 && depth)
        rc = read_children(f, h, t, b, n, depth, links);
    free(p);
    return rc ? hdf5_fail(f, "the B-tree of its links is damaged") : 0;
}

/* Reads the links of a group that are not in its object header. */
static int read_heap_links(struct hdf5_file *f, int64_t heap, int64_t tree, struct hdf5_links *links)
{
    struct heap h;
    struct tree t = { 0 };

    if (read_heap(f, &h, heap))
        return -1;
    unsigned char *p = load(f, tree, TREE_HEADER);
    struct hdf5_bytes b = { p, TREE_HEADER, false };
    if (!p)
        return -1;
    bool ok = take_text(&b, "BTHD") && take(&b, 1) == 0 && take(&b, 1) == LINKS_BY_NAME;
    t.node = (int64_t)take(&b, 4);
    ok = ok && take(&b, 2) == RECORD;
    t.depth = (int)take(&b, 2);
    take_bytes(&b, 2); /* split and merge percentages */
    int64_t root = take_place(&b), n = (int64_t)take(&b, 2);
    free(p);
    if (!ok || t.depth > MAX_TREE_DEPTH || t.node < 64 || t.node > MAX_NODE)
        return hdf5_fail(f, "the B-tree of its links is not in ambit's format");
    count_bytes(&t);
    return read_tree_node(f, &h, &t, root, n, t.depth, links);
}

/* Data of a tensor: contiguous, or in chunks that a B-tree lists. */

enum { CHUNK_NODE_HEADER = 24, CHUNK_NODE = 1, FLETCHER_BYTES = 4, MAX_ENTRIES = 1 << 12 };

/* A tensor whose chunks are being read. */
struct chunks {
    struct hdf5_file *f;
    const struct hdf5_object *o;
    unsigned char *out;
    int64_t size;                /* bytes of an element */
    int64_t bytes;               /* bytes of a chunk */
    int64_t grid[HDF5_MAX_DIMS]; /* number of chunks in each dimension */
    int64_t n, found;            /* number of chunks: expected, read */
    bool *done;                  /* [n] chunks that were read */
};

static int damaged(const struct chunks *c)
{
    return hdf5_fail(c->f, "its data are damaged");
}

/* Copies the part of a chunk that lies inside the tensor, one run of the last dimension at a time. The first element of
 * the chunk has the index `from`. */
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

/* Reads a chunk. Its key holds the filtered length, the mask of skipped filters, and the index of its first element. */
static int read_chunk(struct chunks *c, struct hdf5_bytes key, int64_t at)
{
    int64_t from[HDF5_MAX_DIMS], cell = 0;
    bool ok = (int64_t)take(&key, 4) == c->bytes + FLETCHER_BYTES && take(&key, 4) == 0;

    for (int d = 0; d < c->o->tensor.ndim; d++) {
        from[d] = take_place(&key);
        ok = ok && from[d] >= 0 && from[d] < c->o->tensor.shape[d] && from[d] % c->o->chunk[d] == 0;
        cell = ok ? cell * c->grid[d] + from[d] / c->o->chunk[d] : 0;
    }
    if (!ok || c->done[cell])
        return damaged(c);
    unsigned char *p = load(c->f, at, c->bytes + FLETCHER_BYTES);
    if (!p)
        return -1;
    put_chunk(c, from, p);
    c->done[cell] = true;
    c->found++;
    free(p);
    return 0;
}

static int read_chunk_node(struct chunks *c, int64_t at, int level);

/* Reads the entries of a node: keys and child addresses. */
static int read_entries(struct chunks *c, int64_t at, int n, int level)
{
    const int64_t key = 8 + 8 * (c->o->tensor.ndim + 1), bytes = n * (key + 8);
    unsigned char *p = load(c->f, at, bytes);
    struct hdf5_bytes b = { p, (size_t)bytes, false };
    int rc = p ? 0 : -1;

    for (int i = 0; i < n && rc == 0; i++) {
        struct hdf5_bytes k = take_bytes(&b, (size_t)key);
        int64_t child = take_place(&b);
        rc = level ? read_chunk_node(c, child, level - 1) : read_chunk(c, k, child);
    }
    free(p);
    return rc;
}

/* Reads a node of this level. The level of the root is not known (-1). */
static int read_chunk_node(struct chunks *c, int64_t at, int level)
{
    unsigned char *p = load(c->f, at, CHUNK_NODE_HEADER);
    struct hdf5_bytes b = { p, CHUNK_NODE_HEADER, false };

    if (!p)
        return -1;
    bool ok = take_text(&b, "TREE") && take(&b, 1) == CHUNK_NODE;
    int own = (int)take(&b, 1), n = (int)take(&b, 2);
    free(p);
    if (!ok || (level >= 0 && own != level) || n < 1 || n > MAX_ENTRIES)
        return damaged(c);
    return read_entries(c, at + CHUNK_NODE_HEADER, n, own);
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
    int rc = read_chunk_node(&c, o->data, -1);
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
    unsigned char *p = load(f, o->data, o->data_bytes);
    if (!p)
        return -1;
    memcpy(out, p, (size_t)o->data_bytes);
    free(p);
    return 0;
}

enum {
    SUPERBLOCK = 48,
    HEADER = 10, /* signature, version, flags, and the length of the messages in up to four bytes */
    MESSAGE_HEADER = 4,
    MAX_HEADER = 1 << 20,
    MAX_BLOCKS = 32,
    MAX_CHUNK = 1 << 30
};

enum message {
    MESSAGE_NIL = 0,
    MESSAGE_SPACE = 1,
    MESSAGE_LINK_INFO = 2,
    MESSAGE_TYPE = 3,
    MESSAGE_FILL = 5,
    MESSAGE_LINK = 6,
    MESSAGE_LAYOUT = 8,
    MESSAGE_GROUP_INFO = 10,
    MESSAGE_FILTERS = 11,
    MESSAGE_ATTRIBUTE = 12,
    MESSAGE_CONTINUATION = 16,
    MESSAGE_ATTRIBUTE_INFO = 21
};
enum { MESSAGE_SHARED = 2, HEADER_LENGTH = 3 };

static const char unsupported[] = "not in ambit's format";

/* State of reading an object header. */
struct header {
    struct hdf5_object *o;
    unsigned seen;      /* bit mask of message types */
    int64_t heap, tree; /* addresses for a large group, or -1 */
    int filters;        /* 1 if ambit's filters are present */
    int chunk_ndim;
    struct {
        int64_t at, bytes;
    } more[MAX_BLOCKS]; /* continuation blocks */
    int n_more;
};

int64_t hdf5_root(struct hdf5_file *f)
{
    unsigned char *p = load(f, 0, SUPERBLOCK);
    struct hdf5_bytes b = { p, SUPERBLOCK, false };

    if (!p)
        return -1;
    bool ok = take_text(&b, "\211HDF\r\n\032\n") && take(&b, 1) == 2; /* version */
    ok = ok && take(&b, 1) == 8 && take(&b, 1) == 8;                  /* sizes of addresses and of lengths */
    take(&b, 1);
    ok = ok && take_place(&b) >= 0 &&
         take_place(&b) == -1; /* base address (length of the user block); address of extensions */
    take_place(&b);
    int64_t root = take_place(&b);
    free(p);
    return ok && root >= 0 ? root : hdf5_fail(f, "expected an HDF5 file that ambit wrote");
}

/* ---- messages ---- */

static int read_space(struct hdf5_bytes *b, struct hdf5_tensor *t)
{
    bool version = take(b, 1) == 2;
    int ndim = (int)take(b, 1), limits = (int)take(b, 1), kind = (int)take(b, 1);

    if (!version || ndim > HDF5_MAX_DIMS || limits > 1 || kind != (ndim > 0))
        return -1;
    t->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        if ((t->shape[d] = take_place(b)) < 0)
            return -1;
    for (int d = 0; d < ndim && limits; d++)
        if (take_place(b) != t->shape[d]) /* the dataset may not be extendible */
            return -1;
    return b->ended ? -1 : 0;
}

/* The body of a datatype message after class and version. */
struct type_bytes {
    unsigned char class;
    unsigned char rest[19];
    size_t n;
};

static const struct type_bytes types[] = {
    [HDF5_F32] = { 1, { 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0 }, 19 },
    [HDF5_F16] = { 1, { 0x20, 15, 0, 2, 0, 0, 0, 0, 0, 16, 0, 10, 5, 0, 10, 15, 0, 0, 0 }, 19 },
    [HDF5_I32] = { 0, { 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0 }, 11 },
    [HDF5_I64] = { 0, { 0x08, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0 }, 11 },
    [HDF5_U8] = { 0, { 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0 }, 11 },
    [HDF5_BF16] = { 1, { 0x20, 15, 0, 2, 0, 0, 0, 0, 0, 16, 0, 7, 8, 0, 7, 127, 0, 0, 0 }, 19 },
    [HDF5_I8] = { 0, { 0x08, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0 }, 11 },
};
static const struct type_bytes hash_type = { 0, { 0, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0 }, 11 };

/* Versions 1 to 3 mean the same for these types; releases of the library differ. */
static bool is_type(struct hdf5_bytes b, const struct type_bytes *type)
{
    unsigned first = (unsigned)take(&b, 1), version = first >> 4;
    struct hdf5_bytes rest = take_bytes(&b, type->n);

    return !rest.ended && (first & 15) == type->class && version >= 1 && version <= 3 &&
           memcmp(rest.p, type->rest, type->n) == 0;
}

static int read_type(struct hdf5_file *f, struct hdf5_bytes b, struct hdf5_tensor *t)
{
    for (int k = 0; k < HDF5_TYPES; k++)
        if (is_type(b, &types[k])) {
            t->type = (enum hdf5_type)k;
            return 0;
        }
    return hdf5_fail(f, "expected type f32, f16, bf16, i32, i64, i8 or u8");
}

static int read_layout(struct hdf5_file *f, struct hdf5_bytes *b, struct header *h)
{
    enum { VERSION = 3, CONTIGUOUS = 1, CHUNKED = 2 };
    struct hdf5_object *o = h->o;
    bool version = take(b, 1) == VERSION;
    int class = (int)take(b, 1);

    if (!version || (class != CONTIGUOUS && class != CHUNKED))
        return hdf5_fail(f, unsupported);
    h->chunk_ndim = class == CHUNKED ? (int)take(b, 1) - 1 : 0;
    o->data = take_place(b);
    if (class == CONTIGUOUS)
        o->data_bytes = take_place(b);
    if (class == CHUNKED && (h->chunk_ndim < 1 || h->chunk_ndim > HDF5_MAX_DIMS))
        return hdf5_fail(f, unsupported);
    for (int d = 0; d < h->chunk_ndim; d++)
        if ((o->chunk[d] = (int64_t)take(b, 4)) < 1)
            return hdf5_fail(f, unsupported);
    if (class == CHUNKED)
        o->data_bytes = (int64_t)take(b, 4); /* of an element */
    return 0;
}

/* Fletcher32 without flags and parameters must be the only filter. */
static int read_filters(struct hdf5_file *f, struct hdf5_bytes b, struct header *h)
{
    static const unsigned char own[] = { 2, 1, 3, 0, 0, 0, 0, 0 };

    h->filters = 1;
    return b.n == sizeof own && memcmp(b.p, own, sizeof own) == 0 ? 0 : hdf5_fail(f, unsupported);
}

/* The hash is the only attribute that ambit writes. */
static int read_attribute(struct hdf5_file *f, struct hdf5_bytes *b, struct hdf5_object *o)
{
    struct hdf5_tensor scalar = { 0 };
    bool ok = take(b, 1) == 3 && take(b, 1) == 0; /* version, flags */
    size_t name = (size_t)take(b, 2), type = (size_t)take(b, 2), space = (size_t)take(b, 2);

    take(b, 1); /* character set of the name */
    ok = ok && name == sizeof HDF5_HASH && take_text(b, HDF5_HASH) && take(b, 1) == 0;
    ok = ok && is_type(take_bytes(b, type), &hash_type);
    struct hdf5_bytes shape = ok ? take_bytes(b, space) : *b;
    if (!ok || read_space(&shape, &scalar) || scalar.ndim)
        return hdf5_fail(f, unsupported);
    o->hash = take(b, 8);
    o->has_hash = true;
    return 0;
}

static int read_link_info(struct hdf5_file *f, struct hdf5_bytes *b, struct header *h)
{
    if (take(b, 1) != 0 || take(b, 1) != 0) /* version; flags for the creation order of links */
        return hdf5_fail(f, unsupported);
    h->heap = take_place(b);
    h->tree = take_place(b);
    h->o->group = true;
    return 0;
}

static int add_block(struct hdf5_file *f, struct header *h, struct hdf5_bytes *b)
{
    if (h->n_more == MAX_BLOCKS)
        return hdf5_fail(f, unsupported);
    h->more[h->n_more].at = take_place(b);
    h->more[h->n_more++].bytes = take_place(b);
    return 0;
}

static int read_message(struct hdf5_file *f, struct header *h, int type, struct hdf5_bytes b)
{
    switch (type) {
    case MESSAGE_NIL:
    case MESSAGE_FILL:
    case MESSAGE_GROUP_INFO:
    case MESSAGE_ATTRIBUTE_INFO:
        return 0;
    case MESSAGE_SPACE:
        return read_space(&b, &h->o->tensor) ? hdf5_fail(f, "its shape is not in ambit's format") : 0;
    case MESSAGE_LINK_INFO:
        return read_link_info(f, &b, h);
    case MESSAGE_TYPE:
        return read_type(f, b, &h->o->tensor);
    case MESSAGE_LINK:
        return read_link_message(f, b, &h->o->links);
    case MESSAGE_LAYOUT:
        return read_layout(f, &b, h);
    case MESSAGE_FILTERS:
        return read_filters(f, b, h);
    case MESSAGE_ATTRIBUTE:
        return read_attribute(f, &b, h->o);
    case MESSAGE_CONTINUATION:
        return add_block(f, h, &b);
    default:
        return hdf5_fail(f, unsupported);
    }
}

/* ---- headers ---- */

/* Reads the messages of a block. A remainder that is too short for a message is ignored. */
static int read_messages(struct hdf5_file *f, struct header *h, struct hdf5_bytes b)
{
    const unsigned many = 1u << MESSAGE_NIL | 1u << MESSAGE_LINK | 1u << MESSAGE_CONTINUATION;

    while (b.n >= MESSAGE_HEADER) {
        int type = (int)take(&b, 1);
        size_t n = (size_t)take(&b, 2);
        int flags = (int)take(&b, 1);
        struct hdf5_bytes body = take_bytes(&b, n);
        unsigned bit = type < 32 ? 1u << type : 0;
        if (body.ended || flags & MESSAGE_SHARED || (h->seen & bit & ~many))
            return hdf5_fail(f, unsupported);
        h->seen |= bit;
        if (read_message(f, h, type, body))
            return -1;
    }
    return 0;
}

/* Reads a block of n bytes of messages: the first one of a header, or a continuation. */
static int read_block(struct hdf5_file *f, struct header *h, int64_t at, int64_t n, const char *signature)
{
    unsigned char *p = n <= MAX_HEADER ? load(f, at, n) : NULL;
    struct hdf5_bytes b = { p, (size_t)n, false };

    if (!p)
        return hdf5_fail(f, unsupported);
    int rc = take_text(&b, signature) ? read_messages(f, h, b) : hdf5_fail(f, unsupported);
    free(p);
    return rc;
}

static int read_header(struct hdf5_file *f, struct header *h, int64_t at)
{
    unsigned char *p = load(f, at, HEADER);
    struct hdf5_bytes b = { p, HEADER, false };
    bool ok = p && take_text(&b, "OHDR") && take(&b, 1) == 2;
    int flags = ok ? (int)take(&b, 1) : 0, size = 1 << (flags & HEADER_LENGTH);
    int64_t n = ok && flags < HEADER_LENGTH ? (int64_t)take(&b, size) : 0;

    free(p);
    if (!n) /* flags for times and creation order are never written by ambit */
        return hdf5_fail(f, unsupported);
    int rc = read_block(f, h, at + HEADER - 4 + size, n, "");
    for (int i = 0; i < h->n_more && rc == 0; i++) /* a block may list more blocks */
        rc = read_block(f, h, h->more[i].at, h->more[i].bytes - CHECKSUM_BYTES, "OCHK");
    return rc;
}

/* Checks that the length of the data, and chunks and filters, agree with the shape. */
static int check_tensor(struct hdf5_file *f, const struct header *h)
{
    const unsigned needed = 1u << MESSAGE_SPACE | 1u << MESSAGE_TYPE | 1u << MESSAGE_LAYOUT;
    const struct hdf5_object *o = h->o;
    const struct hdf5_tensor *t = &o->tensor;
    int64_t bytes = (int64_t)hdf5_type_size(t->type), chunk = bytes;

    if ((h->seen & needed) != needed)
        return hdf5_fail(f, unsupported);
    for (int d = 0; d < t->ndim; d++)
        if (__builtin_mul_overflow(bytes, t->shape[d], &bytes))
            return hdf5_fail(f, "its shape does not fit the file");
    if (bytes > f->bytes) /* data are not compressed, so a tensor cannot be larger than its file */
        return hdf5_fail(f, "its shape does not fit the file");
    if (!h->chunk_ndim)
        return h->filters || (bytes && o->data_bytes != bytes) ? hdf5_fail(f, unsupported) : 0;
    bool ok = h->filters && h->chunk_ndim == t->ndim && o->data_bytes == (int64_t)hdf5_type_size(t->type);
    for (int d = 0; d < h->chunk_ndim && ok; d++)
        ok = o->chunk[d] <= t->shape[d] && !__builtin_mul_overflow(chunk, o->chunk[d], &chunk) && chunk <= MAX_CHUNK;
    return ok ? 0 : hdf5_fail(f, unsupported);
}

int hdf5_object_read(struct hdf5_file *f, int64_t at, struct hdf5_object *o)
{
    struct header h = { .o = o, .heap = -1, .tree = -1 };

    *o = (struct hdf5_object){ 0 };
    if (read_header(f, &h, at))
        return -1;
    if (!o->group)
        return o->links.n ? hdf5_fail(f, unsupported) : check_tensor(f, &h);
    if (h.seen & (1u << MESSAGE_SPACE | 1u << MESSAGE_TYPE | 1u << MESSAGE_LAYOUT))
        return hdf5_fail(f, unsupported);
    return h.heap >= 0 ? read_heap_links(f, h.heap, h.tree, &o->links) : 0;
}

void hdf5_object_release(struct hdf5_object *o)
{
    free(o->links.list);
    *o = (struct hdf5_object){ 0 };
}
