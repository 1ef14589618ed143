#include "data/prompt/statement.h"

#include "data/sql/sql.h"
#include "data/sql/sql_lex.h"

#include <stdlib.h>

/* The reason why a statement ends. */
enum statement_stop {
    STOP_END,       /* end of the text */
    STOP_SEMICOLON, /* a semicolon token */
    STOP_NEXT,      /* another statement, or prose after an empty line */
    STOP_CLOSER,    /* a closer of something around it: ) } ] </tag> */
    STOP_SENTENCE,  /* a full stop */
    STOP_ILLEGAL    /* not an SQL token */
};

struct statement_scan {
    struct statement_reader *r;
    const char *text;    /* blanks of Unicode replaced by ASCII; NUL-terminated */
    const char *written; /* the original bytes */
    int n;
    bool trusted;
    bool cell;                /* inside a row of a Markdown table, whose bars end it */
    struct sql_token *tokens; /* [n_tokens] of the statement, followed by the token that stops it */
    int n_tokens, cap;
    enum statement_stop stop;
};

/* The range of a statement. */
struct statement_extent {
    int begin, end;
    bool parsed; /* SQL's grammar accepts it */
    bool cut;    /* prose follows on the same line */
};

/* The end of a statement. */

enum { MAX_TOKENS = 1 << 14, MAX_CUTS = 8 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Whether a line end, or with `empty` an empty line, lies between two positions. */
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

/* Whether WITH at byte `begin` is followed by a name and AS. */
static bool statement_is_with(const char *text, int begin)
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

/* Whether a SELECT after token k - 1 belongs to the same statement. */
static bool joins_select(const struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k - 1];
    bool minus = t->end - t->begin == 5 && strncasecmp(s->text + t->begin, "minus", 5) == 0; /* Oracle's EXCEPT */

    return t->kind == WORD_UNION || t->kind == WORD_ALL || t->kind == WORD_DISTINCT || t->kind == WORD_INTERSECT ||
           t->kind == WORD_EXCEPT || minus;
}

/* Whether a token may end an operand, so that no name, string or number can follow. */
static bool ends_operand(int kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_STRING || kind == TOKEN_NUMBER || kind == TOKEN_BLOB ||
           kind == TOKEN_PARAMETER || kind == TOKEN_RIGHT_PAREN || kind == TOKEN_STAR || kind == WORD_END ||
           kind == WORD_NULL || kind == WORD_ASC || kind == WORD_DESC;
}

/* Whether token k is a full stop: "FROM singer. It counts". It follows a word, and precedes a sentence or the end. */
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

/* Whether the semicolon belongs to an HTML entity such as &gt;. */
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

/* Whether the token closes a frame of the statement: a table cell, "[/SQL]", "</sql>", "<|" or "**". */
static bool closes_frame(const struct statement_scan *s, int k)
{
    const struct sql_token *t = &s->tokens[k];
    char next = s->text[t->begin] ? s->text[t->begin + 1] : '\0';

    return (t->kind == TOKEN_OR_BITS && s->cell && ends_line(s, t->end)) || (s->text[t->begin] == '[' && next == '/') ||
           (t->kind == TOKEN_LESS && (next == '/' || next == '|')) || (t->kind == TOKEN_STAR && next == '*');
}

/* Whether the token ends a statement, outside parentheses. */
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

static bool statement_may_begin(struct passage before);

/* Whether a SELECT on its own line begins another statement: no set operator precedes it. */
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

/* Whether token k begins another statement outside parentheses. main: this statement's SELECT is read. */
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

/* Reads tokens from `begin` until the statement ends. */
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

/* The number of tokens, up to n, that the grammar accepts; *whole: they form a statement. */
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

/* Whether the line at `at` labels a SELECT after it: "b. SELECT", "Query 2: SELECT". */
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

