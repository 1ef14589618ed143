/* sql_print.h - canonical SQL text. The printer appends to one heap buffer and separates words by single spaces. */
#ifndef DATA_SQL_SQL_PRINT_H
#define DATA_SQL_SQL_PRINT_H

#include "data/sql/sql_tree.h"

struct sql_printer {
    char *text;
    size_t n, cap;
};

/* Appends a text as it is. */
void sql_put(struct sql_printer *p, const char *s);
/* Appends a name, quoted if it must be. */
void sql_put_name(struct sql_printer *p, const char *name);
/* Returns whether a name must be quoted to be read as that name. */
bool sql_name_wants_quotes(const char *name);
/* Appends text between quotes and doubles the quotes within it. */
void sql_put_quoted(struct sql_printer *p, const char *s, char quote);

/* Returns an operator as it is written between its operands; SQL_NOT has a trailing blank. */
const char *sql_op_text(enum sql_op op);
/* Append the canonical text of an expression, and of a SELECT. */
void sql_print_expr(struct sql_printer *p, const struct sql_expr *e);
void sql_print_select(struct sql_printer *p, const struct sql_select *s);
/* Appends a FROM clause without the keyword. */
void sql_print_sources(struct sql_printer *p, const struct sql_source *sources);

#endif
