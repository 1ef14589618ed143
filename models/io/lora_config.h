/*
 * lora_config.h - adapter_config.json of PEFT: the modules that have an adapter, with rank and scale.
 *
 * A config owns its strings and patterns; release it with lora_config_release. Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_IO_LORA_CONFIG_H
#define MODELS_IO_LORA_CONFIG_H

#include "kernels/base.h"

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

#endif
