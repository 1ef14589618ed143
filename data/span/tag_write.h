/*
 * tag_write.h - what a tagger answered, as a line of JSON, as text for people and as a page.
 *
 * Text and page are made of the line alone, so that a run which goes on writes what one that nobody stopped would.
 * Names and cells come from strangers: the page has them as text and never as markup, a terminal gets none of their
 * control characters.
 */
#ifndef DATA_SPAN_TAG_WRITE_H
#define DATA_SPAN_TAG_WRITE_H

#include "data/span/tagging.h"

#include <stdio.h>

/* Of the values that its column has, so many stand beside an alternative, each cut behind so many letters. */
enum { TAG_EXAMPLES = 3, TAG_EXAMPLE_LETTERS = 60 };

/* The record that docs/reference/records.md has; a new reference, NULL where a name or a value is no UTF-8.  id and
 * db_id are left out where they are NULL. */
json_t *tag_json(const json_t *id, const char *db_id, const struct tag_question *q, const struct tag_answer *a);

/* Of such a line, or one with an "error": a few for people, words in colour on a terminal, else in brackets. */
void tag_print_text(FILE *out, const json_t *line);
/* A section of the page that begins with tag_html_head and ends with tag_html_foot. */
void tag_print_html(FILE *out, const json_t *line);
extern const char tag_html_head[], tag_html_foot[];

#endif
