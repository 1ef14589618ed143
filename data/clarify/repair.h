/*
 * repair.h - repairs a candidate statement that fails or returns no rows.
 *
 * Each repair changes one kind of fault, and is kept only if the statement then runs and, for the last three, has rows:
 *
 * - a table that does not exist, by the table of the nearest name;
 * - a column that its table lacks: by the same name in another table of the FROM clause, or by the nearest name;
 * - a column of a table that the statement lacks, which is joined by a foreign key;
 * - a value that its column lacks, by the nearest stored value (value_index.h);
 * - a value that only another column of the same table has, by that column;
 * - a join on other columns than those of the only foreign key between the two tables.
 *
 * Values are looked up in the first REPAIR_VALUES distinct values of a column.
 */
#ifndef DATA_CLARIFY_REPAIR_H
#define DATA_CLARIFY_REPAIR_H

#include "data/base/strings.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema.h"

enum { REPAIR_VALUES = 5000 };

struct repair {
    const char *sql;    /* the repaired statement */
    bool failed;        /* the statement did not run; false: it returned no rows */
    const char *change; /* a sentence without its full stop: "the column nam of singer was replaced by name" */
};

/* Repairs a statement.  Returns false if it needs no repair or has none.  words owns the texts, the arena is scratch;
 * the arena keeps nothing. */
bool repair_statement(struct repair *r, const char *sql, const struct schema *s, struct exec_db *db,
                      struct arena *scratch, struct strings *words);

#endif
