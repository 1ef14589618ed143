/*
 * ambiqt_map.h - maps a prediction on a record's altered schema back to the original schema.
 *
 * AmbiQT has no databases for its altered schemas. Its evaluator edits the text of predictions until they can be
 * compared with the original gold query. There are two mappings, which differ in the predictions that they accept.
 *
 * The published mapping (Bhaskar et al., EMNLP 2023), by type:
 *   C: It replaces each synonym by the column and vice versa, in any table. A query with neither counts for both.
 *   T: It does the same for tables, but "table.column" becomes invalid.
 *   J: It knows only "T as t1 join T_c as t2 on ...". Prefixes like "t1." vanish in any case.
 *   P: It inserts a GROUP BY of the first plain item before HAVING or at the end.
 *   Except for T, the text before the last "@" of a prediction is dropped. A "db_id |" is kept.
 *
 * Our mapping:
 *   C: It edits names of the altered table in queries that name the synonym. The old column name is invalid.
 *   T: It edits "table.column" too, in queries that name the synonym. The old table name is invalid.
 *   J: It accepts the join in either order, any aliases, INNER, NATURAL, ON or USING, and T_c alone.
 *   P: It knows aliases and inserts the gold's GROUP BY at its place. The query must not aggregate the new table
 *   again.
 *   A "db_id |" and a plan up to "selects @" are dropped.
 */
#ifndef DATA_PUBLISHED_AMBIQT_MAP_H
#define DATA_PUBLISHED_AMBIQT_MAP_H

#include "data/corpora/ambiqt.h"
#include "data/schema/schema.h"

/* The texts to compare with the normalised original gold query, for the first and the second interpretation; NULL if
 * the prediction cannot match it. The caller frees both. */
struct ambiqt_interpretations {
    char *sql[2];
};
struct ambiqt_interpretations ambiqt_map_published(const struct ambiqt_record *r, const char *prediction);
struct ambiqt_interpretations ambiqt_map(const struct ambiqt_record *r, const struct schema *s, const char *prediction);
/* The query of a prediction, after "db_id |" and a plan such as "2 selects @". Points into prediction. */
const char *ambiqt_query_of(const struct ambiqt_record *r, const char *prediction);
/* Corrects the prefixes of a prediction of type J that is invalid on the altered schema. A column of both the old and
 * the split table is taken from the split one; a column that its table lacks, from another table of the query. The
 * mappings drop such prefixes anyway. The caller frees. */
char *ambiqt_qualify(const struct ambiqt_record *r, const struct schema *altered, const char *sql);
void ambiqt_interpretations_release(struct ambiqt_interpretations *r);

#endif