/* Whether token k begins a line of prose. A line that contains another statement is no prose. */
static bool begins_prose(const struct statement_scan *s, int k)
{
    int end = s->stop == STOP_NEXT ? s->tokens[s->n_tokens].begin : s->n, at = s->tokens[k].begin;
    struct passage own = passage_strip(rest_at(s, line_begin(s, s->tokens[0].begin)));
    bool item = strchr("-+*", s->text[at]) && *own.at == s->text[at]; /* of the statement's own list */

    return begins_line(s, k) &&
           (item || labels_select(s, at) || prose_begins((struct passage){ s->text + at, (size_t)(end - at) }, false));
}

/* The number of tokens before the first line of prose, up to `last`; -1 without. */
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

/* Whether a line with # is a heading. If SQL continues after it, it is a comment of MySQL; after a complete statement,
 * a SELECT does not continue it. */
static bool is_heading(const struct statement_scan *s, int at)
{
    struct passage rest = rest_at(s, at), line;

    while (passage_starts(passage_strip(rest), "#"))
        passage_line(&rest, &line);
    return !prose_goes_on(rest) || passage_starts(passage_strip(rest), "select");
}

/* Whether the opener of `close` precedes the statement. */
static bool is_open(const struct statement_scan *s, char close)
{
    char open = close == ')' ? '(' : close == '}' ? '{' : '[';
    int depth = 0;

    for (int i = s->tokens[0].begin - 1; i >= 0 && depth == 0; i--)
        depth += s->text[i] == open ? 1 : s->text[i] == close ? -1 : 0;
    return depth > 0;
}

/* Whether nothing, or prose, follows a character on its line. */
static bool ends_text(const struct statement_scan *s, int at)
{
    struct passage rest = rest_at(s, at);
    return ends_line(s, at) || (!prose_goes_on(rest) && prose_begins(rest, true));
}

/* Whether prose follows the first n tokens, and the last token is no clause of another dialect, such as QUALIFY. */
static bool ends_before_prose(const struct statement_scan *s, int n)
{
    return !(s->tokens[n - 1].kind >= TOKEN_NAME && prose_goes_on(rest_at(s, s->tokens[n - 1].begin)) &&
             s->tokens[n - 1].kind != WORD_END && s->tokens[n - 1].kind != WORD_ASC &&
             s->tokens[n - 1].kind != WORD_DESC) &&
           prose_begins(rest_at(s, s->tokens[n].begin), true);
}

/* Whether an illegal token after a complete statement may be dropped. An unclosed quote and operators of other
 * dialects may not. */
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
    if (c == '\\' && (s->text[at + 1] | 32) == 'g') /* terminators in the shells of MySQL and PostgreSQL */
        return ends_line(s, at + 2);
    return line || ((c == ':' || c == '!') && ends_text(s, at + 1));
}

/* The end of an unparsable statement: a semicolon at a line end, or an empty line. */
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

/* The end after n tokens; "30." at the end of a sentence is 30 and a full stop. */
static int end_of(const struct statement_scan *s, int n, bool sentence)
{
    const struct sql_token *t = &s->tokens[n - 1];
    return t->end - (sentence && t->kind == TOKEN_NUMBER && s->text[t->end - 1] == '.');
}

/* Reads the statement that begins at byte `begin`, with its tokens. */
static struct statement_extent statement_read(struct statement_scan *s, int begin)
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

enum { TREE_BYTES = 16 << 20, WORK = 1 << 20, MAX_QUOTES = 64 };

void statement_reader_init(struct statement_reader *r, const char *answer)
{
    struct error err = { 0 };

    CHECK(arena_init(&r->trees, TREE_BYTES, &err) == 0, "%s", err.text);
    r->work = WORK + 16 * (int64_t)strlen(answer);
}

void statement_reader_release(struct statement_reader *r)
{
    arena_release(&r->trees);
}

/* The length of an East Asian full stop or semicolon at the end of a line; 0 without. */
static size_t stop_length(struct passage p)
{
    bool stop = passage_starts(p, "\xe3\x80\x82") || passage_starts(p, "\xef\xbc\x9b");
    return stop && (p.n == 3 || isspace((unsigned char)p.at[3])) ? 3 : 0;
}

