/*
 * sentence_encoder.h - a BERT folder that embeds texts: unit vectors, whose products say how alike two texts are.
 *
 * Reimers and Gurevych 2019 (Sentence-BERT): the mean of the last layer's states over all tokens of [CLS] text [SEP],
 * divided by its length; sentence-transformers' mean pooling and normalisation.  Its files beside the model are read
 * where they are there: a folder that pools in another way or has layers behind the pooling is refused, and texts are
 * cut at its max_seq_length.  All in F32, on the device and in the workspace of whoever opens it.
 */
#ifndef MODELS_EMBED_SENTENCE_ENCODER_H
#define MODELS_EMBED_SENTENCE_ENCODER_H

#include "kernels/workspace.h"
#include "models/net/bert.h"
#include "models/text/tokenizer.h"

struct sentence_encoder {
    struct workspace *work; /* borrowed */
    struct arena host, data;
    struct params params;
    struct bert net;
    struct tokenizer *tokenizer;
    int longest;    /* tokens of a text that are read, [CLS] and [SEP] among them */
    int max_tokens; /* of one pass; a single text still goes through */
    uint64_t sum;   /* of names, sizes and times of the folder's files */
};

/* work must outlive it; tokens is max_tokens.  -1 with EXIT_CODE_CHECKPOINT; close in any case. */
int sentence_encoder_open(struct sentence_encoder *e, struct workspace *work, const char *dir, int tokens,
                          struct error *err);
/* A zeroed one may be closed too. */
void sentence_encoder_close(struct sentence_encoder *e);
static inline bool sentence_encoder_is_open(const struct sentence_encoder *e)
{
    return e->work != NULL;
}

/* Channels of a vector. */
static inline int64_t sentence_encoder_width(const struct sentence_encoder *e)
{
    return e->net.config.hidden_size;
}
/* vectors [n, width] of n texts.  Ends what the workspace's last step left.  -1 with EXIT_CODE_MEMORY. */
int sentence_encoder_embed(struct sentence_encoder *e, float *vectors, const char *const *texts, int n,
                           struct error *err);

/* Divides a vector by its length; one of zeros stays. */
void sentence_vector_normalise(float *v, int64_t width);

#endif
