/*
 * practice_query_impl.h - the templates that practice_query.h draws from.
 */
#ifndef DATA_CONTRAST_PRACTICE_QUERY_IMPL_H
#define DATA_CONTRAST_PRACTICE_QUERY_IMPL_H

#include "data/contrast/practice_query.h"

enum { PRACTICE_WORDINGS = 3 };

/*
 * Words in braces are replaced.  In questions: t, ts, u, us (tables, singular and plural), a, b, x (columns), vb,
 * vx (a value of b, of x).  In SQL: t, u (sources), a, b, x, f (t's link), k (u's key), vb, vx (literals), max:b,
 * min:b, avg:b, total:b (aggregates of b), +t and +u (what the source needs joined to it).  Brackets hold what a query
 * of precomputed aggregates does without.
 */
struct practice_template {
    unsigned a, b, x; /* roles that the column may have; 0: none is wanted */
    const char *questions[PRACTICE_WORDINGS];
    const char *sql;
};
extern const struct practice_template practice_templates[];
extern const int practice_n_templates;

#endif