/* Whether it is a doubly escaped \n; no SQL token begins with a backslash. */
static bool is_escaped_blank(struct passage p)
{
    return p.n > 1 && *p.at == '\\' && strchr("nrt", p.at[1]);
}

/* A copy of equal length, NUL-terminated, with such characters replaced by ASCII. The caller frees. */
static char *with_plain_blanks(struct passage text)
{
    char *copy = strndup(text.at, text.n);
    size_t n;

    CHECK(copy, "out of memory");
    for (struct passage p = text; p.n; p = passage_skip(p, n ? n : 1)) {
        char *at = copy + (p.at - text.at);
        n = is_escaped_blank(p) ? 2 : (unsigned char)*p.at < 0x80 ? 0 : prose_blank_length(p) + stop_length(p);
        memset(at, ' ', n);
        if (n && *p.at == '\\' && p.at[1] == 'n')
            at[1] = '\n';
        if (stop_length(p))
            *at = ';';
    }
    return copy;
}

/* The position of a word in its line. */
enum place { PLACE_LINE, PLACE_LABEL, PLACE_INSIDE };

/* A word that may begin a statement. */
struct statement_start {
    int at;
    enum { START_SELECT, START_WITH, START_VALUES, START_OTHER } kind;
    bool capitals, lower; /* its letters are all of this case */
    enum place place;
    const char *close; /* the closing mark of the quotes before it, or NULL */
};

/* Quotes of code, prose and formulas; longer ones precede their suffixes. */
static const char *const quotes[][2] = {
    { "\"\"\"", "\"\"\"" },
    { "'''", "'''" },
    { "$$", "$$" },
    { "\"", "\"" },
    { "'", "'" },
    { "`", "`" },
    { "\xe2\x80\x9c", "\xe2\x80\x9d" },
    { "\xe2\x80\x98", "\xe2\x80\x99" },
    { "\xc2\xab", "\xc2\xbb" },
    { "\xe3\x80\x8c", "\xe3\x80\x8d" },
};

/* The closing mark of the quotes before the text; after three quotes it may begin on the next line. */
static const char *close_of(struct passage before)
{
    for (int i = 0; i < ARRAY_LEN(quotes); i++)
        if (passage_ends(i < 2 ? passage_strip(before) : before, quotes[i][0]))
            return quotes[i][1];
    return NULL;
}

static struct passage word_at(const char *text, int at)
{
    size_t n = 0;

    while (isalpha((unsigned char)text[at + (int)n]) || text[at + (int)n] == '_' ||
           (n && isdigit((unsigned char)text[at + (int)n])))
        n++;
    return (struct passage){ text + at, n };
}

static bool is_word(struct passage word, const char *text)
{
    return word.n == strlen(text) && passage_starts(word, text);
}

/* Whether the word begins a statement that is no answer and hides its SELECT. */
static bool is_other(struct passage word)
{
    static const char *const words[] = { "create",  "insert",  "update", "delete", "drop",    "alter",
                                         "replace", "explain", "pragma", "merge",  "truncate" };

    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (is_word(word, words[i]))
            return true;
    return false;
}

static bool opens_paren(const char *behind)
{
    return *passage_strip(passage_of(behind)).at == '(';
}

static bool read_kind(struct statement_start *s, const char *text, struct passage word)
{
    if (is_word(word, "select"))
        s->kind = START_SELECT;
    else if (is_word(word, "with") && statement_is_with(text, s->at))
        s->kind = START_WITH;
    else if (is_word(word, "values") && opens_paren(word.at + word.n))
        s->kind = START_VALUES;
    else if (is_other(word))
        s->kind = START_OTHER;
    else
        return false;
    return true;
}

