/*
 * result_match.h - when two query results are the same: three rules over struct exec_result, all of them pure.
 *
 * Cells are equal as they are in SQLite and in Python: NULL with NULL; numbers by value, exactly, so that 1 is 1.0;
 * text with text and blob with blob byte by byte; never across these four kinds, so that 1 is not '1'.
 */
#ifndef DATA_EXEC_RESULT_MATCH_H
#define DATA_EXEC_RESULT_MATCH_H

#include "data/exec/sqlite_exec.h"

/* NULL < numbers < text < blobs.  0 where they are equal. */
int cell_compare(const struct cell *a, const struct cell *b);

/* The same cells as multisets: rows and columns play no part. */
bool match_cells(const struct exec_result *a, const struct exec_result *b);
/* Row by row the same cells, in whatever order within a row. */
bool match_row_cells(const struct exec_result *a, const struct exec_result *b);

/* As "Disambiguate First, Parse Later" scores: a prediction without rows matches nothing; by match_row_cells when
 * gold_sql says "order by" anywhere, in any case, with one blank between; else by match_cells. */
bool match_published(const struct exec_result *p, const struct exec_result *gold, const char *gold_sql);
/* That test of the text, for the published rule alone; sql_ordered says whether a statement orders its rows. */
bool says_order_by(const char *sql);

/*
 * The strict rule.  As many columns, as many rows; the rows are equal column by column, in the same order when
 * `ordered`, else as multisets.  A number equals a number whose distance is at most MATCH_TOLERANCE of the larger, so
 * that sums in another order agree; two integers only when they are the same.
 */
#define MATCH_TOLERANCE 1e-9
bool match_rows(const struct exec_result *a, const struct exec_result *b, bool ordered);

/* The same rows in the same order, cell by cell without tolerance. */
bool match_exactly(const struct exec_result *a, const struct exec_result *b);

#endif
