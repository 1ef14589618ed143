/* sql_form_impl.h - what the parts of sql_form.h share while a form is made. */
#ifndef DATA_SQL_SQL_FORM_IMPL_H
#define DATA_SQL_SQL_FORM_IMPL_H

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
    int depth;
    size_t written;
    bool full; /* too large: whatever comes now does not matter */
};

/* Texts belong to the store's pool. */
const char *form_printf(struct form_builder *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *form_lower(struct form_builder *f, const char *text);
/* Texts joined; sorted first, and no text twice, when `set`. */
const char *form_join(struct form_builder *f, const char **texts, int n, const char *between, bool set);

const char *form_expr(struct form_builder *f, const struct sql_expr *e);
/* A copy that lives as long as the store. */
struct sql_expr *form_copy(struct form_builder *f, const struct sql_expr *e);
void form_release_nodes(struct form_store *s);
/* Head, function and column. */
struct form_term form_operand(struct form_builder *f, const struct sql_expr *e);
const char *form_number(struct form_builder *f, const char *text, bool compared);
const char *form_quoted(struct form_builder *f, const char *text);
bool form_is_constant(const struct sql_expr *e);

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
/* An expression that is true or false. */
const char *form_logic(struct form_builder *f, const struct sql_expr *e, enum sql_op op);

struct form *form_select(struct form_builder *f, const struct sql_select *s);
/* Puts FROM's sources in sight, its tables and outer joins into the form, inner conditions into c. */
void form_sources(struct form_builder *f, struct form *form, const struct sql_source *list, struct form_conditions *c);
const struct form_source *form_find_source(const struct form_builder *f, const struct sql_source *s);
void form_add(struct form_list *l, struct form_term t);

#endif
