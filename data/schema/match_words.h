/*
 * match_words.h - the words of names and questions, in forms that can be compared although people write them
 * differently: plural or not, abbreviated (qty, addr), derived (ship, shipped, shipping), joined (shipDate).
 */
#ifndef DATA_SCHEMA_MATCH_WORDS_H
#define DATA_SCHEMA_MATCH_WORDS_H

#include "data/schema/element_name.h"

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
