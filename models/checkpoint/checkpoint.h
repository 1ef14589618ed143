/*
 * checkpoint.h - all that a run needs to go on, in one ambit.h5, and the folders such files live in.
 *
 * Tensors: param/NAME (F32, the master where there is one; weights.h has shorter forms), what the optimizer keeps of it
 * (param_state_group), state/NAME for what the caller adds (RNG counters, sampler cursor); `meta` is a JSON text.  Two
 * runs that did the same write the same bytes, provided the caller keeps times and output paths out of meta.
 *
 * A run's folder holds checkpoint-N folders.  One is filled under checkpoint-N.tmp and renamed when every file is on
 * the disk, so a folder without .tmp is complete whenever the process or the machine stopped.
 */
#ifndef MODELS_CHECKPOINT_CHECKPOINT_H
#define MODELS_CHECKPOINT_CHECKPOINT_H

#include "kernels/device.h"
#include "kernels/param.h"
#include "models/checkpoint/weights.h"

#include <jansson.h>

#define CHECKPOINT_FILE "ambit.h5"

/* A named tensor of the caller's in host memory: read from on save, written to on load. */
struct checkpoint_extra {
    struct hdf5_tensor tensor; /* its name without "state/" */
    void *data;
};

/* Gets all of the k-th state of a parameter, of which a share is here.  Returns -1 with err set. */
typedef int checkpoint_state_fn(void *arg, const struct param *p, int k, float *out, struct error *err);

struct checkpoint {
    struct params *params;
    struct device *device;
    const struct checkpoint_extra *extra; /* on load, n_extra = 0 leaves the file's unread */
    int n_extra;
    json_t *meta;               /* saved; not touched by load */
    checkpoint_state_fn *whole; /* NULL: states are whole.  A load takes what is here of them by itself */
    void *whole_arg;
    enum weights_form weights; /* of the parameters' matrices as they are saved; a load takes any */
};

/* Writes dir/ambit.h5, replacing one that is there only once the new one is whole. */
int checkpoint_save(const char *dir, const struct checkpoint *c, struct error *err);

/* Writes dir/ambit.h5 with parameters that are read from another file, as its f32 values and without any state.  Of c
 * params, meta and weights are used.  -1 with EXIT_CODE_CHECKPOINT where the file lacks one. */
int checkpoint_copy(const char *dir, const struct checkpoint *c, const struct hdf5_reader *from, struct error *err);

/* Opens a file, a folder's ambit.h5, or the newest checkpoint-N of a run's folder; hdf5_close ends it.  r->path is the
 * file that was found. */
int checkpoint_open(struct hdf5_reader *r, const char *path, struct error *err);
/* The meta object, owned by the caller. */
json_t *checkpoint_meta(const struct hdf5_reader *r, struct error *err);
/*
 * Fills parameters, their states where they have any, and extras.  Nothing is filled unless the file holds exactly
 * what is wanted: else -1 with EXIT_CODE_CHECKPOINT and the names that are missing, unexpected or of the wrong shape.
 */
int checkpoint_load(const struct hdf5_reader *r, const struct checkpoint *c, struct error *err);

/* Makes out/checkpoint-STEP.tmp, empty, and returns its path (free it). */
char *checkpoint_dir_begin(const char *out, int64_t step, struct error *err);
/* Syncs it, gives it its name, then removes all but the newest `keep` (at least 1). */
int checkpoint_dir_commit(const char *out, int64_t step, int keep, struct error *err);
/* The newest folder in *path (free it), NULL when there is none; removes what an interrupted run left behind. */
int checkpoint_latest(const char *out, char **path, struct error *err);
/* The same without removing anything: for readers. */
int checkpoint_newest(const char *out, char **path, struct error *err);

#endif
