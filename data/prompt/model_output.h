/*
 * model_output.h - extracts interpretations and SQL from a language model's completion; all commands use this reader.
 *
 * Thoughts are removed first. Then lists and objects of (almost) JSON, fenced blocks and plain text are read. SQL is
 * found by its tokens and grammar (statement.h) and kept unchanged. With `published`, completions are read as the
 * program of "Disambiguate First, Parse Later" reads them (published_output.h).
 */
#ifndef DATA_PROMPT_MODEL_OUTPUT_H
#define DATA_PROMPT_MODEL_OUTPUT_H

#include "kernels/base.h"

#define OUTPUT_COVERED "all possible interpretations are covered"

/* Texts in order. Start as { 0 }. */
struct text_items {
    char **items;
    int n, cap;
};
void text_items_add(struct text_items *t, const char *text, size_t length);
/* Adds the text unless it is present. */
void text_items_add_once(struct text_items *t, const char *text, size_t length);
void text_items_release(struct text_items *t);

/* Appends the distinct interpretations in a completion of PROMPT_DEF: the strings of a JSON list, else list items,
 * else all lines except introductions. If the completion has fenced blocks, only they are read. */
void output_interpretations(struct text_items *out, const char *answer, bool published);
/* The same for PROMPT_FILL; a statement that all interpretations are covered is omitted. */
void output_infilled(struct text_items *out, const char *answer, bool published);
/* The same for PROMPT_CORRECT; sentences about the candidates are omitted ("No interpretations are missing."). Returns
 * whether the completion only states that the candidates are correct or complete: all of them then stay. */
bool output_reviewed(struct text_items *out, const char *answer, bool published);
/* Appends the distinct statements in a completion of any prompt for SQL. */
void output_sql(struct text_items *out, const char *answer, bool published);
/* The completion without thoughts and surrounding blanks, perhaps "". The caller frees. */
char *output_answer(const char *answer);
/* The reason why a completion has no `what` (such as "statement"), for a message; borrowed until the next call. */
const char *output_lacks(const char *answer, const char *what);
/* Whether a completion of PROMPT_FILL states that no interpretation is missing. */
bool output_says_covered(const char *answer);

#endif
