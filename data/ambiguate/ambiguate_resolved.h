/*
 * ambiguate_resolved.h - records and edits from the resolved query.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_RESOLVED_H
#define DATA_AMBIGUATE_AMBIGUATE_RESOLVED_H

#include "data/ambiguate/ambiguate.h"

/* The same from the resolved query. */
void resolved_columns(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
void resolved_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
/* In every SELECT, the table becomes a join of both parts by its key of one column. */
void resolved_joins(struct ambiguities *out, const struct ambiguate_question *q);
/* The new table stores no count of values. */
void resolved_aggregates(struct ambiguities *out, const struct ambiguate_question *q);
void resolved_one_table(struct ambiguities *out, const struct ambiguate_question *q);

/* The edits: a record for each such column that is no key and that the query uses by its name, not by * or an alias
 * alone.  A query that is not understood has none; nor has, for D, a column whose words in the question another element
 * has too. */
void ambiguate_deleted(struct ambiguities *out, const struct ambiguate_question *q);
void ambiguate_replaced(struct ambiguities *out, const struct ambiguate_question *q);

#endif
