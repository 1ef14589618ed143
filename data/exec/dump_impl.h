/*
 * dump_impl.h - what the reader of a dump and the writer of its script share.
 */
#ifndef DATA_EXEC_DUMP_IMPL_H
#define DATA_EXEC_DUMP_IMPL_H

#include "data/sql/sql_tree.h"
#include "data/util/strings.h"

#include <stdio.h>

struct sql_token;

struct dump_column {
    const char *name;
    struct sql_span type, collation; /* empty when there is none */
    bool primary, unique;
    bool lost;             /* no CREATE defines it */
    bool integers, others; /* what its values are */
};

enum dump_key_kind { KEY_PRIMARY, KEY_UNIQUE, KEY_FOREIGN };

/* A constraint of the table: its columns are names[first .. first + n). */
struct dump_key {
    enum dump_key_kind kind;
    int first, n;
};

struct dump_table {
    const char *name;
    struct dump_column *columns;
    struct dump_key *keys;
    int n, cap, n_keys, keys_cap;
    bool rows; /* an INSERT names all its columns */
};

struct dump {
    const char *text;
    struct sql_token *tokens;
    int at; /* next token */
    struct dump_table *tables;
    int n, cap;
    const char **names; /* of keys */
    int n_names, names_cap;
    struct strings pool;
    char *inserts;
    size_t inserts_size;
    FILE *out; /* into inserts, then the script */
    struct error *err;
};

/* NULL when the table has no such column; names are compared as SQLite does. */
struct dump_column *dump_find_column(const struct dump_table *t, const char *name);
/* Unless the table has one of that name. */
void dump_add_column(struct dump_table *t, struct dump_column c);

void dump_put_name(struct dump *d, const char *name);
/* A blank and a part of the dump's text; nothing where that is empty. */
void dump_put_span(struct dump *d, struct sql_span s);
/* CREATE TABLE of all tables. */
void dump_put_tables(struct dump *d);

#endif
