#include "data/schema/word_map.h"

#include <string.h>

/* The word's slot, or the free one where it would be. */
static uint32_t slot_of(const struct word_map *m, uint32_t word)
{
    uint32_t i = word & (WORD_MAP_SLOTS - 1);

    while (m->values[i] && m->words[i] != word)
        i = (i + 1) & (WORD_MAP_SLOTS - 1);
    return i;
}

void word_map_add(struct word_map *m, const char *words, uint32_t value)
{
    char word[NAME_MAX_LETTERS];

    while (*words) {
        size_t n = strcspn(words, " ");
        CHECK(n && n < sizeof word && m->n < WORD_MAP_SLOTS / 2, "word map: \"%s\" does not fit", words);
        memcpy(word, words, n);
        word[n] = 0;
        uint32_t hash = word_hash(word), i = slot_of(m, hash);
        m->n += !m->values[i];
        m->words[i] = hash;
        m->values[i] |= value;
        words += n + (words[n] == ' ');
    }
}

uint32_t word_map_find(const struct word_map *m, uint32_t word)
{
    return m->values[slot_of(m, word)];
}
