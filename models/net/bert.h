/*
 * bert.h - the BERT encoder (Devlin et al. 2019) over packed sequences, and ModernBERT (modern_bert.h) by the same
 * calls.
 *
 * Sequences lie one after another without padding. The caller names the rows whose final states it wants, and the
 * last layer computes only those. Layers are post-norm, with GELU (erf) unless the configuration says otherwise.
 * Without recording, a layer keeps only its output. With `checkpointed` it does so in training too, and is
 * recomputed in the backward: the same numbers with less memory.
 *
 * If only the last layers are trained, the states before them are computed once (bert_states) and given to each
 * forward. Parameters belong to the arenas; the caller owns the struct.
 */
#ifndef MODELS_NET_BERT_H
#define MODELS_NET_BERT_H

#include "models/io/lora.h"
#include "models/io/spec.h"

enum bert_kind { CLASSIC_BERT, MODERN_BERT };

struct bert_config {
    enum bert_kind kind;
    int vocab_size, hidden_size, layers, heads, intermediate_size, max_positions, type_vocab_size;
    enum activation activation;
    float layer_norm_eps, hidden_dropout, attention_dropout;
    /* Only MODERN_BERT, which has no token types and uses hidden_dropout in feed-forward layers: */
    int window, global_every; /* tokens of a window; every global_every-th layer, from the first on, has none */
    float theta, local_theta; /* RoPE bases without and with a window */
    float embedding_dropout;
};

struct modern_layer;

struct bert_layer {
    struct tensor *wqkv, *bqkv; /* [3C, C], F32 [3C]: query, key, value */
    struct tensor *wo, *bo;     /* [C, C], F32 [C] */
    struct tensor *attention_norm_w, *attention_norm_b;
    struct tensor *w1, *b1, *w2, *b2; /* [I, C], F32 [I], [C, I], F32 [C] */
    struct tensor *output_norm_w, *output_norm_b;
    struct lora qkv_lora, wo_lora; /* of wqkv and wo; a is NULL without LoRA */
};

struct bert {
    struct bert_config config;
    struct tensor *word, *position, *type; /* [vocab, C], [positions, C], [types, C] */
    struct tensor *norm_w, *norm_b;
    struct bert_layer *layers;
    struct modern_layer *modern; /* MODERN_BERT: replaces layers, all tables but word, and norm_b */
    struct tensor *final_norm;   /* MODERN_BERT: F32 [C] */
    bool checkpointed;           /* set by the caller */
};

/* A packed batch of sequences: ids, positions and segments of T tokens, and the wanted rows. */
struct bert_input {
    struct index tokens[3];   /* word, position and type ids; MODERN_BERT: only word ids */
    struct tensor *turns;     /* MODERN_BERT: I32 [3T], the position of each token twice, then 0 */
    struct seqs seqs;         /* T tokens in all */
    const struct index *rows; /* wanted rows, ascending; NULL: all */
    struct seqs row_seqs;     /* number of wanted rows of each sequence */
    struct tensor *given; /* [T, C] states before layer `first`, in the weights' type; NULL: computed from the tokens */
    int first;            /* with `given` */
};

/* Prefix of Hugging Face's names: "bert." or "model.". */
const char *bert_prefix(const struct bert_config *config);
/* Whether a name is that of an encoder's parameter, of either kind. */
bool bert_owns(const char *name);

/* Fills tokens and turns from T ids, positions and segments. */
void bert_input_ids(struct ctx *c, struct bert_input *in, const struct bert_config *config, const int32_t *ids,
                    const int32_t *positions, const int32_t *segments, int64_t n);

/* Declares all parameters under their Hugging Face names after `prefix`. Query, key and value are one parameter,
 * "...attention.self.qkv". Weights have type dtype. The layers array lies in a->host. */
void bert_init(struct bert *b, const struct bert_config *config, const char *prefix, enum dtype dtype, struct params *p,
               const struct param_arenas *a);

/* Lists the maps that an adapter may sit on, under their names without ".weight": query, key and value as one, and
 * the output, of each layer. The list lies in host. Returns its length. */
int bert_modules(struct bert *b, const char *prefix, struct arena *host, struct lora_module **modules);

/* Final hidden states [rows, C]. */
struct tensor *bert_forward(struct ctx *c, const struct bert *b, const struct bert_input *in);
/* States [T, C] of all tokens before a layer, at least in->first. The number of layers gives the states after the
 * last one, before MODERN_BERT's final norm. */
struct tensor *bert_states(struct ctx *c, const struct bert *b, const struct bert_input *in, int layer);

/* Multiplications and additions of a forward over T tokens in sequences of this mean length; for benchmarks. */
double bert_flops(const struct bert_config *config, double tokens, double mean_length, double rows);

extern const char *const spec_dtypes[]; /* names of the types of weights */

void bert_spec_write(json_t *o, const struct bert_config *b);
/* The encoder's part of a checkpoint's meta data. Reading returns -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA,
 * naming the field. */
int bert_spec_read(const json_t *o, struct bert_config *b, const char *where, struct error *err);

#endif
