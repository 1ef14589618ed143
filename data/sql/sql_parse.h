/*
 * sql_parse.h - the cursor and the functions that the two sources of the parser share.
 *
 * The parser uses recursive descent, with precedence climbing for operators. It stops at the first error: every parse
 * function returns NULL or -1 after it, or a function it called, has set the error.
 */
#ifndef DATA_SQL_SQL_PARSE_H
#define DATA_SQL_SQL_PARSE_H

#include "data/sql/sql_lex.h"
#include "data/sql/sql_tree.h"

enum {
    SQL_MAX_NESTING = 200, /* parentheses, sub-queries and nested operands */
    SQL_MAX_HEIGHT = 1000  /* tree height; a + b + c ... adds height without nesting; SQLite has the same limit */
};

struct sql_parser {
    struct arena *arena;
    const char *text;
    const struct sql_token *tokens;
    int n_tokens, at;
    int nesting;
    int height; /* of the tallest tree finished since the last reset to 0 */
    struct error *err;
};

/* Allocates a zeroed node. */
#define SQL_NEW(p, type) ((type *)sql_new_node((p), sizeof(type)))
void *sql_new_node(struct sql_parser *p, size_t bytes);

/* Returns the kind of the token `ahead` places after the current one. */
int sql_peek(const struct sql_parser *p, int ahead);
/* Consumes the current token if it has that kind. */
bool sql_accept(struct sql_parser *p, int kind);
/* Consumes a token of that kind, or sets an error with the position, the expected token and the token found. */
int sql_expect(struct sql_parser *p, int kind, const char *expected);
/* Sets the same error about the current token. Returns -1. */
int sql_unexpected(struct sql_parser *p, const char *expected);
/* Sets an error with its own message about the text that starts at `begin`. */
int sql_complain(struct sql_parser *p, int begin, const char *what);
/* Enclose a nested construct. sql_enter returns -1 with an error if the nesting is too deep. */
int sql_enter(struct sql_parser *p);
void sql_leave(struct sql_parser *p);

int sql_begin(const struct sql_parser *p);                        /* start of the next token */
struct sql_span sql_since(const struct sql_parser *p, int begin); /* from begin to the end of the last token */

/* Parses a name: plain, quoted, 'x' or a non-reserved keyword. Returns -1 with an error. */
int sql_parse_name(struct sql_parser *p, struct sql_name *out, const char *expected);
/* Returns whether a token can be a name, and whether it can be an alias without AS. Join words and INDEXED cannot. */
bool sql_is_name(int kind);
bool sql_is_bare_alias(int kind);
/* Returns the text of a quoted token without its quotes. */
char *sql_unquote(struct sql_parser *p, const struct sql_token *t);

/* Parses an expression of any precedence. */
struct sql_expr *sql_parse_expr(struct sql_parser *p);
/* Parses one or more expressions, separated by commas. */
struct sql_expr *sql_parse_list(struct sql_parser *p);
/* Parses arguments after the left parenthesis, including the right one. An empty list is NULL without an error, so the
 * function returns a status. */
int sql_parse_arguments(struct sql_parser *p, struct sql_expr **list);
/* Parses WITH, SELECT or VALUES with all set operations. */
struct sql_select *sql_parse_select(struct sql_parser *p);
/* Returns whether the current token can start sql_parse_select. */
bool sql_at_select(const struct sql_parser *p);
/* Parses the window after OVER. */
struct sql_window *sql_parse_over(struct sql_parser *p);

#endif
