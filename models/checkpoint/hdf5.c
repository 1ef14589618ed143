#include "models/checkpoint/hdf5.h"

#include "models/checkpoint/checksum.h"
#include "models/checkpoint/durable.h"
#include "models/checkpoint/hdf5_seal.h"

#include <hdf5.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 20, MAX_LINKS = 1 << 20, MAX_DEPTH = 4 };

static const char sum_attribute[] = "xxh64";

size_t hdf5_type_size(enum hdf5_type type)
{
    static const size_t sizes[] = { 4, 2, 4, 8, 1 };
    return sizes[type];
}

const char *hdf5_type_name(enum hdf5_type type)
{
    static const char *const names[] = { "f32", "f16", "i32", "i64", "u8" };
    return names[type];
}

int64_t hdf5_tensor_size(const struct hdf5_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        CHECK(t->shape[d] >= 0 && !__builtin_mul_overflow(n, t->shape[d], &n), "%s: shape overflows", t->name);
    return n;
}

/* The library knows no half floats until they are described; made once and kept. */
static hid_t half_type(void)
{
    static hid_t half = -1;

    if (half < 0) {
        half = H5Tcopy(H5T_IEEE_F32LE);
        H5Tset_fields(half, 15, 10, 5, 0, 10);
        H5Tset_size(half, 2);
        H5Tset_ebias(half, 15);
    }
    return half;
}

static hid_t library_type(enum hdf5_type type)
{
    switch (type) {
    case HDF5_F32:
        return H5T_IEEE_F32LE;
    case HDF5_F16:
        return half_type();
    case HDF5_I32:
        return H5T_STD_I32LE;
    case HDF5_I64:
        return H5T_STD_I64LE;
    case HDF5_U8:
        break;
    }
    return H5T_STD_U8LE;
}

/* Before anything of the library is used: it prints no messages of its own, and does not clean up at exit, where it
 * crashes after a close that met a full disk (1.10.8).  May be called again. */
static void start_library(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* ---- writing ---- */

struct hdf5_writer {
    char *path, *tmp;
    hid_t file;
};

/* A property list that stores no times. */
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
    H5Pset_userblock(create, SEAL_BYTES);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
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

/* Chunks of about CHUNK_BYTES, of equal height so that the last one wastes little. */
static void chunk_shape(hsize_t *chunk, const struct hdf5_tensor *t)
{
    int64_t limit = CHUNK_BYTES / (int64_t)hdf5_type_size(t->type), row = hdf5_tensor_size(t);

    for (int d = 0; d < t->ndim; d++) {
        row /= t->shape[d];
        int64_t most = limit / row > 1 ? limit / row : 1;
        int64_t parts = (t->shape[d] + most - 1) / most;
        chunk[d] = (hsize_t)((t->shape[d] + parts - 1) / parts);
    }
}

static hid_t create_list(const struct hdf5_tensor *t)
{
    hid_t list = timeless(H5P_DATASET_CREATE);
    hsize_t chunk[HDF5_MAX_DIMS];

    H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC);  /* the rest of an edge chunk is zero, not what memory held */
    if (t->ndim > 0 && hdf5_tensor_size(t) > 0) { /* a scalar or an empty tensor cannot be chunked */
        chunk_shape(chunk, t);
        H5Pset_chunk(list, t->ndim, chunk);
        H5Pset_fletcher32(list);
    }
    return list;
}

/* Creates the groups a name goes through. */
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

static int put_sum(hid_t set, uint64_t sum)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(set, sum_attribute, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    int rc = attribute < 0 || H5Awrite(attribute, H5T_NATIVE_UINT64, &sum) < 0 ? -1 : 0;

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
    bool ok = set >= 0 && put_sum(set, checksum_of(data, (size_t)size * hdf5_type_size(t->type))) == 0;
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
    else if ((rc = seal_write(fd, w->tmp, err)) == 0)
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
    unlink(w->tmp); /* after the rename there is nothing left to remove */
    free(w->path);
    free(w->tmp);
    free(w);
    return rc;
}

