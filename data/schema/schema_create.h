/*
 * schema_create.h - reads a schema from the text of CREATE TABLE statements, as pg_dump --schema-only, DuckDB's EXPORT
 * DATABASE and .schema of sqlite3 print it.
 *
 * The dialect is not asked for.  Names may be quoted by "", `` or [], texts by '' or $$.  Unknown statements are
 * skipped, among them the rows of a whole dump.  Read are tables with columns, types, primary and foreign keys, also
 * keys that ALTER TABLE adds and columns of INHERITS and LIKE.  Views are read if their columns have names.  A
 * partition is part of its table.  Views without names of columns, and keys to missing tables, are left out with a
 * warning.
 *
 * A text may come from anybody.  All sizes are bounded, and each limit is an error.
 */
#ifndef DATA_SCHEMA_SCHEMA_CREATE_H
#define DATA_SCHEMA_SCHEMA_CREATE_H

#include "data/base/text_stream.h"
#include "data/schema/schema.h"

enum {
    CREATE_MAX_BYTES = 256 << 20, /* of a text */
    CREATE_MAX_TOKENS = 1 << 20,  /* of a statement that is read */
    CREATE_MAX_NAME = 512,        /* bytes of a name */
    CREATE_MAX_TABLES = 20000,    /* also of views */
    CREATE_MAX_COLUMNS = 200000,  /* of all tables */
    CREATE_MAX_TABLE_COLUMNS = 4096,
    CREATE_MAX_KEYS = 50000 /* foreign keys */
};

/* Reads n bytes as one schema, which is named db_id and added to the set; `name` opens messages.  -1 with
 * EXIT_CODE_DATA, and nothing is added. */
int schema_create_read(struct schema_set *set, const char *text, size_t n, const char *db_id, const char *name,
                       struct error *err);
/* The same for the rest of a stream. */
int schema_create_read_stream(struct schema_set *set, struct text_stream *in, const char *db_id, struct error *err);
/* The db_id of a file of statements: its name without endings, or "schema" if it is no regular file.  The caller frees
 * it. */
char *schema_create_db_id(const char *path);

#endif
