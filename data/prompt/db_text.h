/*
 * db_text.h - a database as text for a language model: the first slot of most prompts.
 */
#ifndef DATA_PROMPT_DB_TEXT_H
#define DATA_PROMPT_DB_TEXT_H

#include "kernels/base.h"

enum db_text_form {
    DB_TEXT_DUMP,    /* CREATE TABLE as stored, an empty line, one INSERT for each table, as in AMBROSIA */
    DB_TEXT_COMPACT, /* "table: column, other column" with names in words, a line for each table; for small models */
    DB_TEXT_AMBIQT   /* as "Disambiguate First, Parse Later" shows AmbiQT's databases: definitions without foreign keys,
                        names in lower case, an empty line, five rows of each table */
};

enum { DB_TEXT_MAX_BYTES = 4 << 20 };

/* The tables of the schema (schema_sqlite.h) in the order of their creation; DUMP sorts by name, with views last.
 * Shows at most `rows` rows of each table, all if rows is negative (AMBIQT: five). COMPACT shows the columns of a
 * view, other forms its CREATE VIEW. Bytes that are not UTF-8 are dropped. NULL with EXIT_CODE_DATA: not a database,
 * no tables, or a text of more than DB_TEXT_MAX_BYTES. The caller frees. */
char *db_text(const char *path, enum db_text_form form, int64_t rows, struct error *err);
/* The same, only for tables whose names occur in `said`, in any case, also within a word. NULL: all tables. */
char *db_text_of(const char *path, enum db_text_form form, int64_t rows, const char *said, struct error *err);

enum { DB_TEXT_AMBIQT_ROWS = 5 };
/* A name in the form of DB_TEXT_AMBIQT: lower case, quoted if SQL requires it, other blanks as underscores. The caller
 * frees. */
char *db_text_ambiqt_name(const char *name);

#endif
