/*
 * text_fold.h - texts that differ in case, or in how their accents are written, made one; texts cut to their room.
 *
 * Folding is Unicode's full one (CaseFolding.txt, statuses C and F) in normal form C, by utf8proc: no language's own
 * rules.  Room is counted as terminals do it (utf8proc_charwidth): most letters take one place, those of Chinese,
 * Japanese and Korean two, accents none.
 */
#ifndef DATA_UTIL_TEXT_FOLD_H
#define DATA_UTIL_TEXT_FOLD_H

#include "data/util/strings.h"

enum { TEXT_FOLD_LETTERS = 512 };

/* Writes the folded text and a NUL, a blank for each sign that is no letter, accent or digit.  Its bytes; -1 where text
 * is no UTF-8, has more than TEXT_FOLD_LETTERS code points when folded and decomposed, or does not fit into cap. */
int text_fold(char *to, int cap, const char *text, size_t n);

/* The text itself where it takes at most so many places; else what fits of it, with an ellipsis, kept by `keep`.
 * However many accents a letter has, at most 8 bytes a place are kept; a byte that is no UTF-8 takes one place. */
const char *text_shorten(struct strings *keep, const char *text, int places);

/* Each letter as its own small one, all else as it is, bytes that are no UTF-8 too.  The caller frees. */
char *text_lower(const char *text);

#endif