/* ---- reading ---- */

static int refuse(const struct hdf5_reader *r, const char *name, const char *what, struct error *err)
{
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %.300s: %s", r->path, name, what);
}

static int read_type(hid_t set, enum hdf5_type *type)
{
    hid_t stored = H5Dget_type(set);
    int rc = -1;

    for (int k = HDF5_F32; k <= HDF5_U8 && rc; k++)
        if (H5Tequal(stored, library_type((enum hdf5_type)k)) > 0) {
            *type = (enum hdf5_type)k;
            rc = 0;
        }
    H5Tclose(stored);
    return rc;
}

/* Nothing but plain or chunked storage in this very file, and no filter that could swell. */
static int check_storage(hid_t set)
{
    hid_t list = H5Dget_create_plist(set);
    H5D_layout_t layout = H5Pget_layout(list);
    bool ok = (layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS) && H5Pget_external_count(list) == 0;
    int filters = H5Pget_nfilters(list);

    for (int i = 0; ok && i < filters; i++) {
        unsigned flags, config;
        size_t values = 0;
        ok = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &config) == H5Z_FILTER_FLETCHER32;
    }
    H5Pclose(list);
    return ok && filters >= 0 ? 0 : -1;
}

static int read_shape(hid_t set, struct hdf5_tensor *t, int64_t file_bytes)
{
    hid_t space = H5Dget_space(set);
    hsize_t shape[HDF5_MAX_DIMS];
    int64_t bytes = (int64_t)hdf5_type_size(t->type);
    int rc = -1;

    t->ndim = H5Sget_simple_extent_ndims(space);
    if (t->ndim < 0 || t->ndim > HDF5_MAX_DIMS || H5Sget_simple_extent_type(space) == H5S_NULL)
        goto out;
    if (t->ndim > 0 && H5Sget_simple_extent_dims(space, shape, NULL) < 0)
        goto out;
    for (int d = 0; d < t->ndim; d++) {
        t->shape[d] = (int64_t)shape[d];
        if (t->shape[d] < 0 || __builtin_mul_overflow(bytes, t->shape[d], &bytes))
            goto out;
    }
    if (bytes <= file_bytes) /* nothing is compressed, so a larger one is a lie */
        rc = 0;
out:
    H5Sclose(space);
    return rc;
}

static int add_tensor(struct hdf5_reader *r, const char *name, struct error *err)
{
    hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
    struct hdf5_tensor t = { 0 };
    int rc = -1;

    if (set < 0)
        refuse(r, name, "cannot be opened", err);
    else if (read_type(set, &t.type))
        refuse(r, name, "its type is not one of f32, f16, i32, i64, u8", err);
    else if (check_storage(set))
        refuse(r, name, "stored in a way that ambit does not write", err);
    else if (read_shape(set, &t, r->bytes))
        refuse(r, name, "its shape does not fit the file", err);
    else
        rc = 0;
    H5Dclose(set);
    if (rc)
        return -1;
    t.name = xstrdup(name);
    GROW(r->tensors, r->n, r->cap);
    r->tensors[r->n++] = t;
    return 0;
}

struct hdf5_walk {
    struct hdf5_reader *r;
    const char *prefix;
    int depth, *visited;
    bool refused; /* err is set */
    struct error *err;
};

static herr_t list_link(hid_t group, const char *name, const H5L_info_t *info, void *data);

/* Hard links can make circles and fans: depth and number of links are bounded. */
static int list_group(struct hdf5_reader *r, const char *name, int depth, int *visited, struct error *err)
{
    struct hdf5_walk walk = { r, name, depth, visited, false, err };
    hid_t group = depth <= MAX_DEPTH ? H5Gopen2(r->file, *name ? name : "/", H5P_DEFAULT) : -1;
    herr_t rc = group < 0 ? -1 : H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, list_link, &walk);

    H5Gclose(group);
    if (rc < 0 && !walk.refused)
        refuse(r, *name ? name : "/", "cannot be listed", err);
    return rc < 0 ? -1 : 0;
}

