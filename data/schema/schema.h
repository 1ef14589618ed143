/*
 * schema.h - a database's tables, columns and keys, from Spider's tables.json or from a SQLite file
 * (data/exec/schema_sqlite.h).
 *
 * Every table and column has two names: `name` as SQL writes it, `text` in natural words (Spider's table_names and
 * column_names; derived from `name` for a SQLite file, and where Spider's two lists are in different orders, as those
 * of formula_1 are: underscores and camel case become spaces, lower case).  Columns of all tables stand in one array,
 * those of a table side by side and in order; "*" is not among them.
 */
#ifndef DATA_SCHEMA_SCHEMA_H
#define DATA_SCHEMA_SCHEMA_H

#include "kernels/arena.h"

#include <jansson.h>

/* Known of a SQLite file alone: in a tables.json all are TABLE_PLAIN.  Full-text tables, the last ones, are virtual
 * too. */
enum table_form { TABLE_PLAIN, TABLE_WITHOUT_ROWID, TABLE_VIEW, TABLE_VIRTUAL, TABLE_FTS4, TABLE_FTS5 };

struct schema_table {
    const char *name, *text;
    int first_column, n_columns;
    enum table_form form;
};

enum column_type { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_TIME, COLUMN_BOOLEAN, COLUMN_OTHERS };

/* SQLite converts what is compared with a column as the column's declared type says (datatype3.html, section 3). */
enum column_affinity {
    AFFINITY_UNKNOWN, /* a view's or a virtual table's column, and any of a tables.json that is no number */
    AFFINITY_NONE,    /* "BLOB" of SQLite's page: no conversion */
    AFFINITY_TEXT,
    AFFINITY_NUMBER, /* one of the three below: a tables.json does not tell which */
    AFFINITY_NUMERIC,
    AFFINITY_INTEGER,
    AFFINITY_REAL
};

/* The column's COLLATE, which decides how its texts are compared and sorted (datatype3.html, section 7). */
enum column_collation {
    COLLATION_UNKNOWN, /* a view's or a virtual table's column, and one that SQLite does not have itself */
    COLLATION_BINARY,
    COLLATION_NOCASE,
    COLLATION_RTRIM
};

struct schema_column {
    const char *name, *text;
    int table;
    enum column_type type;
    bool primary; /* part of its table's primary key, which may be composite */
    enum column_affinity affinity;
    enum column_collation collation;
};

struct schema_foreign_key {
    int from, to; /* column numbers: the referencing one, the referenced one */
};

struct schema {
    const char *db_id;
    struct schema_table *tables;
    struct schema_column *columns;
    struct schema_foreign_key *foreign_keys;
    int n_tables, n_columns, n_foreign_keys;
    void *block;    /* owns every string and array above */
    int64_t serial; /* tells it from all others that the process builds, those that are gone included */
};

struct schema_set {
    struct schema *schemas; /* in file order */
    int n, cap;
    int *by_id; /* open-addressed hash table of schema numbers, -1 where free */
    int n_slots;
};

const char *column_type_name(enum column_type type);

/* Reads a tables.json.  Sizes, indexes and types are all checked: -1 with EXIT_CODE_DATA naming file, db_id, field. */
int schema_set_open(struct schema_set *s, const char *path, struct error *err);
/* The same from a value already read; `path` opens the messages. */
int schema_set_from_json(struct schema_set *s, const json_t *tables, const char *path, struct error *err);
void schema_set_close(struct schema_set *s);
/* NULL when there is no such db_id. */
const struct schema *schema_find(const struct schema_set *s, const char *db_id);

/* Whether all but the serial is the same. */
bool schema_equal(const struct schema *a, const struct schema *b);

/* Case-insensitive, as SQLite compares names; -1 when absent. */
int schema_table_find(const struct schema *s, const char *name);
int schema_column_find(const struct schema *s, int table, const char *name);
/* Holds rows of its own that can be copied and changed: neither a view nor a virtual table. */
bool schema_table_is_stored(const struct schema *s, int table);
/* A column that * does not give, those of full-text tables: the name as it is declared, NULL when there is none. */
const char *schema_hidden_column(const struct schema *s, int table, const char *name);
/* Of an element, tables first, then columns: the table itself, or the one that owns the column. */
int schema_table_of(const struct schema *s, int element);
/* Part of a primary key, or of a foreign key at either end. */
bool schema_column_is_key(const struct schema *s, int column);

/* One tables.json entry; composite primary keys as lists.  The caller owns the reference. */
json_t *schema_to_json(const struct schema *s);

/*
 * Tables that have to do with one another, by their foreign keys.
 *
 * Tables that are appended to a schema without a key to it change nothing in what is counted or read by groups.
 */
/* [n_tables] for each table one that stands for its group: those that foreign keys join with it, over others too; all
 * tables without a key to or from another are one group more, so that a schema without keys is one.  The caller
 * frees. */
int *schema_groups(const struct schema *s);

#endif
