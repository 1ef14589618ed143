/*
 * safetensors.h - the format other tools read: named tensors in one file, or in shards listed by an index.
 *
 * Files come from strangers: opening checks every number of the header against the file before anything is used, so
 * that an entry, once handed out, lies inside the mapping.  Reading is through the mapping; nothing is copied until
 * asked for.  Writing goes to NAME.tmp, which is synced and renamed at the end.  Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_CHECKPOINT_SAFETENSORS_H
#define MODELS_CHECKPOINT_SAFETENSORS_H

#include "kernels/base.h"

enum { SAFETENSORS_MAX_DIMS = 8 };

enum safetensors_dtype { ST_F32, ST_BF16, ST_F16, ST_F64, ST_OTHER /* listed and checked, not readable as F32 */ };

struct safetensors_entry {
    const char *name;
    const char *dtype_name; /* as in the file */
    enum safetensors_dtype dtype;
    int ndim;                            /* 0 for a scalar */
    int64_t shape[SAFETENSORS_MAX_DIMS]; /* the first ones of more: no tensor of ours has so many */
    int64_t size;                        /* elements */
    const unsigned char *data;           /* not aligned */
    size_t bytes;
    int file; /* index into files */
};

struct safetensors {
    struct safetensors_entry *entries; /* by name */
    int n, cap;
    struct safetensors_file *files; /* one, or the shards */
    int n_files;
    char *path; /* the file that was opened: .safetensors or index */
};

/* A .safetensors file, an index, or a folder holding model.safetensors or model.safetensors.index.json. */
int safetensors_open(struct safetensors *s, const char *path, struct error *err);
void safetensors_close(struct safetensors *s);
/* Whether a folder holds either of the two; safetensors_open tells why it cannot be read. */
bool safetensors_in(const char *dir);

/* NULL when there is none of that name. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);
/* The file an entry stands in, for messages. */
const char *safetensors_file_path(const struct safetensors *s, const struct safetensors_entry *e);

/* The stored bytes of elements [from, from + n), which all threads have brought into memory: pages that the mapping
 * lacks are read from the disk by several threads at once.  Not aligned; a bug when outside. */
const unsigned char *safetensors_fetch(const struct safetensors_entry *e, int64_t from, int64_t n);
/* Elements [from, from + n) as F32 (a bug when outside); -1 where the type has no such reading. */
int safetensors_read_f32(const struct safetensors *s, const struct safetensors_entry *e, float *out, int64_t from,
                         int64_t n, struct error *err);

/* Whether two tensors have one shape and the same numbers, whatever types they are stored as. */
bool safetensors_same(const struct safetensors *s, const struct safetensors_entry *a,
                      const struct safetensors_entry *b);

/* What will be written; names are borrowed for the time of safetensors_create. */
struct safetensors_spec {
    const char *name;
    int ndim;
    int64_t shape[SAFETENSORS_MAX_DIMS];
};

struct safetensors_writer;
/* Writes the header: all tensors have one type, ST_F32 or ST_BF16, and lie in name order. */
struct safetensors_writer *safetensors_create(const char *path, const struct safetensors_spec *specs, int n,
                                              enum safetensors_dtype dtype, struct error *err);
/* Elements [from, from + n) of specs[i], in any order; what is never put is zero. */
int safetensors_put(struct safetensors_writer *w, int i, const float *values, int64_t from, int64_t n,
                    struct error *err);
/* Syncs and renames when rc is 0, gives the file up otherwise; NULL is allowed.  Returns rc, or -1 when that failed.
 * The writer is gone afterwards, and the temporary file too. */
int safetensors_finish(struct safetensors_writer *w, int rc, struct error *err);

#endif
