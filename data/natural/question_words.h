/*
 * question_words.h - the words of a question, some of which are taken out of it.
 */
#ifndef DATA_NATURAL_QUESTION_WORDS_H
#define DATA_NATURAL_QUESTION_WORDS_H

#include "data/schema/element_name.h"

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

#endif
