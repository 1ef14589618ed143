/*
 * gate_adapter.h - what a few labels make of a GATekeeper: a small file that belongs to one base and leaves it as it
 * is.
 *
 * A file has temperature and shift of the scores, and of the method's parameters their values: an ambit.h5 of few
 * numbers, bound to its base by a hash of all its weights and settings.  LoRA (Hu et al. 2022) sits on the attention
 * of the encoder's last layers: rank 8 on query, key and value as one map, and on the output.
 */
#ifndef MODELS_GATEKEEPER_GATE_ADAPTER_H
#define MODELS_GATEKEEPER_GATE_ADAPTER_H

#include "models/gatekeeper/gate_model.h"

enum gate_adapt {
    ADAPT_THRESHOLD, /* temperature and shift alone */
    ADAPT_LINEAR,    /* and the last linear maps */
    ADAPT_LAYER,     /* and the last layer of the graph beside them */
    ADAPT_LORA,      /* or LoRA on the encoder in their place */
    ADAPT_METHODS
};
#define ADAPT_WORDS "threshold|linear|layer|lora"
enum { ADAPT_RANK = 8, ADAPT_LAYERS = 1 /* that a new one sits on */ };

/* Of every weight and setting of a base without adapter. */
uint64_t gate_model_hash(const struct gate_model *m);

/* Gives so many of the encoder's last layers, 1 to all, their LoRA, of which A is drawn by the seed and B is zero. */
int gate_adapter_declare(struct gate_model *m, int layers, uint64_t seed, struct error *err);
/* The parameters that a method trains, as a list of their own (params_release); none of ADAPT_THRESHOLD.  Those of
 * ADAPT_LORA have been declared. */
struct params gate_adapter_params(const struct gate_model *m, enum gate_adapt method);

struct gate_adapter {
    enum gate_adapt method;
    uint64_t base; /* gate_model_hash */
    int support;   /* questions that it was made from */
    int steps;     /* that its parameters were trained for */
};

/* DIR/ambit.h5: the method's parameters, temperature and shift as the model has them. */
int gate_adapter_save(const struct gate_model *m, const struct gate_adapter *a, const char *dir, struct error *err);
/* A file, or the folder that it lies in, onto a base that has run nothing yet.  -1 with EXIT_CODE_CHECKPOINT, also when
 * it belongs to another base. */
int gate_adapter_apply(struct gate_model *m, const char *path, struct error *err);

#endif
