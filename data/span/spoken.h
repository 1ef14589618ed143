/*
 * spoken.h - the words of a question or a name, with where they stand, and where a question says a name.
 *
 * Words are runs of letters and digits, compared in any case (text_fold.h) and without the ending of a plural.  Words
 * such as "of" carry nothing: they never match by themselves.
 */
#ifndef DATA_SPAN_SPOKEN_H
#define DATA_SPAN_SPOKEN_H

#include "kernels/base.h"

enum { SPOKEN_WORDS = 128, SPOKEN_STEM = 32, RATIO_LETTERS = 128 /* of longer texts the first ones are compared */ };

struct spoken_word {
    int from, to;   /* bytes */
    int start, end; /* code points */
    bool filler;    /* of, the, in ... */
    char stem[SPOKEN_STEM];
};

struct spoken {
    struct spoken_word words[SPOKEN_WORDS]; /* of a longer text the first ones */
    int n;
};

void spoken_read(struct spoken *s, const char *text);
/* Whether the letter at p is part of a word. */
bool spoken_in_word(const char *p);
/* Whether the letter that ends before text + at is. */
bool spoken_in_word_before(const char *text, int at);
/* The word with that stem that is no filler, or NULL. */
const struct spoken_word *spoken_find(const struct spoken *s, const char *stem);
/* Words first to last of another text. */
void spoken_part(struct spoken *part, const struct spoken *of, int first, int last);
/* Whether they have a word in common that is no filler. */
bool spoken_share(const struct spoken *a, const struct spoken *b);
/* The word that says what kind of thing a name is: "date" of "date of birth", "team" of "school/club team".  NULL of a
 * name without words. */
const struct spoken_word *spoken_head(const struct spoken *name);
/* The longest run of the question's words that are all of the name, its head among them: its number of words, 0 where
 * there is none. */
int spoken_locate(const struct spoken *question, const struct spoken *name, int *first);
/* From 0 to 1: how much of two texts is alike, letters in order, case and blanks apart. */
double spoken_ratio(const char *a, const char *b);

/* A text that is compared with many: which of its letters each byte is. */
struct spoken_pattern {
    uint64_t places[256][RATIO_LETTERS / 64];
    int n;
};
void spoken_pattern_init(struct spoken_pattern *p, const char *text);
/* spoken_ratio of the pattern's text and this one. */
double spoken_pattern_ratio(const struct spoken_pattern *p, const char *text);

#endif
