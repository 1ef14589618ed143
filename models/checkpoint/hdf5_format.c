#include "models/checkpoint/hdf5_format.h"

#include "models/checkpoint/hdf5_format_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
    SUPERBLOCK = 48,
    HEADER = 10, /* signature, version, flags, and the length of the messages in up to four bytes */
    MESSAGE_HEADER = 4,
    SUM_BYTES = 4,
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

static const char strange[] = "stored in a way that ambit does not write";

/* An object's header while it is being read. */
struct header {
    struct hdf5_object *o;
    unsigned seen;      /* a bit for each kind of message */
    int64_t heap, tree; /* of a group, or -1 */
    int filters;        /* those of ambit: 1 */
    int chunk_ndim;
    struct {
        int64_t at, bytes;
    } more[MAX_BLOCKS]; /* where the header goes on */
    int n_more;
};

int64_t hdf5_root(struct hdf5_file *f)
{
    unsigned char *p = hdf5_load(f, 0, SUPERBLOCK);
    struct hdf5_bytes b = { p, SUPERBLOCK, false };

    if (!p)
        return -1;
    bool ok = hdf5_take_text(&b, "\211HDF\r\n\032\n") && hdf5_take(&b, 1) == 2; /* version */
    ok = ok && hdf5_take(&b, 1) == 8 && hdf5_take(&b, 1) == 8;                  /* bytes of addresses and lengths */
    hdf5_take(&b, 1);
    ok = ok && hdf5_take_place(&b) >= 0 && hdf5_take_place(&b) == -1; /* the seal's length; no extension */
    hdf5_take_place(&b);
    int64_t root = hdf5_take_place(&b);
    free(p);
    return ok && root >= 0 ? root : hdf5_fail(f, "expected an HDF5 file as ambit writes it, got one of another form");
}

/* ---- messages ---- */

static int read_space(struct hdf5_bytes *b, struct hdf5_tensor *t)
{
    bool version = hdf5_take(b, 1) == 2;
    int ndim = (int)hdf5_take(b, 1), limits = (int)hdf5_take(b, 1), kind = (int)hdf5_take(b, 1);

    if (!version || ndim > HDF5_MAX_DIMS || limits > 1 || kind != (ndim > 0))
        return -1;
    t->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        if ((t->shape[d] = hdf5_take_place(b)) < 0)
            return -1;
    for (int d = 0; d < ndim && limits; d++)
        if (hdf5_take_place(b) != t->shape[d]) /* it could grow */
            return -1;
    return b->ended ? -1 : 0;
}

/* The message of a type, behind its class and version. */
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
static const struct type_bytes sum_type = { 0, { 0, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0 }, 11 };

/* The version differs between releases of the library that mean the same by it. */
static bool is_type(struct hdf5_bytes b, const struct type_bytes *type)
{
    unsigned first = (unsigned)hdf5_take(&b, 1), version = first >> 4;
    struct hdf5_bytes rest = hdf5_take_bytes(&b, type->n);

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
    return hdf5_fail(f, "its type is not one of f32, f16, bf16, i32, i64, i8, u8");
}

static int read_layout(struct hdf5_file *f, struct hdf5_bytes *b, struct header *h)
{
    enum { VERSION = 3, CONTIGUOUS = 1, CHUNKED = 2 };
    struct hdf5_object *o = h->o;
    bool version = hdf5_take(b, 1) == VERSION;
    int class = (int)hdf5_take(b, 1);

    if (!version || (class != CONTIGUOUS && class != CHUNKED))
        return hdf5_fail(f, strange);
    h->chunk_ndim = class == CHUNKED ? (int)hdf5_take(b, 1) - 1 : 0;
    o->data = hdf5_take_place(b);
    if (class == CONTIGUOUS)
        o->data_bytes = hdf5_take_place(b);
    if (class == CHUNKED && (h->chunk_ndim < 1 || h->chunk_ndim > HDF5_MAX_DIMS))
        return hdf5_fail(f, strange);
    for (int d = 0; d < h->chunk_ndim; d++)
        if ((o->chunk[d] = (int64_t)hdf5_take(b, 4)) < 1)
            return hdf5_fail(f, strange);
    if (class == CHUNKED)
        o->data_bytes = (int64_t)hdf5_take(b, 4); /* of an element */
    return 0;
}

/* Fletcher32, which has neither flags nor values, and nothing else. */
static int read_filters(struct hdf5_file *f, struct hdf5_bytes b, struct header *h)
{
    static const unsigned char own[] = { 2, 1, 3, 0, 0, 0, 0, 0 };

    h->filters = 1;
    return b.n == sizeof own && memcmp(b.p, own, sizeof own) == 0 ? 0 : hdf5_fail(f, strange);
}

