/*
 * attributes.h - the places in which candidate statements differ, and the attributes that a question can be about.
 *
 * The terms of the statements are aligned first, clause by clause.  A place where the statements differ is a slot.
 * Slots that divide the candidates in the same way become one attribute.  The last attribute is always the statement as
 * a whole, which divides everything.
 */
#ifndef DATA_CLARIFY_ATTRIBUTES_H
#define DATA_CLARIFY_ATTRIBUTES_H

#include "data/clarify/posterior.h"
#include "data/sql_form/sql_form.h"

/*
 * Statements are aligned one after the other.  The terms of each are matched to the places that earlier statements
 * made, at the least total cost: 0 for equal terms, 0.3 for one subject, 0.5 for columns of one type with similar names
 * or for conditions that differ in their column alone, 1 for any other pair, 0.8 for an unmatched term or place.
 */
struct alignment {
    const struct form_term **terms; /* [n_places * n]: of statement i at place k at k * n + i; NULL when it has none */
    int n_places, n, cap;
};

/* lists[i] may be NULL.  alignment_release frees. */
void align_terms(struct alignment *a, const struct form_list *const *lists, int n, const struct schema *schema);
void alignment_release(struct alignment *a);
/* cost is [n * n], row after row: the column of each row such that the sum is least. */
void assign_least_cost(int *column_of, const double *cost, int n);

/*
 * A slot is a place of the statements, named by the path that leads there.  "sel#1" is the first output,
 * "where[hired].val" the constant that `hired` is compared with, "where[id]/from" the tables of the sub-query that `id`
 * is compared with, "arm2/limit" the LIMIT of the SELECT behind the first UNION.  A statement that has nothing at a
 * place is absent there; absence counts as a value.
 */

/* What a question about a slot is about; the first of them make the better question when several would do. */
enum question_type {
    QUESTION_OUTPUT,    /* which columns are shown */
    QUESTION_COLUMN,    /* which column is meant; the slot's clause says what for */
    QUESTION_STORED,    /* an aggregate that stands in a column, or is computed */
    QUESTION_TABLE,     /* which records are meant */
    QUESTION_CONDITION, /* whether a condition is meant at all */
    QUESTION_VALUE,     /* what is compared with */
    QUESTION_OPERATOR,  /* how, boundaries included or not */
    QUESTION_LOGIC,     /* all conditions, or one is enough */
    QUESTION_AGGREGATE, /* which aggregate, or none */
    QUESTION_DISTINCT,  /* repeated rows */
    QUESTION_GROUP,     /* what there is a row for each of */
    QUESTION_JOIN,      /* rows without a partner */
    QUESTION_SORT,      /* sorted by what */
    QUESTION_DIRECTION, /* sorted which way */
    QUESTION_LIMIT,     /* how many */
    QUESTION_SET,       /* how two results are put together */
    QUESTION_SEQUENCE,  /* the order of the outputs */
    QUESTION_QUERY,     /* everything: one of the most probable statements */
    QUESTION_TYPES
};

const char *question_type_name(enum question_type f);

struct slot {
    const char *name;
    enum question_type type;
    int clause;                     /* enum sql_clause of the outermost query; SQL_CLAUSES for a set operation */
    const char **values;            /* [n]; NULL when absent */
    const struct form_term **terms; /* [n] what holds the value; NULL when absent, or when it is no single term */
    const struct form **forms; /* [n] the SELECT that has the slot, an inner one or the outermost; NULL when absent */
};

enum { SLOTS_MAX = 512 }; /* what differs behind that is left to QUESTION_QUERY */

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

/* what there is to ask about: the slots of candidate statements, none twice.
 *
 * Slots that part the candidates alike are one attribute, with the type of the slot that people understand best.  When
 * no attribute tells half a bit, two of one clause may be asked about together.  The last attribute is always the
 * statement as a whole: a last resort that parts everything.
 */

struct attribute {
    const char *name;
    enum question_type type;
    int clause;
    const struct slot *slot, *second; /* what it is about; second of two asked together; NULL for the whole statement */
};

struct attributes {
    struct attribute *list;
    struct split *splits; /* [n], as the dialogue takes them; values by first appearance */
    int n;                /* the last resort, the last of them, counted too */
    int *values;          /* of all splits */
    struct strings pool;
};

/* prior: of the candidates that the slots were taken from.  The slots must outlive the attributes. */
void attributes_build(struct attributes *v, const struct slots *slots, const struct posterior *prior, double noise);
void attributes_release(struct attributes *v);

#endif
