/*
 * char_class.h - what BERT's text pipeline asks about a code point, answered as Hugging Face's tokenizers answer it.
 *
 * Their answers mix Unicode versions: categories of Unicode 8, decompositions and combining classes of Unicode 9, white
 * space and case of Unicode 17.  A newer library (utf8proc 2.8 knows Unicode 14) calls 386 more code points accents,
 * 106 more punctuation, and every unassigned one a control.  So categories are a table of our own, generated from the
 * answers of the tokenizers package (tests/gold/make_char_class.py), and utf8proc is asked only for what Unicode
 * promises never to change: decompositions, combining classes and case of characters that those versions know.
 */
#ifndef MODELS_UNICODE_CHAR_CLASS_H
#define MODELS_UNICODE_CHAR_CLASS_H

#include "kernels/base.h"

enum char_class {
    CHAR_CONTROL = 1,     /* dropped when text is cleaned */
    CHAR_WHITE = 2,       /* ends a word; a blank when text is cleaned, unless it is a control too */
    CHAR_PUNCTUATION = 4, /* a word of its own */
    CHAR_CHINESE = 8,     /* gets blanks around it */
    CHAR_MARK = 16,       /* dropped with the accents */
    CHAR_ORDERED = 32     /* no accent, but decomposition puts it in order among its neighbours */
};

/* A range of code points and its bits, sorted and apart; the table is char_class_table.c. */
struct char_range {
    uint32_t first, last;
    unsigned bits;
};
extern const struct char_range char_classes[];
extern const int n_char_classes;

/* Bits of enum char_class; 0 is a letter, a digit, a symbol or unassigned. */
unsigned char_class(uint32_t cp);

enum { CHAR_MAX_DECOMPOSED = 4, CHAR_MAX_COMPATIBLE = 32 };
/* Canonical decomposition (NFD) of one code point.  Returns how many came out, 1 or more. */
int char_decompose(uint32_t out[CHAR_MAX_DECOMPOSED], uint32_t cp);
/* Compatibility decomposition (NFKD). */
int char_decompose_compatible(uint32_t out[CHAR_MAX_COMPATIBLE], uint32_t cp);
int char_combining_class(uint32_t cp);
/* Canonical composition of two code points; 0 when they have none. */
uint32_t char_compose(uint32_t a, uint32_t b);

/* Lower case, without regard to context.  Returns how many code points came out, 1 or 2. */
int char_lower(uint32_t out[2], uint32_t cp);

/* Classes of another table, char_class_table.c. */
enum word_class {
    CHAR_WORD = 1,      /* \w of Rust's regular expressions: a letter, digit, mark or joiner */
    CHAR_COMBINING = 2, /* dropped by StripAccents: every mark, CHAR_MARK or not */
    CHAR_NUMERIC = 4    /* a digit, or a number of any other kind */
};
extern const struct char_range word_classes[];
extern const int n_word_classes;

/* Bits of enum word_class. */
unsigned char_word_class(uint32_t cp);

/* Characters of categories that came after Unicode 14. */
struct late_chars {
    uint32_t first, last;
    const char *category;
};
extern const struct late_chars late_chars[];
extern const int n_late_chars;

#endif
