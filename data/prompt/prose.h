/*
 * prose.h - whether words around SQL are a sentence to people.
 *
 * SQL's grammar alone cannot tell: "the" may be a column and "This" an alias.  It is asked where the grammar does not
 * go on, and about statements that may be none.
 */
#ifndef DATA_PROMPT_PROSE_H
#define DATA_PROMPT_PROSE_H

#include "data/prompt/passage.h"

/* Bytes of a blank that SQL takes for a letter: no-break, of a width, of no width, ideographic; 0 without. */
size_t prose_blank_length(struct passage p);
/* Without blanks at the beginning, those too. */
struct passage prose_without_blanks(struct passage p);

/* A word that English has and schemas have not: "the", "this", "which". */
bool prose_has_word(const char *word, size_t n);
/* Whether the first line of `rest`, which cannot go on with a statement, is prose, a label or a list's mark rather than
 * SQL of another dialect.  `inside` is for what begins in the middle of a line, where more must speak for prose. */
bool prose_begins(struct passage rest, bool inside);
/* Whether the first word of `rest` goes on with a statement, in SQLite's dialect or in another one. */
bool prose_goes_on(struct passage rest);
/* Without the marks of lists, quotations and headings at its beginning: "2.", "-", "**", "###", "(b)". */
struct passage prose_without_marks(struct passage line);

#endif