/* Whether only marks, brackets and symbols, and no word, precede a statement on its line. */
static bool is_between(struct passage before)
{
    static const char *const signs[] = { "\xe2", "\xf0", "\xef\xbb\xbf" }; /* symbols, emoji, a byte order mark */

    for (before = prose_without_marks(before); before.n; before = prose_without_marks(before)) {
        bool sign = strchr("'\"`([{*_>|", *before.at) != NULL;
        for (int i = 0; i < ARRAY_LEN(signs); i++)
            sign = sign || passage_starts(before, signs[i]);
        if (!sign)
            return false;
        before = passage_skip(before, 1);
        while (before.n && ((unsigned char)*before.at & 0xc0) == 0x80)
            before = passage_skip(before, 1);
    }
    return true;
}

/* Classifies the text before a word on its line. */
static enum place place_of(struct passage before)
{
    static const char *const ends[] = { ":", "=", ">", "|", "]", ".", "!", "?", ";", "\xef\xbc\x9a", "\xe3\x80\x82" };

    if (is_between(before))
        return PLACE_LINE;
    before = passage_strip(before);
    if (passage_ends(before, "(")) {
        struct passage outer = passage_strip((struct passage){ before.at, before.n - 1 });
        if (outer.n && strchr("=<>(", outer.at[outer.n - 1])) /* a sub-query */
            return PLACE_INSIDE;
    }
    while (before.n && strchr("'\"`([{*_", before.at[before.n - 1]))
        before = passage_strip((struct passage){ before.at, before.n - 1 });
    while (passage_ends(before, "\xe2\x80\x9c") || passage_ends(before, "\xe2\x80\x98"))
        before = passage_strip((struct passage){ before.at, before.n - 3 });
    for (int i = 0; i < ARRAY_LEN(ends); i++)
        if (passage_ends(before, ends[i]))
            return PLACE_LABEL;
    return PLACE_INSIDE;
}

/* Whether a statement may begin after `before`, the beginning of its line: after marks or a label. */
static bool statement_may_begin(struct passage before)
{
    return place_of(before) != PLACE_INSIDE;
}

static void read_case(struct statement_start *s, struct passage word)
{
    s->capitals = s->lower = true;
    for (size_t i = 0; i < word.n; i++) {
        s->capitals = s->capitals && isupper((unsigned char)word.at[i]);
        s->lower = s->lower && islower((unsigned char)word.at[i]);
    }
}

/* Skips a comment at `at` in which no statement begins. Returns `at` without one; in prose, "--" is a dash. */
static int skip_comment(const struct statement_scan *s, int at, int line)
{
    const char *c = s->text + at, *end;

    if (*c != '-' && *c != '/')
        return at;
    if (strncmp(c, "--", 2) == 0 &&
        (s->trusted || passage_strip((struct passage){ s->text + line, (size_t)(at - line) }).n == 0))
        return at + (int)strcspn(c, "\n");
    if (strncmp(c, "/*", 2) == 0 && (end = strstr(c + 2, "*/")))
        return (int)(end - s->text) + 2;
    return at;
}

/* Finds the next word from *at that may begin a statement, and sets *at to it. */
static bool find_start(struct statement_start *out, const struct statement_scan *s, int *at)
{
    int line = *at, i = *at;

    while (line && s->text[line - 1] != '\n')
        line--;
    for (; i < s->n; i++) {
        int behind = skip_comment(s, i, line);
        if (behind > i) {
            if (passage_strip((struct passage){ s->text + line, (size_t)(i - line) }).n == 0)
                line = behind;
            i = behind - 1;
            continue;
        }
        if (s->text[i] == '\n')
            line = i + 1;
        if (!isalpha((unsigned char)s->text[i]) ||
            (i && (isalnum((unsigned char)s->text[i - 1]) || strchr("_.@/<\\", s->text[i - 1]))) ||
            (i && s->text[i - 1] == '$' && !(i > 1 && s->text[i - 2] == '$')))
            continue;
        struct passage word = word_at(s->text, i);
        *out = (struct statement_start){ .at = i };
        if (read_kind(out, s->text, word)) {
            read_case(out, word);
            out->place = place_of((struct passage){ s->text + line, (size_t)(i - line) });
            out->close = close_of((struct passage){ s->text, (size_t)i });
            *at = i;
            return true;
        }
        i += (int)word.n - 1;
    }
    return false;
}

