/*
 * rivals.h - pairs of columns that a question without their modifiers could both mean.
 *
 * Two columns of one table are rivals if they share the head word and each has words of its own: "start date" and "end
 * date". "name" and "trade name" are no rivals, since "name" is the whole name of the first column. Two columns of
 * different tables are rivals if only their tables distinguish them: the name of a product and the name of a customer.
 */
#ifndef DATA_SYNTH_RIVALS_H
#define DATA_SYNTH_RIVALS_H

#include "data/base/strings.h"
#include "data/schema/element_name.h"
#include "data/schema/schema.h"

enum { QUESTION_WORDS_MAX = 96 };

/* The distinct words of a name in order, as word_hash values. */
struct word_list {
    uint32_t list[NAME_MAX_WORDS];
    int n;
};

void word_list_read(struct word_list *w, const char *text);
/* Does nothing if the list has the word or is full. */
void word_list_add(struct word_list *w, uint32_t word);
bool word_list_has(const struct word_list *w, uint32_t word);

struct question_word {
    int begin, end; /* bytes of the text */
    uint32_t hash;
    bool out; /* to be removed */
};

struct cut_question {
    const char *text; /* borrowed */
    struct question_word list[QUESTION_WORDS_MAX];
    int n;
};

/* Returns false if the question has too many words. */
bool question_words_read(struct cut_question *q, const char *text);
/* Returns the first place at or behind `from` where these n words stand side by side, or -1. */
int question_find(const struct cut_question *q, const uint32_t *words, int n, int from);
bool question_says(const struct cut_question *q, uint32_t word);
/* Returns true if only single blanks, "-" or "_" separate the words from i to k. */
bool question_joined(const struct cut_question *q, int i, int k);
/* Returns the question without the removed words. Articles are adapted to the next word, and the first letter keeps its
 * case. The caller frees it. */
char *question_without(const struct cut_question *q);

/* shared: words of both names; own: words of one name. Across tables, own has the words of the table. */
struct rival_pair {
    int columns[2];
    const char *owners[2]; /* the names that contain the own words; borrowed from the schema */
    struct word_list shared, own[2];
    uint32_t head;
    bool apart; /* the columns are in different tables */
};

/* Returns false if columns a and b are no rivals. */
bool rivals_read(struct rival_pair *r, const struct schema *s, int a, int b);

/* Returns the words of a name that the list contains, in the order of the name and in lower case. text keeps them. */
const char *words_among(struct strings *text, const char *name, const struct word_list *words);
/* Returns the hash of the last word of a name, 0 without words. */
uint32_t head_word(const char *text);
/* Returns true if a name ends in a noun, singular or plural, that a question can ask for. */
bool can_be_head(const char *text);
/* Returns true if the column's name includes all words of the list. */
bool column_has_words(const struct schema *s, int column, const struct word_list *words);
/* Returns true if a foreign key joins the two tables. */
bool tables_joined(const struct schema *s, int a, int b);

#endif
