/*
 * hdf5_format.h - the part of the HDF5 file format that ambit writes, read without the HDF5 library.
 *
 * A checkpoint comes from anybody, its author can seal it, and the library crashes on some damaged files.  So the
 * library writes, and this reads: superblock 2, object headers 2 with messages of their own, hard links in the header
 * or in a fractal heap with a B-tree 2, contiguous data, and chunks in a B-tree 1 behind Fletcher32.  Anything else is
 * refused.  Every number is checked before it is used.  Bytes that were read are counted against the length of the
 * file, which holds each of them once: so circles and fans of links or nodes come to an end.
 *
 * Source: HDF5 File Format Specification 3.0.  Addresses count from the end of the seal.
 */
#ifndef MODELS_CHECKPOINT_HDF5_FORMAT_H
#define MODELS_CHECKPOINT_HDF5_FORMAT_H

#include "models/checkpoint/hdf5.h"

/* An open file.  A function that fails leaves a text in `fault`. */
struct hdf5_file {
    int fd;
    int64_t bytes, left; /* behind the seal; those that may still be read */
    const char *fault;
};

/* A link of a group.  The name has printable ASCII only, and no slash. */
struct hdf5_link {
    char name[HDF5_MAX_NAME];
    int64_t at; /* its object's header; -1: it is no hard link */
};

struct hdf5_links {
    struct hdf5_link *list;
    int n, cap;
};

/* An object's header: a group, or a tensor without a name. */
struct hdf5_object {
    bool group;
    struct hdf5_links links; /* of a group, all of them */
    struct hdf5_tensor tensor;
    int64_t data, data_bytes;     /* contiguous: place and length; chunked: data is the root of the tree */
    int64_t chunk[HDF5_MAX_DIMS]; /* chunked, else chunk[0] is 0 */
    uint64_t sum;                 /* XXH64 of the tensor's bytes */
    bool summed;                  /* it has one */
};

/* Notes the first fault; always -1. */
int hdf5_fail(struct hdf5_file *f, const char *fault);
/* Starts counting anew: what is read until the next call may be `times` the length of the file. */
void hdf5_allow(struct hdf5_file *f, int times);
/* The address of the root group's header, or -1. */
int64_t hdf5_root(struct hdf5_file *f);
/* Reads the header at an address.  Release it also after -1. */
int hdf5_object_read(struct hdf5_file *f, int64_t at, struct hdf5_object *o);
void hdf5_object_release(struct hdf5_object *o);
/* The numbers of a tensor, all of them, into hdf5_tensor_size numbers of its type. */
int hdf5_data_read(struct hdf5_file *f, const struct hdf5_object *o, void *out);

#endif
