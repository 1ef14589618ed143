/* Part of hdf5_format.h: the links of a large group lie in a fractal heap, and a B-tree tells where. */
#include "models/checkpoint/hdf5_format_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEAP_HEADER = 146,
    INDIRECT_HEADER = 17, /* signature, version, the heap's address, four bytes of place */
    TREE_HEADER = 38,
    NODE_HEADER = 6, /* signature, version, kind */
    SUM_BYTES = 4,
    LINKS_BY_NAME = 5, /* the kind of the tree */
    RECORD = 11,       /* a hash, then a heap's id of ID bytes */
    ID = 7,
    PLACE_BITS = 32, /* of the places in a heap */
    MAX_BLOCK_BITS = 30,
    MAX_TREE_DEPTH = 8,
    MAX_NODE = 1 << 20
};

/* Blocks double in size from row to row but for the first two; those of the first rows hold objects, the others
 * blocks. */
struct heap {
    int width;          /* blocks in a row */
    int64_t start, max; /* bytes of the smallest block, and of the largest that holds objects */
    int64_t root;
    int rows; /* of the root; 0: it holds objects itself */
};

static bool power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static int read_heap(struct hdf5_file *f, struct heap *h, int64_t at)
{
    unsigned char *p = hdf5_load(f, at, HEAP_HEADER);
    struct hdf5_bytes b = { p, HEAP_HEADER, false };

    if (!p)
        return -1;
    bool ok = hdf5_take_text(&b, "FRHP") && hdf5_take(&b, 1) == 0;
    ok = ok && hdf5_take(&b, 2) == ID && hdf5_take(&b, 2) == 0; /* bytes of an id; of filters */
    hdf5_take_bytes(&b, 1 + 4 + 12 * 8); /* flags, the largest object, and what is free, used, huge and tiny */
    h->width = (int)hdf5_take(&b, 2);
    h->start = hdf5_take_place(&b);
    h->max = hdf5_take_place(&b);
    ok = ok && hdf5_take(&b, 2) == PLACE_BITS;
    hdf5_take_bytes(&b, 2);
    h->root = hdf5_take_place(&b);
    h->rows = (int)hdf5_take(&b, 2);
    free(p);
    ok = ok && power_of_two(h->width) && power_of_two(h->start) && power_of_two(h->max) && h->start <= h->max &&
         h->max <= INT64_C(1) << MAX_BLOCK_BITS && h->rows <= PLACE_BITS;
    return ok ? 0 : hdf5_fail(f, "its heap is not as ambit writes it");
}

/* The address in entry i of a block of blocks. */
static int64_t read_entry(struct hdf5_file *f, int64_t block, int64_t i)
{
    unsigned char *p = block < 0 ? NULL : hdf5_load(f, block + INDIRECT_HEADER + 8 * i, 8);
    struct hdf5_bytes b = { p, 8, false };
    int64_t at = p ? hdf5_take_place(&b) : -1;

    free(p);
    return at;
}

/* Rows of a block of blocks that is that large. */
static int rows_of(const struct heap *h, int64_t bytes)
{
    int rows = 1;

    for (int64_t all = h->width * h->start; all < bytes; all *= 2)
        rows++;
    return rows;
}

