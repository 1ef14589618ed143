/*
 * attributes.h - the places in which candidate statements differ, and the attributes that a question can be about.
 *
 * The terms of the statements are aligned first, clause by clause.  A place where the statements differ is a slot.
 * Slots that divide the candidates in the same way become one attribute.  The last attribute is always the statement as
 * a whole, which divides everything: the fallback question.
 *
 * Slots and attributes own their arrays and names.  They borrow the forms and the schema.  No function fails.
 */
#ifndef DATA_CLARIFY_ATTRIBUTES_H
#define DATA_CLARIFY_ATTRIBUTES_H

#include "data/clarify/posterior.h"
#include "data/sql/sql_form.h"

/*
 * Statements are aligned one after the other.  The terms of each are matched to the places that earlier statements
 * made, at the least total cost.  Equal terms cost 0, terms with one subject 0.3, any other pair 1, and an unmatched
 * term or place 0.8.  Columns of one type with similar names cost 0.5, as do conditions that differ in their column
 * alone.
 */
struct alignment {
    const struct form_term **terms; /* [n_places * n], statement i at place k is k * n + i; NULL: absent */
    int n_places, n, cap;
};

/* Aligns lists [n], of which each may be NULL.  The caller calls alignment_release(). */
void align_terms(struct alignment *a, const struct form_list *const *lists, int n, const struct schema *schema);
void alignment_release(struct alignment *a);
/* Hungarian method.  Writes the column of each row, such that the sum of cost [n, n] is minimal, to column_of [n]. */
void assign_least_cost(int *column_of, const double *cost, int n);

/*
 * A slot is a place of the statements, named by the path that leads there.  "sel#1" is the first output, and
 * "where[hired].val" the constant that `hired` is compared with.  "where[id]/from" names the tables of the sub-query
 * that `id` is compared with, and "arm2/limit" the LIMIT of the SELECT behind the first UNION.  A statement that has
 * nothing at a place is absent there; absence counts as a value.
 */

/* Types of questions.  Where several types fit, the earlier one makes the better question. */
enum question_type {
    QUESTION_OUTPUT,    /* the columns of the result */
    QUESTION_COLUMN,    /* the column; the slot's clause says what it is used for */
    QUESTION_STORED,    /* a stored aggregate, or a computed one */
    QUESTION_TABLE,     /* the table */
    QUESTION_CONDITION, /* whether there is a condition */
    QUESTION_VALUE,     /* the constant of a comparison */
    QUESTION_OPERATOR,  /* the operator of a comparison, and whether it includes the boundary */
    QUESTION_LOGIC,     /* AND or OR of conditions */
    QUESTION_AGGREGATE, /* the aggregate function, or none */
    QUESTION_DISTINCT,  /* DISTINCT */
    QUESTION_GROUP,     /* GROUP BY */
    QUESTION_JOIN,      /* inner or outer join, and its condition */
    QUESTION_SORT,      /* the expression of ORDER BY */
    QUESTION_DIRECTION, /* ascending or descending */
    QUESTION_LIMIT,     /* LIMIT */
    QUESTION_SET,       /* UNION, EXCEPT or INTERSECT */
    QUESTION_SEQUENCE,  /* the order of the outputs */
    QUESTION_QUERY,     /* the statement as a whole: the fallback question */
    QUESTION_TYPES
};

const char *question_type_name(enum question_type f);

struct slot {
    const char *name;
    enum question_type type;
    int clause;                     /* enum sql_clause in the outermost query; SQL_CLAUSES for a set operation */
    const char **values;            /* [n candidates]; NULL: absent */
    const struct form_term **terms; /* [n candidates] term with the value; NULL: absent, or no single term */
    const struct form **forms;      /* [n candidates] SELECT with the slot; NULL: absent */
};

enum { SLOTS_MAX = 512 }; /* QUESTION_QUERY covers the differences beyond this number */

struct slots {
    struct slot *list;
    int n, cap;
    int n_candidates;
    const struct schema *schema;
    struct strings pool;
};

/* Extracts the slots that are not the same for all n forms, which are sorted by probability.  Forms and schema must
 * outlive the slots. */
void slots_extract(struct slots *s, const struct form *const *forms, int n, const struct schema *schema);
void slots_release(struct slots *s);

/*
 * An attribute combines the slots that divide the candidates in the same way.  Its question type is the one of its
 * slots that people understand best.  When no attribute has half a bit of information, pairs of attributes of one
 * clause are attributes too.
 */
struct attribute {
    const char *name;
    enum question_type type;
    int clause;
    const struct slot *slot, *second; /* second: of a pair; both NULL for the whole statement */
};

struct attributes {
    struct attribute *list;
    struct split *splits; /* [n]; values are numbered by first appearance */
    int n;                /* the fallback question, which is the last, included */
    int *values;          /* memory of all splits */
    struct strings pool;
};

/* prior: probabilities of the candidates of the slots; noise: probability of a user error.  The slots must outlive the
 * attributes. */
void attributes_build(struct attributes *v, const struct slots *slots, const struct posterior *prior, double noise);
void attributes_release(struct attributes *v);

#endif
