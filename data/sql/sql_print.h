/* sql_print.h - what the parts of the printer share: text grows in one buffer, words parted by single spaces. */
#ifndef DATA_SQL_SQL_PRINT_H
#define DATA_SQL_SQL_PRINT_H

#include "data/sql/sql_tree.h"

struct sql_printer {
    char *text;
    size_t n, cap;
};

void sql_put(struct sql_printer *p, const char *s);
/* As a name: quoted when it must be. */
void sql_put_name(struct sql_printer *p, const char *name);
bool sql_name_wants_quotes(const char *name);
/* Between quotes, doubling those inside. */
void sql_put_quoted(struct sql_printer *p, const char *s, char quote);
/* A function, collation: capitals unless it has to be quoted. */
void sql_put_upper(struct sql_printer *p, const char *name);

/* As it is written between its operands; SQL_NOT with a blank behind. */
const char *sql_op_text(enum sql_op op);
void sql_print_expr(struct sql_printer *p, const struct sql_expr *e);
void sql_print_list(struct sql_printer *p, const struct sql_expr *list);
void sql_print_order(struct sql_printer *p, const struct sql_order *o);
void sql_print_select(struct sql_printer *p, const struct sql_select *s);
/* A FROM clause without the word. */
void sql_print_sources(struct sql_printer *p, const struct sql_source *sources);
void sql_print_source_name(struct sql_printer *p, const struct sql_source *s);
void sql_print_over(struct sql_printer *p, const struct sql_window *w);
/* The definition between the parentheses, with them. */
void sql_print_window(struct sql_printer *p, const struct sql_window *w);

#endif
