/* phrase_expr.h - the words of an expression, and how loosely they hang together; for phrase.h. */
#ifndef DATA_CLARIFY_PHRASE_EXPR_H
#define DATA_CLARIFY_PHRASE_EXPR_H

#include "data/clarify/phrase.h"
#include "data/sql/sql_tree.h"

enum {
    PHRASE_DEPTH = 2,      /* sub-queries within sub-queries that are told */
    PHRASE_NESTING = 10,   /* of an expression */
    PHRASE_STEPS = 400,    /* expressions of one term */
    PHRASE_BYTES = 400,    /* of one term */
    PHRASE_FRAGMENT = 160, /* of SQL in quotes */
    PHRASE_LISTED = 12,    /* a longer list is cut ... */
    PHRASE_SHOWN = 3       /* ... behind so many */
};

struct phrase_scope {
    const struct sql_core *core;
    const struct phrase_scope *outer;
};

/* In order of what needs parentheses first. */
enum phrase_level {
    PHRASE_LOOSE,   /* a condition, a CASE, what stands behind its subject: "a rounded" */
    PHRASE_SUM,     /* "a plus b" */
    PHRASE_PRODUCT, /* "a times b" */
    PHRASE_OF,      /* "the sum of a" */
    PHRASE_ATOM
};

struct phrase_words {
    const char *text; /* NULL: there are none that are certain */
    enum phrase_level level;
};

/* Always has words: at worst the SQL in quotes. */
struct phrase_words phrase_expr(const struct phrase_context *p, const struct sql_expr *e);
/* The SQL in quotes; cut short unless exact. */
struct phrase_words phrase_fragment(const struct phrase_context *p, const struct sql_expr *e);

/* What a SELECT, or any of a compound, gives as its n-th output, from 0; always has words. */
struct phrase_words phrase_output(const struct phrase_context *p, const struct form *form, int n);
/* What gives true or false. */
struct phrase_words phrase_truth(const struct phrase_context *p, const struct sql_expr *e, bool boundary);

/* "singer", "the first singer", "the singer in question" */
const char *phrase_source(const struct phrase_context *p, const struct sql_source *s);
/* What a sub-query gives; NULL when it is too deep. */
const char *phrase_answer(const struct phrase_context *p, const struct sql_select *select);
/* "row of song where sales of song is more than 3"; NULL when it is too deep, or no matter of single rows. */
const char *phrase_rows(const struct phrase_context *p, const struct sql_select *select);
bool phrase_is_aggregated(const struct sql_expr *e);

#endif
