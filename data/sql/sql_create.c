#include "data/sql/sql_create.h"

#include "data/schema/schema_build.h"
#include "data/sql/sql_lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is(const struct sql_token *t, const char *sql, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(t->end - t->begin) == n && strncasecmp(sql + t->begin, word, n) == 0;
}

/* Copies the name in a token without its quotes; doubled quotes within it stay doubled. */
static void name_of(char *name, size_t size, const struct sql_token *t, const char *sql)
{
    bool quoted = strchr("\"'`[", sql[t->begin]) && t->end - t->begin > 1;
    size_t n = (size_t)(t->end - t->begin - 2 * quoted);

    snprintf(name, size, "%.*s", n < size ? (int)n : 0, sql + t->begin + quoted);
}

static enum table_form form_of_module(const char *module)
{
    if (strcasecmp(module, "fts5") == 0)
        return TABLE_FTS5;
    return strcasecmp(module, "fts4") == 0 || strcasecmp(module, "fts3") == 0 ? TABLE_FTS4 : TABLE_VIRTUAL;
}

enum table_form sql_create_form(const char *sql, char module[SQL_CREATE_MODULE])
{
    enum table_form form = TABLE_PLAIN;
    int n, depth = 0;
    struct sql_token *t = sql_lex(sql, &n);

    *module = '\0';
    for (int i = 1; i < n; i++) {
        depth += (t[i].kind == TOKEN_LEFT_PAREN) - (t[i].kind == TOKEN_RIGHT_PAREN);
        if (i == 1 && is(&t[i], sql, "virtual"))
            form = TABLE_VIRTUAL;
        else if (form == TABLE_VIRTUAL && !*module && t[i - 1].kind == WORD_USING)
            name_of(module, SQL_CREATE_MODULE, &t[i], sql);
        else if (form == TABLE_PLAIN && depth == 0 && t[i - 1].kind == WORD_WITHOUT && is(&t[i], sql, "rowid"))
            form = TABLE_WITHOUT_ROWID;
    }
    free(t);
    return form == TABLE_VIRTUAL ? form_of_module(module) : form;
}

void sql_create_collations(struct strings *names, const char *sql)
{
    char name[256];
    int n;
    struct sql_token *t = sql_lex(sql, &n);

    for (int i = 1; i < n; i++)
        if (t[i - 1].kind == WORD_COLLATE) {
            name_of(name, sizeof name, &t[i], sql);
            strings_add(names, name);
        }
    free(t);
}

/* The COLLATE of a column stands at depth 1. Deeper ones belong to a CHECK, a default or a key. */
void sql_create_column_collations(enum column_collation *list, int n, const char *sql)
{
    char name[256];
    int tokens, depth = 0, column = 0;
    struct sql_token *t = sql_lex(sql, &tokens);

    for (int i = 0; i < n; i++)
        list[i] = COLLATION_BINARY;
    for (int i = 1; i < tokens && column < n; i++) {
        depth += (t[i].kind == TOKEN_LEFT_PAREN) - (t[i].kind == TOKEN_RIGHT_PAREN);
        column += depth == 1 && t[i].kind == TOKEN_COMMA;
        if (depth == 1 && column < n && t[i - 1].kind == WORD_COLLATE) {
            name_of(name, sizeof name, &t[i], sql);
            list[column] = column_collation_of(name);
        }
    }
    free(t);
}