/* The address of the byte at a place of the heap, n bytes behind which lie in one block, or -1. */
static int64_t find_place(struct hdf5_file *f, const struct heap *h, int64_t place, int64_t n)
{
    int64_t block = h->root, size = h->start;

    for (int rows = h->rows; rows > 0 && block >= 0;) {
        int row = 0;
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

/* The object of an id is a link message. */
static int read_link(struct hdf5_file *f, const struct heap *h, struct hdf5_bytes id, struct hdf5_links *links)
{
    bool managed = hdf5_take(&id, 1) == 0;
    int64_t place = (int64_t)hdf5_take(&id, PLACE_BITS / 8), n = (int64_t)hdf5_take(&id, 2);
    int64_t at = managed ? find_place(f, h, place, n) : -1;
    unsigned char *p = at < 0 ? NULL : hdf5_load(f, at, n);

    if (!p)
        return hdf5_fail(f, "a link of it is not in its heap");
    int rc = hdf5_link_read(f, (struct hdf5_bytes){ p, (size_t)n, false }, links);
    free(p);
    return rc;
}

/* What the levels of a tree have in common: the length of a node, and of the counts beside a pointer. */
struct tree {
    int64_t node;
    int count;                     /* bytes of the number of records in a node */
    int total[MAX_TREE_DEPTH + 1]; /* bytes of the number of records below a node, by its height; 0 in a leaf */
    int depth;
};

static int bytes_of(int64_t n)
{
    int bytes = 1;

    while (n >>= 8)
        bytes++;
    return bytes;
}

/* The specification's own sums: how many records fit, and how many bytes their number takes. */
static void count_bytes(struct tree *t)
{
    int64_t most = (t->node - NODE_HEADER - SUM_BYTES) / RECORD, below = most;

    t->count = bytes_of(most);
    t->total[0] = 0;
    for (int d = 1; d <= t->depth; d++) {
        int pointer = 8 + t->count + t->total[d - 1];
        most = (t->node - NODE_HEADER - SUM_BYTES - pointer) / (RECORD + pointer);
        below = below > INT64_MAX / MAX_NODE ? INT64_MAX / MAX_NODE : (most + 1) * below + most;
        t->total[d] = bytes_of(below);
    }
}

static int read_node(struct hdf5_file *f, const struct heap *h, const struct tree *t, int64_t at, int64_t n, int depth,
                     struct hdf5_links *links);

static int read_children(struct hdf5_file *f, const struct heap *h, const struct tree *t, struct hdf5_bytes b,
                         int64_t n, int depth, struct hdf5_links *links)
{
    int rc = 0;

    for (int64_t i = 0; i <= n && rc == 0; i++) {
        int64_t child = hdf5_take_place(&b), records = (int64_t)hdf5_take(&b, t->count);
        hdf5_take_bytes(&b, (size_t)t->total[depth - 1]);
        rc = b.ended ? -1 : read_node(f, h, t, child, records, depth - 1, links);
    }
    return rc;
}

/* The node at an address with n records, and all below it. */
static int read_node(struct hdf5_file *f, const struct heap *h, const struct tree *t, int64_t at, int64_t n, int depth,
                     struct hdf5_links *links)
{
    unsigned char *p = hdf5_load(f, at, t->node);
    struct hdf5_bytes b = { p, (size_t)t->node, false };
    int rc = 0;

    if (!p)
        return -1;
    if (!hdf5_take_text(&b, depth ? "BTIN" : "BTLF") || hdf5_take(&b, 1) != 0 || hdf5_take(&b, 1) != LINKS_BY_NAME)
        rc = hdf5_fail(f, "the tree of its links is not as ambit writes it");
    for (int64_t i = 0; i < n && rc == 0; i++) {
        struct hdf5_bytes record = hdf5_take_bytes(&b, RECORD);
        hdf5_take_bytes(&record, RECORD - ID);
        rc = b.ended ? -1 : read_link(f, h, record, links);
    }
    if (rc == 0 && depth)
        rc = read_children(f, h, t, b, n, depth, links);
    free(p);
    return rc ? hdf5_fail(f, "the tree of its links is damaged") : 0;
}

int hdf5_heap_links(struct hdf5_file *f, int64_t heap, int64_t tree, struct hdf5_links *links)
{
    struct heap h;
    struct tree t = { 0 };

    if (read_heap(f, &h, heap))
        return -1;
    unsigned char *p = hdf5_load(f, tree, TREE_HEADER);
    struct hdf5_bytes b = { p, TREE_HEADER, false };
    if (!p)
        return -1;
    bool ok = hdf5_take_text(&b, "BTHD") && hdf5_take(&b, 1) == 0 && hdf5_take(&b, 1) == LINKS_BY_NAME;
    t.node = (int64_t)hdf5_take(&b, 4);
    ok = ok && hdf5_take(&b, 2) == RECORD;
    t.depth = (int)hdf5_take(&b, 2);
    hdf5_take_bytes(&b, 2); /* when nodes are split and merged */
    int64_t root = hdf5_take_place(&b), n = (int64_t)hdf5_take(&b, 2);
    free(p);
    if (!ok || t.depth > MAX_TREE_DEPTH || t.node < 64 || t.node > MAX_NODE)
        return hdf5_fail(f, "the tree of its links is not as ambit writes it");
    count_bytes(&t);
    return read_node(f, &h, &t, root, n, t.depth, links);
}
