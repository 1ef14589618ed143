/*
 * ambiqt_map.h - a prediction on a record's altered schema, brought back to the schema it was made from.
 *
 * AmbiQT has no databases for its altered schemas: its evaluator changes the text of predictions until they can be
 * compared with the original gold query.  The two ways of doing that differ in what they take for an alternative.
 *
 * As published:
 *   C  each word that is the synonym becomes the column, and the other way round, in any table; a query that names
 *      neither counts for both
 *   T  the same for tables, but "table.column" becomes nonsense
 *   J  only "T as t1 join T_c as t2 on ..." is known; prefixes like "t1." vanish with it or without
 *   P  a GROUP BY of the first plain item is put before HAVING or at the end, whatever stands there
 *   What stands before the last "@" of a prediction is dropped, but for T; a "db_id |" is not.
 * Ours:
 *   C  only names of the altered table, only queries that name the synonym; the column's old name is gone
 *   T  "table.column" too, only queries that name the synonym; the table's old name is gone
 *   J  the join in either order, with any aliases or none, INNER, NATURAL, ON or USING; T_c alone too; only queries
 *      that name T_c
 *   P  aliases are known; the gold's GROUP BY stands where SQL wants it unless there is one; only queries that name
 *      the new table and do not aggregate it again
 *   "db_id |" is dropped, and a plan up to "selects @".
 */
#ifndef DATA_SCORE_AMBIQT_MAP_H
#define DATA_SCORE_AMBIQT_MAP_H

#include "data/corpora/ambiqt.h"
#include "data/schema/schema.h"

/* The texts to compare with the normalised original gold query, first and second reading; NULL for one that the
 * prediction cannot be.  The caller frees both. */
struct ambiqt_readings {
    char *sql[2];
};
struct ambiqt_readings ambiqt_map_published(const struct ambiqt_record *r, const char *prediction);
struct ambiqt_readings ambiqt_map(const struct ambiqt_record *r, const struct schema *s, const char *prediction);
/* The query of a prediction: what stands behind "db_id |" and behind a plan, "2 selects @". */
const char *ambiqt_query_of(const struct ambiqt_record *r, const char *prediction);
/*
 * A prediction of kind J that the altered schema does not take as it stands, with its columns under tables that have
 * them: what stands in the old table and in the split one is taken from the split one, what the table before the point
 * lacks from another of the query.  The mappings drop such prefixes altogether.  The caller frees.
 */
char *ambiqt_qualify(const struct ambiqt_record *r, const struct schema *altered, const char *sql);
void ambiqt_readings_release(struct ambiqt_readings *r);

#endif
