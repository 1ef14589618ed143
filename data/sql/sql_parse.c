/* Part of sql.h: the parser, and what its parts take tokens with. */
#include "data/sql/sql_parse_impl.h"

#include <stdlib.h>
#include <string.h>

void *sql_new_node(struct sql_parser *p, size_t bytes)
{
    return memset(arena_alloc(p->arena, bytes), 0, bytes);
}

int sql_peek(const struct sql_parser *p, int ahead)
{
    int at = p->at + ahead;
    return p->tokens[at < p->n_tokens ? at : p->n_tokens - 1].kind;
}

bool sql_accept(struct sql_parser *p, int kind)
{
    if (sql_peek(p, 0) != kind)
        return false;
    p->at++;
    return true;
}

int sql_begin(const struct sql_parser *p)
{
    return p->tokens[p->at].begin;
}

struct sql_span sql_since(const struct sql_parser *p, int begin)
{
    return (struct sql_span){ begin, p->at ? p->tokens[p->at - 1].end : 0 };
}

/* At most 40 bytes of text from `begin` on, ending with a whole letter. */
static int shown(const struct sql_parser *p, int begin, int length)
{
    int n = 0;
    while (n < length && n < 40 && p->text[begin + n])
        n++;
    while (n > 0 && n < length && ((unsigned char)p->text[begin + n] & 0xc0) == 0x80)
        n--;
    return n;
}

int sql_complain(struct sql_parser *p, int begin, const char *what)
{
    return sql_error(p->err, p->text, begin, ", near \"%.*s\": %s", shown(p, begin, 41), p->text + begin, what);
}

int sql_unexpected(struct sql_parser *p, const char *expected)
{
    const struct sql_token *t = &p->tokens[p->at];
    int length = shown(p, t->begin, t->end - t->begin);

    if (t->kind == TOKEN_END)
        return sql_error(p->err, p->text, t->begin, ": expected %s, got the end of the text", expected);
    if (t->kind == TOKEN_ILLEGAL)
        return sql_error(p->err, p->text, t->begin, ": expected %s, got \"%.*s\", which is no SQL token", expected,
                         length, p->text + t->begin);
    return sql_error(p->err, p->text, t->begin, ": expected %s, got \"%.*s\"", expected, length, p->text + t->begin);
}

int sql_expect(struct sql_parser *p, int kind, const char *expected)
{
    return sql_accept(p, kind) ? 0 : sql_unexpected(p, expected);
}

int sql_enter(struct sql_parser *p)
{
    if (p->nesting == SQL_MAX_NESTING)
        return sql_error(p->err, p->text, sql_begin(p), ": nested more than %d deep", SQL_MAX_NESTING);
    p->nesting++;
    return 0;
}

void sql_leave(struct sql_parser *p)
{
    p->nesting--;
}

bool sql_is_name(int kind)
{
    enum sql_keyword_use use = sql_keyword_use(kind);
    return kind == TOKEN_NAME || kind == TOKEN_STRING || (kind >= TOKEN_KEYWORD && use != SQL_KEYWORD_RESERVED);
}

bool sql_is_bare_alias(int kind)
{
    return sql_is_name(kind) && sql_keyword_use(kind) != SQL_KEYWORD_JOIN && kind != WORD_INDEXED;
}

char *sql_unquote(struct sql_parser *p, const struct sql_token *t)
{
    const char *s = p->text + t->begin;
    size_t length = (size_t)(t->end - t->begin), n = 0;
    char *out = arena_alloc(p->arena, length + 1), close = *s == '[' ? ']' : *s;
    bool quoted = t->kind == TOKEN_STRING || !sql_is_name_char((unsigned char)*s);

    for (size_t i = quoted; i < length - quoted; i++) {
        out[n++] = s[i];
        if (quoted && s[i] == close)
            i++; /* a doubled quote */
    }
    out[n] = 0;
    return out;
}

int sql_parse_name(struct sql_parser *p, struct sql_name *out, const char *expected)
{
    const struct sql_token *t = &p->tokens[p->at];

    if (!sql_is_name(t->kind))
        return sql_unexpected(p, expected);
    char first = p->text[t->begin];
    *out = (struct sql_name){ .text = sql_unquote(p, t), .span = { t->begin, t->end } };
    out->quote = (char)(sql_is_name_char((unsigned char)first) ? 0 : first);
    p->at++;
    return 0;
}

int sql_parse_alias(struct sql_parser *p, struct sql_name *out)
{
    if (sql_accept(p, WORD_AS))
        return sql_parse_name(p, out, "a name after AS");
    if (sql_is_bare_alias(sql_peek(p, 0)) && !sql_at_window_clause(p))
        return sql_parse_name(p, out, "a name");
    return 0;
}

struct sql_name *sql_parse_names(struct sql_parser *p)
{
    struct sql_name *first = NULL, **end = &first;

    if (sql_expect(p, TOKEN_LEFT_PAREN, "\"(\""))
        return NULL;
    do {
        *end = SQL_NEW(p, struct sql_name);
        if (sql_parse_name(p, *end, "a column name"))
            return NULL;
        end = &(*end)->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return sql_expect(p, TOKEN_RIGHT_PAREN, "\",\" or \")\"") ? NULL : first;
}

static struct sql_query *parse_query(struct sql_parser *p)
{
    struct sql_query *q = SQL_NEW(p, struct sql_query);

    q->text = p->text;
    if (!sql_at_select(p)) {
        sql_unexpected(p, "SELECT, VALUES or WITH");
        return NULL;
    }
    q->select = sql_parse_select(p);
    if (!q->select)
        return NULL;
    while (sql_accept(p, TOKEN_SEMICOLON))
        continue;
    return sql_expect(p, TOKEN_END, "an operator, a clause or the end") ? NULL : q;
}

/* Every node comes from a token, and no token gives more than this with its text. */
enum { TOKEN_ROOM = 768 };

struct sql_query *sql_parse(struct arena *a, const char *text, struct error *err)
{
    size_t length = strlen(text), left = a->size - a->used;
    struct sql_parser p = { .arena = a, .err = err };
    struct sql_query *q = NULL;

    if (length > SQL_MAX_TEXT) {
        error_set(err, EXIT_CODE_DATA, "SQL of %zu bytes, at most %d are read", length, SQL_MAX_TEXT);
        return NULL;
    }
    struct sql_token *tokens = sql_lex(text, &p.n_tokens);
    size_t room = 4 * length + (size_t)p.n_tokens * TOKEN_ROOM;
    p.tokens = tokens;
    if (room > left) {
        error_set(err, EXIT_CODE_MEMORY, "SQL of %d tokens wants %zu bytes of its arena, %zu are left", p.n_tokens,
                  room, left);
    } else {
        p.text = memcpy(arena_alloc(a, length + 1), text, length + 1);
        q = parse_query(&p);
    }
    free(tokens);
    return q;
}

int sql_parse_reach(struct arena *a, const char *text, struct sql_token *tokens, int n, bool *whole)
{
    struct error err = { 0 };
    struct sql_parser p = { .arena = a, .text = text, .tokens = tokens, .n_tokens = n + 1, .err = &err };
    struct sql_token behind = tokens[n];
    size_t mark = arena_mark(a), length = n ? (size_t)(tokens[n - 1].end - tokens[0].begin) : 0;

    *whole = false;
    if (4 * length + (size_t)(n + 1) * TOKEN_ROOM > a->size - a->used)
        return 0;
    tokens[n].kind = TOKEN_END;
    *whole = sql_at_select(&p) && sql_parse_select(&p);
    tokens[n] = behind;
    arena_reset(a, mark);
    return p.at;
}