/* Whether it is certainly SQL, to be kept even if it does not parse. */
static bool is_sure(const struct statement_scan *s, const struct statement_start *b)
{
    bool first = is_between((struct passage){ s->text, (size_t)b->at }), braces = b->at && s->text[b->at - 1] == '{';

    if (b->place == PLACE_INSIDE)
        return false;
    return b->capitals || s->trusted || braces || (b->lower && first);
}

static bool has_prose(const struct statement_scan *s, int *from)
{
    bool prose = false;

    *from = 0;
    for (int i = 0; i < s->n_tokens; i++) {
        const struct sql_token *t = &s->tokens[i];
        bool dotted = (i && s->tokens[i - 1].kind == TOKEN_DOT) ||
                      (s->text[t->end] == '.' && sql_is_name_char((unsigned char)s->text[t->end + 1]));
        *from += t->kind == WORD_FROM;
        prose = prose ||
                (t->kind == TOKEN_NAME && !dotted && prose_has_word(s->text + t->begin, (size_t)(t->end - t->begin)));
    }
    return prose;
}

/* Whether FROM occurs after the last token. */
static bool has_from(const struct statement_scan *s, const struct statement_extent *e)
{
    const char *from = strcasestr(s->text + e->begin, " from ");
    return !e->parsed && from && from < s->text + e->end;
}

/* Whether the range is a statement. */
static bool is_statement(const struct statement_scan *s, const struct statement_start *b,
                         const struct statement_extent *e)
{
    int from;
    bool prose = has_prose(s, &from);

    from += has_from(s, e);
    if (b->kind == START_OTHER || (!e->parsed && !b->capitals && !b->lower))
        return false;
    if (is_sure(s, b) && (s->trusted || from || b->kind != START_SELECT))
        return true;
    if (is_sure(s, b))
        return e->parsed && !prose && s->stop != STOP_SENTENCE;
    bool ended = s->stop == STOP_SEMICOLON && b->lower;
    if (!e->parsed)
        return b->lower && b->place != PLACE_INSIDE && from && !prose;
    if (prose || (b->kind == START_SELECT && !from && !ended))
        return false;
    return b->capitals || b->place != PLACE_INSIDE;
}

/* The position of the quote that closes a statement: the first after which the quoted text is a complete statement.
 * With `any`, else the first at all. -1 without. */
static int closing_quote(struct statement_scan *s, const struct statement_start *b, bool any)
{
    const char *first = strstr(s->text + b->at, b->close), *at = first;

    for (int i = 0; at && i < MAX_QUOTES && s->r->work > 0; i++, at = strstr(at + 1, b->close)) {
        struct passage inside = { s->text + b->at, (size_t)(at - s->text - b->at) };
        bool opens = sql_is_name_char((unsigned char)at[strlen(b->close)]); /* a quoted name */
        if (!opens && statement_is_whole(s->r, inside))
            return (int)(at - s->text);
    }
    return first && any ? (int)(first - s->text) : -1;
}

/* Restores the original bytes in strings, quoted names and illegal tokens. */
static void restore_quoted(const struct statement_scan *s, char *statement, int at)
{
    struct sql_token t;

    for (int i = 0, end = (int)strlen(statement), from = 0; i < end; from = i) {
        i = sql_lex_next(statement, i, &t);
        if (t.kind == TOKEN_ILLEGAL)
            memcpy(statement + t.begin, s->written + at + t.begin, (size_t)(end - t.begin));
        bool quoted = t.kind == TOKEN_STRING || (t.kind == TOKEN_NAME && strchr("\"`[", statement[t.begin]));
        if (quoted)
            memcpy(statement + t.begin, s->written + at + t.begin, (size_t)(t.end - t.begin));
        if (t.kind <= TOKEN_ILLEGAL || i <= from)
            return;
    }
}

