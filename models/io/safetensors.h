/*
 * safetensors.h - reads and writes safetensors: named tensors in one file, or in shards listed by an index.
 *
 * Files are untrusted: opening checks every number of the header, so each entry lies inside the mapped file. Nothing is
 * copied until it is read. Files are written as NAME.tmp, then synced and renamed. Errors have EXIT_CODE_CHECKPOINT.
 * Source: https://github.com/huggingface/safetensors.
 */
#ifndef MODELS_IO_SAFETENSORS_H
#define MODELS_IO_SAFETENSORS_H

#include "kernels/base.h"

enum { SAFETENSORS_MAX_DIMS = 8 };

enum safetensors_dtype { ST_F32, ST_BF16, ST_F16, ST_F64, ST_OTHER /* other types can be listed, not read as F32 */ };

struct safetensors_entry {
    const char *name;
    const char *dtype_name; /* as in the file */
    enum safetensors_dtype dtype;
    int ndim;                            /* 0 for a scalar */
    int64_t shape[SAFETENSORS_MAX_DIMS]; /* leading dimensions only, if there are more */
    int64_t size;                        /* elements */
    const unsigned char *data;           /* not aligned */
    size_t bytes;
    int file; /* index into files */
};

struct safetensors {
    struct safetensors_entry *entries; /* [n] by name */
    int n, cap;
    struct safetensors_file *files; /* one file, or the shards */
    int n_files;
    char *path; /* the opened .safetensors file or index */
};

/* Opens a .safetensors file, an index, or a folder with model.safetensors or model.safetensors.index.json. Close with
 * safetensors_close. */
int safetensors_open(struct safetensors *s, const char *path, struct error *err);
void safetensors_close(struct safetensors *s);
/* Returns whether a folder contains one of the two files. */
bool safetensors_in(const char *dir);

/* Returns NULL if there is no such tensor. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);
/* Returns the file of an entry, for messages. */
const char *safetensors_file_path(const struct safetensors *s, const struct safetensors_entry *e);

/* Returns the stored bytes of elements [from, from + n), not aligned. Several threads touch the pages first, so that
 * they are read from disk in parallel. A range outside the tensor is a bug. */
const unsigned char *safetensors_fetch(const struct safetensors_entry *e, int64_t from, int64_t n);
/* Reads elements [from, from + n) as F32. Returns -1 if the type is not supported. A range outside the tensor is a bug.
 */
int safetensors_read_f32(const struct safetensors *s, const struct safetensors_entry *e, float *out, int64_t from,
                         int64_t n, struct error *err);

/* Returns whether two tensors have the same shape and values. Their types may differ. */
bool safetensors_same(const struct safetensors *s, const struct safetensors_entry *a,
                      const struct safetensors_entry *b);

/* A tensor to be written. Names are only used during safetensors_create. */
struct safetensors_spec {
    const char *name;
    int ndim;
    int64_t shape[SAFETENSORS_MAX_DIMS];
};

struct safetensors_writer;
/* Writes the header. All tensors have the type ST_F32 or ST_BF16, and are ordered by name. Returns NULL with
 * EXIT_CODE_FAILURE. */
struct safetensors_writer *safetensors_create(const char *path, const struct safetensors_spec *specs, int n,
                                              enum safetensors_dtype dtype, struct error *err);
/* Writes elements [from, from + n) of specs[i], in any order. Elements that are never written are zero. */
int safetensors_put(struct safetensors_writer *w, int i, const float *values, int64_t from, int64_t n,
                    struct error *err);
/* If rc is 0, syncs and renames the file; otherwise removes it. Frees the writer, which may be NULL. Returns rc, or -1
 * if that failed. */
int safetensors_finish(struct safetensors_writer *w, int rc, struct error *err);

#endif
