/*
 * lm_export.h - what `ambit-train infill` and `seq2seq` left, in the forms that other tools load.
 *
 *   peft          OUT/adapter_config.json and adapter_model.safetensors, as PEFT and vLLM load them
 *   merged        OUT/ is a whole Hugging Face folder: base and adapter added in f32 and rounded once
 *   gguf-adapter  OUT is a file that llama.cpp loads beside its own form of the base
 */
#ifndef TRAIN_LM_LM_EXPORT_H
#define TRAIN_LM_LM_EXPORT_H

#include "models/checkpoint/checkpoint.h"
#include "models/lm/llama_model.h"
#include "train/lm/lm_settings.h"

struct lm_export_request {
    const char *format, *out;
    const char *to;   /* where it is written: out itself, or the folder that becomes it */
    const char *base; /* folder of the base, NULL: where the run had it */
    int weights;      /* of a detector: enum weights_form; of all others -1 */
    bool verify;      /* load what was written and compare the logits of a few texts */
    bool force;       /* as in out_files_commit */
};

/* A run's result while it is being exported.  What is pointed to is the caller's. */
struct lm_export {
    const struct lm_export_request *request;
    const struct hdf5_reader *file;
    const json_t *meta;
    struct device *device;
    struct lm_request run; /* its settings; strings are meta's */
    char *base;            /* folder of config, tokenizer and, but for a run that trained all of it, weights */
    bool full;             /* every weight was trained */
};

/* Writes it.  -1 with EXIT_CODE_USAGE for what this run has no form of, EXIT_CODE_CHECKPOINT for another base than the
 * run's, EXIT_CODE_FAILURE when it cannot be written or does not load as what was trained. */
int lm_export(const struct lm_export_request *q, const struct hdf5_reader *file, const json_t *meta, struct error *err);

/* A folder's config, of whichever form the run trained. */
struct lm_export_config {
    struct llama_config llama;
    struct t5_config t5;
    enum dtype dtype;
    int layers; /* of both sides together */
};

#endif
