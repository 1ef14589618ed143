/*
 * checkpoint.h - the complete state of a training run in one ambit.h5, and the folders of such files.
 *
 * The tensors are param/NAME, the optimizer's states (param_state_group), and state/NAME for the caller's own data,
 * such as counters of random numbers. Parameters are F32, from the master copy if there is one; weights.h has shorter
 * types. `meta` is a JSON text. Equal runs write equal bytes, if the caller keeps times and output paths out of meta.
 *
 * A run's folder holds checkpoint-N folders. Each is filled as checkpoint-N.tmp and renamed after all files are synced.
 * A folder without .tmp is therefore complete, even after a kill or a power cut.
 */
#ifndef MODELS_IO_CHECKPOINT_H
#define MODELS_IO_CHECKPOINT_H

#include "kernels/device.h"
#include "kernels/param.h"
#include "models/io/weights.h"

#include <jansson.h>

#define CHECKPOINT_FILE "ambit.h5"

/* A named tensor in the caller's memory: read by save, written by load. */
struct checkpoint_extra {
    struct hdf5_tensor tensor; /* its name omits "state/" */
    void *data;
};

/* Collects the whole k-th state of a parameter, of which this rank holds a shard. Returns -1 with err set. */
typedef int checkpoint_state_fn(void *arg, const struct param *p, int k, float *out, struct error *err);

struct checkpoint {
    struct params *params;
    struct device *device;
    const struct checkpoint_extra *extra; /* on load, n_extra = 0 ignores the file's extras */
    int n_extra;
    json_t *meta;               /* written by save, ignored by load */
    checkpoint_state_fn *whole; /* NULL: this rank has whole states. A load takes its shard by itself */
    void *whole_arg;
    enum weights_type weights; /* type of matrices on save; a load accepts any */
};

/* Writes dir/ambit.h5. An existing file is replaced only when the new one is complete. */
int checkpoint_save(const char *dir, const struct checkpoint *c, struct error *err);

/* Writes dir/ambit.h5 with the mean of the parameters of n files (model soup, Wortsman et al. 2022), computed in f32,
 * and without states. Only params, meta and weights of c are used. Returns -1 with EXIT_CODE_CHECKPOINT if a file lacks
 * a parameter. */
int checkpoint_copy(const char *dir, const struct checkpoint *c, const struct hdf5_reader *from, int n,
                    struct error *err);

/* Opens a file, a folder's ambit.h5, or the newest checkpoint-N of a run's folder. r->path is the file that was found.
 * Close with hdf5_close. */
int checkpoint_open(struct hdf5_reader *r, const char *path, struct error *err);
/* Writes the meta object, for writers of files that are no checkpoints. */
int checkpoint_put_meta(struct hdf5_writer *w, const json_t *meta, struct error *err);
/* Returns the meta object, which the caller owns; NULL with EXIT_CODE_CHECKPOINT. */
json_t *checkpoint_meta(const struct hdf5_reader *r, struct error *err);
/* Fills parameters, states and extras. Nothing is changed unless the file has exactly the wanted tensors. Otherwise
 * returns -1 with EXIT_CODE_CHECKPOINT, and err names tensors that are missing, unexpected or of the wrong shape. */
int checkpoint_load(const struct hdf5_reader *r, const struct checkpoint *c, struct error *err);

/* Creates an empty out/checkpoint-STEP.tmp. Returns its path, which the caller frees. */
char *checkpoint_dir_begin(const char *out, int64_t step, struct error *err);
/* Syncs and renames the folder, then removes all but the newest `keep` (at least 1) checkpoints. */
int checkpoint_dir_commit(const char *out, int64_t step, int keep, struct error *err);
/* Returns in *path the newest checkpoint, which the caller frees, or NULL. Removes the remains of interrupted runs. */
int checkpoint_latest(const char *out, char **path, struct error *err);
/* checkpoint_latest for readers: removes nothing. */
int checkpoint_newest(const char *out, char **path, struct error *err);

#endif
