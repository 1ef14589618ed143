/*
 * ambiqt_text.h - SQL as AmbiQT's own programs see it: text in one normal form, split at blanks, commas and
 * parentheses.
 *
 * There is no tokeniser below this: string literals are split like everything else.  Whoever wants AmbiQT's records and
 * numbers must make its mistakes.
 */
#ifndef DATA_CORPORA_AMBIQT_TEXT_H
#define DATA_CORPORA_AMBIQT_TEXT_H

#include <stdbool.h>

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

#endif
