/*
 * hdf5.h - ambit's container for named tensors: an HDF5 file that is either complete or refused.
 *
 * The first 512 bytes are a user block, which HDF5 readers skip. It holds a header in plain text: format version, and
 * length and XXH64 of all bytes after it. The header is checked first, so damage is detected before anything is parsed.
 * Each tensor has an XXH64 of its own too (attribute "xxh64"), and its chunks have Fletcher32. No times are stored:
 * equal contents give equal bytes. h5py and h5dump can open the file.
 *
 * The HDF5 library writes files, but does not read them: files are untrusted, and hdf5_format.h only reads the subset
 * that is written here. A file is written as NAME.tmp and renamed when it is complete; it is not locked. Only one
 * thread at a time may write. Errors on reading have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_IO_HDF5_H
#define MODELS_IO_HDF5_H

#include "kernels/base.h"

enum { HDF5_VERSION = 1, HDF5_MAX_DIMS = 4, HDF5_MAX_NAME = 512 };

/* attribute with the XXH64 of a tensor */
#define HDF5_HASH "xxh64"

enum hdf5_type { HDF5_F32, HDF5_F16, HDF5_I32, HDF5_I64, HDF5_U8, HDF5_BF16, HDF5_I8, HDF5_TYPES };

struct hdf5_tensor {
    const char *name; /* full path without a leading slash: "param/bert.pooler.dense.bias" */
    enum hdf5_type type;
    int ndim;
    int64_t shape[HDF5_MAX_DIMS];
};

size_t hdf5_type_size(enum hdf5_type type);
const char *hdf5_type_name(enum hdf5_type type);
/* Returns the number of elements. A shape that overflows is a bug; readers refuse it first. */
int64_t hdf5_tensor_size(const struct hdf5_tensor *t);

struct hdf5_writer;
/* Creates NAME.tmp. Returns NULL with EXIT_CODE_FAILURE. */
struct hdf5_writer *hdf5_create(const char *path, struct error *err);
/* Writes a tensor; data is contiguous and row-major. */
int hdf5_put(struct hdf5_writer *w, const struct hdf5_tensor *t, const void *data, struct error *err);
/* If rc is 0, writes the header, syncs and renames the file; otherwise removes it. Frees the writer, which may be NULL.
 * Returns rc, or -1 if that failed. */
int hdf5_finish(struct hdf5_writer *w, int rc, struct error *err);

struct hdf5_reader {
    struct hdf5_tensor *tensors; /* [n] by name */
    struct hdf5_place *places;   /* [n] their addresses */
    int n, cap;
    int fd;
    int64_t bytes; /* length of the file */
    char *path;
};
/* Checks the header and lists the tensors. The sum of their sizes is at most the size of the file. Close with
 * hdf5_close. */
int hdf5_open(struct hdf5_reader *r, const char *path, struct error *err);
void hdf5_close(struct hdf5_reader *r);
/* Returns the tensor with this name, or NULL. It belongs to the reader. */
const struct hdf5_tensor *hdf5_find(const struct hdf5_reader *r, const char *name);
/* Reads a whole tensor and checks its hash. *hash (may be NULL) receives the hash. */
int hdf5_get(const struct hdf5_reader *r, const struct hdf5_tensor *t, void *out, uint64_t *hash, struct error *err);

/* Length of the header, which is zero-padded text. */
enum { HDF5_HEADER_BYTES = 512 };

/* Hashes the bytes after the header of an open file, and writes the header. */
int hdf5_header_write(int fd, const char *path, struct error *err);
/* Opens a file for reading. Returns the descriptor, or -1 with EXIT_CODE_CHECKPOINT unless header and contents agree.
 * *bytes is the length of the file. */
int hdf5_header_open(const char *path, int64_t *bytes, struct error *err);

#endif
