/*
 * sql.h - SQL of the SQLite dialect: parse, resolve against a schema, print in one canonical form.
 *
 * The tree keeps where each part stood in the text, so that an error or an explanation can point at it.  A statement is
 * one SELECT with all that may stand in one: CTEs, set operations, sub-queries, joins, windows.  Everything lives in
 * the arena given to sql_parse.  Nesting is bounded: hostile text gets an error, never a stack overflow.
 */
#ifndef DATA_SQL_SQL_H
#define DATA_SQL_SQL_H

#include "data/schema/schema.h"

enum { SQL_MAX_TEXT = 1 << 20 }; /* bytes of one statement */

struct sql_query; /* the tree, declared in sql_tree.h for those who walk it */

/* Parses exactly one statement (a trailing semicolon is allowed).  NULL with EXIT_CODE_DATA: position, what was
 * expected, what stood there; with EXIT_CODE_MEMORY when the arena has less than about 800 bytes per token left. */
struct sql_query *sql_parse(struct arena *a, const char *text, struct error *err);

/* How far the grammar goes: `tokens`, which lie in text, are n and one more of any kind.  Returns the number of the
 * token that it cannot take, n where it takes all; *whole says whether those before it are a statement.  What the arena
 * has no room for is taken as no statement at 0.  The arena is left as it was. */
struct sql_token;
int sql_parse_reach(struct arena *a, const char *text, struct sql_token *tokens, int n, bool *whole);

/* Canonical text: one space between tokens, keywords upper case, names as written in the schema once resolved (quoted
 * only when they must be), aliases kept, words that say nothing (ASC, ALL, INNER, OUTER) left out.  Parsing it gives
 * the same tree.  NULL when the arena is full.  Before sql_resolve a name such as "count( * )" that stands for the text
 * of an expression may lose it. */
char *sql_print(struct arena *a, const struct sql_query *q);

/* Which clause a column or table was used in. */
enum sql_clause { SQL_SELECT, SQL_FROM, SQL_ON, SQL_WHERE, SQL_GROUP, SQL_HAVING, SQL_ORDER, SQL_LIMIT, SQL_CLAUSES };
const char *sql_clause_name(enum sql_clause c);

/* A use of a schema element; column is -1 for a table named in FROM and for t.*; begin and end are byte offsets. */
struct sql_use {
    int table, column;
    enum sql_clause clause;
    int depth; /* 0 in the outermost query, +1 for each sub-query, CTE body or derived table around it */
    int begin, end;
};

struct sql_uses {
    struct sql_use *list;
    int n;
};

/*
 * Resolves every name: aliases, sub-queries (correlated too), CTEs, set operations, natural joins, USING; "*" becomes
 * uses of all columns it covers.  A double-quoted word that names no column is a string, as SQLite takes it.  A column
 * that a derived table only passes on is used outside too; an alias or number in ORDER BY uses what it stands for.  The
 * uses stand in order of the text, none twice.  A sub-query's column true or false is columnN outside, as SQLite has
 * it; refused where that name is taken.  Once per tree, which is then in terms of the schema.  -1 with EXIT_CODE_DATA
 * naming the name, its position and the candidates, or EXIT_CODE_MEMORY when the arena is full.
 */
int sql_resolve(struct arena *a, struct sql_query *q, const struct schema *s, struct sql_uses *uses, struct error *err);

/* 1 where the outermost SELECT or set operation has ORDER BY, else 0; the ORDER BY of a sub-query, a CTE or a window
 * decides nothing.  -1 with EXIT_CODE_DATA or EXIT_CODE_MEMORY, as of sql_parse; err may be NULL. */
int sql_ordered(const char *text, struct error *err);

#endif
