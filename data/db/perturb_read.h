/*
 * perturb_read.h - facts about the original database and the statements; private to perturb.
 *
 * A value is the SQL text of a constant. One pool holds all values, so equal texts have the same address.
 */
#ifndef DATA_DB_PERTURB_READ_H
#define DATA_DB_PERTURB_READ_H

#include "data/base/strings.h"
#include "data/db/perturb.h"
#include "kernels/rng.h"

#include <stdio.h>

/* The class of a column, by its values, or by its type if it has none. */
enum family {
    FAMILY_INTEGER,
    FAMILY_REAL,
    FAMILY_BOOLEAN,
    FAMILY_TEXT,
    FAMILY_NUMERAL, /* numbers in text */
    FAMILY_DATE,
    FAMILY_DATETIME,
    FAMILY_TIME,
    FAMILY_BLOB
};

struct value_list {
    const char **items;
    int n, cap;
};

struct perturb_column {
    const char *name, *type;
    bool required;  /* NOT NULL */
    bool unique;    /* unique by itself */
    bool generated; /* computed, never written */
    bool checked;   /* in a CHECK */
    enum family family;
    int domain;                    /* a column that it is compared with, or itself; see perturb_domain */
    struct value_list constants;   /* constants in comparisons with it */
    struct value_list neighbours;  /* values near the constants */
    int turn, near_turn;           /* next constant and next neighbour to use */
    double low, high;              /* range of its numbers */
    struct value_list used, alike; /* values in the current copy: of the column, and of its domain (at the root) */
};

struct perturb_table {
    const char *name, *sql; /* sql: the original definition */
    bool view, wanted, checked;
    int first_column, n_columns;
    const char **rows; /* [n_rows * n_columns] */
    int n_rows;
};

enum { REFERENCE_COLUMNS = 8 };

/* A declared reference that holds in the original. */
struct perturb_reference {
    int child, parent; /* tables */
    int n, from[REFERENCE_COLUMNS], to[REFERENCE_COLUMNS];
};

struct perturb {
    struct exec_db *db; /* borrowed */
    uint64_t seed;
    struct strings pool;
    struct perturb_table *tables;
    struct perturb_column *columns;
    struct perturb_reference *references;
    int n_tables, n_columns, n_references, tables_cap, columns_cap, references_cap;
    struct value_list indexes, indexed; /* CREATE UNIQUE INDEX statements and their tables */
    struct value_list texts, numbers;   /* constants without a column */
    int max_limit;                      /* largest LIMIT */
    int *order;                         /* [n_tables]: referenced tables first */
    int *place;                         /* [n_tables]: index of a table in `order` */
};

/* Appends a value, which is not copied. */
void value_list_add(struct value_list *list, const char *value);
/* Quotes a name in double quotes. The pool owns the result. */
const char *perturb_quoted(struct perturb *p, const char *name);
/* Returns the representative of the columns that are compared with each other (union-find). */
int perturb_domain(struct perturb *p, int column);

/* Read the definitions of tables and views, then columns, keys and references of the wanted ones. */
int perturb_read_definitions(struct perturb *p, struct error *err);
int perturb_read_rules(struct perturb *p, struct error *err);
/* Writes CREATE TABLE and CREATE UNIQUE INDEX for the wanted tables. */
void perturb_define(const struct perturb *p, FILE *out);
/* perturb_want marks the tables that a statement can see. The other two read comparisons, once columns are known. */
void perturb_want(struct perturb *p, const char *sql);
void perturb_read_statement(struct perturb *p, const char *sql);
void perturb_read_checks(struct perturb *p, const struct perturb_table *table);
/* Reads a sample of the rows, the families of the columns and the references that hold. Then perturb_find_neighbours
 * adds values near the constants. */
int perturb_read_rows(struct perturb *p, struct error *err);
void perturb_find_neighbours(struct perturb *p);

#endif
