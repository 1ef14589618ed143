/*
 * db_text.h - a database in words that a language model reads: the first slot of most prompts.
 */
#ifndef DATA_PROMPT_DB_TEXT_H
#define DATA_PROMPT_DB_TEXT_H

#include "kernels/base.h"

enum db_text_form {
    DB_TEXT_DUMP,    /* CREATE TABLE as the database keeps it, an empty line, one INSERT for each table: AMBROSIA's */
    DB_TEXT_COMPACT, /* table: column, other column; names in words, a line for each table: for small models */
    DB_TEXT_AMBIQT /* as "Disambiguate First, Parse Later" tells databases of AmbiQT: plain definitions without foreign
                      keys, all names in lower case, an empty line, five rows of each table */
};

enum { DB_TEXT_MAX_BYTES = 4 << 20 };

/* The tables of the schema (schema_sqlite.h) in the order they were made in, in DUMP by their names and views last; of
 * each at most `rows` rows, all when rows is negative (AMBIQT: five).  Of a view its columns in COMPACT, else its
 * CREATE VIEW as the database keeps it.  Bytes of values that are not UTF-8 are left out.  NULL with EXIT_CODE_DATA: a
 * file that SQLite does not take, one without tables, a text of more than DB_TEXT_MAX_BYTES.  The caller frees. */
char *db_text(const char *path, enum db_text_form form, int64_t rows, struct error *err);
/* The same of those tables alone whose names stand in `said`, in letters of any case, be it within a word; NULL: all.
 */
char *db_text_of(const char *path, enum db_text_form form, int64_t rows, const char *said, struct error *err);

enum { DB_TEXT_AMBIQT_ROWS = 5 };
/* A name as DB_TEXT_AMBIQT has it: in lower case, in quotes where SQL would not take it, other blanks as underscores.
 * The caller frees. */
char *db_text_ambiqt_name(const char *name);

#endif