static int list_object(struct hdf5_walk *l, hid_t group, const char *name, const H5L_info_t *info)
{
    char full[HDF5_MAX_NAME];
    H5O_info_t object;
    int n = snprintf(full, sizeof full, "%s%s%s", l->prefix, *l->prefix ? "/" : "", name);

    if (n < 0 || n >= (int)sizeof full || ++*l->visited > MAX_LINKS)
        return refuse(l->r, full, "name too long, or more names than a checkpoint holds", l->err);
    if (info->type != H5L_TYPE_HARD || H5Oget_info_by_name2(group, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return refuse(l->r, full, "not a tensor or group of this file", l->err);
    if (object.type == H5O_TYPE_GROUP)
        return list_group(l->r, full, l->depth + 1, l->visited, l->err);
    if (object.type == H5O_TYPE_DATASET)
        return add_tensor(l->r, full, l->err);
    return refuse(l->r, full, "not a tensor or group", l->err);
}

static herr_t list_link(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    struct hdf5_walk *l = data;
    l->refused = list_object(l, group, name, info) != 0;
    return l->refused ? -1 : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct hdf5_tensor *)a)->name, ((const struct hdf5_tensor *)b)->name);
}

int hdf5_open(struct hdf5_reader *r, const char *path, struct error *err)
{
    *r = (struct hdf5_reader){ .file = -1, .path = xstrdup(path) };
    int visited = 0;

    start_library();
    if (seal_check(path, &r->bytes, err))
        goto fail;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    r->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (r->file < 0) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: the HDF5 library cannot open it", path);
        goto fail;
    }
    if (list_group(r, "", 0, &visited, err))
        goto fail;
    if (r->n)
        qsort(r->tensors, (size_t)r->n, sizeof *r->tensors, by_name);
    return 0;
fail:
    hdf5_close(r);
    return -1;
}

void hdf5_close(struct hdf5_reader *r)
{
    if (r->path && r->file >= 0)
        H5Fclose(r->file);
    for (int i = 0; i < r->n; i++)
        free((char *)(uintptr_t)r->tensors[i].name);
    free(r->tensors);
    free(r->path);
    *r = (struct hdf5_reader){ .file = -1 };
}

const struct hdf5_tensor *hdf5_find(const struct hdf5_reader *r, const char *name)
{
    struct hdf5_tensor key = { .name = name };
    return r->n ? bsearch(&key, r->tensors, (size_t)r->n, sizeof key, by_name) : NULL;
}

static int get_sum(hid_t set, uint64_t *sum)
{
    hid_t attribute = H5Aopen(set, sum_attribute, H5P_DEFAULT), space = H5Aget_space(attribute);
    int rc = H5Sget_simple_extent_npoints(space) == 1 && H5Aread(attribute, H5T_NATIVE_UINT64, sum) >= 0 ? 0 : -1;

    H5Sclose(space);
    H5Aclose(attribute);
    return rc;
}

int hdf5_get(const struct hdf5_reader *r, const struct hdf5_tensor *t, void *out, uint64_t *sum, struct error *err)
{
    int64_t size = hdf5_tensor_size(t);
    hid_t set = H5Dopen2(r->file, t->name, H5P_DEFAULT);
    uint64_t stored = 0, found = 0;
    int rc = -1;

    if (set < 0 || get_sum(set, &stored))
        refuse(r, t->name, "no checksum beside it", err);
    else if (size && H5Dread(set, library_type(t->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0)
        refuse(r, t->name, "cannot be read: its data are damaged", err);
    else if ((found = checksum_of(out, (size_t)size * hdf5_type_size(t->type))) != stored)
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: checksum: expected %016llx, got %016llx", r->path, t->name,
                  (unsigned long long)stored, (unsigned long long)found);
    else
        rc = 0;
    H5Dclose(set);
    if (sum)
        *sum = found;
    return rc;
}
