/*
 * element_name.h - the name of a table or column, taken apart so that two can be compared.
 *
 * Separators, capitals and plural endings do not count: "Home_Towns", "home town" and "HomeTown" have the same letters,
 * and the first two the same words.  Very long names are cut, so that every comparison costs a bounded time.
 */
#ifndef DATA_SCHEMA_ELEMENT_NAME_H
#define DATA_SCHEMA_ELEMENT_NAME_H

#include "kernels/base.h"

enum { NAME_MAX_LETTERS = 48, NAME_MAX_WORDS = 12 };

struct element_name {
    char letters[NAME_MAX_LETTERS]; /* ASCII in lower case, bytes of other alphabets as they are; no zero at the end */
    int n_letters;
    uint32_t words[NAME_MAX_WORDS]; /* hash of each word's singular, in order */
    int n_words;
    uint32_t trigrams[NAME_MAX_LETTERS + 2]; /* distinct, ascending; the name's ends count as letters */
    int n_trigrams;
};

void element_name_read(struct element_name *n, const char *text);
/* The hash of words [from, to) in order: equal for names made of the same words. */
uint64_t element_name_key(const struct element_name *n, int from, int to);
/* The hash under which element_name_read files a word; an array of them makes a lexicon. */
uint32_t word_hash(const char *word);
/* Whether a byte is part of a word: a letter, a digit, or any of another alphabet. */
bool element_name_letter(char c);
/* The same hashes of all words of any text, in order, cut after `most`; how many there are. */
int words_read(const char *text, uint32_t *out, int most);

/* All in [0, 1]. */
struct name_similarity {
    float equal;    /* same words in the same order, or the same letters */
    float same_set; /* same words in any order */
    float words;    /* Jaccard of the word sets */
    float head;     /* same last word: the head noun of an English name */
    float contains; /* the words of one are all among those of the other */
    float trigrams; /* Jaccard of the trigram sets */
    float edit;     /* 1 - edit distance / letters of the longer one; 0 without a common trigram */
    float prefix;   /* letters of the common beginning / letters of the longer one */
    float suffix;   /* likewise for the end */
};
struct name_similarity element_name_compare(const struct element_name *a, const struct element_name *b);
/* The same of words alone: equal (the words), same_set, words, head and contains; the rest is 0.  Much cheaper. */
struct name_similarity element_name_compare_words(const struct element_name *a, const struct element_name *b);

bool element_name_shares_word(const struct element_name *a, const struct element_name *b);
/* The share of common trigrams alone, for those who need only that. */
float element_name_trigrams(const struct element_name *a, const struct element_name *b);

/*
 * Which tables and which columns of a schema have names that look alike.
 */
enum { SIMILAR_MAX = 8 }; /* an element picks at most this many others */

struct similar_pair {
    int a, b; /* a < b */
};

/*
 * Pairs among names [from, to) that share their words, their last word, all words of one of them, or half of their
 * trigrams; each name keeps its SIMILAR_MAX best.  Names meet through their words and ends, not each with each, so the
 * time is linear.  Appends to *pairs, an xmalloc'ed array that the caller frees; sorted, no repeats.
 */
void similar_names(const struct element_name *names, int from, int to, struct similar_pair **pairs, int *n, int *cap);

#endif
