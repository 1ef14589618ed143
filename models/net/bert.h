/*
 * bert.h - the BERT encoder (Devlin et al. 2019) over packed sequences, or ModernBERT (modern_bert.h) by the same
 * calls.
 *
 * Sequences lie one after another without padding. The caller names the rows whose final states it wants; the last
 * layer computes those and nothing else. Post-norm layers, GELU (erf) unless the configuration says otherwise. When
 * nothing is recorded a layer leaves nothing but its output behind; with `checkpointed` it does so in training too and
 * is computed again in the backward: the same numbers from less memory.
 *
 * Where only the last layers change, the states before them are computed once (bert_states) and given to every forward.
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
    /* MODERN_BERT, which has no types and takes hidden_dropout for its feed-forward layers: */
    int window, global_every; /* tokens that a window spans; every so many layers there is none, from the first on */
    float theta, local_theta; /* bases of the rotation's frequencies without a window and with one */
    float embedding_dropout;
};

struct modern_layer;

struct bert_layer {
    struct tensor *wqkv, *bqkv; /* [3C, C], F32 [3C]: query, key, value */
    struct tensor *wo, *bo;     /* [C, C], F32 [C] */
    struct tensor *attention_norm_w, *attention_norm_b;
    struct tensor *w1, *b1, *w2, *b2; /* [I, C], F32 [I], [C, I], F32 [C] */
    struct tensor *output_norm_w, *output_norm_b;
    struct lora qkv_lora, wo_lora; /* of wqkv and wo; a NULL: none */
};

struct bert {
    struct bert_config config;
    struct tensor *word, *position, *type; /* [vocab, C], [positions, C], [types, C] */
    struct tensor *norm_w, *norm_b;
    struct bert_layer *layers;
    struct modern_layer *modern; /* MODERN_BERT: in place of layers, and of all tables but word, and of norm_b */
    struct tensor *final_norm;   /* MODERN_BERT: F32 [C] */
    bool checkpointed;           /* the caller's to set */
};

/* A packed batch of sequences: ids, positions and segments of T tokens, and which rows to return. */
struct bert_input {
    struct index tokens[3];   /* word, position, type ids; MODERN_BERT: word ids alone */
    struct tensor *turns;     /* MODERN_BERT: I32 [3T], of every token its position twice, and 0 */
    struct seqs seqs;         /* the sequences, T tokens in all */
    const struct index *rows; /* wanted rows in ascending order, NULL for all of them */
    struct seqs row_seqs;     /* how many of them each sequence has */
    struct tensor *given;     /* [T, C], in the weights' type: the states before layer `first`; NULL: tokens are read */
    int first;                /* with `given` */
};

/* "bert." or "model.", as Hugging Face's names begin. */
const char *bert_prefix(const struct bert_config *config);
/* Whether a parameter of that name is an encoder's, of either kind. */
bool bert_owns(const char *name);

/* Fills tokens and turns from T ids, positions in their sequences, and segments. */
void bert_input_ids(struct ctx *c, struct bert_input *in, const struct bert_config *config, const int32_t *ids,
                    const int32_t *positions, const int32_t *segments, int64_t n);

/* Declares every parameter under its Hugging Face name behind prefix ("bert."); q, k and v are one parameter named
 * "...attention.self.qkv".  Weights have type dtype.  The layers array lies in a->host. */
void bert_init(struct bert *b, const struct bert_config *config, const char *prefix, enum dtype dtype, struct params *p,
               const struct param_arenas *a);

/* The maps that an adapter may sit on, under their names without ".weight": query, key and value as one, and the
 * output, of each layer.  The list lies in host; returns how many. */
int bert_modules(struct bert *b, const char *prefix, struct arena *host, struct lora_module **modules);

/* Final hidden states [rows, C]. */
struct tensor *bert_forward(struct ctx *c, const struct bert *b, const struct bert_input *in);
/* States [T, C] of all tokens before a layer, which is not before in->first; of all layers' number, after the last and
 * before MODERN_BERT's final norm. */
struct tensor *bert_states(struct ctx *c, const struct bert *b, const struct bert_input *in, int layer);

/* Multiplications and additions of one forward over T tokens in sequences of the given mean length; for benchmarks. */
double bert_flops(const struct bert_config *config, double tokens, double mean_length, double rows);

extern const char *const spec_dtypes[]; /* of a model's weights */

void bert_spec_write(json_t *o, const struct bert_config *b);
/* -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA naming the field. */
int bert_spec_read(const json_t *o, struct bert_config *b, const char *where, struct error *err);

#endif
