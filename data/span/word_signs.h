/*
 * word_signs.h - signs of each word of a question: how far names of a schema and stored values have it.
 *
 * A tagger reads them beside the states of an encoder, which does not see whether two names share a word exactly.
 * Words are those of spoken.h, and are compared with names as in lexicon.h, so that related forms count.  Nothing
 * fails.
 */
#ifndef DATA_SPAN_WORD_SIGNS_H
#define DATA_SPAN_WORD_SIGNS_H

#include "data/schema/lexicon.h"
#include "data/schema/schema.h"
#include "data/span/spoken.h"
#include "data/span/tagging.h"

/* A name is whole if the question has all of its words. */
enum word_sign {
    WORD_COLUMN,  /* 1 if the name of a column has the word */
    WORD_COLUMNS, /* 1 if several have it */
    WORD_COUNT,   /* number of them, at most 4, / 4 */
    WORD_WHOLE,   /* 1 if one of them is whole */
    WORD_WHOLES,  /* 1 if several are */
    WORD_SHARE,   /* largest share of their words that the question has */
    WORD_TABLE,   /* 1 if the name of a table has the word */
    WORD_VALUE,   /* 1 if a stored value has it */
    WORD_VALUES,  /* 1 if values of several columns have it */
    WORD_FILLER,  /* 1 for a function word */
    WORD_NUMBER,  /* 1 if it starts with a digit */
    WORD_CAPITAL, /* 1 if it starts with a capital and is not the first word */
    WORD_FIRST,   /* 1 for the first word */
    WORD_LOOKED,  /* 1 if the stored values are known; 0: so are WORD_VALUE and WORD_VALUES */
    WORD_SIGNS
};

/* The words of a schema's names.  Those of element i, tables first, are words[start[i]] to words[start[i + 1] - 1]. */
struct word_names {
    struct match_word *words;
    int *start, n, n_tables;
};
void word_names_init(struct word_names *n, const struct schema *s);
void word_names_release(struct word_names *n);

/* The words of a question, and their signs [words.n, WORD_SIGNS]. */
struct word_signs {
    struct spoken words;
    struct match_word match[SPOKEN_WORDS];
    float signs[SPOKEN_WORDS][WORD_SIGNS];
};

/* Reads a question.  values: matches of stored values, [n_values]; known: the stored values are known. */
void word_signs_read(struct word_signs *w, const char *question, const struct word_names *names,
                     const struct tag_value *values, int n_values, bool known);

/* Similarity of words [first, end) and the name of an element, from 0 to 1: the share of their words that both have. */
double word_likeness(const struct word_signs *w, int first, int end, const struct word_names *names, int element);

#endif
