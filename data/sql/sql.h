/*
 * sql.h - SQL in SQLite's dialect: parse a statement, resolve its names against a schema, print it in canonical form.
 *
 * A statement is one SELECT: CTEs, set operations, sub-queries, joins and windows are supported. Every node keeps its
 * byte span in the text, so that errors and explanations can point at it.
 *
 * The caller's arena owns the tree. The parser bounds nesting, so untrusted text gets an error and never overflows the
 * stack. Syntax errors and unknown names set EXIT_CODE_DATA; a full arena sets EXIT_CODE_MEMORY.
 */
#ifndef DATA_SQL_SQL_H
#define DATA_SQL_SQL_H

#include "data/schema/schema.h"

enum { SQL_MAX_TEXT = 1 << 20 }; /* bytes of one statement */

struct sql_query; /* the tree; sql_tree.h declares it */

/* Parses exactly one statement; a trailing semicolon is allowed. Returns NULL with EXIT_CODE_DATA on a syntax error;
 * the message has the position, the expected token and the token found. Returns NULL with EXIT_CODE_MEMORY if the arena
 * has less than about 800 bytes per token left. */
struct sql_query *sql_parse(struct arena *a, const char *text, struct error *err);

/* Finds the longest prefix of the tokens that the grammar accepts. `tokens` refers to `text` and has n + 1 elements,
 * the last one of any kind. Returns the index of the first token that cannot continue a statement, n if all can. Sets
 * *whole if the tokens before that index form a complete statement. Returns 0 and false if the arena is too small. The
 * arena keeps no allocation. */
struct sql_token;
int sql_parse_reach(struct arena *a, const char *text, struct sql_token *tokens, int n, bool *whole);

/* Returns the canonical text in the arena, NULL if the arena is full. Tokens are separated by one space, keywords are
 * upper case, and resolved names are spelled as in the schema. Names are quoted only if they must be. Aliases are kept;
 * optional words (ASC, ALL, INNER, OUTER) are dropped. Parsing the result gives the same tree. Before sql_resolve, a
 * name that stands for the text of an expression, such as "count( * )", may change. */
char *sql_print(struct arena *a, const struct sql_query *q);

/* The clause in which a column or table is used. */
enum sql_clause { SQL_SELECT, SQL_FROM, SQL_ON, SQL_WHERE, SQL_GROUP, SQL_HAVING, SQL_ORDER, SQL_LIMIT, SQL_CLAUSES };
/* Returns the name of a clause, such as "where". */
const char *sql_clause_name(enum sql_clause c);

/* A use of a schema element. column is -1 for a table named in FROM and for t.*. begin and end are byte offsets. */
struct sql_use {
    int table, column;
    enum sql_clause clause;
    int depth; /* 0 in the outermost query, plus 1 for each enclosing sub-query, CTE body or derived table */
    int begin, end;
};

struct sql_uses {
    struct sql_use *list;
    int n;
};

/*
 * Resolves every name of a tree, which must not have been resolved before, and lists the uses of schema elements in
 * text order without duplicates.
 *
 * - "*" counts as uses of all columns that it covers.
 * - A double-quoted word that matches no column is a string, as in SQLite.
 * - A column passed through a derived table also counts as used in the outer query.
 * - An alias or number in ORDER BY uses the columns of its result.
 * - A result named TRUE or FALSE is called columnN outside its sub-query, as in SQLite.
 * - Such a statement is refused if another result has that name.
 *
 * Returns -1 with EXIT_CODE_DATA (the message has the name, its position and the candidates) or, if the arena is full,
 * EXIT_CODE_MEMORY.
 */
int sql_resolve(struct arena *a, struct sql_query *q, const struct schema *s, struct sql_uses *uses, struct error *err);

/* Returns 1 if the outermost SELECT or set operation has ORDER BY, else 0; ORDER BY in a sub-query, CTE or window does
 * not count. Returns -1 with the error of sql_parse. err may be NULL. */
int sql_ordered(const char *text, struct error *err);

#endif
