/*
 * memory_labels.h - labelled questions for ambit-train adapt, made of a memory of choices.
 *
 * A remembered choice says that words of a user were ambiguous for a schema, and which element was meant.  It gives an
 * ambiguous question of these words, "Show the address of each purchase."  Each element that the words fit gives a
 * clear one, "Show the shipping address of each purchase."  The memory holds no questions, so these follow a template.
 */
#ifndef DATA_CLARIFY_MEMORY_LABELS_H
#define DATA_CLARIFY_MEMORY_LABELS_H

#include "data/clarify/choice_memory.h"
#include "data/db/schema_catalog.h"

/* ambit-train adapt takes at most 48 labels: an ambiguous question and two clear ones for each of 16 words. */
enum { MEMORY_LABELS_WORDS = 16, MEMORY_LABELS_CLEAR = 2 };

/* Writes records {"id", "db_id", "question", "ambiguous", "alternatives"} for the newest words of the filter whose
 * choices are tables or columns.  Returns the number of records, or -1 with err. */
int memory_labels_write(struct out_file *out, const struct choice_memory *m, const struct choice_filter *f,
                        struct schema_catalog *schemas, struct error *err);

#endif
