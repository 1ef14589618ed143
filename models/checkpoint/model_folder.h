/*
 * model_folder.h - what a path holds where a model is expected, and what can be done with it, for messages.
 *
 * Three kinds of folders are taken for each other: those of Hugging Face, PEFT's adapters, and runs of ambit-train.
 * And names of Hugging Face's hub are given for folders.  Every command says the same about them.
 */
#ifndef MODELS_CHECKPOINT_MODEL_FOLDER_H
#define MODELS_CHECKPOINT_MODEL_FOLDER_H

#include "kernels/base.h"

#include <jansson.h>

/* Adds to the message about a folder in which a file is missing what is found there instead, and which option takes
 * that; where nothing is known the message stays.  Always -1. */
int model_folder_explain(const char *path, const char *file, struct error *err);

/* -1 with EXIT_CODE_CHECKPOINT unless meta is that of a run of `ambit-train KIND`; of files without a kind nothing is
 * known.  `file` opens the message. */
int model_folder_check_kind(const json_t *meta, const char *kind, const char *file, struct error *err);

#endif
