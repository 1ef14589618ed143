/*
 * rivals.h - two columns that a question may mean alike once it leaves their modifiers out.
 *
 * Two columns of one table are rivals where the head word is the same and each has words of its own: "start date" and
 * "end date", but not "name" and "trade name", since "name" is the whole name of the first.  Two columns of different
 * tables are rivals where nothing but their tables' names tells them apart: the name of a product and of a customer.
 */
#ifndef DATA_NATURAL_RIVALS_H
#define DATA_NATURAL_RIVALS_H

#include "data/natural/question_words.h"
#include "data/schema/schema.h"
#include "data/util/strings.h"

/* The words that both names have, and those that only one of them has: of different tables, the tables' words. */
struct rival_pair {
    int columns[2];
    const char *owners[2]; /* the names that the own words are from; borrowed from the schema */
    struct word_list shared, own[2];
    uint32_t head;
    bool apart; /* of different tables */
};

/* False where columns a and b are no rivals. */
bool rivals_read(struct rival_pair *r, const struct schema *s, int a, int b);

/* The words of a name that are among the list, in the order of the name, in lower case; text keeps them. */
const char *words_among(struct strings *text, const char *name, const struct word_list *words);
/* The hash of the last word of a name; 0 where it has none. */
uint32_t head_word(const char *text);
/* Whether a name ends in a noun, singular or plural, that can be asked for by itself. */
bool can_be_head(const char *text);
/* Whether the words of a column's name include all words of the list. */
bool column_has_words(const struct schema *s, int column, const struct word_list *words);
/* Whether a foreign key joins the two tables. */
bool tables_joined(const struct schema *s, int a, int b);

#endif
