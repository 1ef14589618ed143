/*
 * modern_bert.h - ModernBERT (Warner et al. 2024), the second kind of encoder behind bert.h's calls.
 *
 * Pre-norm layers without biases: x + attention(norm(x)), then x + GeGLU(norm(x)); the first layer's attention reads x
 * as it is, and a last norm follows.  Queries and keys are rotated by their positions (Su et al. 2021).  Layers whose
 * number is no multiple of `global_every` attend to tokens at most window / 2 away and have a frequency base of their
 * own.
 *
 * Nothing but existing ops: a window is a bias by distance that ends the softmax beyond it, and the rows of Wqkv's
 * output are turned as three rows a token, the value's by the angle 0.
 */
#ifndef MODELS_NET_MODERN_BERT_H
#define MODELS_NET_MODERN_BERT_H

#include "models/net/bert.h"

struct modern_layer {
    struct tensor *attention_norm; /* F32 [C]; NULL: the first layer */
    struct tensor *wqkv, *wo;      /* [3C, C], [C, C] */
    struct tensor *mlp_norm;       /* F32 [C] */
    struct tensor *wi, *w2;        /* [2I, C]: what is activated, then what it multiplies; [C, I] */
    struct lora qkv_lora, wo_lora; /* of wqkv and wo; a NULL: none */
};

/* As bert_init, bert_modules, bert_forward and bert_states, which call these where the configuration is MODERN_BERT's.
 */
void modern_bert_init(struct bert *b, const char *prefix, enum dtype dtype, struct params *p,
                      const struct param_arenas *a);
int modern_bert_modules(struct bert *b, const char *prefix, struct arena *host, struct lora_module **modules);
struct tensor *modern_bert_forward(struct ctx *c, const struct bert *b, const struct bert_input *in);
struct tensor *modern_bert_states(struct ctx *c, const struct bert *b, const struct bert_input *in, int layer);

/* F32 [C] of zeros, an input of the step: the bias of a norm that has none. */
struct tensor *modern_bert_no_bias(struct ctx *c, int64_t n);

#endif
