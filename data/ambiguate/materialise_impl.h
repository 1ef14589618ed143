/*
 * materialise_impl.h - a database while it is altered.
 */
#ifndef DATA_AMBIGUATE_MATERIALISE_IMPL_H
#define DATA_AMBIGUATE_MATERIALISE_IMPL_H

#include "data/ambiguate/materialise.h"

#include <sqlite3.h>

/* How the second alternative of C and T differs from the first. */
enum second_values { SECOND_OF_OTHER_ROWS, SECOND_CHANGED, SECOND_WAYS };

struct target {
    sqlite3 *db;
    const char *path; /* for messages */
    uint64_t seed;
    struct strings text;
};

/* Opens path; with create it must not hold a database yet.  Triggers and whatever else a stranger's file might do are
 * off. */
int target_open(struct target *t, const char *path, bool create, uint64_t seed, struct error *err);
void target_close(struct target *t);
/* Runs statements made as sqlite3_mprintf does (%w inside double quotes, %Q for a value).  -1 with SQLite's words. */
int target_run(struct target *t, struct error *err, const char *fmt, ...);
/* The first value of a query's first row as text that t keeps; NULL without a row. */
const char *target_value(struct target *t, const char *fmt, ...);

/* A column as PRAGMA pragma_table_info tells of it. */
struct target_column {
    const char *name, *type;
    const char *collation; /* "BINARY" unless declared otherwise */
    const char *standard;  /* the DEFAULT expression, or NULL */
    bool not_null;
    int primary; /* place in the primary key from 1, or 0 */
};
/* The columns of a table of the database or of an attached one; t keeps them.  Their number, 0 without such a table. */
int target_columns(struct target *t, struct target_column *columns, int max, const char *database, const char *table);
enum { TARGET_MAX_COLUMNS = 512 };

/* Alters a copy of the record's database in place. */
int materialise_alter(struct target *t, const struct ambiguity *a, const struct schema *s, enum second_values second,
                      struct error *err);
/* Fills an empty database from the record's own, which is attached as "source". */
int materialise_published(struct target *t, const struct ambiguity *a, const char *schema_text, struct error *err);
/* The SELECT whose rows the new table of a P record holds; t keeps it. */
const char *materialise_aggregate(struct target *t, const struct ambiguity *a, const struct schema *s);

#endif
