/*
 * model_folder.h - what a path holds where a model is expected, and what can be done with it, for messages.
 *
 * Three kinds of folders are taken for each other: those of Hugging Face, PEFT's adapters, and runs of ambit-train.
 * And names of Hugging Face's hub are given for folders.  Every command says the same about them.
 */
#ifndef MODELS_CHECKPOINT_MODEL_FOLDER_H
#define MODELS_CHECKPOINT_MODEL_FOLDER_H

#include "kernels/base.h"
#include "models/checkpoint/checkpoint.h"

#include <jansson.h>

/* Adds to the message about a folder in which a file is missing what is found there instead, and which option takes
 * that; where nothing is known the message stays.  Always -1. */
int model_folder_explain(const char *path, const char *file, struct error *err);

/* -1 with EXIT_CODE_CHECKPOINT unless meta is that of a run of `ambit-train KIND`; of files without a kind nothing is
 * known.  `file` opens the message. */
int model_folder_check_kind(const json_t *meta, const char *kind, const char *file, struct error *err);

/* A finished model's file: what it says of the model first, then, once that is declared, its weights. */

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
