/*
 * ambiguate_published.h - AmbiQT's own generator, reproduced bug for bug.
 *
 * It works on the words of the query's text. Its mistakes are kept as far as the published records show them, so that
 * the published questions and dictionaries give the published records. One exception: for a HAVING clause in type P
 * the published file comes from a corrected generator, and so do the records here.
 */
#ifndef DATA_SYNTH_AMBIGUATE_PUBLISHED_H
#define DATA_SYNTH_AMBIGUATE_PUBLISHED_H

#include "data/synth/ambiguate.h"

/* Each function appends the question's records of one type, possibly none. */
void ambiguate_columns(struct ambiguities *out, const struct ambiguate_question *q);
void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q);
void ambiguate_joins(struct ambiguities *out, const struct ambiguate_question *q);
/* Stores all aggregates of a question in one new table, as the published validation file does. */
void ambiguate_aggregates(struct ambiguities *out, const struct ambiguate_question *q);
/* Makes one record and one new table for each aggregated column of a question on one table, as the published training
 * file does. The new table has the other columns of the table and max_, min_, avg_ and total_ of this one. */
void ambiguate_one_table(struct ambiguities *out, const struct ambiguate_question *q);

#endif
