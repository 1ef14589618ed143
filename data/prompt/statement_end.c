/* Part of statement.h: where a statement ends. */
#include "data/prompt/prose.h"
#include "data/prompt/statement_impl.h"
#include "data/sql/sql.h"

enum { MAX_TOKENS = 1 << 14, MAX_CUTS = 8 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Line ends, or with `empty` lines of nothing but blanks, between two places. */
static bool has_line_end(const char *text, int from, int to, bool empty)
{
    bool blank = false;

    for (int i = from; i < to; i++) {
        if (text[i] == '\n' && (!empty || blank))
            return true;
        blank = text[i] == '\n' || (blank && is_blank(text[i]));
    }
    return false;
}

static int gap_begin(const struct statement_scan *s, int k)
{
    return k ? s->tokens[k - 1].end : s->tokens[k].begin;
}

static bool begins_line(const struct statement_scan *s, int k)
{
    return has_line_end(s->text, gap_begin(s, k), s->tokens[k].begin, false);
}

static bool behind_empty_line(const struct statement_scan *s, int k)
{
    return has_line_end(s->text, gap_begin(s, k), s->tokens[k].begin, true);
}

static struct passage rest_at(const struct statement_scan *s, int at)
{
    return (struct passage){ s->text + at, (size_t)(s->n - at) };
}

static bool is_bare_name(const struct statement_scan *s, int k)
{
    return s->tokens[k].kind == TOKEN_NAME && sql_is_name_char((unsigned char)s->text[s->tokens[k].begin]);
}

bool statement_is_with(const char *text, int begin)
{
    struct sql_token t;
    int i = sql_lex_next(text, begin, &t), depth = 0;

    i = sql_lex_next(text, i, &t);
    if (t.kind == WORD_RECURSIVE)
        i = sql_lex_next(text, i, &t);
    if (t.kind != TOKEN_NAME && t.kind != TOKEN_STRING && sql_keyword_use(t.kind) == SQL_NOT_KEYWORD)
        return false;
    i = sql_lex_next(text, i, &t);
    for (int n = 0; n < 200 && (t.kind == TOKEN_LEFT_PAREN || depth) && t.kind >= TOKEN_NAME; n++) {
        depth += (t.kind == TOKEN_LEFT_PAREN) - (t.kind == TOKEN_RIGHT_PAREN);
        i = sql_lex_next(text, i, &t);
    }
    return t.kind == WORD_AS;
}

/* Whether a SELECT behind token k - 1 is part of the same statement. */
static bool joins_select(const struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k - 1];
    bool minus = t->end - t->begin == 5 && strncasecmp(s->text + t->begin, "minus", 5) == 0; /* Oracle's EXCEPT */

    return t->kind == WORD_UNION || t->kind == WORD_ALL || t->kind == WORD_DISTINCT || t->kind == WORD_INTERSECT ||
           t->kind == WORD_EXCEPT || minus;
}

/* Whether a token can be the last of an operand, behind which no other name, string or number may stand. */
static bool ends_operand(int kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_STRING || kind == TOKEN_NUMBER || kind == TOKEN_BLOB ||
           kind == TOKEN_PARAMETER || kind == TOKEN_RIGHT_PAREN || kind == TOKEN_STAR || kind == WORD_END ||
           kind == WORD_NULL || kind == WORD_ASC || kind == WORD_DESC;
}

/* "FROM singer. It counts": a full stop right behind a word, and a sentence or nothing behind it. */
static bool is_full_stop(const struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k];
    const char *behind = s->text + t->end;

    if (t->kind != TOKEN_DOT || !k || s->tokens[k - 1].end != t->begin ||
        !(*behind == '\0' || isspace((unsigned char)*behind)))
        return false;
    struct passage next = passage_strip(passage_of(behind));
    return next.n == 0 || (!prose_goes_on(next) && prose_begins(next, !strchr("\r\n", *behind)));
}

