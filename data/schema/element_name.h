/*
 * element_name.h - compares the names of tables and columns.
 *
 * A name is parsed once into characters, words and trigrams.  Separators, capitals and plural endings do not count:
 * "Home_Towns", "home town" and "HomeTown" have the same characters, and the first two have the same words.  Very long
 * names are truncated, so that each comparison takes bounded time.
 *
 * Structs belong to the caller.  Nothing fails.
 */
#ifndef DATA_SCHEMA_ELEMENT_NAME_H
#define DATA_SCHEMA_ELEMENT_NAME_H

#include "kernels/base.h"

enum { NAME_MAX_CHARS = 48, NAME_MAX_WORDS = 12 };

struct element_name {
    char chars[NAME_MAX_CHARS]; /* ASCII in lower case, other bytes unchanged; no NUL */
    int n_chars;
    uint32_t words[NAME_MAX_WORDS]; /* hashes of the words in singular form, in order */
    int n_words;
    uint32_t trigrams[NAME_MAX_CHARS + 2]; /* distinct and ascending; the ends of the name count as characters */
    int n_trigrams;
};

void element_name_read(struct element_name *n, const char *text);
/* The hash of words [from, to) in order.  Names of the same words have the same key. */
uint64_t element_name_key(const struct element_name *n, int from, int to);
/* The hash of a word in singular form, as in element_name.words. */
uint32_t word_hash(const char *word);
/* Whether a byte belongs to a word: a letter, a digit or any byte outside ASCII. */
bool element_name_letter(char c);
/* Writes the hashes of the first `max` words of a text in order.  Returns their number. */
int words_read(const char *text, uint32_t *out, int max);

/* Similarities in [0, 1]. */
struct name_similarity {
    float equal;    /* same words in the same order, or the same characters */
    float same_set; /* same words in any order */
    float words;    /* Jaccard index of the word sets */
    float head;     /* same last word: the head noun of an English name */
    float contains; /* the words of one name are a subset of the other's */
    float trigrams; /* Jaccard index of the trigram sets */
    float edit;     /* 1 - edit distance / characters of the longer name; 0 without a common trigram */
    float prefix;   /* length of the common prefix / characters of the longer name */
    float suffix;   /* length of the common suffix / characters of the longer name */
};
struct name_similarity element_name_compare(const struct element_name *a, const struct element_name *b);
/* Compares words only, which is much cheaper.  Sets equal (by words), same_set, words, head and contains; the rest is
 * 0. */
struct name_similarity element_name_compare_words(const struct element_name *a, const struct element_name *b);

bool element_name_shares_word(const struct element_name *a, const struct element_name *b);
/* The Jaccard index of the trigrams alone. */
float element_name_trigrams(const struct element_name *a, const struct element_name *b);

/*
 * Finds tables and columns of a schema with similar names.
 */
enum { SIMILAR_MAX = 8 }; /* maximum number of similar names for each name */

struct similar_pair {
    int a, b; /* a < b */
};

/*
 * Finds similar pairs among names [from, to).  Two names are similar if they share all words, the last word, all words
 * of one of them, or half of their trigrams.  Each name keeps its SIMILAR_MAX best.  Only names that share a word or an
 * end are compared, so the time is linear.  Appends to *pairs, an array of xmalloc that the caller frees; sorted,
 * without duplicates.
 */
void similar_names(const struct element_name *names, int from, int to, struct similar_pair **pairs, int *n, int *cap);

#endif
