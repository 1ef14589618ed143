/*
 * name_meaning.h - coarse meanings of names, from a lexicon of head nouns: two columns may be confused although they
 * share no word (price and cost, town and city).
 */
#ifndef DATA_SCHEMA_NAME_MEANING_H
#define DATA_SCHEMA_NAME_MEANING_H

#include "data/schema/element_name.h"

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

#endif