/* &gt; and its like: the semicolon belongs to an entity of HTML. */
static bool ends_entity(const struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k];
    return t->kind == TOKEN_SEMICOLON && k > 1 && s->tokens[k - 1].end == t->begin && is_bare_name(s, k - 1) &&
           s->tokens[k - 2].kind == TOKEN_AND_BITS && s->tokens[k - 2].end == s->tokens[k - 1].begin;
}

static bool ends_line(const struct statement_scan *s, int at)
{
    while (is_blank(s->text[at]))
        at++;
    return s->text[at] == '\n' || s->text[at] == '\0';
}

/* Whether the token closes what stands around a statement: a cell of a table, "[/SQL]", "</sql>", "<|" or "**". */
static bool closes_frame(const struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k];
    char next = s->text[t->begin] ? s->text[t->begin + 1] : '\0';

    return (t->kind == TOKEN_OR_BITS && s->cell && ends_line(s, t->end)) || (s->text[t->begin] == '[' && next == '/') ||
           (t->kind == TOKEN_LESS && (next == '/' || next == '|')) || (t->kind == TOKEN_STAR && next == '*');
}

/* What ends a statement wherever it stands, but for parentheses. */
static bool stops_anywhere(struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k];

    if (t->kind == TOKEN_END)
        s->stop = STOP_END;
    else if (t->kind == TOKEN_ILLEGAL)
        s->stop = strchr("}]", s->text[t->begin]) ? STOP_CLOSER : STOP_ILLEGAL;
    else if (t->kind == TOKEN_SEMICOLON && !ends_entity(s, k))
        s->stop = STOP_SEMICOLON;
    else if (closes_frame(s, k))
        s->stop = STOP_CLOSER;
    else if (is_full_stop(s, k))
        s->stop = STOP_SENTENCE;
    else
        return false;
    return true;
}

static int line_begin(const struct statement_scan *s, int at)
{
    while (at && s->text[at - 1] != '\n')
        at--;
    return at;
}

/* A SELECT that no set operation joins to what stands before it, on a line of its own, begins another statement. */
static bool is_next_select(const struct statement_scan *s, int k)
{
    int at = s->tokens[k].begin, line = line_begin(s, at), kind = s->tokens[k - 1].kind;
    bool operand = ends_operand(kind) || sql_keyword_use(kind) == SQL_KEYWORD_NAME, mark = begins_line(s, k - 1);

    bool begins = begins_line(s, k) || (line > s->tokens[0].begin &&
                                        statement_may_begin((struct passage){ s->text + line, (size_t)(at - line) }));
    return !joins_select(s, k) && (operand || mark) && begins;
}

static bool changes_database(int kind)
{
    return kind == WORD_CREATE || kind == WORD_INSERT || kind == WORD_UPDATE || kind == WORD_DELETE ||
           kind == WORD_DROP || kind == WORD_ALTER;
}

/* What begins another statement outside parentheses; `main`: this one's SELECT has been seen. */
static bool begins_next(const struct statement_scan *s, int k, bool main)
{
    int kind = s->tokens[k].kind;
    bool empty = behind_empty_line(s, k);

    if (kind == WORD_SELECT)
        return main && is_next_select(s, k);
    if (kind == WORD_VALUES)
        return main && empty && !joins_select(s, k);
    if (kind == WORD_WITH)
        return main && begins_line(s, k) && statement_is_with(s->text, s->tokens[k].begin);
    return empty && ends_operand(s->tokens[k - 1].kind) &&
           (changes_database(kind) || (kind == TOKEN_NAME && !prose_goes_on(rest_at(s, s->tokens[k].begin))) ||
            kind == TOKEN_NUMBER || kind == TOKEN_STRING);
}