/* The sum, which is the one attribute that ambit writes. */
static int read_attribute(struct hdf5_file *f, struct hdf5_bytes *b, struct hdf5_object *o)
{
    struct hdf5_tensor scalar = { 0 };
    bool ok = hdf5_take(b, 1) == 3 && hdf5_take(b, 1) == 0; /* version, flags */
    size_t name = (size_t)hdf5_take(b, 2), type = (size_t)hdf5_take(b, 2), space = (size_t)hdf5_take(b, 2);

    hdf5_take(b, 1); /* the name's encoding */
    ok = ok && name == sizeof HDF5_SUM && hdf5_take_text(b, HDF5_SUM) && hdf5_take(b, 1) == 0;
    ok = ok && is_type(hdf5_take_bytes(b, type), &sum_type);
    struct hdf5_bytes shape = ok ? hdf5_take_bytes(b, space) : *b;
    if (!ok || read_space(&shape, &scalar) || scalar.ndim)
        return hdf5_fail(f, strange);
    o->sum = hdf5_take(b, 8);
    o->summed = true;
    return 0;
}

static int read_link_info(struct hdf5_file *f, struct hdf5_bytes *b, struct header *h)
{
    if (hdf5_take(b, 1) != 0 || hdf5_take(b, 1) != 0) /* version; whether links have an order of their own */
        return hdf5_fail(f, strange);
    h->heap = hdf5_take_place(b);
    h->tree = hdf5_take_place(b);
    h->o->group = true;
    return 0;
}

static bool plain_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~' || name[i] == '/')
            return false;
    return n > 0;
}

int hdf5_link_read(struct hdf5_file *f, struct hdf5_bytes b, struct hdf5_links *links)
{
    enum { LENGTH_BYTES = 3, ORDERED = 4, TYPED = 8, ENCODED = 16 };
    bool version = hdf5_take(&b, 1) == 1;
    int flags = (int)hdf5_take(&b, 1), type = flags & TYPED ? (int)hdf5_take(&b, 1) : 0;

    hdf5_take_bytes(&b, (flags & ORDERED ? 8 : 0) + (flags & ENCODED ? 1 : 0));
    uint64_t length = hdf5_take(&b, 1 << (flags & LENGTH_BYTES));
    struct hdf5_bytes name = hdf5_take_bytes(&b, length < HDF5_MAX_NAME ? (size_t)length : b.n + 1);
    if (!version || name.ended || !plain_name((const char *)name.p, name.n))
        return hdf5_fail(f, "holds a name that ambit does not write");
    GROW(links->list, links->n, links->cap);
    struct hdf5_link *l = &links->list[links->n++];
    memcpy(l->name, name.p, name.n);
    l->name[name.n] = '\0';
    l->at = type ? -1 : hdf5_take_place(&b);
    return b.ended ? hdf5_fail(f, "holds a link that is cut off") : 0;
}

static int add_block(struct hdf5_file *f, struct header *h, struct hdf5_bytes *b)
{
    if (h->n_more == MAX_BLOCKS)
        return hdf5_fail(f, strange);
    h->more[h->n_more].at = hdf5_take_place(b);
    h->more[h->n_more++].bytes = hdf5_take_place(b);
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
        return read_space(&b, &h->o->tensor) ? hdf5_fail(f, "its shape is not one that ambit writes") : 0;
    case MESSAGE_LINK_INFO:
        return read_link_info(f, &b, h);
    case MESSAGE_TYPE:
        return read_type(f, b, &h->o->tensor);
    case MESSAGE_LINK:
        return hdf5_link_read(f, b, &h->o->links);
    case MESSAGE_LAYOUT:
        return read_layout(f, &b, h);
    case MESSAGE_FILTERS:
        return read_filters(f, b, h);
    case MESSAGE_ATTRIBUTE:
        return read_attribute(f, &b, h->o);
    case MESSAGE_CONTINUATION:
        return add_block(f, h, &b);
    default:
        return hdf5_fail(f, strange);
    }
}

/* ---- headers ---- */

