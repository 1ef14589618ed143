/*
 * t5.h - T5ForConditionalGeneration (Raffel et al. 2020; also T5 1.1 and Flan-T5) over packed sequences.
 *
 * A block is pre-norm: RMSNorm, attention without 1/sqrt(d) and with a bias by relative position, feed-forward by ReLU
 * or gated GELU. The residual stream is F32 for all weight types, so that bf16 weights neither overflow nor lose
 * precision there. The decoder's self-attention masks later keys by a bias of -1e30, so that both sides use one op.
 * Its sequences are completions, and short.
 *
 * t5_start_copying initialises weights so that a small model learns to copy early. Keys of each attention begin as
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
    struct tensor *gate, *up, *down; /* gate: [I, C], only in gated networks; up: [I, C]; down: [C, I] */
};

struct t5_stack {
    struct t5_layer *layers;
    int n;
    struct tensor *bias; /* F32 [buckets, heads] of all layers */
    struct tensor *norm; /* F32 [C] */
    struct tensor *buckets,
        *mask; /* constants: F32 [2 R + 1, buckets], 1 if a position has that bucket; [heads, 2 R + 1] */
};

struct t5 {
    struct t5_config config;
    struct tensor *shared; /* [vocab, C] */
    struct tensor *head;   /* [vocab, C]; `shared` if tied */
    struct t5_stack encoder, decoder;
    bool checkpointed; /* set by the caller: a block keeps only its output and is recomputed in the backward */
};

/* Packed tokens of one side. */
struct t5_tokens {
    struct index ids;
    struct seqs seqs;
};

/* Declares all parameters under their Hugging Face names; matrices have type dtype. k and v are one parameter,
 * "...Attention.kv". frozen: none is trained. */
void t5_init(struct t5 *m, const struct t5_config *config, enum dtype dtype, bool frozen, struct params *p,
             const struct param_arenas *a);
/* Uploads the constants, whose memory t5_init takes. */
void t5_upload_constants(const struct t5 *m, struct device *d);

/* Encodes sources: states [T, C] in the weights' type. */
struct tensor *t5_encode(struct ctx *c, const struct t5 *m, const struct t5_tokens *source);
/* Decodes completions: final states [T, C], scaled for the head. Sequence i attends to sequence i of the source,
 * with the given states. */
struct tensor *t5_decode(struct ctx *c, const struct t5 *m, const struct t5_tokens *answer,
                         const struct t5_tokens *source, struct tensor *states);

/* Writes the cross-attention's keys and values of states [T, C] to rows (I32 [T]) of the cache. No gradient. */
void t5_cache_source(struct ctx *c, const struct t5 *m, struct tensor *states, struct kv_cache *cache,
                     struct tensor *rows);

/* One token of each of T rows. Earlier tokens and sources are in the caches. */
struct t5_step {
    struct index tokens;
    const struct paged *paged, *source_paged;
    struct kv_cache *cache, *source_cache;
    struct tensor *cache_rows; /* I32 [T] cache rows of this call's keys and values */
};
/* Final states of the tokens, as in t5_decode. No gradient. */
struct tensor *t5_decode_step(struct ctx *c, const struct t5 *m, const struct t5_step *in);

/* Changes the weights of m, which params_init has set and p lists. */
void t5_start_copying(const struct t5 *m, struct params *p, struct device *d);

#endif
