/*
 * schema_build.h - builds a struct schema piece by piece and packs it into one block.
 *
 * Names are copied at once.  Columns may be added in any order of tables; packing sorts them by table, keeps the order
 * within each table and renumbers the keys.  Wrong numbers are bugs and abort.
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
    size_t db_id; /* offset in text */
};

/* A zeroed struct may be used as well. */
void schema_build_init(struct schema_build *b, const char *db_id);
/* Harmless on a zeroed or released struct. */
void schema_build_release(struct schema_build *b);

/* Return the number of the new element.  If text is NULL, it is derived from the name. */
int schema_build_table(struct schema_build *b, const char *name, const char *text);
void schema_build_form(struct schema_build *b, int table, enum table_form form);
int schema_build_column(struct schema_build *b, int table, const char *name, const char *text, enum column_type type);
/* Columns are given by the numbers that schema_build_column returned. */
void schema_build_primary(struct schema_build *b, int column);
/* Sets the declarations of a SQLite file.  Without this call a column has AFFINITY_NUMBER if it is a number, otherwise
 * AFFINITY_UNKNOWN; and COLLATION_BINARY, SQLite's default. */
void schema_build_compared(struct schema_build *b, int column, enum column_affinity affinity,
                           enum column_collation collation);
void schema_build_foreign_key(struct schema_build *b, int from, int to);

/* Packs the schema into out, which the caller releases with schema_release. b may be initialised again. */
void schema_build_finish(struct schema_build *b, struct schema *out);
void schema_release(struct schema *s);

/* Moves a finished schema into the set.  If its db_id exists already, -1 with EXIT_CODE_DATA, and s is released. */
int schema_set_add(struct schema_set *set, struct schema *s, struct error *err);

/* The column type of a declared SQL type or of a word of column_type_name. */
enum column_type column_type_of(const char *declared);
/* The affinity by SQLite's rules (datatype3.html, section 3.1); AFFINITY_UNKNOWN for ANY, which a STRICT table converts
 * differently. */
enum column_affinity column_affinity_of(const char *declared);
/* The collation that a COLLATE names. */
enum column_collation column_collation_of(const char *name);

/*
 * Joins several schemas: the tables of the others follow those of the first.
 *
 * The order is kept and keys stay within their schema.  The elements of the first schema are therefore the first tables
 * and the first columns.
 */
/* Joins n >= 1 schemas.  If the name of a table is taken, the table gets the suffix "_2" or the next number whose name
 * no schema has; its words stay the same.  Names are compared without case, as in SQLite.  The result has the db_id of
 * the first schema and is released with schema_release. */
void schema_join(struct schema *out, const struct schema *const *schemas, int n);

#endif