static void add(struct text_items *out, const struct statement_scan *s, int begin, int end)
{
    struct passage p = passage_strip((struct passage){ s->text + begin, (size_t)(end - begin) });

    while (p.n && p.at[p.n - 1] == ';')
        p = passage_strip((struct passage){ p.at, p.n - 1 });
    if (p.n == 0)
        return;
    char *statement = strndup(p.at, p.n);
    CHECK(statement, "out of memory");
    restore_quoted(s, statement, (int)(p.at - s->text));
    text_items_add_once(out, statement, p.n);
    free(statement);
}

/* Adds a quoted statement. Returns its end, or -1 if it is not quoted. */
static int add_quoted(struct text_items *out, struct statement_scan *s, const struct statement_start *b)
{
    bool any = b->close && *b->close != '\'' && is_sure(s, b);
    int end = b->close && b->kind != START_OTHER ? closing_quote(s, b, any) : -1;

    if (end > 0)
        add(out, s, b->at, end);
    return end;
}

/* The start of a statement with its parentheses: (SELECT ...) UNION ... begins with one. */
static int with_parens(const struct statement_scan *s, int at)
{
    struct sql_token t = { 0 };
    int open = at, depth = 0, i;

    for (i = at - 1; i >= 0 && (s->text[i] == '(' || isspace((unsigned char)s->text[i])); i--)
        if (s->text[i] == '(') {
            open = i;
            depth++;
        }
    if (open == at)
        return at;
    for (i = at; depth && (i = sql_lex_next(s->text, i, &t)) && t.kind > TOKEN_ILLEGAL; s->r->work--)
        depth += (t.kind == TOKEN_LEFT_PAREN) - (t.kind == TOKEN_RIGHT_PAREN);
    if (depth == 0)
        sql_lex_next(s->text, i, &t);
    return t.kind == WORD_UNION || t.kind == WORD_INTERSECT || t.kind == WORD_EXCEPT ? open : at;
}

static bool in_paren(const struct statement_scan *s, int at)
{
    return passage_ends(passage_strip((struct passage){ s->text, (size_t)at }), "(");
}

/* Reads one statement from b on and returns the position to continue at. */
static int read_one(struct text_items *out, struct statement_scan *s, struct statement_start *b)
{
    bool code = b->capitals || (s->trusted && b->lower);
    int behind = b->at + 1, quoted;

    if (b->kind == START_OTHER && (!code || b->place == PLACE_INSIDE))
        return behind;
    if (b->place == PLACE_INSIDE && (!b->capitals || in_paren(s, b->at))) /* a sub-query of an unparsable statement */
        return behind;
    if ((quoted = add_quoted(out, s, b)) > 0)
        return quoted;
    struct statement_extent e = statement_read(s, with_parens(s, b->at));
    if (b->kind == START_OTHER)
        return e.end > behind ? e.end : behind;
    if (!is_statement(s, b, &e))
        return behind;
    add(out, s, e.begin, e.end);
    return e.end > behind ? e.end : behind;
}

void statements_find(struct text_items *out, struct statement_reader *r, struct passage text, bool trusted)
{
    char *copy = with_plain_blanks(text);
    struct statement_scan s = { .r = r, .text = copy, .written = text.at, .n = (int)text.n, .trusted = trusted };
    struct statement_start b;

    for (int at = 0; r->work > 0 && find_start(&b, &s, &at);)
        at = read_one(out, &s, &b);
    free(s.tokens);
    free(copy);
}

bool statement_is_whole(struct statement_reader *r, struct passage text)
{
    char *copy = with_plain_blanks(text);
    struct statement_scan s = { .r = r, .text = copy, .written = text.at, .n = (int)text.n, .trusted = true };

    struct statement_extent e = statement_read(&s, 0);
    struct passage behind = passage_strip(passage_of(copy + e.end));
    while (behind.n && *behind.at == ';')
        behind = passage_strip(passage_skip(behind, 1));
    free(s.tokens);
    free(copy);
    return e.parsed && behind.n == 0;
}
