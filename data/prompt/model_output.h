/*
 * model_output.h - what a language model wrote, as readings and as SQL.
 *
 * Every function has two ways.  The published one is that of "Disambiguate First, Parse Later", which its numbers come
 * from: introductions stay readings, empty lines of an infilling are readings, SQL loses its backslashes and statements
 * that begin with WITH.  The other keeps what was meant: nothing empty, no introductions ("Here are ...:"), no reading
 * twice, WITH and backslashes as they are, and a semicolon within quotes ends no statement.
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
void text_items_release(struct text_items *t);

/* Appends the readings of an answer to PROMPT_DEF: the lines of its fenced blocks, or all lines where there are none,
 * without the marks of a list; each text once, in the order of the first (the authors' set has none). */
void output_readings(struct text_items *out, const char *answer, bool published);
/* The same of an answer to PROMPT_FILL: its lines but those that say that all are covered. */
void output_infilled(struct text_items *out, const char *answer, bool published);
/* The statements of an answer to PROMPT_SQL, each text once. */
void output_sql(struct text_items *out, const char *answer, bool published);

#endif
