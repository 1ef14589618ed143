/*
 * probe_names.h - what a probe can tell of a question by rules: whether it lists things, and how alike the names are
 * that it mentions.
 */
#ifndef DATA_CONTRAST_PROBE_NAMES_H
#define DATA_CONTRAST_PROBE_NAMES_H

#include "data/schema/schema.h"

/* How alike the names are of the two likeliest look-alikes among the elements that the question seems to mention. */
double probe_name_similarity(const char *question, const struct schema *s);
/* Whether the question has the word "and" or a comma. */
bool probe_and_comma(const char *question);

#endif
