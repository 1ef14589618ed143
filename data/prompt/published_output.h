/*
 * published_output.h - reads completions as the program of "Disambiguate First, Parse Later" does, including its bugs.
 *
 * Its published numbers depend on the bugs: introductions and empty lines of an infilling count as interpretations,
 * and SQL loses its backslashes and its statements that begin with WITH.
 */
#ifndef DATA_PROMPT_PUBLISHED_OUTPUT_H
#define DATA_PROMPT_PUBLISHED_OUTPUT_H

#include "data/prompt/model_output.h"

/* Counterparts of output_interpretations, output_infilled and output_sql in model_output.h. */
void published_interpretations(struct text_items *out, const char *answer);
void published_infilled(struct text_items *out, const char *answer);
void published_sql(struct text_items *out, const char *answer);

#endif
