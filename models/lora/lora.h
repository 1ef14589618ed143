/*
 * lora.h - adapters: PEFT's folders read and written, and what they hold as parameters of a network.
 *
 * A network lists the linear maps that an adapter may sit on; the config tells on which it does.  Adapters of others
 * are read whatever they leave out, and refused by the name of the field when it changes what is computed into
 * something that is not computed here (DoRA, biases, replicated layers).  Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_LORA_LORA_H
#define MODELS_LORA_LORA_H

#include "kernels/device.h"
#include "kernels/param.h"
#include "models/lora/lora_config.h"

/* A linear map of a network.  The network owns what is pointed to. */
struct lora_module {
    const char *name; /* as Hugging Face has it: "model.layers.0.self_attn.q_proj", "lm_head" */
    int64_t out, in;
    struct lora *lora;   /* where the network keeps the map's adapter; a == NULL: none */
    struct tensor **w;   /* where it keeps the matrix [out, in]; a whole head is put in its place */
    struct tensor *base; /* the matrix itself, as the network loaded it */
    bool beside;         /* it reads what the module before it reads: their A are declared as one matrix */
};

/*
 * Declares NAME.lora_A.weight [r, in] and NAME.lora_B.weight [out, r] for every targeted module and points its lora at
 * them; for a whole head lm_head.weight, which takes the place of the base's.  -1, with nothing declared, when no
 * module is targeted.
 */
int lora_declare(const struct lora_config *c, struct params *p, const struct param_arenas *a, enum dtype dtype,
                 const struct lora_module *modules, int n, struct error *err);
/* Values to start training from: A uniform in +-1 / sqrt(in), B zero, so that nothing changes yet; a whole head is the
 * base's.  -1 when the device has no memory left. */
int lora_init_values(struct params *p, struct device *d, const struct lora_module *modules, int n, uint64_t seed,
                     struct error *err);

/* dir/adapter_model.safetensors into the declared parameters.  Nothing is changed unless all of it fits. */
int lora_load(const struct params *p, struct device *d, const struct lora_module *modules, int n, const char *dir,
              struct error *err);
/* Both files of a folder (made when it is not there) that PEFT and vLLM load, numbers stored as F32 or BF16. */
int lora_save(const struct params *p, struct device *d, const struct lora_config *c, const char *dir, enum dtype stored,
              struct error *err);

/*
 * w += scale B A in f32, rounded once, on the device; the modules have no adapter afterwards.  The adapter counts in
 * the type it was declared in, or that of its master: declare it in F32 to merge a file of f32 without loss.  A matrix
 * that serves as embedding too changes there as well, so a tied head must have been given one of its own.
 */
int lora_merge(const struct params *p, struct device *d, const struct lora_module *modules, int n, struct error *err);

#endif
