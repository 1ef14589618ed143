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

/* As it is written between its operands; SQL_NOT with a blank behind. */
const char *sql_op_text(enum sql_op op);
void sql_print_expr(struct sql_printer *p, const struct sql_expr *e);
void sql_print_select(struct sql_printer *p, const struct sql_select *s);
/* A FROM clause without the word. */
void sql_print_sources(struct sql_printer *p, const struct sql_source *sources);

#endif
