/*
 * lora_config.h - adapter_config.json as PEFT writes it: which linear maps an adapter sits on, and how strong it is
 * there.
 */
#ifndef MODELS_LORA_LORA_CONFIG_H
#define MODELS_LORA_LORA_CONFIG_H

#include "kernels/base.h"

#include <jansson.h>

enum { LORA_MAX_RANK = 4096 };

/* Names that a list means by themselves or by their ending, or that a pattern matches whole. */
struct lora_names {
    char **list;
    int n, cap;
    struct name_pattern *pattern;
    bool all_linear; /* every map but the head */
};

/* Another rank or alpha for the modules whose name ends in a match. */
struct lora_exception {
    char *text;
    struct name_pattern *pattern;
    float value;
};

struct lora_exceptions {
    struct lora_exception *list;
    int n, cap;
};

/* adapter_config.json.  Starts out zeroed, which is r = 0: no adapter. */
struct lora_config {
    int r;
    float alpha, dropout;
    bool rslora;    /* scale by alpha / sqrt(r) instead of alpha / r */
    bool full_head; /* modules_to_save: the whole lm_head */
    char *base;     /* base_model_name_or_path, or NULL */
    struct lora_names targets, excluded;
    struct lora_exceptions ranks, alphas;
    bool some_layers; /* layers_to_transform is given: */
    int *layers, n_layers, cap_layers;
    struct name_pattern **layer_lists; /* in which of the network's lists they are counted; the first match counts */
    int n_layer_lists, cap_layer_lists;
};

/* An adapter to be made: on the modules whose name is or ends in one of n targets. */
void lora_config_init(struct lora_config *c, int r, float alpha, const char *const *targets, int n);
/* dir/adapter_config.json; on failure nothing is left to release. */
int lora_config_read(struct lora_config *c, const char *dir, struct error *err);
/* The parsed file; `where` opens the messages. */
int lora_config_parse(struct lora_config *c, const json_t *root, const char *where, struct error *err);
void lora_config_release(struct lora_config *c);
/* Rank of the adapter on a module, 0 for none, and what it is scaled by; -1 when a pattern takes too long. */
int lora_config_rank(const struct lora_config *c, const char *module, float *scale, struct error *err);

#endif
