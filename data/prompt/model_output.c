#include "data/prompt/model_output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A stretch of the answer. */
struct passage {
    const char *at;
    size_t n;
};

void text_items_add(struct text_items *t, const char *text, size_t length)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n] = strndup(text, length);
    CHECK(t->items[t->n], "out of memory");
    t->n++;
}

void text_items_release(struct text_items *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct text_items){ 0 };
}

static void add_once(struct text_items *t, struct passage p)
{
    for (int i = 0; i < t->n; i++)
        if (strlen(t->items[i]) == p.n && memcmp(t->items[i], p.at, p.n) == 0)
            return;
    text_items_add(t, p.at, p.n);
}

static struct passage whole(const char *text)
{
    return (struct passage){ text, strlen(text) };
}

static struct passage strip(struct passage p)
{
    while (p.n && isspace((unsigned char)*p.at)) {
        p.at++;
        p.n--;
    }
    while (p.n && isspace((unsigned char)p.at[p.n - 1]))
        p.n--;
    return p;
}

static struct passage skip(struct passage p, size_t n)
{
    return (struct passage){ p.at + n, p.n - n };
}

static bool starts(struct passage p, const char *word)
{
    size_t n = strlen(word);
    return p.n >= n && strncasecmp(p.at, word, n) == 0;
}

/* The next line of *rest, or false at its end. */
static bool next_line(struct passage *rest, struct passage *line)
{
    if (rest->n == 0)
        return false;
    const char *stop = memchr(rest->at, '\n', rest->n);
    line->at = rest->at;
    line->n = stop ? (size_t)(stop - rest->at) : rest->n;
    *rest = skip(*rest, line->n + (stop != NULL));
    return true;
}

/* The word right behind a fence and the blank that ends it: its bytes, 0 when it is none of that kind. */
enum fence { FENCE_LINE, FENCE_SQL, FENCE_BLANK };

static size_t fence_word(struct passage in, enum fence kind)
{
    size_t n = 0;

    while (n < in.n && (isalnum((unsigned char)in.at[n]) || in.at[n] == '_'))
        n++;
    if (n == in.n || !isspace((unsigned char)in.at[n]))
        return 0;
    bool sql = kind == FENCE_SQL && n <= 6 && starts(in, "sql");
    return kind == FENCE_BLANK || sql || in.at[n] == '\n' ? n + 1 : 0;
}

/* Cuts what stands before and behind the next fenced block off *rest; false when there is none.  FENCE_LINE: the word
 * behind the opening fence is no part of it where it has the line to itself; FENCE_SQL: nor where it begins with sql;
 * FENCE_BLANK: any word is not, and what no blank follows is no fence. */
static bool next_block(struct passage *rest, struct passage *block, enum fence kind)
{
    const char *open, *close;

    for (struct passage from = *rest; (open = memmem(from.at, from.n, "```", 3)); from = skip(from, 1)) {
        from = skip(from, (size_t)(open - from.at));
        struct passage in = skip(from, 3);
        size_t word = fence_word(in, kind);
        in = skip(in, word);
        if (kind == FENCE_BLANK && word == 0)
            continue;
        if (!(close = memmem(in.at, in.n, "```", 3)))
            return false;
        *block = (struct passage){ in.at, (size_t)(close - in.at) };
        *rest = skip(in, block->n + 3);
        return true;
    }
    return false;
}

/* "12." or one of the marks, and blanks. */
static struct passage without_mark(struct passage line, bool published)
{
    static const char bullet[] = "\xe2\x80\xa2";
    size_t n = 0;

    while (n < line.n && isdigit((unsigned char)line.at[n]))
        n++;
    if (n && n < line.n && (line.at[n] == '.' || (!published && line.at[n] == ')')))
        return strip(skip(line, n + 1));
    if (starts(line, "-") || (!published && starts(line, "* ")))
        return strip(skip(line, 1));
    return starts(line, bullet) ? strip(skip(line, sizeof bullet - 1)) : line;
}

static void add_reading(struct text_items *out, struct passage line, bool published)
{
    line = strip(line);
    if (line.n == 0)
        return;
    line = without_mark(line, published);
    if (published || (line.n && line.at[line.n - 1] != ':'))
        add_once(out, line);
}

static void add_lines(struct text_items *out, struct passage text, bool published)
{
    struct passage line;

    while (next_line(&text, &line))
        add_reading(out, line, published);
}

/* What comes before the list itself: "assistant: Here are the interpretations:". */
static struct passage without_role(struct passage text)
{
    static const char *const roles[] = { "system:", "assistant:" };

