/*
 * model_output.h - a language model's answer as readings and as SQL: the one reader of all commands.
 *
 * Thoughts are taken out first (stretches).  Then come lists and objects of JSON or almost JSON, fenced blocks, and
 * text.  SQL is found by its tokens and its grammar (statement.h) and keeps its very text.
 *
 * With `published` answers are read as the program of "Disambiguate First, Parse Later" does (published_output.h).
 */
#ifndef DATA_PROMPT_MODEL_OUTPUT_H
#define DATA_PROMPT_MODEL_OUTPUT_H

#include "kernels/base.h"

#define OUTPUT_COVERED "all possible interpretations are covered"

/* Texts in order; a zeroed struct is ready. */
struct text_items {
    char **items;
    int n, cap;
};
void text_items_add(struct text_items *t, const char *text, size_t length);
/* The same unless the text is there. */
void text_items_add_once(struct text_items *t, const char *text, size_t length);
void text_items_release(struct text_items *t);

/* Appends the readings of an answer to PROMPT_DEF, each once: the strings of a JSON list, else the lines with the marks
 * of a list, else all lines but introductions; of fenced blocks where there are some. */
void output_readings(struct text_items *out, const char *answer, bool published);
/* The same of an answer to PROMPT_FILL, without what says that all are covered. */
void output_infilled(struct text_items *out, const char *answer, bool published);
/* Appends the statements of an answer to any prompt for SQL, each once. */
void output_sql(struct text_items *out, const char *answer, bool published);
/* The answer without its thoughts and without blanks around it: "" where it has nothing else.  The caller frees. */
char *output_answer(const char *answer);
/* Why an answer that should hold `what` ("statement") has none, for a message; borrowed until the next call. */
const char *output_lacks(const char *answer, const char *what);
/* Whether an answer to PROMPT_FILL says that no reading is missing. */
bool output_says_covered(const char *answer);

#endif
