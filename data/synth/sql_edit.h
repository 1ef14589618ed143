/*
 * sql_edit.h - walk a statement's tree, and replace parts of its text. The rest of the text is kept byte for byte.
 */
#ifndef DATA_SYNTH_SQL_EDIT_H
#define DATA_SYNTH_SQL_EDIT_H

#include "data/base/strings.h"
#include "data/sql/sql_tree.h"

/* Callbacks for the parts of a tree; each may be NULL. `core` is the SELECT of the part, or NULL in ORDER BY and LIMIT
 * of a compound. An expression is visited after its operands. */
struct sql_walker {
    void *context;
    void (*expr)(void *context, struct sql_expr *e, struct sql_core *core);
    void (*source)(void *context, struct sql_source *s, struct sql_core *core);
    void (*core)(void *context, struct sql_core *core,
                 struct sql_select *select); /* called before the parts of the core */
    void (*cte)(void *context, struct sql_cte *c);
};

/* Visits all parts, including sub-queries, derived tables and CTEs. The recursion is as deep as the tree, which the
 * parser bounds. */
void sql_walk(const struct sql_walker *w, struct sql_select *select);
/* Visits one core, and the ORDER BY and LIMIT of select if it has no other core. */
void sql_walk_core(const struct sql_walker *w, struct sql_core *core, struct sql_select *select);

struct sql_change {
    struct sql_span span;
    const char *text;
};

/* A struct with only `sql` set is ready. */
struct sql_edits {
    const char *sql; /* borrowed */
    struct sql_change *items;
    int n, cap;
    struct strings text; /* owns the new texts */
};

/* Replaces a part by a text. Parts must not overlap; a part given twice is replaced once. */
void sql_edits_add(struct sql_edits *e, struct sql_span span, const char *text);
/* Replaces a name. Keeps its quotes; adds double quotes if the new name needs them. */
void sql_edits_name(struct sql_edits *e, struct sql_span span, const char *name);
/* Returns the text from begin to end with all changes in it; the caller frees it. Sorts the changes. */
char *sql_edits_part(struct sql_edits *e, int begin, int end);
/* Returns the whole text with all changes; the caller frees it. */
char *sql_edits_all(struct sql_edits *e);
void sql_edits_release(struct sql_edits *e);

/* Returns a name as it can be written in a statement, in double quotes if needed. text owns it. */
const char *sql_written_name(struct strings *text, const char *name);
/* Returns a text as a string constant, in single quotes. text owns it. */
const char *sql_written_string(struct strings *text, const char *value);

/* Normalizes a statement: lower case except in quotes, and one blank for white space and comments. There is no blank
 * before a comma, inside parentheses or between an aggregate and its parenthesis, and no final semicolon. The caller
 * frees the text. Returns NULL if the text contains an illegal token. */
char *sql_plain_text(const char *sql);

#endif
