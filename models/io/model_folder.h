/*
 * model_folder.h - opens the folder of a finished model, and explains a folder that is not the expected one.
 *
 * Users confuse three kinds of folders: Hugging Face's, PEFT's adapters, and runs of ambit-train. They also give names
 * of Hugging Face's hub instead of folders. All commands share the explanations here.
 */
#ifndef MODELS_IO_MODEL_FOLDER_H
#define MODELS_IO_MODEL_FOLDER_H

#include "kernels/base.h"
#include "models/io/checkpoint.h"

#include <jansson.h>

/* Appends to an error about a missing file in a folder: what the folder is instead, and the option that takes it. An
 * unknown folder leaves err unchanged. Returns -1. */
int model_folder_explain(const char *path, const char *file, struct error *err);

/* Returns 0 if meta comes from a run of `ambit-train COMMAND`, or does not tell. Otherwise returns -1 with
 * EXIT_CODE_CHECKPOINT. `file` is the prefix of the message. */
int model_folder_check_command(const json_t *meta, const char *command, const char *file, struct error *err);

/* Whether the folder holds a run of `ambit-train COMMAND`; false for an unreadable one. */
bool model_folder_is(const char *dir, const char *command);

/* The file of a finished model. A model is declared by its meta, then its weights are loaded. */
struct model_file {
    struct hdf5_reader reader;
    char *dir; /* folder of the file, which holds the tokenizer too */
    json_t *meta;
    const json_t *model; /* the model's description in meta */
};

/* Declares the model that f->model describes, then calls model_file_load. */
typedef int model_load_fn(void *model, const struct model_file *f, struct device *device, struct error *err);

/* Opens a folder's ambit.h5, or the newest checkpoint of a run's folder, and passes it to load. Returns -1 with
 * EXIT_CODE_CHECKPOINT, or EXIT_CODE_MEMORY. A run of another command of ambit-train is an error. */
int model_file_read(const char *dir, const char *command, model_load_fn *load, void *model, struct device *device,
                    struct error *err);
/* Loads all parameters. Returns -1 with EXIT_CODE_CHECKPOINT if one is missing or has another shape. */
int model_file_load(const struct model_file *f, struct params *p, struct device *device, struct error *err);

#endif
