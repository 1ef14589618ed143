/*
 * schema.h - tables, columns and keys of a database, from Spider's tables.json or from a SQLite file
 * (data/db/schema_sqlite.h).
 *
 * Each table and column has two names: `name` as in SQL and `text` in natural words.  The words are Spider's
 * table_names and column_names.  For a SQLite file they are derived from `name`: underscores and camel case become
 * spaces, in lower case.  They are derived, too, if Spider's two lists have different orders, as in formula_1.  All
 * columns are in one array, grouped by table and in order.  "*" is not a column.
 *
 * A schema owns its strings and arrays in one block.  Bad files fail with EXIT_CODE_DATA.
 */
#ifndef DATA_SCHEMA_SCHEMA_H
#define DATA_SCHEMA_SCHEMA_H

#include "kernels/arena.h"

#include <jansson.h>

/* Only a SQLite file tells; a tables.json has TABLE_PLAIN only.  Full-text tables, the last two, are virtual tables as
 * well. */
enum table_form { TABLE_PLAIN, TABLE_WITHOUT_ROWID, TABLE_VIEW, TABLE_VIRTUAL, TABLE_FTS4, TABLE_FTS5 };

struct schema_table {
    const char *name, *text;
    int first_column, n_columns;
    enum table_form form;
};

enum column_type { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_TIME, COLUMN_BOOLEAN, COLUMN_OTHERS };

/* The affinity by which SQLite converts values that are compared with the column (datatype3.html, section 3). */
enum column_affinity {
    AFFINITY_UNKNOWN, /* a column of a view or a virtual table, or a column of a tables.json that is not a number */
    AFFINITY_NONE,    /* SQLite's "BLOB" affinity: no conversion */
    AFFINITY_TEXT,
    AFFINITY_NUMBER, /* one of the three below; a tables.json does not tell which */
    AFFINITY_NUMERIC,
    AFFINITY_INTEGER,
    AFFINITY_REAL
};

/* The COLLATE of a column, by which its texts are compared and sorted (datatype3.html, section 7). */
enum column_collation {
    COLLATION_UNKNOWN, /* a column of a view or a virtual table, or a collation that is not built into SQLite */
    COLLATION_BINARY,
    COLLATION_NOCASE,
    COLLATION_RTRIM
};

struct schema_column {
    const char *name, *text;
    int table;
    enum column_type type;
    bool primary; /* part of the primary key of its table, which may be composite */
    enum column_affinity affinity;
    enum column_collation collation;
};

struct schema_foreign_key {
    int from, to; /* column numbers of the referencing and the referenced column */
};

struct schema {
    const char *db_id;
    struct schema_table *tables;
    struct schema_column *columns;
    struct schema_foreign_key *foreign_keys;
    int n_tables, n_columns, n_foreign_keys;
    void *block;    /* owns all strings and arrays above */
    int64_t serial; /* unique among all schemas that the process has built */
};

struct schema_set {
    struct schema *schemas; /* in file order */
    int n, cap;
    int *by_id; /* open-addressed hash table of schema numbers; -1: free */
    int n_slots;
};

/* The name of the type in a tables.json: "text", "number", "time", "boolean" or "others". */
const char *column_type_name(enum column_type type);

/* Reads a tables.json, or the text of CREATE TABLE statements (schema_create.h), whose name is the db_id.  All sizes,
 * indexes and types are checked.  -1 with EXIT_CODE_DATA naming file, db_id and field. */
int schema_set_open(struct schema_set *s, const char *path, struct error *err);
/* The same for a parsed value; `path` opens the messages. */
int schema_set_from_json(struct schema_set *s, const json_t *tables, const char *path, struct error *err);
void schema_set_close(struct schema_set *s);
/* NULL if there is no such db_id. */
const struct schema *schema_find(const struct schema_set *s, const char *db_id);

/* Whether all fields except the serial are equal. */
bool schema_equal(const struct schema *a, const struct schema *b);

/* Find by name, ignoring case as SQLite does; -1 if absent. */
int schema_table_find(const struct schema *s, const char *name);
int schema_column_find(const struct schema *s, int table, const char *name);
/* Whether the table has rows of its own, which can be copied and changed: neither a view nor a virtual table. */
bool schema_table_is_stored(const struct schema *s, int table);
/* Finds a hidden column of a full-text table, which * does not select.  Returns the name as declared, or NULL. */
const char *schema_hidden_column(const struct schema *s, int table, const char *name);
/* The table of an element (tables first, then columns): the table itself, or the owner of the column. */
int schema_table_of(const struct schema *s, int element);
/* Whether the column is part of a primary key, or of a foreign key at either end. */
bool schema_column_is_key(const struct schema *s, int column);

/* The schema as an entry of a tables.json; composite primary keys are lists.  The caller owns the reference. */
json_t *schema_to_json(const struct schema *s);

/*
 * Groups of tables that foreign keys connect.
 *
 * If tables without a key to the schema are appended, values that are computed within groups do not change.
 */
/* [n_tables] For each table a representative of its group: the tables that foreign keys connect with it, directly or
 * not.  All tables without a key to or from another table form one group, so that a schema without keys is one group.
 * The caller frees the array. */
int *schema_groups(const struct schema *s);

#endif
