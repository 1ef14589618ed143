/*
 * word_map.h - small fixed vocabularies: words, by their word_hash, to numbers that are not 0.
 */
#ifndef DATA_SCHEMA_WORD_MAP_H
#define DATA_SCHEMA_WORD_MAP_H

#include "data/schema/element_name.h"

enum { WORD_MAP_SLOTS = 1024 }; /* a power of two */

/* Zeroed: empty. */
struct word_map {
    uint32_t words[WORD_MAP_SLOTS], values[WORD_MAP_SLOTS];
    int n;
};

/* Adds the bits of value to the value of each word of a text; words are separated by single spaces. */
void word_map_add(struct word_map *m, const char *words, uint32_t value);
/* 0 when the word is not there. */
uint32_t word_map_find(const struct word_map *m, uint32_t word);

#endif
