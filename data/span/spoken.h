/*
 * spoken.h - splits questions and names into words, and finds a name in a question.
 *
 * Words are runs of letters and digits, compared without case (text_fold.h) and without plural endings. Fillers such
 * as "of" never match by themselves.
 */
#ifndef DATA_SPAN_SPOKEN_H
#define DATA_SPAN_SPOKEN_H

#include "kernels/base.h"

enum { SPOKEN_WORDS = 128, SPOKEN_STEM = 32, RATIO_LETTERS = 128 /* longer texts are compared up to here */ };

struct spoken_word {
    int from, to;   /* bytes */
    int start, end; /* code points */
    bool filler;    /* of, the, in ... */
    char stem[SPOKEN_STEM];
};

struct spoken {
    struct spoken_word words[SPOKEN_WORDS]; /* the first words of a longer text */
    int n;
};

void spoken_read(struct spoken *s, const char *text);
/* Whether the character at p is part of a word. */
bool spoken_in_word(const char *p);
/* Whether the character that ends before text + at is part of a word. */
bool spoken_in_word_before(const char *text, int at);
/* The word with that stem, not a filler, or NULL. */
const struct spoken_word *spoken_find(const struct spoken *s, const char *stem);
/* Copies words first to last. */
void spoken_part(struct spoken *part, const struct spoken *of, int first, int last);
/* Whether both have a word in common, fillers excluded. */
bool spoken_share(const struct spoken *a, const struct spoken *b);
/* The head word of a name: "date" of "date of birth", "team" of "school/club team". NULL without words. */
const struct spoken_word *spoken_head(const struct spoken *name);
/* The longest run of the question's words that all occur in the name, with its head. Returns the number of words, or
 * 0. */
int spoken_locate(const struct spoken *question, const struct spoken *name, int *first);
/* Similarity from 0 to 1 by equal letters in order, without case and blanks. */
double spoken_ratio(const char *a, const char *b);

/* A text to compare with many: for each byte, the letters of the text that equal it, as bits. */
struct spoken_pattern {
    uint64_t places[256][RATIO_LETTERS / 64];
    int n;
};
void spoken_pattern_init(struct spoken_pattern *p, const char *text);
/* spoken_ratio of the pattern and the text. */
double spoken_pattern_ratio(const struct spoken_pattern *p, const char *text);

#endif
