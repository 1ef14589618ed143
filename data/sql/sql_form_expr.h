/* sql_form_expr.h - the builder of a form, and expressions and conditions in canonical text; private to sql_form. */
#ifndef DATA_SQL_SQL_FORM_EXPR_H
#define DATA_SQL_SQL_FORM_EXPR_H

#include "data/sql/sql_form.h"
#include "data/sql/sql_scope.h"

enum { FORM_MAX_DEPTH = 1000 };

/* A SELECT that is being read, with its outputs. */
struct form_frame {
    const struct sql_core *core;
    const char **names, **texts; /* of the outputs; a name is NULL if there is none */
    int n, cap;
    int first_source; /* index of the first source of this SELECT */
    struct form_frame *outer;
};

struct form_source {
    const struct sql_source *source;
    const char *name;
    struct form *sub; /* form of a derived table or CTE */
};

struct form_builder {
    struct form_store *store;
    struct sql_resolver r; /* only its schema is used, by sql_source_output */
    struct form_frame *frame;
    struct form_source *sources; /* in scope, the innermost last */
    int n_sources, sources_cap;
    const struct sql_cte *open[FORM_MAX_DEPTH]; /* CTEs whose bodies are being read */
    int n_open;
    bool recursive; /* the SELECT being read refers to its own CTE */
    int depth;
    size_t written;
    bool full; /* the form is too large, and its text no longer matters */
};

/* The store's pool owns these texts. */
const char *form_printf(struct form_builder *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the name of a table, column or function, quoted if it could be confused with the surrounding text. */
const char *form_name(struct form_builder *f, const char *name);
/* Joins texts. If `set`, sorts them first and removes duplicates. */
const char *form_join(struct form_builder *f, const char **texts, int n, const char *between, bool set);

/* Returns the canonical text of an expression. */
const char *form_expr(struct form_builder *f, const struct sql_expr *e);
/* Copies an expression into the store. */
struct sql_expr *form_copy(struct form_builder *f, const struct sql_expr *e);
void form_release_nodes(struct form_store *s);
/* Returns a term with head, function and column. */
struct form_term form_operand(struct form_builder *f, const struct sql_expr *e);
/* Returns whether e is a call of the aggregate count. */
bool form_is_count(const struct sql_expr *e);

/* Returns whether the texts of an expression are compared and sorted byte by byte. */
bool form_is_binary(const struct form_builder *f, const struct sql_expr *e);
/* Returns whether values of e that compare as equal have equal bytes. 1 and 1.0 do not, nor do 'a' and 'A' under
 * NOCASE. */
bool form_is_exact(const struct form_builder *f, const struct sql_expr *e);

struct form_conditions {
    struct sql_expr *list;
    int n, cap;
};
/* Appends the operands of nested AND, or nested OR, in e. */
void form_flatten(struct form_builder *f, struct form_conditions *c, const struct sql_expr *e, enum sql_op op);
/* Merges x = 1 OR x = 2 into x IN (1, 2). */
void form_merge_equalities(struct form_builder *f, struct form_conditions *c);
/* Returns whether e is OR or NOT BETWEEN. */
bool form_is_or(const struct sql_expr *e);
/* Returns the term of a condition. */
struct form_term form_condition(struct form_builder *f, const struct sql_expr *e);

/* Returns the form of a SELECT inside the statement. */
struct form *form_select(struct form_builder *f, const struct sql_select *s);
/* Returns the builder's entry for a source in scope, or NULL. */
const struct form_source *form_find_source(const struct form_builder *f, const struct sql_source *s);
/* Returns whether order and nesting of the joins do not matter: only inner joins, and LEFT joins with a single table.
 */
bool form_is_flat(const struct sql_source *list);
/* Returns whether e is a USING column of a RIGHT or FULL join, which combines the columns of both sides. */
bool form_is_joined(const struct form_builder *f, const struct sql_expr *e);

#endif
