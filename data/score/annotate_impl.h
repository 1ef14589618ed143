/*
 * annotate_impl.h - what the two filters of annotate.h share, and the parts of the published one.
 */
#ifndef DATA_SCORE_ANNOTATE_IMPL_H
#define DATA_SCORE_ANNOTATE_IMPL_H

#include "data/score/annotate.h"

/* Adds a reading to those that are kept. */
void annotate_keep(struct annotation *a, int reading);

/* Length of a text in characters. */
int64_t annotate_length(const char *text);
/* Whether the published filter drops a text for a word in it. */
bool annotate_has_keyword(const char *text);

#endif
