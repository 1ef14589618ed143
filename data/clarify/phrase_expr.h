/*
 * phrase_expr.h - the words of an SQL expression, for phrase.h.
 *
 * Each phrase has a level, which tells where it needs parentheses: "(a plus b) times c".
 */
#ifndef DATA_CLARIFY_PHRASE_EXPR_H
#define DATA_CLARIFY_PHRASE_EXPR_H

#include "data/clarify/phrase.h"
#include "data/sql/sql_tree.h"

enum {
    PHRASE_DEPTH = 2,      /* maximum depth of sub-queries */
    PHRASE_NESTING = 10,   /* maximum depth of an expression */
    PHRASE_STEPS = 400,    /* maximum number of expressions in a term */
    PHRASE_BYTES = 400,    /* maximum bytes of a term */
    PHRASE_FRAGMENT = 160, /* maximum bytes of quoted SQL */
    PHRASE_LISTED = 12,    /* longer lists are abbreviated ... */
    PHRASE_SHOWN = 3       /* ... to this number of items */
};

struct phrase_scope {
    const struct sql_core *core;
    const struct phrase_scope *outer;
};

/* Levels of binding, the loosest first. */
enum phrase_level {
    PHRASE_LOOSE,   /* a condition, a CASE, a participle: "a rounded" */
    PHRASE_SUM,     /* "a plus b" */
    PHRASE_PRODUCT, /* "a times b" */
    PHRASE_OF,      /* "the sum of a" */
    PHRASE_ATOM
};

struct phrase_words {
    const char *text; /* NULL: there is no exact wording */
    enum phrase_level level;
};

/* Words of an expression; the SQL in quotes where there is no exact wording. */
struct phrase_words phrase_expr(const struct phrase_context *p, const struct sql_expr *e);
/* The SQL in quotes, abbreviated unless p->exact. */
struct phrase_words phrase_fragment(const struct phrase_context *p, const struct sql_expr *e);

/* Words of output n, from 0, of a SELECT or a compound. */
struct phrase_words phrase_output(const struct phrase_context *p, const struct form *form, int n);
/* Words of a truth value. */
struct phrase_words phrase_truth(const struct phrase_context *p, const struct sql_expr *e, bool boundary);

/* Words of a source: "singer", "the first singer", "the singer in question". */
const char *phrase_source(const struct phrase_context *p, const struct sql_source *s);
/* Words of the result of a sub-query; NULL when it is too deep. */
const char *phrase_answer(const struct phrase_context *p, const struct sql_select *select);
/* "row of song where sales of song is more than 3"; NULL for a sub-query that is too deep or has groups. */
const char *phrase_rows(const struct phrase_context *p, const struct sql_select *select);
bool phrase_is_aggregated(const struct sql_expr *e);

#endif
