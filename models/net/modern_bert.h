/*
 * modern_bert.h - ModernBERT (Warner et al. 2024), the second kind of encoder behind the calls of bert.h.
 *
 * Layers are pre-norm without biases: x + attention(norm(x)), then x + GeGLU(norm(x)). The first layer's attention
 * reads x without a norm, and a final norm follows the last layer. Queries and keys are rotated by position (RoPE,
 * Su et al. 2021). Layers whose number is no multiple of `global_every` attend to tokens at most window / 2 away,
 * and have their own RoPE base.
 *
 * All ops are shared with other networks. A window is a bias by distance that masks keys outside. Rows of Wqkv's
 * output are rotated as three rows per token, the value's by angle 0.
 */
#ifndef MODELS_NET_MODERN_BERT_H
#define MODELS_NET_MODERN_BERT_H

#include "models/net/bert.h"

struct modern_layer {
    struct tensor *attention_norm; /* F32 [C]; NULL: the first layer */
    struct tensor *wqkv, *wo;      /* [3C, C], [C, C] */
    struct tensor *mlp_norm;       /* F32 [C] */
    struct tensor *wi, *w2;        /* wi: [2I, C] the activated half, then its factor; w2: [C, I] */
    struct lora qkv_lora, wo_lora; /* of wqkv and wo; a is NULL without LoRA */
};

/* bert_init, bert_modules, bert_forward and bert_states of MODERN_BERT, which bert.c calls. */
void modern_bert_init(struct bert *b, const char *prefix, enum dtype dtype, struct params *p,
                      const struct param_arenas *a);
int modern_bert_modules(struct bert *b, const char *prefix, struct arena *host, struct lora_module **modules);
struct tensor *modern_bert_forward(struct ctx *c, const struct bert *b, const struct bert_input *in);
struct tensor *modern_bert_states(struct ctx *c, const struct bert *b, const struct bert_input *in, int layer);

/* F32 [C] of zeros, an input of the step: the bias of a norm without one. */
struct tensor *modern_bert_no_bias(struct ctx *c, int64_t n);

#endif
