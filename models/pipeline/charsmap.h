/*
 * charsmap.h - SentencePiece's precompiled table of characters: what a normaliser writes in the place of which text.
 *
 * The table is a trie in a double array over the bytes of a text, with places among texts that end in a zero byte.  It
 * may come from a stranger, so every step is checked against its bounds; a step takes a byte of the text, so that none
 * goes round for ever.
 */
#ifndef MODELS_PIPELINE_CHARSMAP_H
#define MODELS_PIPELINE_CHARSMAP_H

#include "kernels/base.h"

enum { CHARSMAP_MAX_BYTES = 16 << 20 };

struct charsmap {
    uint32_t *units;
    uint32_t n_units;
    char *texts; /* valid UTF-8, n_texts bytes and a zero */
    uint32_t n_texts;
    int64_t longest;        /* bytes of the longest text */
    const char *ascii[128]; /* what each character of a byte becomes, NULL: stays */
};

/* From base64.  -1 with EXIT_CODE_CHECKPOINT. */
int charsmap_read(struct charsmap *m, const char *base64, struct error *err);
void charsmap_release(struct charsmap *m);

/* How many times as long it may make a text, rounded up. */
int64_t charsmap_growth(const struct charsmap *m);
/* The text for the shortest start of these n bytes that the table has, NULL when it has none. */
const char *charsmap_find(const struct charsmap *m, const char *text, int64_t n);

#endif
