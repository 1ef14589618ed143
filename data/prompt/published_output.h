/*
 * published_output.h - answers as the program of "Disambiguate First, Parse Later" reads them, which its numbers come
 * from, mistakes included: introductions are readings, so are empty lines of an infilling, and SQL loses its
 * backslashes and statements that begin with WITH.
 */
#ifndef DATA_PROMPT_PUBLISHED_OUTPUT_H
#define DATA_PROMPT_PUBLISHED_OUTPUT_H

#include "data/prompt/model_output.h"

/* As their namesakes of model_output.h. */
void published_readings(struct text_items *out, const char *answer);
void published_infilled(struct text_items *out, const char *answer);
void published_sql(struct text_items *out, const char *answer);

#endif
