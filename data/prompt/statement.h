/*
 * statement.h - SQL statements within a model's answer, found by SQL's own tokens and grammar.
 *
 * A statement begins at SELECT, WITH or VALUES and keeps its very text.  It ends at a semicolon, at what closes the
 * quotes or braces around it, or where another statement begins; strings, comments, parentheses and the SELECT of a
 * WITH hide none of these.  Prose behind it is cut off where the grammar does not go on and the words are a sentence.
 * Words such as "select" in prose begin none: how they are written, where they stand and whether they parse decide.
 * A statement that does not parse is kept whole where it was surely meant as SQL, so that running it tells what is
 * wrong.
 */
#ifndef DATA_PROMPT_STATEMENT_H
#define DATA_PROMPT_STATEMENT_H

#include "data/prompt/model_output.h"
#include "data/prompt/passage.h"
#include "kernels/arena.h"

/* What one answer is read with. */
struct statement_reader {
    struct arena trees;
    int64_t work; /* tokens that may still be looked at, so that hostile text takes no quadratic time */
};

void statement_reader_init(struct statement_reader *r, const char *answer);
void statement_reader_release(struct statement_reader *r);

/* Appends the statements of a text, each once.  `trusted`: all of it is code, as in a fence or a field of JSON.
 * Statements of kinds that change a database are passed over. */
void statements_find(struct text_items *out, struct statement_reader *r, struct passage text, bool trusted);

/* Whether the whole text is one statement, perhaps with a semicolon behind. */
bool statement_is_whole(struct statement_reader *r, struct passage text);

#endif
