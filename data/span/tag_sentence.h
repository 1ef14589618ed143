/*
 * tag_sentence.h - what a tagger answered, as sentences of one table of texts.
 *
 * Names and words of the question stand in double quotes, a quote inside them twice, so that nobody takes a part of a
 * name for its end.
 */
#ifndef DATA_SPAN_TAG_SENTENCE_H
#define DATA_SPAN_TAG_SENTENCE_H

#include "data/span/tagging.h"

/* "table.column", "column" where the question is about one table, or "table"; the caller frees. */
char *tag_concept_name(const struct tag_question *q, const struct tag_concept *c);
/* First what has several meanings, then what cannot be mapped; the caller frees. */
char *tag_sentence(const struct tag_question *q, const struct tag_answer *a);

#endif
