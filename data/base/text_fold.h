/*
 * text_fold.h - case folding and shortening of Unicode text, by utf8proc.
 *
 * Folding is Unicode's full case folding (CaseFolding.txt, statuses C and F) in normal form C, without rules of single
 * languages.  Widths are those of terminals (utf8proc_charwidth): most characters take one column, Chinese, Japanese
 * and Korean ones two, combining accents none.
 */
#ifndef DATA_BASE_TEXT_FOLD_H
#define DATA_BASE_TEXT_FOLD_H

#include "data/base/strings.h"

enum { TEXT_FOLD_CODES = 512 };

/* Writes the folded text with a NUL; characters other than letters, accents and digits become blanks.  Returns its
 * bytes.  Returns -1 if text is not UTF-8, exceeds TEXT_FOLD_CODES code points after decomposition, or does not fit
 * into cap bytes. */
int text_fold(char *to, int cap, const char *text, size_t n);

/* Returns text itself if it fits into this many columns, otherwise its beginning with an ellipsis, owned by `keep`.  At
 * most 8 bytes for each column are kept, however many accents a character has.  An invalid byte takes one column. */
const char *text_shorten(struct strings *keep, const char *text, int columns);

/* Converts each letter to lower case and keeps all other bytes, also invalid ones.  The caller frees the result. */
char *text_lower(const char *text);

#endif
