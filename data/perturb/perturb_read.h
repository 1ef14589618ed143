/*
 * perturb_read.h - what is known of a database that copies are made of; for the parts of perturb.h only.
 *
 * A value is the SQL text of a constant, kept in one pool, so that equal texts are one pointer.
 */
#ifndef DATA_PERTURB_PERTURB_READ_H
#define DATA_PERTURB_PERTURB_READ_H

#include "data/perturb/perturb.h"
#include "data/util/strings.h"
#include "kernels/rng.h"

#include <stdio.h>

/* What a column holds: by its values, and by its type when it has none. */
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
    bool required;  /* never NULL */
    bool unique;    /* by itself */
    bool generated; /* from others: never written */
    bool checked;   /* by a CHECK */
    enum family family;
    int domain;                    /* a column that it is compared with, or itself: see perturb_domain */
    struct value_list constants;   /* what statements compare it with */
    struct value_list neighbours;  /* what is near these */
    int turn, near_turn;           /* whose turn it is */
    double low, high;              /* of its numbers */
    struct value_list used, alike; /* in the copy being made: by the column, and by its domain (at the root) */
};

struct perturb_table {
    const char *name, *sql; /* sql: as the original has it */
    bool view, wanted, checked;
    int first_column, n_columns;
    const char **rows; /* [n_rows * n_columns] */
    int n_rows;
};

enum { REFERENCE_COLUMNS = 8 };

/* A declared reference that the original keeps. */
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
    struct value_list indexes, indexed; /* CREATE UNIQUE INDEX, and the table of each */
    struct value_list texts, numbers;   /* constants that stand beside no column */
    int most_rows;                      /* that a LIMIT asks for */
    int *order;                         /* [n_tables]: those that others refer to first */
    int *place;                         /* [n_tables]: in that order */
};

void value_list_add(struct value_list *list, const char *value);
/* A name in double quotes, in the pool. */
const char *perturb_quoted(struct perturb *p, const char *name);
int perturb_find_table(const struct perturb *p, const char *name);
/* The column that stands for all those compared with this one. */
int perturb_domain(struct perturb *p, int column);
void perturb_join_domains(struct perturb *p, int a, int b);

/* Tables and views by their definitions; then, of the wanted ones, columns, keys and references. */
int perturb_read_definitions(struct perturb *p, struct error *err);
int perturb_read_rules(struct perturb *p, struct error *err);
/* CREATE TABLE and CREATE UNIQUE INDEX of the wanted ones. */
void perturb_define(const struct perturb *p, FILE *out);
/* Marks the tables that a statement can see; then what it compares, once columns are known. */
void perturb_want(struct perturb *p, const char *sql);
void perturb_read_statement(struct perturb *p, const char *sql);
void perturb_read_checks(struct perturb *p, const struct perturb_table *table);
/* A sample of the rows, families, which references hold; then the neighbours of constants. */
int perturb_read_rows(struct perturb *p, struct error *err);
void perturb_find_neighbours(struct perturb *p);

/* As SQL writes it. */
const char *perturb_cell_text(struct perturb *p, const struct cell *c);

#endif
