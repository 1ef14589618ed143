/*
 * result_match.h - rules by which two query results are equal. They are pure functions of struct exec_result.
 *
 * Cells are equal as in SQLite and Python. NULL equals NULL. Numbers are compared by exact value, so 1 equals 1.0.
 * Texts and blobs are compared byte by byte. Cells of different classes are never equal, so 1 does not equal '1'.
 */
#ifndef DATA_DB_RESULT_MATCH_H
#define DATA_DB_RESULT_MATCH_H

#include "data/db/sqlite_exec.h"

/* Orders NULL < numbers < texts < blobs. Returns 0 if the cells are equal. */
int cell_compare(const struct cell *a, const struct cell *b);

/* Compares all cells as multisets, ignoring rows and columns. */
bool match_cells(const struct exec_result *a, const struct exec_result *b);
/* Compares each row with the row at the same place, as multisets of cells. */
bool match_row_cells(const struct exec_result *a, const struct exec_result *b);

/* The rule of "Disambiguate First, Parse Later" (Saparina and Lapata, 2025): an empty prediction never matches. If
 * gold_sql contains "order by" (any case, one blank), match_row_cells decides, else match_cells. */
bool match_published(const struct exec_result *p, const struct exec_result *gold, const char *gold_sql);
/* The text test of match_published. Use sql_ordered to find out whether a statement orders its rows. */
bool says_order_by(const char *sql);

/*
 * The strict rule: the results have the same numbers of columns and rows, and rows are equal column by column. Rows
 * are compared in order if `ordered`, else as multisets. Numbers are equal if they differ by at most MATCH_TOLERANCE
 * of the larger one, so that sums in another order match. Two integers must be identical.
 */
#define MATCH_TOLERANCE 1e-9
bool match_rows(const struct exec_result *a, const struct exec_result *b, bool ordered);

/* Compares rows in order, cell by cell, without tolerance. */
bool match_exactly(const struct exec_result *a, const struct exec_result *b);

#endif
