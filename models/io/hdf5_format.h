/*
 * hdf5_format.h - reads the subset of the HDF5 file format that ambit writes, without the HDF5 library.
 *
 * Checkpoints are untrusted, anybody can write a valid header, and the library crashes on some malformed files. The
 * reader supports superblock 2, object headers 2 without shared messages, and contiguous data or chunks in a B-tree 1
 * with Fletcher32. Hard links lie in the object header, or in a fractal heap with a B-tree 2. Anything else is refused,
 * and every number is checked before use. A read budget in proportion to the length of the file ends cycles of links
 * and nodes.
 *
 * Source: HDF5 File Format Specification 3.0. Addresses count from the end of ambit's header.
 */
#ifndef MODELS_IO_HDF5_FORMAT_H
#define MODELS_IO_HDF5_FORMAT_H

#include "models/io/hdf5.h"

/* An open file. `fault` is the message of the first failure. */
struct hdf5_file {
    int fd;
    int64_t bytes, left; /* bytes after ambit's header; read budget */
    const char *fault;
};

/* A link of a group. Its name consists of printable ASCII without slashes. */
struct hdf5_link {
    char name[HDF5_MAX_NAME];
    int64_t at; /* address of the object header, -1: not a hard link */
};

struct hdf5_links {
    struct hdf5_link *list;
    int n, cap;
};

/* A parsed object header: a group, or a tensor without a name. */
struct hdf5_object {
    bool group;
    struct hdf5_links links; /* all links of a group */
    struct hdf5_tensor tensor;
    int64_t data, data_bytes;     /* contiguous: address and length; chunked: data is the root of the B-tree */
    int64_t chunk[HDF5_MAX_DIMS]; /* shape of a chunk; chunk[0] is 0 if contiguous */
    uint64_t hash;                /* XXH64 of the tensor's bytes */
    bool has_hash;                /* the hash is present */
};

/* Records the first fault. Returns -1. */
int hdf5_fail(struct hdf5_file *f, const char *fault);
/* Resets the read budget to `times` the length of the file, and clears the fault. */
void hdf5_allow(struct hdf5_file *f, int times);
/* Returns the address of the root group's header, or -1. */
int64_t hdf5_root(struct hdf5_file *f);
/* Reads the header at an address. The object must be released, even after -1. */
int hdf5_object_read(struct hdf5_file *f, int64_t at, struct hdf5_object *o);
void hdf5_object_release(struct hdf5_object *o);
/* Reads the data of a tensor into hdf5_tensor_size elements of its type. */
int hdf5_data_read(struct hdf5_file *f, const struct hdf5_object *o, void *out);

#endif
