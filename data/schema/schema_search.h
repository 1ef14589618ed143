/*
 * schema_search.h - selects the part of a wide schema that is relevant to a question, by words.
 *
 * Tables are ranked, not columns: a column that a question does not mention ("older" for a column `age`) is near one
 * that it mentions.  A word of the question has a weight for each name.  The weight is its inverse document frequency
 * among tables (Robertson and Sparck Jones 1976, as in BM25), divided by the number of words of the name.  It is halved
 * if the name is a column's.  Similar words count in part.
 *
 * The score of a table is a sum over the words of the question.  Each word counts by the best of the table itself and
 * of tables up to two foreign keys away, halved for each key.  Tables that join others are therefore selected too.  In
 * a group with at most a quarter of the selected elements, each table scores at least three fifths of the best one.
 * Scores from elsewhere, such as of embeddings, may be added; both are divided by their maximum.
 *
 * Ties are broken by names, so the order of tables plays no part.  Time and memory grow linearly with words, columns
 * and keys.
 */
#ifndef DATA_SCHEMA_SCHEMA_SEARCH_H
#define DATA_SCHEMA_SCHEMA_SEARCH_H

#include "data/schema/schema.h"

struct schema_search;

/* Default of the maximum number of elements that a detector reads, and its minimum. */
enum { SCHEMA_SEARCH_ELEMENTS = 256, SCHEMA_SEARCH_MIN = 16 };
#define SCHEMA_SEARCH_HELP "maximum number of tables and columns per schema, the most relevant of a wider one (0: all)"

/* Indexes a schema for all questions. s must outlive the index.  Never fails. */
struct schema_search *schema_search_open(const struct schema *s);
/* Harmless on NULL. */
void schema_search_close(struct schema_search *x);

/*
 * Sets kept [n_tables + n_columns] for the best elements: at most `max` of them, or all if there are no more.  Tables
 * are taken whole in the order of their scores, but none takes more than half of `max`, and the last one takes the
 * rest.  A table that is cut keeps its keys, unless they take more than half, then columns that the question mentions,
 * then the first ones.
 *
 * more [n_tables]: scores to add, at least 0; NULL: none.
 */
void schema_search_best(const struct schema_search *x, const char *question, const float *more, int max, bool *kept);

/* The schema of the kept elements in their order, with the keys between them.  Columns of omitted tables are omitted.
 * The caller releases it with schema_release (schema_build.h). */
void schema_part(struct schema *part, const struct schema *s, const bool *kept);

#endif
