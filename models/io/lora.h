/*
 * lora.h - LoRA adapters (Hu et al. 2021): declares them as parameters of a network, loads, saves and merges them.
 *
 * A lora_config is PEFT's adapter_config.json: the modules that have an adapter, with rank and scale. It owns its
 * strings and patterns; release it with lora_config_release. A network lists the linear maps that may have an adapter,
 * and the config selects from them. Folders of PEFT are read and written. A setting that is not supported, such as DoRA
 * or biases, is refused by the name of its field. Parameters belong to the arenas of the network. Errors have
 * EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_IO_LORA_H
#define MODELS_IO_LORA_H

#include "kernels/base.h"
#include "kernels/device.h"
#include "kernels/param.h"

#include <jansson.h>

enum { LORA_MAX_RANK = 4096 };

/* Names that match a module's name or its suffix, or one pattern that matches the whole name. */
struct lora_names {
    char **list;
    int n, cap;
    struct name_pattern *pattern;
    bool all_linear; /* all linear maps except the head */
};

/* Another rank or alpha for modules whose name ends in a match of the pattern. */
struct lora_exception {
    char *text;
    struct name_pattern *pattern;
    float value;
};

struct lora_exceptions {
    struct lora_exception *list;
    int n, cap;
};

/* The settings. A zeroed struct has r = 0: no adapter. */
struct lora_config {
    int r;
    float alpha, dropout;
    bool rslora;    /* scale by alpha / sqrt(r) instead of alpha / r */
    bool full_head; /* modules_to_save: train the whole lm_head */
    char *base;     /* base_model_name_or_path, or NULL */
    struct lora_names targets, excluded;
    struct lora_exceptions ranks, alphas;
    bool some_layers; /* layers_to_transform is present */
    int *layers, n_layers, cap_layers;
    struct name_pattern **layer_lists; /* patterns of the lists that number layers; the first match counts */
    int n_layer_lists, cap_layer_lists;
};

/* Fills a config for a new adapter on modules whose name is or ends in one of the n targets. */
void lora_config_init(struct lora_config *c, int r, float alpha, const char *const *targets, int n);
/* Reads dir/adapter_config.json. On failure there is nothing to release. */
int lora_config_read(struct lora_config *c, const char *dir, struct error *err);
/* lora_config_read of a parsed file; `where` is the prefix of messages. */
int lora_config_parse(struct lora_config *c, const json_t *root, const char *where, struct error *err);
void lora_config_release(struct lora_config *c);
/* Returns the rank of a module's adapter, 0 for none, and its scale. -1 if a pattern takes too many steps. */
int lora_config_rank(const struct lora_config *c, const char *module, float *scale, struct error *err);

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
