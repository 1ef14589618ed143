/*
 * dte_model.h - a DTE tagger in memory: device memory, parameters, tokenizer, and what its checkpoint says of it.
 */
#ifndef MODELS_TAGGER_DTE_MODEL_H
#define MODELS_TAGGER_DTE_MODEL_H

#include "models/io/checkpoint.h"
#include "models/net/dte.h"
#include "models/text/tokenizer.h"

/* What a checkpoint's meta says of a tagger ("model": {...}). */
struct dte_spec {
    struct dte_config config;
    enum dtype dtype;
    double temperature; /* emissions and the chain are divided by it before probabilities are told */
    double threshold;   /* a span that is less likely to be AMB or UNK than this is not told */
};

struct dte_model {
    struct device *device;
    struct arena host, data;
    struct params params;
    struct dte net;
    struct dte_spec spec;
    struct tokenizer *tokenizer;
    uint64_t sum; /* of names, sizes and times of the files that it was read from */
};

/* The training state that shares the model's memory: how many more bytes of it are wanted. */
enum { DTE_MODEL_EXTRA = 4096 };

/* Bytes of device memory that the parameters take, with gradients, masters and state of an optimizer. */
size_t dte_model_bytes(const struct dte_spec *spec, enum optimizer optimizer);
/* Takes memory and declares the parameters, whose values are undefined yet; takes the tokenizer, also on failure. */
int dte_model_init(struct dte_model *m, struct device *device, const struct dte_spec *spec, enum optimizer optimizer,
                   struct tokenizer *tokenizer, struct error *err);
/* A trained model to run: a folder with ambit.h5 and the tokenizer, or a run's folder, whose newest checkpoint serves
 * while it has none.  -1 with EXIT_CODE_CHECKPOINT. */
int dte_model_open(struct dte_model *m, struct device *device, const char *dir, struct error *err);
void dte_model_release(struct dte_model *m);

json_t *dte_spec_to_json(const struct dte_spec *s);
int dte_spec_from_json(const json_t *o, struct dte_spec *s, const char *where, struct error *err);

#endif
