/*
 * lexicon.h - English words of names and questions: meanings, abbreviations and stems.
 *
 * The vocabularies are constants of the program and are indexed on first use, also by several threads.  Nothing fails.
 */
#ifndef DATA_SCHEMA_LEXICON_H
#define DATA_SCHEMA_LEXICON_H

#include "data/schema/element_name.h"

/*
 * Coarse meanings of names by their head nouns.  Two columns may be confused although they share no word (price and
 * cost, town and city).
 */
/* A set of bits, since a name may have several meanings ("state" is a place or a status). */
enum name_meaning {
    MEANS_MONEY = 1 << 0,
    MEANS_QUANTITY = 1 << 1,
    MEANS_TIME = 1 << 2,
    MEANS_PERSON = 1 << 3,
    MEANS_PLACE = 1 << 4,
    MEANS_STATUS = 1 << 5,
    MEANS_NAME = 1 << 6,
    MEANS_TEXT = 1 << 7,
    MEANS_CATEGORY = 1 << 8,
    MEANS_CONTACT = 1 << 9,
    MEANS_MEASURE = 1 << 10,
    MEANS_SCORE = 1 << 11
};
enum { NAME_MEANINGS = 12 };

/* The meanings of a word by its word_hash; 0 if the lexicon lacks it. */
unsigned word_meaning(uint32_t word);
/* The meanings of the last word or, if it has none, of all words together. */
unsigned name_meaning(const struct element_name *n);
/* The meanings that an interrogative asks for ("when", "who", "where", "much"); 0 for other words. */
unsigned asked_meaning(uint32_t word);

/*
 * Words in a form that can be compared despite different spellings: plural, abbreviated (qty, addr), derived (ship,
 * shipped, shipping) or joined (shipDate).
 */
enum { MATCH_CHARS = 16 };

/* Two words are equal if `word` is equal, and related if `stem` is equal. */
struct match_word {
    uint32_t word; /* word_hash of the singular; of an abbreviation, that of its long form */
    uint32_t stem; /* hash of the word without endings such as -ed, -ing, -er, -ment */
    bool function; /* a function word, which names nothing ("the", "which", "show", "per") */
    bool expanded; /* the word is an abbreviation */
    uint8_t n;     /* number of characters; the first MATCH_CHARS are stored */
    char chars[MATCH_CHARS];
};

enum { QUESTION_WORDS = 64 };

/* Whether two words of five characters or more differ by one character or by two swapped neighbours. */
bool match_words_mistyped(const struct match_word *a, const struct match_word *b);
/* Whether a short word may abbreviate another one: as its beginning (dep, departure) or as consonants of it in order
 * (bkg, booking). */
bool match_words_shortened(const struct match_word *short_word, const struct match_word *whole);
/* Whether the word is a number that looks like a year. */
bool match_word_is_year(const struct match_word *w);
/* Writes the first `max` words of a text in order, also split between a small letter and a capital.  Returns their
 * number. */
int match_words_read(const char *text, struct match_word *out, int max);

#endif
