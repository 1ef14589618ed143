/*
 * sql_words.h - random databases whose names are words of SQL, functions and texts that need quotes, and random queries
 * on them.
 */
#ifndef TESTS_SQL_WORDS_H
#define TESTS_SQL_WORDS_H

#include "data/base/strings.h"
#include "kernels/rng.h"

enum { SQL_WORDS_TABLES = 3, SQL_WORDS_COLUMNS = 5 };

struct words_table {
    const char *name, *columns[SQL_WORDS_COLUMNS];
    int n;
};

struct words_database {
    struct rng rng;
    struct strings text;
    struct words_table tables[SQL_WORDS_TABLES];
    int n;
};

/* Draws tables and writes them with some rows to a new file. */
void sql_words_make(struct words_database *w, const char *path);
/* A query that SQLite may refuse; w->text keeps it. */
const char *sql_words_query(struct words_database *w);

#endif
