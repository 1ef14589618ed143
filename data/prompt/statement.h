/*
 * statement.h - finds SQL statements in a completion by SQL's own tokens and grammar.
 *
 * A statement begins at SELECT, WITH or VALUES and is kept unchanged. It ends at a semicolon, at the closing quote or
 * brace around it, or at the next statement; strings, comments and parentheses are respected. Prose after a statement
 * is cut where the grammar does not continue and the words form a sentence.
 *
 * A word such as "select" in prose is recognised by its case, its position and whether a statement parses there. A
 * statement that does not parse is kept if it was certainly meant as SQL, so that its execution reports the error.
 */
#ifndef DATA_PROMPT_STATEMENT_H
#define DATA_PROMPT_STATEMENT_H

#include "data/prompt/model_output.h"
#include "data/prompt/passage.h"
#include "kernels/arena.h"

/* The state for reading one completion. */
struct statement_reader {
    struct arena trees;
    int64_t work; /* remaining tokens to look at; bounds the time for hostile text */
};

void statement_reader_init(struct statement_reader *r, const char *answer);
void statement_reader_release(struct statement_reader *r);

/* Appends the distinct statements of a text. trusted: the whole text is code, such as a fenced block or a JSON field.
 * Statements that change a database are omitted. */
void statements_find(struct text_items *out, struct statement_reader *r, struct passage text, bool trusted);

/* Whether the whole text is one statement, with an optional semicolon. */
bool statement_is_whole(struct statement_reader *r, struct passage text);

#endif
