/* sql_form_expr.h - what the parts of sql_form.h share while a form is made. */
#ifndef DATA_SQL_FORM_SQL_FORM_EXPR_H
#define DATA_SQL_FORM_SQL_FORM_EXPR_H

#include "data/sql/sql_scope.h"
#include "data/sql_form/sql_form.h"

enum { FORM_MAX_DEPTH = 1000 };

/* A SELECT that is being read, for the names of its outputs. */
struct form_frame {
    const struct sql_core *core;
    const char **names, **texts; /* of the outputs; names NULL where there is none */
    int n, cap;
    int first_source; /* in the list of those in sight */
    struct form_frame *outer;
};

struct form_source {
    const struct sql_source *source;
    const char *name;
    struct form *sub; /* of a derived table or CTE */
};

struct form_builder {
    struct form_store *store;
    struct sql_resolver r; /* the schema, for sql_source_output */
    struct form_frame *frame;
    struct form_source *sources; /* those in sight, the innermost last */
    int n_sources, sources_cap;
    const struct sql_cte *open[FORM_MAX_DEPTH]; /* whose bodies are being read */
    int n_open;
    bool recursive; /* the SELECT being read names the common table expression that it is the body of */
    int depth;
    size_t written;
    bool full; /* too large: whatever comes now does not matter */
};

/* Texts belong to the store's pool. */
const char *form_printf(struct form_builder *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Of a table, column or function: in quotes where its characters could be taken for the text around it. */
const char *form_name(struct form_builder *f, const char *name);
/* Texts joined; sorted first, and no text twice, when `set`. */
const char *form_join(struct form_builder *f, const char **texts, int n, const char *between, bool set);

const char *form_expr(struct form_builder *f, const struct sql_expr *e);
/* A copy that lives as long as the store. */
struct sql_expr *form_copy(struct form_builder *f, const struct sql_expr *e);
void form_release_nodes(struct form_store *s);
/* Head, function and column. */
struct form_term form_operand(struct form_builder *f, const struct sql_expr *e);
bool form_is_count(const struct sql_expr *e);

/* Its texts are compared and sorted byte by byte. */
bool form_is_binary(const struct form_builder *f, const struct sql_expr *e);
/* Any two of its values that compare as equal are the same to the byte: not so 1 and 1.0, nor 'a' and 'A' by NOCASE. */
bool form_is_exact(const struct form_builder *f, const struct sql_expr *e);

struct form_conditions {
    struct sql_expr *list;
    int n, cap;
};
/* Appends the operands of all AND (or all OR) in e. */
void form_flatten(struct form_builder *f, struct form_conditions *c, const struct sql_expr *e, enum sql_op op);
/* x = 1 OR x = 2 becomes x IN (1, 2). */
void form_merge_equalities(struct form_builder *f, struct form_conditions *c);
/* OR, and NOT BETWEEN. */
bool form_is_or(const struct sql_expr *e);
struct form_term form_condition(struct form_builder *f, const struct sql_expr *e);

struct form *form_select(struct form_builder *f, const struct sql_select *s);
const struct form_source *form_find_source(const struct form_builder *f, const struct sql_source *s);
/* Whether order and nesting of the joins do not matter: inner ones, and LEFT with a plain table. */
bool form_is_flat(const struct sql_source *list);
/* A column that RIGHT or FULL joins and USING made of those of both sides, which is neither of them. */
bool form_is_joined(const struct form_builder *f, const struct sql_expr *e);

#endif
