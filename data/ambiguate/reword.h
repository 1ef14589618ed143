/*
 * reword.h - the readings of an ambiguous question in words, made from its golds without any language model, and
 * examples in which some of them exist and the others are missing.
 *
 * What such examples measure: a model that learnt from them is asked for the readings that are missing; what it writes
 * counts as a gold's reading when it has the gold's words (reading_sql.h), and then that gold's SQL is executed and
 * scored.  Recall is so a lower bound, since a reading in other words counts as none, and it says how well the missing
 * alternative is found in the schema, not how well a person's question is understood.  Without infilling recall is what
 * the readings that exist cover: of two golds and one reading, a half.
 */
#ifndef DATA_AMBIGUATE_REWORD_H
#define DATA_AMBIGUATE_REWORD_H

#include "data/corpora/ambiqt.h"
#include "data/util/json.h"
#include "data/util/record_reader.h"
#include "kernels/rng.h"

/* The question with every mention of the element (a name as the schema has it; plurals count) called by another name;
 * with " (ELEMENT: NAME)" behind it where it mentions none.  Words of a longer name of the schema are no mention, nor
 * are those of a phrase such as "in alphabetical order".  schema_text is that of struct ambiqt_record.  The caller
 * frees. */
char *reword_question(const char *question, const char *element, const char *name, const char *schema_text);

/* Texts of the record's two golds.  C, T: the question with the element called by each alternative's name; J: with
 * " (COLUMN from TABLE)" behind it; P: with " (computed from TABLE)" and " (stored in TABLE)".  The caller frees both.
 */
void reword_golds(char *texts[2], const struct ambiqt_record *r);

/*
 * Gives a record with golds that all have texts its "readings", some of the golds, each with its SQL: of several golds
 * none (15 %), all (15 %), or otherwise some of them; of a single one it or (20 %) none.  In random order.
 */
void reword_readings(json_t *record, struct rng *rng);

struct reword_request {
    const char *db, *out;
    enum record_form form;
    int64_t seed;
};

/* Tells on the log what was written and what was left out.  -1 with err. */
int reword_write(const struct reword_request *q, const char *path, struct error *err);

#endif
