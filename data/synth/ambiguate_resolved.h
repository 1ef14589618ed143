/*
 * ambiguate_resolved.h - AmbiQT's types and schema edits from the parsed and resolved query.
 *
 * Each function appends the question's records of one type, possibly none. A query that does not parse or resolve
 * gives no record and counts as FAULT_UNREADABLE.
 */
#ifndef DATA_SYNTH_AMBIGUATE_RESOLVED_H
#define DATA_SYNTH_AMBIGUATE_RESOLVED_H

#include "data/synth/ambiguate.h"

/* Types C and T: two columns or two tables with the two synonyms as names. */
void resolved_columns(struct ambiguities *out, const struct ambiguate_question *q);
void resolved_tables(struct ambiguities *out, const struct ambiguate_question *q);
/* Type J: in every SELECT, the table becomes a join of both parts by its primary key of one column. */
void resolved_joins(struct ambiguities *out, const struct ambiguate_question *q);
/* Type P. The new table stores no count of values. */
void resolved_aggregates(struct ambiguities *out, const struct ambiguate_question *q);
void resolved_one_table(struct ambiguities *out, const struct ambiguate_question *q);

/* The schema edits D and R: a record for each column of the query that is no key and that the question mentions. The
 * query must name the column; * or an alias alone do not count. D skips a column if another element matches the same
 * words of the question. */
void ambiguate_deleted(struct ambiguities *out, const struct ambiguate_question *q);
void ambiguate_replaced(struct ambiguities *out, const struct ambiguate_question *q);

#endif