/* The messages of a block; what is left at its end is too small for one. */
static int read_messages(struct hdf5_file *f, struct header *h, struct hdf5_bytes b)
{
    const unsigned many = 1u << MESSAGE_NIL | 1u << MESSAGE_LINK | 1u << MESSAGE_CONTINUATION;

    while (b.n >= MESSAGE_HEADER) {
        int type = (int)hdf5_take(&b, 1);
        size_t n = (size_t)hdf5_take(&b, 2);
        int flags = (int)hdf5_take(&b, 1);
        struct hdf5_bytes body = hdf5_take_bytes(&b, n);
        unsigned bit = type < 32 ? 1u << type : 0;
        if (body.ended || flags & MESSAGE_SHARED || (h->seen & bit & ~many))
            return hdf5_fail(f, strange);
        h->seen |= bit;
        if (read_message(f, h, type, body))
            return -1;
    }
    return 0;
}

/* The header's own block, n bytes of messages at an address, or one in which it goes on. */
static int read_block(struct hdf5_file *f, struct header *h, int64_t at, int64_t n, const char *signature)
{
    unsigned char *p = n <= MAX_HEADER ? hdf5_load(f, at, n) : NULL;
    struct hdf5_bytes b = { p, (size_t)n, false };

    if (!p)
        return hdf5_fail(f, strange);
    int rc = hdf5_take_text(&b, signature) ? read_messages(f, h, b) : hdf5_fail(f, strange);
    free(p);
    return rc;
}

static int read_header(struct hdf5_file *f, struct header *h, int64_t at)
{
    unsigned char *p = hdf5_load(f, at, HEADER);
    struct hdf5_bytes b = { p, HEADER, false };
    bool ok = p && hdf5_take_text(&b, "OHDR") && hdf5_take(&b, 1) == 2;
    int flags = ok ? (int)hdf5_take(&b, 1) : 0, size = 1 << (flags & HEADER_LENGTH);
    int64_t n = ok && flags < HEADER_LENGTH ? (int64_t)hdf5_take(&b, size) : 0;

    free(p);
    if (!n) /* or with times and orders, which ambit leaves out */
        return hdf5_fail(f, strange);
    int rc = read_block(f, h, at + HEADER - 4 + size, n, "");
    for (int i = 0; i < h->n_more && rc == 0; i++) /* a block may tell of more */
        rc = read_block(f, h, h->more[i].at, h->more[i].bytes - SUM_BYTES, "OCHK");
    return rc;
}

/* Whether the data are as long as the tensor, and behind the filter where they are chunked. */
static int check_tensor(struct hdf5_file *f, const struct header *h)
{
    const unsigned needed = 1u << MESSAGE_SPACE | 1u << MESSAGE_TYPE | 1u << MESSAGE_LAYOUT;
    const struct hdf5_object *o = h->o;
    const struct hdf5_tensor *t = &o->tensor;
    int64_t bytes = (int64_t)hdf5_type_size(t->type), chunk = bytes;

    if ((h->seen & needed) != needed)
        return hdf5_fail(f, strange);
    for (int d = 0; d < t->ndim; d++)
        if (__builtin_mul_overflow(bytes, t->shape[d], &bytes))
            return hdf5_fail(f, "its shape does not fit the file");
    if (bytes > f->bytes) /* nothing is compressed, so a larger one is a lie */
        return hdf5_fail(f, "its shape does not fit the file");
    if (!h->chunk_ndim)
        return h->filters || (bytes && o->data_bytes != bytes) ? hdf5_fail(f, strange) : 0;
    bool ok = h->filters && h->chunk_ndim == t->ndim && o->data_bytes == (int64_t)hdf5_type_size(t->type);
    for (int d = 0; d < h->chunk_ndim && ok; d++)
        ok = o->chunk[d] <= t->shape[d] && !__builtin_mul_overflow(chunk, o->chunk[d], &chunk) && chunk <= MAX_CHUNK;
    return ok ? 0 : hdf5_fail(f, strange);
}

int hdf5_object_read(struct hdf5_file *f, int64_t at, struct hdf5_object *o)
{
    struct header h = { .o = o, .heap = -1, .tree = -1 };

    *o = (struct hdf5_object){ 0 };
    if (read_header(f, &h, at))
        return -1;
    if (!o->group)
        return o->links.n ? hdf5_fail(f, strange) : check_tensor(f, &h);
    if (h.seen & (1u << MESSAGE_SPACE | 1u << MESSAGE_TYPE | 1u << MESSAGE_LAYOUT))
        return hdf5_fail(f, strange);
    return h.heap >= 0 ? hdf5_heap_links(f, h.heap, h.tree, &o->links) : 0;
}

void hdf5_object_release(struct hdf5_object *o)
{
    free(o->links.list);
    *o = (struct hdf5_object){ 0 };
}
