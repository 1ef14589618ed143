/*
 * schema_ask.h - template questions about a schema, with the label that the schema gives them.
 *
 * The same words are asked of every schema of a database: "What is the total amount of each order?" is ambiguous where
 * orders have a stored total beside their lines, and clear where they have not.  Templates ask for a column that two
 * neighbours of a table have, for the other end of a key that stands in two roles, for sums and counts that may be
 * stored, for a person who may stand in two tables.  Each has forms that name the table or the role and are clear.
 */
#ifndef DATA_NATURAL_SCHEMA_ASK_H
#define DATA_NATURAL_SCHEMA_ASK_H

#include "data/schema/ambiguity_type.h"
#include "data/schema/schema.h"
#include "data/util/strings.h"
#include "kernels/rng.h"

struct schema_ask {
    const char *text;
    const char *group;  /* equal for a question and its clear forms */
    const char *reason; /* of being ambiguous */
    enum sia_kind kind;
    bool ambiguous, named;                /* named: a clear form, which no schema makes ambiguous */
    const char *sql[2], *alternatives[2]; /* the second ones: NULL where clear */
};

/* A zeroed list is ready; text keeps the strings. */
struct schema_asks {
    struct schema_ask *items;
    int n, cap;
    struct strings *text;
};

/* Adds what can be asked of the schema, in a fixed order.  No text stands twice. */
void schema_asks_find(struct schema_asks *a, const struct schema *s);

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

/* The question in a style drawn at random, mostly as it is; text keeps it. */
const char *wording_restyle(struct strings *text, const char *question, struct rng *rng);

#endif