/* The tokens from `begin` on, until something ends the statement. */
static void lex_statement(struct statement_scan *s, int begin)
{
    int depth = 0, at = begin;
    bool main = false;

    for (s->n_tokens = 0;; s->n_tokens++) {
        int k = s->n_tokens;
        GROW(s->tokens, k, s->cap);
        at = sql_lex_next(s->text, at, &s->tokens[k]);
        s->r->work--;
        int kind = s->tokens[k].kind;
        if (stops_anywhere(s, k))
            return;
        s->stop = kind == TOKEN_RIGHT_PAREN && depth == 0 ? STOP_CLOSER : STOP_NEXT;
        if (s->stop == STOP_CLOSER || k == MAX_TOKENS || (k && depth == 0 && begins_next(s, k, main)))
            return;
        depth += (kind == TOKEN_LEFT_PAREN) - (kind == TOKEN_RIGHT_PAREN);
        main = main || (depth == 0 && (kind == WORD_SELECT || kind == WORD_VALUES));
    }
}

/* How many of the first n tokens the grammar takes; *whole: they are a statement. */
static int reach(struct statement_scan *s, int n, bool *whole)
{
    s->r->work -= n;
    return sql_parse_reach(&s->r->trees, s->text, s->tokens, n, whole);
}

static bool is_whole(struct statement_scan *s, int n)
{
    bool whole;
    return n > 0 && reach(s, n, &whole) == n && whole;
}

/* Whether the line at `at` labels a SELECT that stands behind on it: "b. SELECT", "Query 2: SELECT". */
static bool labels_select(const struct statement_scan *s, int at)
{
    struct passage rest = rest_at(s, at), line;

    if (!passage_line(&rest, &line))
        return false;
    for (size_t i = 0; i < line.n && !strchr("'\"`(;", line.at[i]); i++) {
        struct passage before = { line.at, i };
        if (i && !sql_is_name_char((unsigned char)line.at[i - 1]) && passage_starts(passage_skip(line, i), "select ") &&
            isalnum((unsigned char)*passage_strip(before).at))
            return statement_may_begin(before);
    }
    return false;
}

/* Whether token k begins a line that is no part of the statement; another statement behind it is none of that line. */
static bool begins_prose(const struct statement_scan *s, int k)
{
    int end = s->stop == STOP_NEXT ? s->tokens[s->n_tokens].begin : s->n, at = s->tokens[k].begin;
    struct passage own = passage_strip(rest_at(s, line_begin(s, s->tokens[0].begin)));
    bool item = strchr("-+*", s->text[at]) && *own.at == s->text[at]; /* of the list that the statement is of */

    return begins_line(s, k) &&
           (item || labels_select(s, at) || prose_begins((struct passage){ s->text + at, (size_t)(end - at) }, false));
}

/* The first line of prose before token `last`: how many tokens stand before it, -1 without. */
static int cut_line(struct statement_scan *s, int last)
{
    int tries = 0;

    for (int k = last; k > 0 && tries < MAX_CUTS && s->r->work > 0; k--) {
        if (!begins_line(s, k))
            continue;
        tries++;
        if (begins_prose(s, k) && is_whole(s, k))
            return k;
    }
    return -1;
}

/* A line that begins with # is a heading, unless SQL goes on behind it: then it is MySQL's comment.  Behind a whole
 * statement SELECT does not go on. */
static bool is_heading(const struct statement_scan *s, int at)
{
    struct passage rest = rest_at(s, at), line;

    while (passage_starts(passage_strip(rest), "#"))
        passage_line(&rest, &line);
    return !prose_goes_on(rest) || passage_starts(passage_strip(rest), "select");
}

/* Whether something opens before the statement that `close` closes. */
static bool is_open(const struct statement_scan *s, char close)
{
    char open = close == ')' ? '(' : close == '}' ? '{' : '[';
    int depth = 0;

    for (int i = s->tokens[0].begin - 1; i >= 0 && depth == 0; i--)
        depth += s->text[i] == open ? 1 : s->text[i] == close ? -1 : 0;
    return depth > 0;
}

