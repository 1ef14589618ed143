/*
 * reading_sql.h - SQL that is known for readings, found by database and text: what scores a generated reading by
 * execution where no model writes SQL.
 *
 * Texts are the same when they have the same letters: case, white space and punctuation at the end do not count.
 * A reading in other words is not found, so what is scored this way is a lower bound.
 */
#ifndef DATA_READING_SQL_H
#define DATA_READING_SQL_H

#include "data/json.h"
#include "data/strings.h"

struct reading_sql {
    struct strings keys;
    json_t **sql; /* by key: a string or a list of strings */
    int cap;
};

/* JSONL of {"db_id", "text", "sql"}, or of records whose "golds" and "readings" are lists of {"text", "sql"} (what
 * ambit-data annotate and reword write).  The first SQL of a text counts.  -1 with EXIT_CODE_DATA; the caller releases
 * either way. */
int reading_sql_open(struct reading_sql *r, const char *path, struct error *err);
/* NULL when none is known.  Borrowed. */
json_t *reading_sql_find(const struct reading_sql *r, const char *db_id, const char *text);
void reading_sql_release(struct reading_sql *r);

#endif
