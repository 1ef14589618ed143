/*
 * text_fold.h - texts that differ in case, or in how their accents are written, made one.
 *
 * Unicode's full case folding (CaseFolding.txt, statuses C and F) in normal form C, by utf8proc: no language's own
 * rules.
 */
#ifndef DATA_UTIL_TEXT_FOLD_H
#define DATA_UTIL_TEXT_FOLD_H

#include "kernels/base.h"

enum { TEXT_FOLD_LETTERS = 512 };

/* Writes the folded text and a NUL, a blank for each sign that is no letter, accent or digit.  Its bytes; -1 where text
 * is no UTF-8, has more than TEXT_FOLD_LETTERS code points when folded and decomposed, or does not fit into cap. */
int text_fold(char *to, int cap, const char *text, size_t n);

#endif
