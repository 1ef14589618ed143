/*
 * template_constraint.h - compiles a template for a question into the statements that it allows on a schema.
 *
 * Each placeholder of a name, string or number becomes a slot with a list of texts. Tables are not slots, because SQL
 * names the columns before FROM, which determines them. Instead, every choice of tables that join along keys becomes
 * an alternative with consistent aliases, columns and join conditions. A composite foreign key joins by all its
 * columns, with AND between the equalities. If there are more than TEMPLATE_ALTERNATIVES alternatives, those are kept
 * whose tables the question mentions.
 */
#ifndef DATA_PROMPT_TEMPLATE_CONSTRAINT_H
#define DATA_PROMPT_TEMPLATE_CONSTRAINT_H

#include "data/db/column_values.h"
#include "data/schema/schema.h"

enum { TEMPLATE_ALTERNATIVES = 256, TEMPLATE_BYTES = 4 << 20 };

/* All pointers are borrowed. */
struct template_question {
    const struct schema *schema;
    const char *question;
    const struct column_values *values; /* values of the database, or NULL */
};

/* Returns {"alternatives": [{"template", "slots"}, ...]}, the most likely first, in the form of a constraint file.
 * Names are in lower case, quoted if SQL requires it. Strings and numbers come from the question, from variants of its
 * words and from the values of the database. NULL with EXIT_CODE_DATA: the template is not UTF-8, has an unknown word,
 * or no choice of tables fits it. The caller owns the reference. */
json_t *template_constraint(const struct template_question *q, const char *template, struct error *err);

#endif
