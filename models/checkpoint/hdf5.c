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

/* A float of two bytes, which the library does not know until it is described. */
static hid_t short_float(size_t exponent, size_t mantissa, size_t bias)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, bias);
    return type;
}

/* Both of them are made once and kept. */
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

/* Before anything of the library is used: it prints no messages of its own, and does not clean up at exit, where it
 * crashes after a close that met a full disk (1.10.8).  May be called again. */
static void start_library(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

struct hdf5_writer {
    char *path, *tmp;
    hid_t file;
};

/* What is written is a file of our own that nobody else has a name for.  Locks would only fail where a file system or
 * another process holds one. */
static void leave_unlocked(hid_t access)
{
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    H5Pset_file_locking(access, 0, 1);
#else
    (void)access;
#endif
}

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
    hid_t attribute = H5Acreate2(set, HDF5_SUM, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
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
