#include "data/sql/sql_line.h"

#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct line {
    char *text;
    size_t n;
    bool normal;
};

static bool is_quoted(const struct sql_token *t, char first)
{
    return t->kind == TOKEN_STRING || t->kind == TOKEN_BLOB ||
           (t->kind == TOKEN_NAME && !sql_is_name_char((unsigned char)first));
}

static bool is_aggregate(const char *word, int n)
{
    static const char *const names[] = { "count", "avg", "sum", "min", "max" };

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if ((int)strlen(names[i]) == n && strncasecmp(word, names[i], (size_t)n) == 0)
            return true;
    return false;
}

/* Whether the normal form has no blank between two tokens that have one in the text. */
static bool is_tight(const char *sql, const struct sql_token *before, const struct sql_token *t)
{
    return t->kind == TOKEN_COMMA || t->kind == TOKEN_RIGHT_PAREN || before->kind == TOKEN_LEFT_PAREN ||
           (t->kind == TOKEN_LEFT_PAREN && before->kind == TOKEN_NAME &&
            is_aggregate(sql + before->begin, before->end - before->begin));
}

static void put(struct line *l, const char *sql, const struct sql_token *t)
{
    bool lowers = l->normal && !is_quoted(t, sql[t->begin]);

    for (int i = t->begin; i < t->end; i++)
        l->text[l->n++] = (char)(lowers ? tolower((unsigned char)sql[i]) : sql[i]);
}

static void put_rest(struct line *l, const char *rest)
{
    for (; *rest; rest++)
        l->text[l->n++] = (char)(*rest == '\n' || *rest == '\r' ? ' ' : *rest);
    while (l->n && l->text[l->n - 1] == ' ')
        l->n--;
}

static char *write_line(const char *sql, bool normal)
{
    struct line l = { .text = xmalloc(strlen(sql) + 1), .normal = normal };
    struct sql_token before = { 0 }, t;

    for (int i = 0; (i = sql_lex_next(sql, i, &t)), t.kind != TOKEN_END; before = t) {
        if (l.n && t.begin > before.end && !(normal && is_tight(sql, &before, &t)))
            l.text[l.n++] = ' ';
        if (t.kind == TOKEN_ILLEGAL) {
            put_rest(&l, sql + t.begin);
            break;
        }
        put(&l, sql, &t);
    }
    while (normal && before.kind == TOKEN_SEMICOLON && l.n && strchr("; ", l.text[l.n - 1]))
        l.n--;
    l.text[l.n] = '\0';
    return l.text;
}

char *sql_one_line(const char *sql)
{
    return write_line(sql, false);
}

char *sql_normal_line(const char *sql)
{
    return write_line(sql, true);
}
