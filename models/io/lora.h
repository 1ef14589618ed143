/*
 * lora.h - LoRA adapters (Hu et al. 2021): declares them as parameters of a network, loads, saves and merges them.
 *
 * A network lists the linear maps that may have an adapter, and a lora_config selects from them. Folders of PEFT are
 * read and written. A setting that is not supported, such as DoRA or biases, is refused by the name of its field.
 * Parameters belong to the arenas of the network. Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_IO_LORA_H
#define MODELS_IO_LORA_H

#include "kernels/device.h"
#include "kernels/param.h"
#include "models/io/lora_config.h"

/* A linear map of a network. All pointers belong to the network. */
struct lora_module {
    const char *name; /* Hugging Face's name: "model.layers.0.self_attn.q_proj", "lm_head" */
    int64_t out, in;
    struct lora *lora;   /* the adapter of the map; a == NULL: none */
    struct tensor **w;   /* the matrix [out, in] that the network uses; a trained head replaces it */
    struct tensor *base; /* the matrix that the network loaded */
    bool shares_input;   /* has the same input as the module before it; their A are one matrix */
};

/* Declares NAME.lora_A.weight [r, in] and NAME.lora_B.weight [out, r] for every targeted module, and sets its lora.
 * With full_head, also declares lm_head.weight, which replaces the base's. Returns -1, with nothing declared, if no
 * module is targeted. */
int lora_declare(const struct lora_config *c, struct params *p, const struct param_arenas *a, enum dtype dtype,
                 const struct lora_module *modules, int n, struct error *err);
/* Initialises the parameters: A uniform in +-1 / sqrt(in), B zero, a trained head as a copy of the base's. Returns -1
 * if the device has no memory left. */
int lora_init_values(struct params *p, struct device *d, const struct lora_module *modules, int n, uint64_t seed,
                     struct error *err);

/* Loads dir/adapter_model.safetensors. Nothing is changed unless all tensors match. */
int lora_load(const struct params *p, struct device *d, const struct lora_module *modules, int n, const char *dir,
              struct error *err);
/* Writes the two files of an adapter's folder, which is created if needed. PEFT and vLLM can load it. Values are stored
 * as F32 or BF16. */
int lora_save(const struct params *p, struct device *d, const struct lora_config *c, const char *dir, enum dtype stored,
              struct error *err);

/* Merges adapters into the weights: w += scale B A in f32, rounded once, on the device. The modules have no adapter
 * afterwards.
 *
 * The adapter is used in the type it was declared in, or that of its master copy. Declare it as F32 to merge an f32
 * file without loss. A head that is tied to the embedding would change the embedding too, so give it a matrix of its
 * own first. */
int lora_merge(const struct params *p, struct device *d, const struct lora_module *modules, int n, struct error *err);

#endif
