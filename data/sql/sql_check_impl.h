/* sql_check_impl.h - what the parts of sql_check.h share. */
#ifndef DATA_SQL_SQL_CHECK_IMPL_H
#define DATA_SQL_SQL_CHECK_IMPL_H

#include "data/sql/sql_check.h"

struct sql_checker {
    const char *text;
    const struct schema *schema;
    const struct sql_cte **seen; /* whose bodies have been looked at */
    int n_seen, seen_cap;
    bool unused; /* in the body of one that nothing reads: what SQLite's own parser refuses counts, and nothing else */
    struct error *err;
};

/* Where an expression stands, and what may stand there. */
struct sql_place {
    const struct sql_core *core;   /* NULL for LIMIT */
    const struct sql_place *outer; /* that of the SELECT around */
    const char *clause;
    bool aggregates; /* of this SELECT */
    bool foreign;    /* of a SELECT around: all of its columns are */
    bool windows;
    bool idle; /* SQLite never works it out, and does not count its columns */
};

int sql_refuse(const struct sql_checker *c, struct sql_span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Wherever it stands. */
int sql_refuse_always(struct sql_checker *c, struct sql_span at, const char *what);

/* One value, or each of a list. */
int sql_check_value(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at);
int sql_check_values(struct sql_checker *c, const struct sql_expr *list, const struct sql_place *at);
int sql_check_call(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at);
int sql_check_alias(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at);
int sql_check_window(struct sql_checker *c, const struct sql_window *w, const struct sql_place *at);
int sql_check_order(struct sql_checker *c, const struct sql_order *order, const struct sql_place *at);
int sql_check_select(struct sql_checker *c, const struct sql_select *select, const struct sql_place *outer);

/* The columns that it gives. */
int sql_select_width(const struct sql_select *select);
/* Whether an aggregate, or a window, of the SELECT that e stands in is in it; deep: among the results of a sub-query
 * too, where an aggregate may be of the SELECT around. */
bool sql_has_aggregate(const struct sql_expr *e, bool deep);
bool sql_has_window(const struct sql_expr *e);

#endif
