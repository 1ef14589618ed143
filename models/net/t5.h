/*
 * t5.h - T5ForConditionalGeneration (Raffel et al. 2020; also T5 1.1 and Flan-T5) over packed sequences.
 *
 * A block is pre-norm: RMSNorm, attention without 1/sqrt(d) and with a bias by relative position, feed-forward by ReLU
 * or gated GELU. The residual stream is F32 for all weight types, so that bf16 weights neither overflow nor lose
 * precision there. The decoder's self-attention masks later keys by a bias of -1e30, so that both sides use one op.
 * Its sequences are completions, and short.
 *
 * t5_start_copying sets first weights from which a small model learns early to copy. Keys of each attention begin as
 * its queries, so that equal tokens find each other. Outputs begin as its values transposed, so that the found token
 * is generated (mimetic initialisation: Trockman and Kolter 2023, arXiv 2305.09828). Of four heads three begin with a
 * bias towards one neighbour.
 */
#ifndef MODELS_NET_T5_H
#define MODELS_NET_T5_H

#include "kernels/paged.h"
#include "kernels/param.h"
#include "models/net/llama.h"
#include "models/net/t5_config.h"

struct t5_attention {
    struct tensor *norm;       /* F32 [C] */
    struct tensor *q, *kv, *o; /* [H D, C]; [2 H D, C] keys, then values; [C, H D] */
};

struct t5_layer {
    struct t5_attention self, cross; /* cross: of a decoder */
    struct tensor *norm;             /* F32 [C], of the feed-forward */
    struct tensor *gate, *up, *down; /* [I, C], NULL but in gated networks; [I, C]; [C, I] */
};

struct t5_stack {
    struct t5_layer *layers;
    int n;
    struct tensor *bias; /* F32 [buckets, heads], of all layers */
    struct tensor *norm; /* F32 [C] */
    struct tensor *buckets,
        *mask; /* constants: F32 [2 R + 1, buckets], 1 where a place has that bucket; [heads, 2 R + 1] */
};

struct t5 {
    struct t5_config config;
    struct tensor *shared; /* [vocab, C] */
    struct tensor *head;   /* [vocab, C]; shared itself when the two are tied */
    struct t5_stack encoder, decoder;
    bool checkpointed; /* the caller's to set: a block keeps its output only and is computed again in the backward */
};

/* Packed tokens of one side. */
struct t5_tokens {
    struct index ids;
    struct seqs seqs;
};

/* Declares every parameter under its Hugging Face name, matrices of type dtype; k and v are one parameter named
 * "...Attention.kv"; frozen: none is trained. */
void t5_init(struct t5 *m, const struct t5_config *config, enum dtype dtype, bool frozen, struct params *p,
             const struct param_arenas *a);
/* Uploads the constants, which t5_init only took memory for. */
void t5_upload_constants(const struct t5 *m, struct device *d);

/* States of the encoder's tokens [T, C], of the weights' type. */
struct tensor *t5_encode(struct ctx *c, const struct t5 *m, const struct t5_tokens *source);
/* Final states of the decoder's tokens [T, C], scaled as the head wants them: sequence i reads sequence i of the
 * source, whose states are given. */
struct tensor *t5_decode(struct ctx *c, const struct t5 *m, const struct t5_tokens *answer,
                         const struct t5_tokens *source, struct tensor *states);

/* Keys and values that the decoder reads of states [T, C], to rows (I32 [T]) of the cache: no gradient. */
void t5_cache_source(struct ctx *c, const struct t5 *m, struct tensor *states, struct kv_cache *cache,
                     struct tensor *rows);

/* A token of each of T rows of answers, whose own tokens and whose sources lie in caches. */
struct t5_step {
    struct index tokens;
    const struct paged *paged, *source_paged;
    struct kv_cache *cache, *source_cache;
    struct tensor *cache_rows; /* I32 [T], where this call's keys and values go */
};
/* Final states of the tokens as t5_decode has them.  No gradient. */
struct tensor *t5_decode_step(struct ctx *c, const struct t5 *m, const struct t5_step *in);

/* Changes the weights of m, which params_init has drawn; p has them. */
void t5_start_copying(const struct t5 *m, struct params *p, struct device *d);

#endif
