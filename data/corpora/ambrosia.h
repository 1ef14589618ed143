/*
 * ambrosia.h - the reader of AMBROSIA (Saparina and Lapata, NeurIPS 2024). It converts published rows into records and
 * labels.
 */
#ifndef DATA_CORPORA_AMBROSIA_H
#define DATA_CORPORA_AMBROSIA_H

#include "data/base/json.h"

/* Returns whether a record is a row of AMBROSIA: it has the field "gold_queries". */
bool ambrosia_is_row(const json_t *record);

/*
 * The file ambrosia.csv as published: every interpretation of an ambiguous question is a row of its own.
 *
 * - Columns: "db_file", "question", "ambig_question", "ambig_type", "is_ambiguous" (True or False), "split", and
 *   "gold_queries", SQL statements with empty lines between them.
 * - Output: rows as above, {"db", "question", "is_ambiguous", "ambig_type", "split", "ambig_question", "gold_queries"}.
 *   db is the name of db_file without folders and extension. Other columns are dropped.
 */
bool ambrosia_is_csv_row(const json_t *record);
/* Returns a new reference, or NULL with EXIT_CODE_DATA. */
json_t *ambrosia_csv_row(const json_t *record, const char *where, struct error *err);
/* Sets "gold_interpretations" of the ambiguous rows: the questions of the unambiguous rows of the same database and
 * ambiguous question. The interpretation of a query has the same SQL; if one has not, their order in the file decides,
 * as in the authors' program. A row with another number of interpretations than of queries stays without. Removes
 * "ambig_question" from all [n] rows. */
void ambrosia_link(json_t *const *rows, int n);

/*
 * Converts a row into a record with golds.
 *
 * - Input: {"db", "question", "ambig_type", "gold_queries", "gold_interpretations": [{"sql", "questions"}]}.
 * - Output: {"id", "db_id", "question", "golds": [{"sql", "text"}]}.
 *
 * The i-th interpretation belongs to the i-th query, and its first question is the gold's text; unambiguous rows have
 * none. "Show them in one table." is appended to attachment questions without it. Rows without id get `number`. The
 * caller owns the record. Returns NULL with EXIT_CODE_DATA.
 */
json_t *ambrosia_record(const json_t *row, int64_t number, const char *where, struct error *err);

/*
 * Converts a row into a label (labels.h).
 *
 * - Input: {"db", "question", "is_ambiguous", "ambig_type", "gold_queries"}.
 * - Output: {"id", "db_id", "question", "ambiguous", "type", "sql"}, with at most EXAMPLE_MAX_SQL statements.
 *
 * The id and question are those of ambrosia_record. The caller owns the label. Returns NULL with EXIT_CODE_DATA.
 */
json_t *ambrosia_label(const json_t *row, int64_t number, const char *where, struct error *err);

#endif
