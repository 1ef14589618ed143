/*
 * lexicon.h - English words of names and questions: their meanings, abbreviations and stems.
 */
#ifndef DATA_SCHEMA_LEXICON_H
#define DATA_SCHEMA_LEXICON_H

#include "data/schema/element_name.h"

/*
 * Coarse meanings of names, from a lexicon of head nouns: two columns may be confused although they
 * share no word (price and cost, town and city).
 */
/* A name may have several meanings ("state" is a place or a status): a set of bits. */
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

/* Meanings of one word, by its word_hash; 0 when the lexicon lacks it. */
unsigned word_meaning(uint32_t word);
/* Those of the last word, or, when it has none, of all words together. */
unsigned name_meaning(const struct element_name *n);
/* Meanings that an interrogative word asks for ("when", "who", "where", "much"); 0 for any other word. */
unsigned asked_meaning(uint32_t word);

/*
 * The words of names and questions, in forms that can be compared although people write them
 * differently: plural or not, abbreviated (qty, addr), derived (ship, shipped, shipping), joined (shipDate).
 */
enum { MATCH_LETTERS = 16 };

/* Two words are the same if `word` is equal, and related if `stem` is. */
struct match_word {
    uint32_t word; /* word_hash of the singular, of what an abbreviation stands for */
    uint32_t stem; /* hash of what remains without endings such as -ed, -ing, -er, -ment */
    bool function; /* it holds sentences together and names nothing ("the", "which", "show", "per") */
    bool expanded; /* it is an abbreviation */
    uint8_t n;     /* letters, of which the first are kept */
    char letters[MATCH_LETTERS];
};

enum { QUESTION_WORDS = 64 };

/* Whether one letter, or two neighbours that changed places, makes words of five letters or more different. */
bool match_words_mistyped(const struct match_word *a, const struct match_word *b);
/* Whether a short word may be an abbreviation of another one: its beginning (dep, departure), or some consonants of it
 * in order (bkg, booking). */
bool match_words_shortened(const struct match_word *short_word, const struct match_word *whole);
/* Whether it is a number that looks like a year. */
bool match_word_is_year(const struct match_word *w);
/* Words of a text in order, split where small letters meet capitals, cut after `most`; how many there are. */
int match_words_read(const char *text, struct match_word *out, int most);

#endif
