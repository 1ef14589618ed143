/*
 * practice_query.h - one question about a domain and its SQL, drawn from templates.
 *
 * A template speaks of a table t with columns a and b, and perhaps of the table u that t links to, with column x.  The
 * same template writes the SQL of the original schema and of either reading of an altered one.
 */
#ifndef DATA_CONTRAST_PRACTICE_QUERY_H
#define DATA_CONTRAST_PRACTICE_QUERY_H

#include "data/contrast/practice_domains.h"
#include "data/corpora/example.h"
#include "kernels/rng.h"

struct practice_query {
    const struct practice_domain *domain;
    const struct practice_template *of;
    int wording;
    int t, link; /* a table and its column that refers to u */
    int u;       /* -1: the template has none */
    int a, b, x; /* columns of t, t and u; -1: none */
    char value_b[64], value_x[64];
};

/* An element, and which of its two alternatives SQL reads. */
struct practice_reading {
    enum sia_kind kind;
    int table, column; /* column is -1 for T */
    int which;         /* -1: the original element */
};

/* What a random template says of random elements; false when this draw does not fit. */
bool practice_draw(struct practice_query *q, const struct practice_domain *d, struct rng *rng);
/* Whether the question asks about the element, and could be read twice if it were doubled. */
bool practice_asks(const struct practice_query *q, enum sia_kind kind, int table, int column);

/* The caller frees both. */
char *practice_question(const struct practice_query *q);
char *practice_sql(const struct practice_query *q, const struct practice_reading *r);

#endif
