/*
 * t5_config.h - config.json of T5ForConditionalGeneration, as transformers 4 and 5 write it: T5 1.0, 1.1 and
 * Flan-T5.
 *
 * Each field that changes results is read and checked. Fields that ask for something unsupported are refused by name
 * and value. Unknown fields cause a warning. No field says whether the head is the embedding table: as in
 * transformers, the tensors of the folder decide. Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_NET_T5_CONFIG_H
#define MODELS_NET_T5_CONFIG_H

#include "models/net/lm_config.h"

struct t5_config {
    int vocab_size, d_model, d_kv, d_ff, encoder_layers, decoder_layers, heads;
    int buckets, max_distance; /* of relative positions */
    bool gated;                /* feed-forward is gelu(gate) * up; else relu(up) */
    bool scaled;               /* final states are multiplied by 1 / sqrt(d_model) before the head */
    bool tied;                 /* the head is the embedding table */
    float layer_norm_eps, dropout, initializer_factor;
    enum dtype dtype;                 /* stored type of the weights; F32 by default */
    int32_t start;                    /* first token of every completion */
    int stops[LM_MAX_STOPS], n_stops; /* ids that end a completion; the first also ends a source */
};

/* Whether dir/config.json is one of an encoder-decoder; also false if it cannot be read, which its reader reports. */
bool t5_config_is(const char *dir);
/* Reads dir/config.json. The names of the folder's tensors set `tied`. */
int t5_config_read(struct t5_config *c, const char *dir, struct error *err);
/* Reads a parsed file, and leaves `tied` unchanged. Messages start with `where`. */
int t5_config_parse(struct t5_config *c, const json_t *root, const char *where, struct error *err);
/* Writes dir/config.json for weights stored as F32 or BF16, in a form that transformers 4 and 5 read alike. */
int t5_config_write(const struct t5_config *c, const char *dir, enum dtype stored, struct error *err);

/* Bucket of a key `ahead` positions after its query (before it if negative), as in transformers. causal: the
 * decoder, which masks later keys. */
int t5_bucket(const struct t5_config *c, int ahead, bool causal);

#endif
