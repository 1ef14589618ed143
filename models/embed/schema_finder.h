/*
 * schema_finder.h - finds the part of a wide schema that a question may be about, by words and by meaning.
 *
 * Words are matched by schema_search.h. Meaning needs a sentence encoder: a BERT folder whose vectors are the mean of
 * the last layer's states over all tokens of [CLS] text [SEP], divided by its length (Sentence-BERT, Reimers and
 * Gurevych 2019). Folders with another pooling, or with layers after the pooling, are refused. Texts are truncated at
 * the folder's max_seq_length. The encoder computes in F32 in a borrowed workspace.
 *
 * A table's vector is the mean of two: the vector of its name, and the mean vector of its name with pieces of its
 * column list. The score of a table is the dot product of its vector and the question's, at least 0.
 */
#ifndef MODELS_EMBED_SCHEMA_FINDER_H
#define MODELS_EMBED_SCHEMA_FINDER_H

#include "data/schema/schema_search.h"
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

#define RETRIEVER_HELP                                                                                                 \
    "BERT folder that embeds sentences (mean pooling): tables of a wider schema are found by meaning, too"

#define RETRIEVER_UNUSED "--retriever: expected --elements above 0, of which it finds the best"

struct schema_finder;

/* Made once for all questions; s must outlive it.  e NULL: by words alone, which cannot fail.  NULL with
 * EXIT_CODE_MEMORY. */
struct schema_finder *schema_finder_open(const struct schema *s, struct sentence_encoder *e, struct error *err);
/* Harmless on NULL. */
void schema_finder_close(struct schema_finder *f);

/* schema_search_best; vector: the question's, of the encoder that the finder was opened with, NULL: none. */
void schema_finder_best(const struct schema_finder *f, const char *question, const float *vector, int most, bool *kept);

#endif
