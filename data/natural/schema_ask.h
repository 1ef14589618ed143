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

#endif
