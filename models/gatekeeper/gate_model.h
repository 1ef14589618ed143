/*
 * gate_model.h - a GATekeeper in memory: device memory, parameters, tokenizer, and the fields of its checkpoint.
 *
 * A model owns its memory and borrows the device. gate_model_open reads a finished model; gate_model_init declares
 * one for training.
 */
#ifndef MODELS_GATEKEEPER_GATE_MODEL_H
#define MODELS_GATEKEEPER_GATE_MODEL_H

#include "models/gatekeeper/gate_batch.h"
#include "models/io/checkpoint.h"

/* Logits of the finished model for validation questions, and their labels; all [n]. */
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
    uint64_t hash; /* of names, sizes and times of its files */
    double threshold, temperature,
        shift;                     /* a question is ambiguous if sigmoid((score - shift) / temperature) >= threshold */
    double linguistic_temperature; /* of logits of linguistic ambiguity, which have no shift */
    struct arena adapter_data;     /* memory of an adapter (gate_adapter.h), if there is one; */
    struct params adapters;        /* its maps of the encoder, */
    int adapter_layers;            /* on so many of the last layers */
    struct gate_validation validation; /* n = 0: none were stored (gate_band.h) */
    char note[256];                    /* note of a model from a file; "": none */
};

/* Bytes beside the parameters for the state of a training. */
enum { GATE_MODEL_EXTRA = 4096 };

/* Bytes of the parameters on the device, with the optimizer's gradients, masters and state. */
size_t gate_model_bytes(const struct gatekeeper_config *config, enum dtype dtype, enum optimizer optimizer);
/* Takes memory and declares the parameters; their values are undefined. Takes the tokenizer, also on failure. */
int gate_model_init(struct gate_model *m, struct device *device, const struct gatekeeper_config *config,
                    enum dtype dtype, enum graph_mode graph, enum optimizer optimizer, struct tokenizer *tokenizer,
                    struct error *err);
/* Opens a trained model: a folder with ambit.h5 and tokenizer, or a run's folder, whose newest checkpoint serves
 * until it has them. -1 with EXIT_CODE_CHECKPOINT. */
int gate_model_open(struct gate_model *m, struct device *device, const char *dir, struct error *err);
void gate_model_release(struct gate_model *m);
/* Returns the folder of the detector that comes with ambit. The caller frees it. NULL with EXIT_CODE_CHECKPOINT; the
 * message has the places searched and the option that names a model. */
char *gate_model_default(const char *option, struct error *err);
/* Whether the address space has room for the detector that comes with ambit. */
bool gate_model_has_room(void);
#define GATE_DEFAULT_HELP "folder of ambit-train gatekeeper or export (default: the detector that comes with ambit)"

/* Settings of the model's schema inputs. pairs: with candidate pairs. */
struct schema_input_settings gate_model_input(const struct gate_model *m, bool pairs);

/* sigmoid((logit - shift) / temperature) */
double gate_probability(const struct gate_model *m, double logit);
/* Combines the score with the logit of linguistic ambiguity (-HUGE_VAL: none), assuming independence: the logit of 1
 * - (1 - p)(1 - q), as a score. */
double gate_join_logits(const struct gate_model *m, double score, double linguistic);
/* Whether linguistic ambiguity is more probable than schema ambiguity. */
bool gate_words_likelier(const struct gate_model *m, double score, double linguistic);

/* The description of the model in a checkpoint's meta data ("model": {...}), and its reader. */
json_t *gate_model_to_json(const struct gate_model *m);
struct gate_model_spec {
    struct gatekeeper_config config;
    enum dtype dtype;
    enum graph_mode graph;
    double threshold, temperature, linguistic_temperature;
};
int gate_model_from_json(const json_t *o, struct gate_model_spec *spec, const char *where, struct error *err);

#endif
