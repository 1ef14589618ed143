/*
 * session_rows.h - the rows of a dialogue's statement as a CSV table, for POST /rows.
 *
 * The table has a line of column names and one line for each row (table_writer.h).  NULL is an empty cell, and other
 * cells are as in records: a blob is {"blob":hex}.
 */
#ifndef INFER_ASK_SESSION_ROWS_H
#define INFER_ASK_SESSION_ROWS_H

#include "infer/ask/pipeline.h"

/* Maximum number of rows of a table. */
enum { SESSION_ROWS_MAX = 10000 };

/* Runs the most probable statement of a dialogue and returns its result as a new reference.  Returns NULL with
 * EXIT_CODE_DATA if the dialogue has escalated, the statement does not run, or there is no database. */
json_t *session_rows(struct pipeline *a, struct session *s, const char *where, struct error *err);
/* Sets the table of a result as a reply whose file name tells whether rows are missing. */
void session_rows_reply(struct http_reply *reply, const json_t *result);

#endif
