/*
 * lm_export.h - converts runs of `ambit-train infill`, `seq2seq` and `reward` to formats of other tools.
 *
 *   peft          OUT/adapter_config.json and adapter_model.safetensors, for PEFT and vLLM.
 *
 *   merged        OUT/ is a Hugging Face folder: base plus adapter, added in f32 and rounded once.
 *
 *   gguf-adapter  OUT is a file that llama.cpp loads beside its own format of the base.
 */
#ifndef TRAIN_LM_LM_EXPORT_H
#define TRAIN_LM_LM_EXPORT_H

#include "models/io/checkpoint.h"
#include "models/lm/llama_model.h"
#include "train/lm/lm_settings.h"

struct lm_export_request {
    const char *format, *out;
    const char *to;   /* where to write: out, or a temporary folder that becomes out */
    const char *base; /* folder of the base; NULL: where the run had it */
    int weights;      /* for detectors: enum weights_type; otherwise -1 */
    bool verify;      /* load the result and compare its logits */
    bool force;       /* as in out_files_commit */
};

/* State of an export. Pointers are borrowed. */
struct lm_export {
    const struct lm_export_request *request;
    const struct hdf5_reader *file;
    const json_t *meta;
    struct device *device;
    struct lm_request run; /* the run's settings; strings belong to meta */
    char *base;            /* folder of config, tokenizer and, for an adapter, the base's weights */
    bool full;             /* all weights were trained */
};

/* Writes the export. -1 with EXIT_CODE_USAGE for a format that the run does not have, EXIT_CODE_CHECKPOINT for a
 * wrong base, EXIT_CODE_FAILURE if it cannot be written or fails verification. */
int lm_export(const struct lm_export_request *q, const struct hdf5_reader *file, const json_t *meta, struct error *err);

/* The configuration in a folder, for either kind of model. */
struct lm_export_config {
    struct llama_config llama;
    struct t5_config t5;
    enum dtype dtype;
    int layers; /* of both sides together */
};

#endif
