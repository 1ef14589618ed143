/*
 * rivals.h - two columns that a question may mean alike once it leaves their modifiers out.
 *
 * Two columns of one table are rivals where the head word is the same and each has words of its own: "start date" and
 * "end date", but not "name" and "trade name", since "name" is the whole name of the first.  Two columns of different
 * tables are rivals where nothing but their tables' names tells them apart: the name of a product and of a customer.
 */
#ifndef DATA_NATURAL_RIVALS_H
#define DATA_NATURAL_RIVALS_H

#include "data/schema/element_name.h"
#include "data/schema/schema.h"
#include "data/util/strings.h"

enum { QUESTION_WORDS_MAX = 96 };

/* Words of a name by word_hash, in order; none twice. */
struct word_list {
    uint32_t list[NAME_MAX_WORDS];
    int n;
};

void word_list_read(struct word_list *w, const char *text);
/* Does nothing where the list has the word, or is full. */
void word_list_add(struct word_list *w, uint32_t word);
bool word_list_has(const struct word_list *w, uint32_t word);

struct question_word {
    int begin, end; /* bytes of the text */
    uint32_t hash;
    bool out; /* goes */
};

struct cut_question {
    const char *text; /* borrowed */
    struct question_word list[QUESTION_WORDS_MAX];
    int n;
};

/* False where the question has too many words. */
bool question_words_read(struct cut_question *q, const char *text);
/* The first of n words that stand side by side from `from` on, in this order; -1 where they do not. */
int question_find(const struct cut_question *q, const uint32_t *words, int n, int from);
bool question_says(const struct cut_question *q, uint32_t word);
/* Words i and k stand side by side, with nothing but one blank, "-" or "_" between any two. */
bool question_joined(const struct cut_question *q, int i, int k);
/* The question without the words that go: articles fit the words behind them, and it begins as it began.  The caller
 * frees. */
char *question_without(const struct cut_question *q);

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
