/*
 * ambiqt_text.h - SQL as AmbiQT's own programs see it: text in one normal form, split at blanks, commas and
 * parentheses.
 *
 * There is no tokeniser below this: string literals are split like everything else.  Whoever wants AmbiQT's records and
 * numbers must make its mistakes.
 */
#ifndef DATA_CORPORA_AMBIQT_TEXT_H
#define DATA_CORPORA_AMBIQT_TEXT_H

#include "data/util/strings.h"

/* Two backticks in a row become one; what stands outside quotes becomes lower case.  The caller frees it. */
char *ambiqt_lower_outside_quotes(const char *sql);

/* The normal form: one final semicolon dropped, lower case outside quotes, single spaces, none before a comma or inside
 * parentheses, none between an aggregate and its parenthesis.  The caller frees it. */
char *ambiqt_normalize(const char *sql);

/* Single spaces, none at the ends.  The caller frees it. */
char *ambiqt_single_blanks(const char *text);

struct ambiqt_words {
    char **items;
    int n, cap;
    char *text; /* what they stand in */
};

/* Split with commas and parentheses as words of their own. */
void ambiqt_words_split(struct ambiqt_words *w, const char *sql);
/* Split at blanks alone. */
void ambiqt_words_split_blanks(struct ambiqt_words *w, const char *sql);
/* The number of the first word that is s, or -1. */
int ambiqt_words_find(const struct ambiqt_words *w, const char *s);
void ambiqt_words_release(struct ambiqt_words *w);

/* "t1.x": two characters, a dot and more behind it.  No other alias counts. */
bool ambiqt_has_alias(const char *word);
/* The word behind its alias, or all of it. */
const char *ambiqt_without_alias(const char *word);

/* A new string in which every old stands as by.  The caller frees it. */
char *text_replace(const char *s, const char *old, const char *by);

/* A name or number with the points in it, a quoted text, or one byte of something else. */
struct draft_piece {
    const char *s; /* in the draft's text; not terminated */
    int n;
    bool name;
    const char *word; /* a name, or what a double or back quote holds; "" for the rest */
    const char *as;   /* what is written for it, or NULL */
};

struct draft {
    char *sql; /* in AmbiQT's normal form */
    struct draft_piece *pieces;
    int n, cap;
    struct strings text; /* owns words and what is written */
};

void draft_init(struct draft *d, const char *sql);
void draft_release(struct draft *d);
/* The text as it now is, in normal form; the caller frees. */
char *draft_finish(const struct draft *d);

/* Piece i is this word; false for any i out of range.  Names are compared in any case. */
bool draft_is(const struct draft *d, int i, const char *word);
/* A word that may be an alias: a name that is no word of a FROM clause and what follows one. */
bool draft_is_alias(const struct draft *d, int i);
/* Piece i is the name of a function, or GROUP or ORDER before BY.  Other words of SQL may be columns: those of AmbiQT's
 * readings are not in quotes. */
bool draft_is_sql(const struct draft *d, int i);
/* Piece i stands where a table's name stands: behind FROM or JOIN. */
bool draft_is_table(const struct draft *d, int i);
/* Some table of the query is this one. */
bool draft_has_table(const struct draft *d, const char *table);
/* Writes a printf in the place of piece i; "" takes it out. */
void draft_write(struct draft *d, int i, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* "prefix.column": the column, and the prefix in *prefix; the whole word and "" when there is no point. */
const char *draft_column(struct draft *d, int i, const char **prefix);
/* The table that a prefix stands for: by "table AS prefix" or "table prefix", else itself. */
const char *draft_table(const struct draft *d, const char *prefix);

#endif
