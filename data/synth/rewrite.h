/*
 * rewrite.h - interpretations of ambiguous questions in words, and infilling examples that lack some of them.
 *
 * The texts are made from the gold statements by rules, without a language model. An infilling model learns from these
 * examples to write the missing interpretations. A text that it writes counts as a gold's interpretation if it has
 * that gold's words (interpretation_sql.h); then the gold's SQL is executed and scored. Recall is therefore a lower
 * bound, since paraphrases do not count. It measures how well the missing alternative is found in the schema, not how
 * well a person's question is understood. Without infilling, recall is the coverage of the existing interpretations:
 * one of two golds gives one half.
 */
#ifndef DATA_SYNTH_REWRITE_H
#define DATA_SYNTH_REWRITE_H

#include "data/base/json.h"
#include "data/base/record_reader.h"
#include "data/corpora/ambiqt.h"
#include "kernels/rng.h"

/* Replaces every mention of the element (its name in the schema; plurals count) by another name. Without a mention it
 * appends " (ELEMENT: NAME)". Words of a longer name of the schema are no mention, nor are words of a phrase such as
 * "in alphabetical order". schema_text: see struct ambiqt_record. The caller frees the result. */
char *rewrite_question(const char *question, const char *element, const char *name, const char *schema_text);

/* Writes the texts of the record's two golds. C and T: the question with the name of each alternative. J: the question
 * with " (COLUMN from TABLE)" appended. P: with " (computed from TABLE)" and " (stored in TABLE)". The caller frees
 * both. */
void rewrite_golds(char *texts[2], const struct ambiqt_record *r);

/*
 * Sets the field "readings" of a record whose golds all have texts: a random subset of the golds in random order, each
 * with its SQL. Of several golds it takes none (15 %), all (15 %) or some; of a single gold it takes one (80 %) or
 * none.
 */
void rewrite_interpretations(json_t *record, struct rng *rng);

struct rewrite_request {
    const char *db, *out;
    enum record_format format_in;
    int64_t seed;
};

/* Reads records of `ambit-data ambiguate --materialise` or rows of AMBROSIA and writes the examples to q->out. Logs the
 * numbers of written and rejected records. Returns -1 with err. */
int rewrite_write(const struct rewrite_request *q, const char *path, struct error *err);

#endif
