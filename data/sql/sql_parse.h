/*
 * sql_parse.h - what the parts of the parser share.  Recursive descent; operators by climbing their levels.
 *
 * Every parse_ function returns NULL (or -1) after it, or one it called, has set the error; nobody tries to go on.
 */
#ifndef DATA_SQL_SQL_PARSE_H
#define DATA_SQL_SQL_PARSE_H

#include "data/sql/sql_lex.h"
#include "data/sql/sql_tree.h"

enum {
    SQL_MAX_NESTING = 200, /* parentheses, sub-queries, operands within operands */
    SQL_MAX_HEIGHT = 1000  /* of the tree, which a + b + c ... raises without nesting; SQLite's own limit */
};

struct sql_parser {
    struct arena *arena;
    const char *text;
    const struct sql_token *tokens;
    int n_tokens, at;
    int nesting;
    int height; /* of the tallest tree finished since someone set it to 0 */
    struct error *err;
};

/* Zeroed. */
#define SQL_NEW(p, type) ((type *)sql_new_node((p), sizeof(type)))
void *sql_new_node(struct sql_parser *p, size_t bytes);

/* The kind of the token `ahead` places on. */
int sql_peek(const struct sql_parser *p, int ahead);
/* Takes the token when it is of that kind. */
bool sql_accept(struct sql_parser *p, int kind);
/* Takes it or sets the error: position, what was expected, what stands there. */
int sql_expect(struct sql_parser *p, int kind, const char *expected);
int sql_unexpected(struct sql_parser *p, const char *expected);
/* An error of our own words about the text from `begin` on. */
int sql_complain(struct sql_parser *p, int begin, const char *what);
int sql_enter(struct sql_parser *p);
void sql_leave(struct sql_parser *p);

int sql_begin(const struct sql_parser *p);                        /* of the next token */
struct sql_span sql_since(const struct sql_parser *p, int begin); /* to the end of the last one */

/* A name anywhere a name is expected: plain, quoted, 'x', most keywords.  -1 with an error. */
int sql_parse_name(struct sql_parser *p, struct sql_name *out, const char *expected);
/* Whether the token could be a name; without AS neither joins nor INDEXED may be an alias. */
bool sql_is_name(int kind);
bool sql_is_bare_alias(int kind);
/* A quoted token without its quotes. */
char *sql_unquote(struct sql_parser *p, const struct sql_token *t);

struct sql_expr *sql_parse_expr(struct sql_parser *p);
/* One or more, separated by commas. */
struct sql_expr *sql_parse_list(struct sql_parser *p);
/* Behind the left parenthesis, to and with the right one; none gives NULL without an error: hence the result code. */
int sql_parse_arguments(struct sql_parser *p, struct sql_expr **list);
struct sql_select *sql_parse_select(struct sql_parser *p);
bool sql_at_select(const struct sql_parser *p);
struct sql_window *sql_parse_over(struct sql_parser *p);

#endif
