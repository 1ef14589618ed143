#include "models/io/hdf5.h"

#include "models/io/checksum.h"
#include "models/io/durable.h"
#include "models/io/hdf5_format.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

static void header_text(char out[HDF5_HEADER_BYTES], int64_t bytes, uint64_t hash)
{
    memset(out, 0, HDF5_HEADER_BYTES);
    snprintf(out, HDF5_HEADER_BYTES, "ambit checkpoint %d\nbytes %" PRId64 "\nxxh64 %016" PRIx64 "\n", HDF5_VERSION,
             bytes, hash);
}

/* Reads up to n bytes at an offset. Returns fewer only at the end of the file, -1 on an error. */
static ssize_t read_at(int fd, void *out, size_t n, int64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(at + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Computes the hash of the bytes after the header, and the length of the file. */
static int hash_body(int fd, int64_t *bytes, uint64_t *hash)
{
    unsigned char *buffer = xmalloc(BUFFER);
    struct checksum c;
    ssize_t n;

    checksum_init(&c);
    *bytes = HDF5_HEADER_BYTES;
    while ((n = read_at(fd, buffer, BUFFER, *bytes)) > 0) {
        checksum_update(&c, buffer, (size_t)n);
        *bytes += n;
    }
    *hash = checksum_final(&c);
    free(buffer);
    return n < 0 ? -1 : 0;
}

int hdf5_header_write(int fd, const char *path, struct error *err)
{
    char text[HDF5_HEADER_BYTES];
    int64_t bytes;
    uint64_t hash;

    if (hash_body(fd, &bytes, &hash))
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", path, strerror(errno));
    header_text(text, bytes, hash);
    return durable_write(fd, text, sizeof text, 0, path, err);
}

/* Returns the version in the first line, or -1 if this is not ambit's header. */
static int header_version(const char *text)
{
    static const char magic[] = "ambit checkpoint ";
    char *end;

    if (memcmp(text, magic, sizeof magic - 1) != 0)
        return -1;
    long version = strtol(text + sizeof magic - 1, &end, 10);
    return *end == '\n' && version > 0 && version < 1000000 ? (int)version : -1;
}

/* Compares the length of the file with the header. This avoids hashing a truncated file. */
static bool header_length_matches(const char *text, int64_t length)
{
    char wanted[64];

    snprintf(wanted, sizeof wanted, "\nbytes %" PRId64 "\n", length);
    const char *line = strchr(text, '\n');
    return line && strncmp(line, wanted, strlen(wanted)) == 0;
}

static int check_open_file(int fd, const char *path, int64_t *bytes, struct error *err)
{
    char text[HDF5_HEADER_BYTES + 1] = { 0 }, wanted[HDF5_HEADER_BYTES];
    struct stat st;
    uint64_t hash;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a file", path);
    ssize_t n = read_at(fd, text, HDF5_HEADER_BYTES, 0);
    int version = n == HDF5_HEADER_BYTES ? header_version(text) : -1;

    if (n < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    if (version < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: expected an ambit checkpoint, got another file or one with a damaged start", path);
    if (version != HDF5_VERSION)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected format version %d, got %d", path, HDF5_VERSION,
                         version);
    if (!header_length_matches(text, st.st_size))
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: damaged or truncated: %" PRId64 " bytes, but its header says %.60s", path,
                         (int64_t)st.st_size, strchr(text, '\n') + 1);
    if (hash_body(fd, bytes, &hash))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    header_text(wanted, *bytes, hash);
    if (memcmp(text, wanted, HDF5_HEADER_BYTES) != 0)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: damaged or truncated: %" PRId64 " bytes with checksum %016" PRIx64
                         ", but its header says %.60s",
                         path, *bytes, hash, strchr(text, '\n') + 1);
    return 0;
}

int hdf5_header_open(const char *path, int64_t *bytes, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* does not block on a pipe */

    if (fd < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    if (check_open_file(fd, path, bytes, err) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Reading. */

/* maximum depth of groups; factor by which a file's length may be read (hdf5_allow) */
enum { MAX_DEPTH = 4, READ_BUDGET = 4 };

/* A tensor of the file, and the address of its object header. */
struct hdf5_place {
    struct hdf5_tensor tensor;
    int64_t at;
};

/* State of listing the tensors. */
struct listing {
    struct hdf5_reader *r;
    struct hdf5_file f;
    int64_t bytes; /* bytes of all tensors so far */
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
        return refuse(l->r, group, "expected shorter names and fewer groups in groups", l->err);
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

/* Sorts places and tensors by name, and refuses duplicates. */
static int sort_tensors(struct hdf5_reader *r, struct error *err)
{
    if (r->n)
        qsort(r->places, (size_t)r->n, sizeof *r->places, by_name);
    for (int i = 1; i < r->n; i++)
        if (!by_name(&r->places[i - 1], &r->places[i]))
            return refuse(r, r->places[i].tensor.name, "occurs twice", err);
    r->tensors = xcalloc((size_t)(r->n ? r->n : 1), sizeof *r->tensors);
    for (int i = 0; i < r->n; i++)
        r->tensors[i] = r->places[i].tensor;
    return 0;
}

int hdf5_open(struct hdf5_reader *r, const char *path, struct error *err)
{
    *r = (struct hdf5_reader){ .path = xstrdup(path) };
    r->fd = hdf5_header_open(path, &r->bytes, err);
    struct listing l = { .r = r, .f = { .fd = r->fd, .bytes = r->bytes - HDF5_HEADER_BYTES }, .err = err };
    int rc = r->fd < 0 ? -1 : 0;

    hdf5_allow(&l.f, READ_BUDGET);
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

/* Compares a tensor's header with the one that was listed. */
static bool same_tensor(const struct hdf5_tensor *a, const struct hdf5_tensor *b)
{
    return a->type == b->type && a->ndim == b->ndim && !memcmp(a->shape, b->shape, sizeof a->shape);
}

int hdf5_get(const struct hdf5_reader *r, const struct hdf5_tensor *t, void *out, uint64_t *hash, struct error *err)
{
    struct hdf5_file f = { .fd = r->fd, .bytes = r->bytes - HDF5_HEADER_BYTES };
    struct hdf5_object o;
    uint64_t found = 0;

    hdf5_allow(&f, READ_BUDGET);
    int rc = hdf5_object_read(&f, find_place(r, t->name)->at, &o);
    if (rc == 0 && !same_tensor(&o.tensor, t))
        rc = hdf5_fail(&f, "was changed while it was read");
    if (rc == 0 && !o.has_hash)
        rc = hdf5_fail(&f, "has no checksum");
    if (rc == 0)
        rc = hdf5_data_read(&f, &o, out);
    if (rc)
        refuse(r, t->name, f.fault, err);
    else if ((found = checksum_of(out, (size_t)hdf5_tensor_size(t) * hdf5_type_size(t->type))) != o.hash)
        rc = error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: checksum: expected %016llx, got %016llx", r->path, t->name,
                       (unsigned long long)o.hash, (unsigned long long)found);
    hdf5_object_release(&o);
    if (hash)
        *hash = found;
    return rc;
}

enum { CHUNK_BYTES = 1 << 20 };

size_t hdf5_type_size(enum hdf5_type type)
{
    static const size_t sizes[HDF5_TYPES] = { 4, 2, 4, 8, 1, 2, 1 };
    return sizes[type];
}

const char *hdf5_type_name(enum hdf5_type type)
{
    static const char *const names[HDF5_TYPES] = { "f32", "f16", "i32", "i64", "u8", "bf16", "i8" };
    return names[type];
}

int64_t hdf5_tensor_size(const struct hdf5_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        CHECK(t->shape[d] >= 0 && !__builtin_mul_overflow(n, t->shape[d], &n), "%s: shape overflows", t->name);
    return n;
}

/* Describes a 16-bit float type to the library. */
static hid_t short_float(size_t exponent, size_t mantissa, size_t bias)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, bias);
    return type;
}

/* Both types are created once and kept. */
static hid_t half_type(enum hdf5_type type)
{
    static hid_t f16 = -1, bf16 = -1;

    if (f16 < 0) {
        f16 = short_float(5, 10, 15);
        bf16 = short_float(8, 7, 127);
    }
    return type == HDF5_F16 ? f16 : bf16;
}

static hid_t library_type(enum hdf5_type type)
{
    switch (type) {
    case HDF5_F32:
        return H5T_IEEE_F32LE;
    case HDF5_F16:
    case HDF5_BF16:
        return half_type(type);
    case HDF5_I32:
        return H5T_STD_I32LE;
    case HDF5_I64:
        return H5T_STD_I64LE;
    case HDF5_I8:
        return H5T_STD_I8LE;
    case HDF5_U8:
    case HDF5_TYPES:
        break;
    }
    return H5T_STD_U8LE;
}

/* Initialises the library; may be called again. It must print no messages. It must not clean up at exit either, because
 * 1.10.8 crashes there after a failed close (full disk). */
static void start_library(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

struct hdf5_writer {
    char *path, *tmp;
    hid_t file;
};

/* The file is written under a temporary name that only this process uses, so locks are not needed. They would fail on
 * some file systems. */
static void leave_unlocked(hid_t access)
{
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5Pset_file_locking(access, 0, 1);
#else
    (void)access;
#endif
}

/* Returns a property list that stores no times. */
static hid_t timeless(hid_t class)
{
    hid_t list = H5Pcreate(class);
    H5Pset_obj_track_times(list, 0);
    return list;
}

struct hdf5_writer *hdf5_create(const char *path, struct error *err)
{
    struct hdf5_writer *w = xcalloc(1, sizeof *w);
    size_t length = strlen(path) + sizeof ".tmp";

    start_library();
    w->path = xstrdup(path);
    w->tmp = xmalloc(length);
    snprintf(w->tmp, length, "%s.tmp", path);
    hid_t create = timeless(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_userblock(create, HDF5_HEADER_BYTES);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    leave_unlocked(access);
    errno = 0;
    w->file = H5Fcreate(w->tmp, H5F_ACC_TRUNC, create, access);
    H5Pclose(create);
    H5Pclose(access);
    if (w->file >= 0)
        return w;
    error_set(err, EXIT_CODE_FAILURE, "%s: %s", w->tmp, errno ? strerror(errno) : "the HDF5 library cannot create it");
    hdf5_finish(w, -1, err);
    return NULL;
}

/* Chooses chunks of about CHUNK_BYTES and equal height, so that the last one wastes little space. */
static void chunk_shape(hsize_t *chunk, const struct hdf5_tensor *t)
{
    int64_t limit = CHUNK_BYTES / (int64_t)hdf5_type_size(t->type), row = hdf5_tensor_size(t);

    for (int d = 0; d < t->ndim; d++) {
        row /= t->shape[d];
        int64_t max = limit / row > 1 ? limit / row : 1;
        int64_t chunks = (t->shape[d] + max - 1) / max;
        chunk[d] = (hsize_t)((t->shape[d] + chunks - 1) / chunks);
    }
}

static hid_t create_list(const struct hdf5_tensor *t)
{
    hid_t list = timeless(H5P_DATASET_CREATE);
    hsize_t chunk[HDF5_MAX_DIMS];

    H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC);  /* fills edge chunks with zeros instead of uninitialised memory */
    if (t->ndim > 0 && hdf5_tensor_size(t) > 0) { /* scalars and empty tensors cannot be chunked */
        chunk_shape(chunk, t);
        H5Pset_chunk(list, t->ndim, chunk);
        H5Pset_fletcher32(list);
    }
    return list;
}

/* Creates the groups in the path of a name. */
static int make_groups(hid_t file, const char *name)
{
    char path[HDF5_MAX_NAME];
    int rc = 0;

    for (const char *slash = strchr(name, '/'); slash && rc == 0; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
        if (H5Lexists(file, path, H5P_DEFAULT) > 0)
            continue;
        hid_t list = timeless(H5P_GROUP_CREATE), group = H5Gcreate2(file, path, H5P_DEFAULT, list, H5P_DEFAULT);
        H5Pclose(list);
        rc = group < 0 ? -1 : 0;
        H5Gclose(group);
    }
    return rc;
}

static int put_hash(hid_t set, uint64_t hash)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(set, HDF5_HASH, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    int rc = attribute < 0 || H5Awrite(attribute, H5T_NATIVE_UINT64, &hash) < 0 ? -1 : 0;

    H5Aclose(attribute);
    H5Sclose(space);
    return rc;
}

int hdf5_put(struct hdf5_writer *w, const struct hdf5_tensor *t, const void *data, struct error *err)
{
    hsize_t shape[HDF5_MAX_DIMS] = { 0 };
    int64_t size = hdf5_tensor_size(t);

    CHECK(t->ndim <= HDF5_MAX_DIMS && strlen(t->name) < HDF5_MAX_NAME, "%s: %d dimensions", t->name, t->ndim);
    for (int d = 0; d < t->ndim; d++)
        shape[d] = (hsize_t)t->shape[d];
    errno = 0;
    hid_t list = create_list(t), space = t->ndim ? H5Screate_simple(t->ndim, shape, NULL) : H5Screate(H5S_SCALAR);
    hid_t set = make_groups(w->file, t->name)
                    ? -1
                    : H5Dcreate2(w->file, t->name, library_type(t->type), space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool ok = set >= 0 && put_hash(set, checksum_of(data, (size_t)size * hdf5_type_size(t->type))) == 0;
    ok = ok && (!size || H5Dwrite(set, library_type(t->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    if (H5Dclose(set) < 0) /* flushes the chunk cache */
        ok = false;
    H5Sclose(space);
    H5Pclose(list);
    if (!ok)
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write tensor %s: %s", w->tmp, t->name,
                         errno ? strerror(errno) : "the HDF5 library failed");
    return 0;
}

static int commit(struct hdf5_writer *w, struct error *err)
{
    int fd = -1, rc = -1;

    errno = 0;
    herr_t closed = H5Fclose(w->file);
    w->file = -1;
    if (closed >= 0)
        fd = open(w->tmp, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        error_set(err, EXIT_CODE_FAILURE, "%s: %s", w->tmp,
                  errno ? strerror(errno) : "the HDF5 library cannot close it");
    else if ((rc = hdf5_header_write(fd, w->tmp, err)) == 0)
        rc = durable_rename(fd, w->tmp, w->path, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

int hdf5_finish(struct hdf5_writer *w, int rc, struct error *err)
{
    if (!w)
        return rc;
    if (rc == 0)
        rc = commit(w, err);
    if (w->file >= 0)
        H5Fclose(w->file);
    unlink(w->tmp); /* does nothing after the rename */
    free(w->path);
    free(w->tmp);
    free(w);
    return rc;
}
