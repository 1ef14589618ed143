/*
 * alter.h - a schema in which one element stands twice, in the four ways of AmbiQT.
 *
 * Every name comes out lower-cased and every text in lower-case words, altered or not, so that spelling never tells
 * which elements were invented; what is added stands at a random place.  Both alternatives get the element's type and
 * keys, so that structure does not tell the right reading either.
 */
#ifndef DATA_REWRITE_ALTER_H
#define DATA_REWRITE_ALTER_H

#include "data/corpora/ambiqt.h"
#include "data/schema/schema.h"
#include "kernels/rng.h"

struct alteration {
    enum sia_kind kind;
    int table, column;              /* of the schema as it was; column is -1 for T */
    int key;                        /* J, P: the table's primary key, or -1 */
    const char *names[2];           /* C, T */
    const char *new_table;          /* J, P */
    const char *const *new_columns; /* P: "max_c" and so on */
    int n_new_columns;
    const bool *repeated;       /* P: by column number, the table's columns that the new table repeats */
    const char *const *renamed; /* NULL, or by element (tables, then columns): the name it gets, NULL keeps its own */
};

/* Which of the two alternatives stand: none is the schema as it was, but for the spelling. */
enum alter_form { ALTER_NONE, ALTER_FIRST, ALTER_SECOND, ALTER_BOTH };

/* Finds the record's element in s.  -1 when s has no such table, column or key; a->repeated stays NULL. */
int alteration_find(struct alteration *a, const struct schema *s, const struct ambiqt_record *r);

/* The caller ends out with schema_release.  -1 when a new name is taken already or holds a dot. */
int alter_schema(struct schema *out, const struct schema *s, const struct alteration *a, enum alter_form form,
                 const char *db_id, struct rng *rng);

/* The name of alternative `which` as struct example holds it; aggregate is the number of the new column that the second
 * reading uses (P only).  text keeps it. */
const char *alter_name(struct strings *text, const struct schema *s, const struct alteration *a, int which,
                       int aggregate);

#endif
