/*
 * ambiguate_published.h - AmbiQT's own generator, which works on words of text.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_PUBLISHED_H
#define DATA_AMBIGUATE_AMBIGUATE_PUBLISHED_H

#include "data/ambiguate/ambiguate.h"

/* Each appends the question's records of one kind, possibly none. */
void ambiguate_columns(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
void ambiguate_joins(struct ambiguities *out, const struct ambiguate_question *q);
/* All aggregates of a question in one new table, as in the published validation file. */
void ambiguate_aggregates(struct ambiguities *out, const struct ambiguate_question *q);
/* One record and one new table for each aggregated column of a question on one table, as in the published training
 * file, whose columns are the table's others and max_, min_, avg_, total_ of this one. */
void ambiguate_one_table(struct ambiguities *out, const struct ambiguate_question *q);

#endif
