/*
 * gate_adapter.h - adapters of a GATekeeper that were fitted to a few labels.
 *
 * An adapter is a small ambit.h5 that belongs to one base model and leaves it unchanged. It holds temperature and
 * shift of the scores, and the parameters that its method trains. A hash of the base's weights and settings binds it
 * to that base. LoRA (Hu et al. 2022) of rank 8 sits on the attention of the encoder's last layers: on query, key
 * and value as one map, and on the output.
 */
#ifndef MODELS_GATEKEEPER_GATE_ADAPTER_H
#define MODELS_GATEKEEPER_GATE_ADAPTER_H

#include "models/gatekeeper/gate_model.h"

enum gate_adapt {
    ADAPT_THRESHOLD, /* temperature and shift */
    ADAPT_LINEAR,    /* and the last linear maps */
    ADAPT_LAYER,     /* and the last graph layer */
    ADAPT_LORA,      /* or, instead of that layer, LoRA on the encoder */
    ADAPT_METHODS
};
#define ADAPT_WORDS "threshold|linear|layer|lora"
enum { ADAPT_RANK = 8, ADAPT_LAYERS = 1 /* layers with LoRA in a new adapter */ };

/* Hash of all weights and settings of a base without adapter. */
uint64_t gate_model_hash(const struct gate_model *m);
/* The same as a text of 16 digits. */
enum { GATE_HASH_TEXT = 17 };
void gate_model_hash_text(char text[GATE_HASH_TEXT], const struct gate_model *m);
/* Checks that a file belongs to the base.  hash: its text in the file, or NULL; what: "a head"; remedy: ends the
 * message.  -1 with EXIT_CODE_CHECKPOINT. */
int gate_model_check_hash(const struct gate_model *m, const char *hash, const char *what, const char *remedy,
                          const char *path, struct error *err);

/* Adds LoRA to the last `layers` layers of the encoder, 1 to all. A is sampled with the seed; B is zero. -1 with
 * EXIT_CODE_MEMORY. */
int gate_adapter_declare(struct gate_model *m, int layers, uint64_t seed, struct error *err);
/* Lists the parameters that a method trains; ADAPT_THRESHOLD trains none. LoRA must be declared. The caller calls
 * params_release. */
struct params gate_adapter_params(const struct gate_model *m, enum gate_adapt method);

struct gate_adapter {
    enum gate_adapt method;
    uint64_t base; /* gate_model_hash */
    int support;   /* number of labelled questions */
    int steps;     /* training steps */
};

/* Writes DIR/ambit.h5: the method's parameters, temperature and shift. */
int gate_adapter_save(const struct gate_model *m, const struct gate_adapter *a, const char *dir, struct error *err);
/* Applies an adapter, given as a file or its folder, to a base that has not run yet. -1 with EXIT_CODE_CHECKPOINT,
 * also if it belongs to another base. */
int gate_adapter_apply(struct gate_model *m, const char *path, struct error *err);

#endif
