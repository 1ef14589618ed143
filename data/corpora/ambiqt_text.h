/*
 * ambiqt_text.h - SQL text as AmbiQT's own programs process it: a normal form, words, and drafts in which words are
 * replaced.
 *
 * There is no SQL tokenizer: string literals are split like any other text. AmbiQT's records and scores can only be
 * reproduced with this behaviour.
 */
#ifndef DATA_CORPORA_AMBIQT_TEXT_H
#define DATA_CORPORA_AMBIQT_TEXT_H

#include "data/base/strings.h"

/* Replaces two adjacent backticks by one, and lowers text outside quotes. The caller frees the result. */
char *ambiqt_lower_outside_quotes(const char *sql);

/* Returns the normal form: no final semicolon, lower case outside quotes, single spaces, no space before a comma,
 * inside parentheses or between an aggregate and its parenthesis. The caller frees it. */
char *ambiqt_normalize(const char *sql);

/* Reduces white space to single spaces and trims the ends. The caller frees the result. */
char *ambiqt_single_blanks(const char *text);

struct ambiqt_words {
    char **items;
    int n, cap;
    char *text; /* owns the characters of the items */
};

/* Splits SQL into words; commas and parentheses are words of their own. */
void ambiqt_words_split(struct ambiqt_words *w, const char *sql);
/* Splits at white space only. */
void ambiqt_words_split_blanks(struct ambiqt_words *w, const char *sql);
/* Returns the index of the first word equal to s, or -1. */
int ambiqt_words_find(const struct ambiqt_words *w, const char *s);
void ambiqt_words_release(struct ambiqt_words *w);

/* Returns whether a word looks like "t1.x": two characters, a dot and a rest. AmbiQT knows no other aliases. */
bool ambiqt_has_alias(const char *word);
/* Returns the word after its alias, or the whole word. */
const char *ambiqt_without_alias(const char *word);

/* Replaces all occurrences of `old` by `by` in a new string, which the caller frees. */
char *text_replace(const char *s, const char *old, const char *by);

/* A draft is a query as a list of pieces, some of which are replaced. A piece is a name or number including dots, a
 * quoted text, or a single other byte. */
struct draft_piece {
    const char *s; /* in the draft's text, not terminated */
    int n;
    bool name;
    const char *word; /* the name, or the content of double quotes or backticks; else "" */
    const char *as;   /* its replacement, or NULL */
};

struct draft {
    char *sql; /* in AmbiQT's normal form */
    struct draft_piece *pieces;
    int n, cap;
    struct strings text; /* owns words and replacements */
};

/* Splits the normal form of a query into pieces. draft_release frees them. */
void draft_init(struct draft *d, const char *sql);
void draft_release(struct draft *d);
/* Returns the text with all replacements, in normal form; the caller frees it. */
char *draft_finish(const struct draft *d);

/* Returns whether piece i is this word, in any case; false if i is out of range. */
bool draft_is(const struct draft *d, int i, const char *word);
/* Returns whether a piece may be an alias: a name that is not a keyword in or after a FROM clause. */
bool draft_is_alias(const struct draft *d, int i);
/* Returns whether piece i is the name of a function, or GROUP or ORDER before BY. Other keywords may be column names,
 * because AmbiQT's statements do not quote names. */
bool draft_is_sql(const struct draft *d, int i);
/* Returns whether piece i is in the place of a table: after FROM or JOIN. */
bool draft_is_table(const struct draft *d, int i);
/* Returns whether the query uses this table. */
bool draft_has_table(const struct draft *d, const char *table);
/* Replaces piece i by a formatted text; "" removes it. */
void draft_write(struct draft *d, int i, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Splits "prefix.column" and returns the column. Without a dot, returns the word and sets *prefix to "". */
const char *draft_column(struct draft *d, int i, const char **prefix);
/* Returns the table of a prefix, from "table AS prefix" or "table prefix", else the prefix itself. */
const char *draft_table(const struct draft *d, const char *prefix);

#endif
