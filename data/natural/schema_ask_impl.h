/*
 * schema_ask_impl.h - templates filled with the words and names of a schema's elements.
 */
#ifndef DATA_NATURAL_SCHEMA_ASK_IMPL_H
#define DATA_NATURAL_SCHEMA_ASK_IMPL_H

#include "data/natural/schema_ask.h"
#include "kernels/rng.h"

enum { ASKING_WORDS = 3 /* of a table or column that a template can name, at most */ };

/* The filling of one group of templates.  Texts are kept by out->text. */
struct asking {
    struct schema_asks *out;
    const struct schema *s;
    struct rng rng; /* of the group, so that the same words are asked of every schema */
};

const char *asking_printf(struct asking *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Opens a group and returns its name: from here on the same random numbers come for every schema. */
const char *asking_open(struct asking *a, const char *kind, const char *x, const char *y);
const char *asking_draw(struct asking *a, const char *const *list, int n);
/* A question in a style that the group draws.  In the pattern %c stands for the column's words, %t for the table and %s
 * for its plural. */
const char *asking_fill(struct asking *a, const char *pattern, const char *column, const char *one, const char *many);

/* How many words a text has. */
int asking_count(const char *text);
/* Whether a template can say the table's name. */
bool asking_can_say(const struct schema *s, int table);
/* Words of a table in the singular and in the plural; of a column without those of its table. */
const char *asking_one(struct asking *a, int table);
const char *asking_many(struct asking *a, int table);
const char *asking_own(const struct schema *s, int column);
/* Names as a statement says them; "table.column" as an example does. */
const char *asking_column(struct asking *a, int column);
const char *asking_table(struct asking *a, int table);
const char *asking_element(struct asking *a, int column);

/* The table's column with those own words; -1: none; -2: none, but others with the same last word. */
int asking_holder(const struct schema *s, int table, const char *own);
/* The column by which a result tells rows apart. */
int asking_label(const struct schema *s, int table);

#endif
