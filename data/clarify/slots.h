/*
 * slots.h - where candidate statements differ: the same place of each, by the path that leads there.
 *
 * "sel#1" is the first output, "where[hired].val" what `hired` is compared with, "where[id]/from" the tables of the
 * sub-query that `id` is compared with, "arm2/limit" of what stands behind the first UNION.  A statement that has
 * nothing at a place is absent there, which is a value too.
 */
#ifndef DATA_CLARIFY_SLOTS_H
#define DATA_CLARIFY_SLOTS_H

#include "data/sql_form/sql_form.h"

/* What a question about a slot is about; the first of them make the better question when several would do. */
enum face {
    FACE_OUTPUT,    /* which columns are shown */
    FACE_COLUMN,    /* which column is meant; the slot's clause says what for */
    FACE_STORED,    /* an aggregate that stands in a column, or is computed */
    FACE_TABLE,     /* which records are meant */
    FACE_CONDITION, /* whether a condition is meant at all */
    FACE_VALUE,     /* what is compared with */
    FACE_OPERATOR,  /* how, boundaries included or not */
    FACE_LOGIC,     /* all conditions, or one is enough */
    FACE_AGGREGATE, /* which aggregate, or none */
    FACE_DISTINCT,  /* repeated rows */
    FACE_GROUP,     /* what there is a row for each of */
    FACE_JOIN,      /* rows without a partner */
    FACE_SORT,      /* sorted by what */
    FACE_DIRECTION, /* sorted which way */
    FACE_LIMIT,     /* how many */
    FACE_SET,       /* how two results are put together */
    FACE_SEQUENCE,  /* the order of the outputs */
    FACE_QUERY,     /* everything: one of the most probable statements */
    FACES
};
const char *face_name(enum face f);

struct slot {
    const char *name;
    enum face face;
    int clause;                     /* enum sql_clause of the outermost query; SQL_CLAUSES for a set operation */
    const char **values;            /* [n]; NULL when absent */
    const struct form_term **terms; /* [n] what holds the value; NULL when absent, or when it is no single term */
    const struct form **forms; /* [n] the SELECT that has the slot, an inner one or the outermost; NULL when absent */
};

enum { SLOTS_MAX = 512 }; /* what differs behind that is left to FACE_QUERY */

struct slots {
    struct slot *list;
    int n, cap;
    int n_candidates;
    const struct schema *schema;
    struct strings pool;
};

/* Only slots that are not the same for all.  The forms, in order of their probability, must outlive the slots, and so
 * must the schema. */
void slots_extract(struct slots *s, const struct form *const *forms, int n, const struct schema *schema);
void slots_release(struct slots *s);

#endif