/* Whether nothing, or prose, stands on the line behind a sign. */
static bool ends_text(const struct statement_scan *s, int at)
{
    struct passage rest = rest_at(s, at);
    return ends_line(s, at) || (!prose_goes_on(rest) && prose_begins(rest, true));
}

/* Whether prose stands behind the first n tokens, of which the last is no clause of another dialect: QUALIFY. */
static bool ends_before_prose(const struct statement_scan *s, int n)
{
    return !(s->tokens[n - 1].kind >= TOKEN_NAME && prose_goes_on(rest_at(s, s->tokens[n - 1].begin)) &&
             s->tokens[n - 1].kind != WORD_END && s->tokens[n - 1].kind != WORD_ASC &&
             s->tokens[n - 1].kind != WORD_DESC) &&
           prose_begins(rest_at(s, s->tokens[n].begin), true);
}

/* Whether what is no SQL token may be left out behind a whole statement.  A quote that is never closed may not, nor
 * what another dialect has there. */
static bool may_stop(const struct statement_scan *s)
{
    int at = s->tokens[s->n_tokens].begin;
    char c = s->text[at];
    bool line = begins_line(s, s->n_tokens);

    if (s->stop == STOP_CLOSER && strchr(")}]", c))
        return is_open(s, c) || ends_text(s, at + 1);
    if (s->stop != STOP_ILLEGAL)
        return true;
    if (c == '#')
        return line && is_heading(s, at);
    if (c == '\\' && (s->text[at + 1] | 32) == 'g') /* what the shells of MySQL and PostgreSQL end statements with */
        return ends_line(s, at + 2);
    return line || ((c == ':' || c == '!') && ends_text(s, at + 1));
}

/* A statement that nothing can be made of goes to a semicolon at a line's end or to an empty line. */
static int broken_end(const struct statement_scan *s, int begin)
{
    struct passage rest = rest_at(s, begin), line;

    while (passage_line(&rest, &line)) {
        struct passage text = passage_strip(line);
        if ((text.n == 0 && !prose_goes_on(rest)) || passage_ends(text, ";")) {
            rest.at = text.n ? text.at + text.n - 1 : line.at;
            break;
        }
    }
    struct passage all = passage_strip((struct passage){ s->text + begin, (size_t)(rest.at - s->text - begin) });
    return begin + (int)all.n;
}

/* 30. at the end of a sentence is 30 and a full stop. */
static int end_of(const struct statement_scan *s, int n, bool sentence)
{
    const struct sql_token *t = &s->tokens[n - 1];
    return t->end - (sentence && t->kind == TOKEN_NUMBER && s->text[t->end - 1] == '.');
}

struct statement_extent statement_read(struct statement_scan *s, int begin)
{
    struct statement_extent e = { begin, begin, false, false };
    bool whole;

    s->cell = *passage_strip(rest_at(s, line_begin(s, begin))).at == '|';
    lex_statement(s, begin);
    if (s->n_tokens == 0)
        return e;
    int n = s->n_tokens, reached = reach(s, n, &whole);
    bool suspect = reached < n || !whole || s->stop == STOP_ILLEGAL || s->stop == STOP_SENTENCE;
    int lines = suspect ? cut_line(s, reached < n ? reached : n - 1) : -1;
    if (lines > 0) {
        s->n_tokens = lines;
    } else if (whole && reached < n && ends_before_prose(s, reached)) {
        s->n_tokens = reached;
        e.cut = true;
    } else if (!whole || reached < n || !may_stop(s)) {
        bool lexed = s->stop != STOP_ILLEGAL && (s->stop != STOP_CLOSER || may_stop(s));
        e.end = lexed ? s->tokens[n - 1].end : broken_end(s, begin);
        return e;
    }
    e.parsed = true;
    e.end = end_of(s, s->n_tokens, e.cut);
    return e;
}
