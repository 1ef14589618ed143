/*
 * tag_read.h - a line of a tagger's output as its answer about a record, for scores.
 *
 * What a line names is looked for among the record's columns, by the names that tag_write.h gives them.
 */
#ifndef DATA_SPAN_TAG_READ_H
#define DATA_SPAN_TAG_READ_H

#include "data/span/tagging.h"

/* A concept that the record does not have gets column -1.  Values are borrowed from the line; the caller releases the
 * answer either way.  -1 with EXIT_CODE_DATA naming the field, its value and what was expected. */
int tag_read(struct tag_answer *a, const json_t *line, const struct span_record *r, const char *where,
             struct error *err);

#endif
