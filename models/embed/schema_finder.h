/*
 * schema_finder.h - the part of a wide schema that a question may be about, by words (schema_search.h) and, where there
 * is an encoder of sentences, by meaning: what a question says in other words than the schema's.
 *
 * A table's vector is the mean of two: that of its name and that of its name with its columns', of which a long table
 * has several, each of a piece of its columns.  What a table is worth by meaning is its vector times the question's, no
 * less than 0.
 */
#ifndef MODELS_EMBED_SCHEMA_FINDER_H
#define MODELS_EMBED_SCHEMA_FINDER_H

#include "data/schema/schema_search.h"
#include "models/embed/sentence_encoder.h"

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
