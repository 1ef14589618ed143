#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct keyword {
    const char *text;
    enum sql_keyword_use use;
};

#define KEYWORD(word, use) { #word, SQL_KEYWORD_##use },

static const struct keyword keywords[] = { SQL_KEYWORDS(KEYWORD) };

static int compare_word(const void *word, const void *keyword)
{
    return strcasecmp(word, ((const struct keyword *)keyword)->text);
}

static const struct keyword *find_keyword(const char *word)
{
    return bsearch(word, keywords, sizeof keywords / sizeof *keywords, sizeof *keywords, compare_word);
}

enum sql_keyword_use sql_keyword_use(int token_kind)
{
    return token_kind >= TOKEN_KEYWORD ? keywords[token_kind - TOKEN_KEYWORD].use : SQL_NOT_KEYWORD;
}

enum sql_keyword_use sql_word_use(const char *word)
{
    const struct keyword *k = find_keyword(word);
    return k ? k->use : SQL_NOT_KEYWORD;
}

const char *sql_keyword_text(int token_kind)
{
    return keywords[token_kind - TOKEN_KEYWORD].text;
}

bool sql_is_name_char(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '$' || c >= 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* A vertical tab is white space only after other white space; SQLite has the same rule. */
static bool is_space_at(const char *text, int i)
{
    return is_space(text[i]) || (text[i] == '\v' && i && (is_space(text[i - 1]) || text[i - 1] == '\v'));
}

/* Skips white space and comments. An unterminated comment runs to the end, as in SQLite. */
static int skip_space(const char *text, int i)
{
    for (;;) {
        if (is_space_at(text, i)) {
            i++;
        } else if (strncmp(text + i, "\xef\xbb\xbf", 3) == 0) {
            i += 3;
        } else if (text[i] == '-' && text[i + 1] == '-') {
            i += (int)strcspn(text + i, "\n");
        } else if (text[i] == '/' && text[i + 1] == '*' && text[i + 2]) {
            const char *end = strstr(text + i + 2, "*/");
            i = end ? (int)(end - text) + 2 : i + (int)strlen(text + i);
        } else {
            return i;
        }
    }
}

/* 'x', "x" and `x` end at a quote that is not doubled; [x] ends at the first bracket. */
static int lex_quoted(const char *text, int i, int kind, struct sql_token *t)
{
    char close = text[i] == '[' ? ']' : text[i];

    for (int j = i + 1; text[j]; j++) {
        if (text[j] != close)
            continue;
        if (close == ']' || text[j + 1] != close) {
            t->kind = kind;
            return j + 1;
        }
        j++;
    }
    t->kind = TOKEN_ILLEGAL;
    return i + (int)strlen(text + i);
}

static int skip_digits(const char *text, int i)
{
    while (isdigit((unsigned char)text[i]))
        i++;
    return i;
}

/* Lexes 0x and hexadecimal digits. SQLite 3.46 and later allows digit groups (0xFF_FF). Older versions end the number
 * at the first other character, which starts an alias. */
static int lex_hex(const char *text, int i, struct sql_token *t)
{
    bool groups = sqlite3_libversion_number() >= 3046000;

    for (i += 3;
         isxdigit((unsigned char)text[i]) || (groups && text[i] == '_' && isxdigit((unsigned char)text[i + 1]));)
        i++;
    if (groups && sql_is_name_char((unsigned char)text[i]))
        t->kind = TOKEN_ILLEGAL;
    return i;
}

/* A number followed directly by letters is illegal. */
static int lex_number(const char *text, int i, struct sql_token *t)
{
    t->kind = TOKEN_NUMBER;
    if (text[i] == '0' && (text[i + 1] | 32) == 'x' && isxdigit((unsigned char)text[i + 2]))
        return lex_hex(text, i, t);
    i = skip_digits(text, i);
    if (text[i] == '.')
        i = skip_digits(text, i + 1);
    int sign = text[i] && (text[i + 1] == '+' || text[i + 1] == '-');
    if ((text[i] | 32) == 'e' && isdigit((unsigned char)text[i + 1 + sign]))
        i = skip_digits(text, i + 1 + sign);
    while (sql_is_name_char((unsigned char)text[i])) {
        t->kind = TOKEN_ILLEGAL;
        i++;
    }
    return i;
}

static int lex_blob(const char *text, int i, struct sql_token *t)
{
    int j = i + 2;
    while (isxdigit((unsigned char)text[j]))
        j++;
    t->kind = text[j] == '\'' && (j - i) % 2 == 0 ? TOKEN_BLOB : TOKEN_ILLEGAL;
    while (text[j] && text[j] != '\'')
        j++;
    return text[j] ? j + 1 : j;
}

/* ?, ?12, :name, @name, $name and Tcl's $ns::name(element). */
static int lex_parameter(const char *text, int i, struct sql_token *t)
{
    bool reg = text[i] == '#' && isdigit((unsigned char)text[i + 1]); /* SQLite reserves #1 for itself */
    int n = 0;

    t->kind = reg ? TOKEN_ILLEGAL : TOKEN_PARAMETER;
    if (text[i] == '?')
        return skip_digits(text, i + 1);
    for (i++;; i++) {
        if (sql_is_name_char((unsigned char)text[i]))
            n++;
        else if (text[i] == ':' && text[i + 1] == ':')
            i++;
        else
            break;
    }
    if (text[i] == '(' && n) {
        int close = i + 1;
        while (text[close] && text[close] != ')' && text[close] != '\v' && !is_space(text[close]))
            close++;
        if (text[close] == ')')
            return close + 1;
        t->kind = TOKEN_ILLEGAL;
    }
    if (n == 0)
        t->kind = TOKEN_ILLEGAL;
    return i;
}

static int lex_word(const char *text, int i, struct sql_token *t)
{
    char word[32];
    int end = i;

    while (sql_is_name_char((unsigned char)text[end]))
        end++;
    t->kind = TOKEN_NAME;
    if (end - i < (int)sizeof word) {
        memcpy(word, text + i, (size_t)(end - i));
        word[end - i] = 0;
        const struct keyword *k = find_keyword(word);
        if (k)
            t->kind = TOKEN_KEYWORD + (int)(k - keywords);
    }
    return end;
}

static int lex_sign(const char *text, int i, struct sql_token *t)
{
    /* longer operators first, so that no prefix matches instead */
    static const struct {
        const char *text;
        int kind;
    } signs[] = { { "->>", TOKEN_ARROW_TEXT }, { "->", TOKEN_ARROW },
                  { "==", TOKEN_EQUAL },       { "!=", TOKEN_NOT_EQUAL },
                  { "<>", TOKEN_NOT_EQUAL },   { "<=", TOKEN_LESS_EQUAL },
                  { "<<", TOKEN_SHIFT_LEFT },  { ">=", TOKEN_GREATER_EQUAL },
                  { ">>", TOKEN_SHIFT_RIGHT }, { "||", TOKEN_CONCAT },
                  { "(", TOKEN_LEFT_PAREN },   { ")", TOKEN_RIGHT_PAREN },
                  { ",", TOKEN_COMMA },        { ".", TOKEN_DOT },
                  { ";", TOKEN_SEMICOLON },    { "*", TOKEN_STAR },
                  { "/", TOKEN_SLASH },        { "%", TOKEN_PERCENT },
                  { "+", TOKEN_PLUS },         { "-", TOKEN_MINUS },
                  { "=", TOKEN_EQUAL },        { "<", TOKEN_LESS },
                  { ">", TOKEN_GREATER },      { "&", TOKEN_AND_BITS },
                  { "|", TOKEN_OR_BITS },      { "~", TOKEN_TILDE } };

    for (int s = 0; s < ARRAY_LEN(signs); s++) {
        size_t n = strlen(signs[s].text);
        if (strncmp(text + i, signs[s].text, n) == 0) {
            t->kind = signs[s].kind;
            return i + (int)n;
        }
    }
    t->kind = TOKEN_ILLEGAL;
    return i + 1;
}

static int lex_one(const char *text, int i, struct sql_token *t)
{
    unsigned char c = (unsigned char)text[i];

    if (c == '\'')
        return lex_quoted(text, i, TOKEN_STRING, t);
    if (c == '"' || c == '`' || c == '[')
        return lex_quoted(text, i, TOKEN_NAME, t);
    if (isdigit(c) || (c == '.' && isdigit((unsigned char)text[i + 1])))
        return lex_number(text, i, t);
    if ((c | 32) == 'x' && text[i + 1] == '\'')
        return lex_blob(text, i, t);
    if (c == '?' || c == ':' || c == '@' || c == '$' || c == '#')
        return lex_parameter(text, i, t);
    if (sql_is_name_char(c))
        return lex_word(text, i, t);
    return lex_sign(text, i, t);
}

int sql_lex_next(const char *text, int at, struct sql_token *t)
{
    int i = skip_space(text, at);

    *t = (struct sql_token){ .kind = TOKEN_END, .begin = i, .end = i };
    if (text[i])
        t->end = lex_one(text, i, t);
    return t->end;
}

struct sql_token *sql_lex(const char *text, int *n)
{
    int cap = 0;
    struct sql_token *tokens = NULL, t;

    *n = 0;
    for (int i = 0;;) {
        i = sql_lex_next(text, i, &t);
        GROW(tokens, *n, cap);
        tokens[(*n)++] = t;
        if (t.kind == TOKEN_END || t.kind == TOKEN_ILLEGAL)
            break;
    }
    return tokens;
}

int sql_error(struct error *err, const char *text, int begin, const char *fmt, ...)
{
    char what[900];
    int line = 1, column = 1;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    for (int i = 0; i < begin && text[i]; i++) {
        line += text[i] == '\n';
        column = text[i] == '\n' ? 1 : column + (((unsigned char)text[i] & 0xc0) != 0x80);
    }
    return error_set(err, EXIT_CODE_DATA, "SQL at line %d, column %d%s", line, column, what);
}

struct line {
    char *text;
    size_t n;
};

/* --- Statements on one line --- */

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

/* Returns whether the normal form drops the blank between two tokens. */
static bool is_tight(const char *sql, const struct sql_token *before, const struct sql_token *t)
{
    return t->kind == TOKEN_COMMA || t->kind == TOKEN_RIGHT_PAREN || before->kind == TOKEN_LEFT_PAREN ||
           (t->kind == TOKEN_LEFT_PAREN && before->kind == TOKEN_NAME &&
            is_aggregate(sql + before->begin, before->end - before->begin));
}

static void put(struct line *l, const char *sql, const struct sql_token *t)
{
    bool lowers = !is_quoted(t, sql[t->begin]);

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

char *sql_normal_line(const char *sql)
{
    struct line l = { .text = xmalloc(strlen(sql) + 1) };
    struct sql_token before = { 0 }, t;

    for (int i = 0; (i = sql_lex_next(sql, i, &t)), t.kind != TOKEN_END; before = t) {
        if (l.n && t.begin > before.end && !is_tight(sql, &before, &t))
            l.text[l.n++] = ' ';
        if (t.kind == TOKEN_ILLEGAL) {
            put_rest(&l, sql + t.begin);
            break;
        }
        put(&l, sql, &t);
    }
    while (before.kind == TOKEN_SEMICOLON && l.n && strchr("; ", l.text[l.n - 1]))
        l.n--;
    l.text[l.n] = '\0';
    return l.text;
}
