/*
 * t5_config.h - the config.json of T5ForConditionalGeneration, as transformers 4 and 5 write it: T5 1.0, 1.1 and Flan.
 *
 * Every field that changes the numbers is read and bounded; one that asks for something the network here does not
 * compute is refused by name and value, one that nobody here knows is named in a warning.  Errors have
 * EXIT_CODE_CHECKPOINT.  Whether the head is the embedding table is not told by any field: transformers goes by the
 * tensors of the folder, and so does who reads the weights.
 */
#ifndef MODELS_NET_T5_CONFIG_H
#define MODELS_NET_T5_CONFIG_H

#include "models/net/lm_config.h"

struct t5_config {
    int vocab_size, d_model, d_kv, d_ff, encoder_layers, decoder_layers, heads;
    int buckets, max_distance; /* of relative positions */
    bool gated;                /* feed-forward: gelu(gate) up; else relu(up) */
    bool scaled;               /* final states are scaled by 1 / sqrt(d_model) before the head */
    bool tied;                 /* the head is the embedding table */
    float layer_norm_eps, dropout, initializer_factor;
    enum dtype dtype;                 /* what the weights are stored as; F32 unless the file says otherwise */
    int32_t start;                    /* the token that every answer's decoder begins with */
    int stops[LM_MAX_STOPS], n_stops; /* ids that end a generation; the first also ends what is read */
};

/* Whether dir/config.json is one of an encoder-decoder; false too when it cannot be read, which its reader will tell.
 */
bool t5_config_is(const char *dir);
/* dir/config.json; `tied` from the names of the folder's tensors. */
int t5_config_read(struct t5_config *c, const char *dir, struct error *err);
/* The parsed file; `where` opens the messages; tied is left as it is. */
int t5_config_parse(struct t5_config *c, const json_t *root, const char *where, struct error *err);
/* dir/config.json for weights stored as F32 or BF16, in a form that versions 4 and 5 read alike. */
int t5_config_write(const struct t5_config *c, const char *dir, enum dtype stored, struct error *err);

/* The bucket of a key `ahead` places behind its query (before it, when negative), as transformers has it; causal: of
 * the decoder, where no key behind its query is seen. */
int t5_bucket(const struct t5_config *c, int ahead, bool causal);

#endif
