/*
 * gate_model.h - a GATekeeper in memory: device memory, parameters, tokenizer, and what its checkpoint says of it.
 */
#ifndef MODELS_GATEKEEPER_GATE_MODEL_H
#define MODELS_GATEKEEPER_GATE_MODEL_H

#include "models/gatekeeper/gate_batch.h"
#include "models/io/checkpoint.h"

/* What the finished model says of validation questions, and their labels; all [n]. */
struct gate_validation {
    double *logit;
    uint8_t *ambiguous;
    int n;
};

struct gate_model {
    struct device *device;
    struct arena host, data;
    struct params params;
    struct gatekeeper net;
    enum dtype dtype;
    enum graph_mode graph;
    struct tokenizer *tokenizer;
    struct gate_layout layout;
    uint64_t sum;                         /* of names, sizes and times of the files that it was read from */
    double threshold, temperature, shift; /* yes is sigmoid((score - shift) / temperature) >= threshold */
    double linguistic_temperature;        /* of the linguistic kinds' logits, in place of temperature and shift */
    struct arena adapter_data;            /* of a few labels' adapter (gate_adapter.h), where there is one, and */
    struct params adapters;               /* its maps of the encoder, */
    int adapter_layers;                   /* which sit on so many of its last layers */
    struct gate_validation validation;    /* n 0: nothing was kept (gate_band.h) */
    char note[256];                       /* of a model from a file: what it says of itself, "" for nothing */
};

/* The training state that shares the model's memory: how many more bytes of it are wanted. */
enum { GATE_MODEL_EXTRA = 4096 };

/* Bytes of device memory that the parameters take; with the gradients, masters and
 * state of an optimizer. */
size_t gate_model_bytes(const struct gatekeeper_config *config, enum dtype dtype, enum optimizer optimizer);
/* Takes memory and declares the parameters, whose values are undefined yet; takes the tokenizer, also on failure. */
int gate_model_init(struct gate_model *m, struct device *device, const struct gatekeeper_config *config,
                    enum dtype dtype, enum graph_mode graph, enum optimizer optimizer, struct tokenizer *tokenizer,
                    struct error *err);
/* A trained model to run: a folder with ambit.h5 and the tokenizer, or a run's folder, whose newest checkpoint serves
 * while it has none.  -1 with EXIT_CODE_CHECKPOINT. */
int gate_model_open(struct gate_model *m, struct device *device, const char *dir, struct error *err);
void gate_model_release(struct gate_model *m);
/* The folder of the detector that comes with ambit, for a command to which none is named.  The caller frees.  NULL with
 * EXIT_CODE_CHECKPOINT and a text that tells where it was looked for and which option names one. */
char *gate_model_default(const char *option, struct error *err);
#define GATE_DEFAULT_HELP                                                                                              \
    "folder that ambit-train gatekeeper or export left (default: the detector that comes with ambit)"

/* How the model reads schemas; pairs: their candidate pairs are wanted. */
struct schema_input_settings gate_model_input(const struct gate_model *m, bool pairs);

/* sigmoid((logit - shift) / temperature) */
double gate_probability(const struct gate_model *m, double logit);
/* Of two logits, one of the score and one of a linguistic kind (-HUGE_VAL: none), that either is so, as if they were
 * independent, as a logit of the score: that of 1 - (1 - p)(1 - q). */
double gate_join_logits(const struct gate_model *m, double score, double linguistic);
/* Whether the linguistic kind is the likelier of the two. */
bool gate_words_likelier(const struct gate_model *m, double score, double linguistic);

/* What a checkpoint's meta says of the model ("model": {...}), and back. */
json_t *gate_model_to_json(const struct gate_model *m);
struct gate_model_spec {
    struct gatekeeper_config config;
    enum dtype dtype;
    enum graph_mode graph;
    double threshold, temperature, linguistic_temperature;
};
int gate_model_from_json(const json_t *o, struct gate_model_spec *spec, const char *where, struct error *err);

#endif