    for (int i = 0; i < ARRAY_LEN(roles); i++)
        if (starts(text, roles[i])) {
            text = strip(skip(text, strlen(roles[i])));
            return starts(text, "Here are the interpretations:") ? skip(text, strlen("Here are the interpretations:"))
                                                                 : text;
        }
    return text;
}

void output_readings(struct text_items *out, const char *answer, bool published)
{
    struct passage text = without_role(whole(answer)), rest = text, block;
    bool fenced = false;

    for (; next_block(&rest, &block, FENCE_LINE); fenced = true)
        add_lines(out, block, published);
    if (!fenced)
        add_lines(out, text, published);
}

static bool says_covered(struct passage line)
{
    line = strip(line);
    if (line.n && *line.at == '"')
        line = skip(line, 1);
    return starts(line, OUTPUT_COVERED);
}

void output_infilled(struct text_items *out, const char *answer, bool published)
{
    struct passage rest = whole(answer), line;

    if (!published) {
        struct text_items lines = { 0 };
        output_readings(&lines, answer, false);
        for (int i = 0; i < lines.n; i++)
            if (!says_covered(whole(lines.items[i])))
                add_once(out, whole(lines.items[i]));
        text_items_release(&lines);
        return;
    }
    while (next_line(&rest, &line))
        if (!starts(line, OUTPUT_COVERED))
            text_items_add(out, line.at, line.n);
    if (*answer == '\0' || answer[strlen(answer) - 1] == '\n') /* Python's split has an empty piece there */
        text_items_add(out, "", 0);
}

static bool is_statement(struct passage p)
{
    return starts(p, "select") || starts(p, "with");
}

/* Bytes up to where a statement ends: a semicolon or an empty line, not in quotes unless the authors' way. */
static size_t statement_length(struct passage p, bool published)
{
    char quote = 0;

    for (size_t i = 0; i < p.n; i++) {
        char c = p.at[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == ';' || (c == '\n' && i + 1 < p.n && p.at[i + 1] == '\n'))
            return i;
        else if (!published && (c == '\'' || c == '"' || c == '`'))
            quote = c;
    }
    return p.n;
}

/* The statements of a piece; false when it is to be taken as a whole. */
static bool add_statements(struct text_items *out, struct passage piece, bool published)
{
    bool cut = false;
    int before = out->n;

    while (piece.n) {
        size_t n = statement_length(piece, published);
        struct passage s = strip((struct passage){ piece.at, n });
        cut |= n < piece.n;
        if (is_statement(s))
            text_items_add(out, s.at, s.n);
        piece = skip(piece, n < piece.n ? n + 1 : n);
    }
    if (published && !cut) /* a piece without an end is no list of statements to them */
        while (out->n > before)
            free(out->items[--out->n]);
    return out->n > before;
}

/* The answer without its label and the role, a copy. */
static char *bare_answer(const char *answer)
{
    static const char label[] = "SQL query(s):", role[] = "assistant\n\n";
    char *text = xstrdup(answer), *at;

    while ((at = strstr(text, label)))
        memmove(at, at + sizeof label - 1, strlen(at + sizeof label - 1) + 1);
    struct passage p = strip(whole(text));
    if (starts(p, role))
        p = strip(skip(p, sizeof role - 1));
    memmove(text, p.at, p.n);
    text[p.n] = '\0';
    return text;
}

/* As the authors end it: no backslashes, and only what begins with SELECT. */
static void add_published(struct text_items *out, const char *statement)
{
    char *text = xstrdup(statement);
    size_t n = 0;

    for (const char *c = statement; *c; c++)
        if (*c != '\\')
            text[n++] = *c;
    text[n] = '\0';
    if (starts(strip((struct passage){ text, n }), "select"))
        add_once(out, (struct passage){ text, n });
    free(text);
}

void output_sql(struct text_items *out, const char *answer, bool published)
{
    struct text_items pieces = { 0 }, statements = { 0 };
    char *text = bare_answer(answer);
    struct passage rest = whole(text), block;

    for (; next_block(&rest, &block, published ? FENCE_BLANK : FENCE_SQL); text_items_add(&pieces, block.at, block.n))
        while (block.n && isspace((unsigned char)*block.at))
            block = skip(block, 1);
    if (pieces.n == 0)
        text_items_add(&pieces, text, strlen(text));
    for (int i = 0; i < pieces.n; i++)
        add_statements(&statements, whole(pieces.items[i]), published);
    const struct text_items *found = published && statements.n == 0 ? &pieces : &statements;
    for (int i = 0; i < found->n; i++) {
        if (published)
            add_published(out, found->items[i]);
        else
            add_once(out, whole(found->items[i]));
    }
    text_items_release(&pieces);
    text_items_release(&statements);
    free(text);
}
