/*
 * model_file.h - a finished model's file: what it says of the model first, then, once that is declared, its weights.
 */
#ifndef MODELS_CHECKPOINT_MODEL_FILE_H
#define MODELS_CHECKPOINT_MODEL_FILE_H

#include "models/checkpoint/checkpoint.h"

struct model_file {
    struct hdf5_reader reader;
    char *dir; /* the file's folder, which has the tokenizer too */
    json_t *meta;
    const json_t *model; /* of meta: what its weights are of */
};

/* Declares what f->model tells of, then model_file_load. */
typedef int model_load_fn(void *model, const struct model_file *f, struct device *device, struct error *err);

/* Hands a folder's ambit.h5, or a run's folder, whose newest checkpoint serves while it has none, to load.  -1 with
 * EXIT_CODE_CHECKPOINT, but for want of memory; also for a run of another command of ambit-train than `kind`. */
int model_file_read(const char *dir, const char *kind, model_load_fn *load, void *model, struct device *device,
                    struct error *err);
/* Every parameter; -1 with EXIT_CODE_CHECKPOINT where one is missing or of another shape. */
int model_file_load(const struct model_file *f, struct params *p, struct device *device, struct error *err);

#endif
