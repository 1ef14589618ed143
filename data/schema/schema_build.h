/*
 * schema_build.h - puts a struct schema together piece by piece, then packs it into one block.
 *
 * Names are copied at once, so the caller's may go away.  Columns may come in any order of tables; packing sorts them
 * by table, keeping the order within each, and renumbers the keys.
 */
#ifndef DATA_SCHEMA_SCHEMA_BUILD_H
#define DATA_SCHEMA_SCHEMA_BUILD_H

#include "data/schema/schema.h"

struct schema_build {
    struct built_table *tables;
    struct built_column *columns;
    struct schema_foreign_key *foreign_keys;
    int n_tables, n_columns, n_foreign_keys;
    int tables_cap, columns_cap, foreign_keys_cap;
    char *text;
    size_t text_size, text_cap;
    size_t db_id; /* where it starts in text */
};

/* A zeroed struct is ready too. */
void schema_build_init(struct schema_build *b, const char *db_id);
/* Harmless on a zeroed or released struct. */
void schema_build_release(struct schema_build *b);

/* Each returns the new element's number.  text may be NULL: it is then derived from the name. */
int schema_build_table(struct schema_build *b, const char *name, const char *text);
void schema_build_form(struct schema_build *b, int table, enum table_form form);
int schema_build_column(struct schema_build *b, int table, const char *name, const char *text, enum column_type type);
/* Column numbers are those schema_build_column returned. */
void schema_build_primary(struct schema_build *b, int column);
/* What a SQLite file declares.  Without it a column has what a tables.json tells: AFFINITY_NUMBER for a number, else
 * AFFINITY_UNKNOWN, and COLLATION_BINARY, SQLite's own default. */
void schema_build_compared(struct schema_build *b, int column, enum column_affinity affinity,
                           enum column_collation collation);
void schema_build_foreign_key(struct schema_build *b, int from, int to);

/* Packs what was built; the caller owns out and ends it with schema_release.  b may be initialised anew. */
void schema_build_finish(struct schema_build *b, struct schema *out);
void schema_release(struct schema *s);

/* Hands a finished schema over to the set.  -1 with EXIT_CODE_DATA when its db_id is there already; s is then released.
 */
int schema_set_add(struct schema_set *set, struct schema *s, struct error *err);

/* The type that a declared SQL type or one of the words of column_type_name stands for. */
enum column_type column_type_of(const char *declared);
/* By the rules of SQLite's datatype3.html, section 3.1; AFFINITY_UNKNOWN for ANY, which a STRICT table converts in
 * another way. */
enum column_affinity column_affinity_of(const char *declared);
/* Of a COLLATE. */
enum column_collation column_collation_of(const char *name);

/*
 * Several schemas as one: the tables of others behind those of a first one.
 *
 * Nothing changes its order, and keys stay within the schema that they are of, so the elements of the first schema are
 * the first tables and the first columns.
 */
/* Of n schemas, at least one.  A table whose name is taken by then, as SQLite compares names, gets "_2" behind it, or
 * the first number from there on that leaves a name which no schema has; its words stay.  The result has the db_id of
 * the first and ends with schema_release. */
void schema_join(struct schema *out, const struct schema *const *schemas, int n);

#endif
