/*
 * hdf5.h - ambit's own container: named tensors in an HDF5 file that is either whole or refused.
 *
 * The first 512 bytes, a user block that HDF5 readers skip, hold a seal in plain text: format version, length and XXH64
 * of everything after it.  The seal is checked before the HDF5 library sees the file, so damage of any kind is told
 * from the outside; each tensor carries an XXH64 of its own besides (attribute "xxh64"), and its chunks Fletcher32.
 * No times are stored: the same content gives the same bytes.  h5py and h5dump open the file as any other.
 *
 * The HDF5 library writes; files that come from anybody are read without it (hdf5_format.h), in the one form that it
 * writes them in here.  No file is locked: writing goes to NAME.tmp, which is renamed, and the seal tells what is
 * whole. One thread at a time may write.  Errors on reading have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_CHECKPOINT_HDF5_H
#define MODELS_CHECKPOINT_HDF5_H

#include "kernels/base.h"

enum { HDF5_VERSION = 1, HDF5_MAX_DIMS = 4, HDF5_MAX_NAME = 512 };

/* The attribute with a tensor's sum. */
#define HDF5_SUM "xxh64"

enum hdf5_type { HDF5_F32, HDF5_F16, HDF5_I32, HDF5_I64, HDF5_U8, HDF5_BF16, HDF5_I8, HDF5_TYPES };

struct hdf5_tensor {
    const char *name; /* full path without a leading slash: "param/bert.pooler.dense.bias" */
    enum hdf5_type type;
    int ndim;
    int64_t shape[HDF5_MAX_DIMS];
};

size_t hdf5_type_size(enum hdf5_type type);
const char *hdf5_type_name(enum hdf5_type type);
/* Elements; shapes that overflow are a bug (reading refuses them first). */
int64_t hdf5_tensor_size(const struct hdf5_tensor *t);

struct hdf5_writer;
/* Starts NAME.tmp.  NULL with EXIT_CODE_FAILURE. */
struct hdf5_writer *hdf5_create(const char *path, struct error *err);
/* Adds a tensor; data is contiguous, row-major. */
int hdf5_put(struct hdf5_writer *w, const struct hdf5_tensor *t, const void *data, struct error *err);
/* Seals, syncs and renames when rc is 0, gives the file up otherwise; NULL is allowed.  Returns rc, or -1 when that
 * failed.  The writer is gone afterwards, and the temporary file too. */
int hdf5_finish(struct hdf5_writer *w, int rc, struct error *err);

struct hdf5_reader {
    struct hdf5_tensor *tensors; /* by name */
    struct hdf5_place *places;   /* where each of them is */
    int n, cap;
    int fd;
    int64_t bytes; /* the file's length */
    char *path;
};
/* Checks the seal, then lists the tensors.  Their bytes together are no more than those of the file. */
int hdf5_open(struct hdf5_reader *r, const char *path, struct error *err);
void hdf5_close(struct hdf5_reader *r);
const struct hdf5_tensor *hdf5_find(const struct hdf5_reader *r, const char *name);
/* Reads one whole tensor of the reader and checks its sum; *sum (may be NULL) is that sum. */
int hdf5_get(const struct hdf5_reader *r, const struct hdf5_tensor *t, void *out, uint64_t *sum, struct error *err);

/* The 512 bytes before the HDF5 data: version, length and sum in plain text. */
enum { SEAL_BYTES = 512 };

/* Sums what follows the seal in an open file and writes the seal. */
int seal_write(int fd, const char *path, struct error *err);
/* Opens a file for reading; -1 with EXIT_CODE_CHECKPOINT unless every byte of it is what was sealed.  *bytes is its
 * length. */
int seal_open(const char *path, int64_t *bytes, struct error *err);

#endif
