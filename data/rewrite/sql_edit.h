/*
 * sql_edit.h - a statement's text with some of its parts written anew; everything else stays byte for byte.
 */
#ifndef DATA_REWRITE_SQL_EDIT_H
#define DATA_REWRITE_SQL_EDIT_H

#include "data/sql/sql_tree.h"
#include "data/util/strings.h"

/* Each function may be NULL.  `core` is the SELECT in which the part stands: NULL in ORDER BY and LIMIT of a compound.
 * An expression is visited behind its operands. */
struct sql_walker {
    void *context;
    void (*expr)(void *context, struct sql_expr *e, struct sql_core *core);
    void (*source)(void *context, struct sql_source *s, struct sql_core *core);
    void (*core)(void *context, struct sql_core *core, struct sql_select *select); /* before its parts */
    void (*cte)(void *context, struct sql_cte *c);
};

/* The depth of the recursion is that of the tree, which the parser bounds. */
void sql_walk(const struct sql_walker *w, struct sql_select *select);
/* One SELECT of those, with the ORDER BY and LIMIT behind it where it is the only one. */
void sql_walk_core(const struct sql_walker *w, struct sql_core *core, struct sql_select *select);

struct sql_change {
    struct sql_span span;
    const char *text;
};

/* A zeroed struct with the text is ready. */
struct sql_edits {
    const char *sql; /* borrowed */
    struct sql_change *items;
    int n, cap;
    struct strings text; /* owns what is written */
};

/* Writes a text in the place of a part.  Parts do not overlap; one that is given twice is written once. */
void sql_edits_add(struct sql_edits *e, struct sql_span span, const char *text);
/* Writes a name in the place of a name: in the quotes that stand there, in double quotes where it needs some. */
void sql_edits_name(struct sql_edits *e, struct sql_span span, const char *name);
/* The part of the text from begin to end with all changes inside; the caller frees.  Changes are sorted by it. */
char *sql_edits_part(struct sql_edits *e, int begin, int end);
char *sql_edits_all(struct sql_edits *e);
void sql_edits_release(struct sql_edits *e);

/* The name as a statement may say it: in double quotes where it needs some; text keeps it. */
const char *sql_written_name(struct strings *text, const char *name);

/* The statement in lower case but for what stands in quotes, one blank for white space and comments, and none before a
 * comma, inside a parenthesis or between an aggregate and its parenthesis; a final semicolon is dropped.  The caller
 * frees.  NULL for a text that has no tokens of SQL. */
char *sql_plain_text(const char *sql);

#endif
