/*
 * schema_finder.h - finds the part of a wide schema that a question may be about, by words and by meaning.
 *
 * Words are matched by schema_search.h. Meaning needs a sentence encoder in a BERT folder (Sentence-BERT, Reimers and
 * Gurevych 2019). A vector is the mean of the last layer's states over all tokens of [CLS] text [SEP], divided by its
 * length. Folders with another pooling, or with layers after the pooling, are refused. Texts are truncated at
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
    int layers; /* number of layers that are computed, from the first one */
    struct tokenizer *tokenizer;
    bool borrows;   /* network and tokenizer belong to another model */
    int longest;    /* max tokens of a text, with [CLS] and [SEP] */
    int max_tokens; /* max tokens of a pass; a longer text has a pass of its own */
    uint64_t hash;  /* hash of names, sizes and times of the folder's files */
};

/* Opens an encoder. work must outlive it. tokens: max_tokens. -1 with EXIT_CODE_CHECKPOINT. The caller closes e
 * either way. */
int sentence_encoder_open(struct sentence_encoder *e, struct workspace *work, const char *dir, int tokens,
                          struct error *err);
/* Makes an encoder of the first layers of another model's network, of kind CLASSIC_BERT, which must outlive it with its
 * tokenizer. The caller closes e. */
void sentence_encoder_borrow(struct sentence_encoder *e, struct workspace *work, const struct bert *net, int layers,
                             struct tokenizer *tokenizer, int tokens);
/* Accepts a zeroed encoder. */
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
/* Embeds n texts as vectors [n, width]. Invalidates the results of the workspace's last step. -1 with
 * EXIT_CODE_MEMORY. */
int sentence_encoder_embed(struct sentence_encoder *e, float *vectors, const char *const *texts, int n,
                           struct error *err);

#define RETRIEVER_HELP "BERT sentence encoder (mean pooling): select tables by meaning as well"

#define RETRIEVER_UNUSED "--retriever needs --elements above 0"

struct schema_finder;

/* Opens a finder for all questions on a schema, which must outlive it. e NULL: by words alone, which cannot fail.
 * NULL with EXIT_CODE_MEMORY. */
struct schema_finder *schema_finder_open(const struct schema *s, struct sentence_encoder *e, struct error *err);
/* Accepts NULL. */
void schema_finder_close(struct schema_finder *f);

/* Marks the best elements, as schema_search_best does. vector: of the question, by the finder's encoder; NULL
 * without one. */
void schema_finder_best(const struct schema_finder *f, const char *question, const float *vector, int most, bool *kept);

#endif
