#include "data/prompt/published_output.h"

#include "data/prompt/passage.h"

#include <stdlib.h>

/* The length of the word after a fence with the blank that ends it; 0 if it is no such word. */
enum fence { FENCE_LINE, FENCE_BLANK };

static size_t fence_word(struct passage in, enum fence kind)
{
    size_t n = 0;

    while (n < in.n && (isalnum((unsigned char)in.at[n]) || in.at[n] == '_'))
        n++;
    if (n == in.n || !isspace((unsigned char)in.at[n]))
        return 0;
    return kind == FENCE_BLANK || in.at[n] == '\n' ? n + 1 : 0;
}

/* Cuts the next fenced block, with the text before it, off *rest; false without one. FENCE_LINE skips the word after
 * the opening fence if it is alone on its line. FENCE_BLANK skips any word, and a fence requires a blank. */
static bool next_block(struct passage *rest, struct passage *block, enum fence kind)
{
    const char *open, *close;

    for (struct passage from = *rest; (open = memmem(from.at, from.n, "```", 3)); from = passage_skip(from, 1)) {
        from = passage_skip(from, (size_t)(open - from.at));
        struct passage in = passage_skip(from, 3);
        size_t word = fence_word(in, kind);
        in = passage_skip(in, word);
        if (kind == FENCE_BLANK && word == 0)
            continue;
        if (!(close = memmem(in.at, in.n, "```", 3)))
            return false;
        *block = (struct passage){ in.at, (size_t)(close - in.at) };
        *rest = passage_skip(in, block->n + 3);
        return true;
    }
    return false;
}

/* Skips "12." or another mark, and blanks. */
static struct passage without_mark(struct passage line)
{
    static const char bullet[] = "\xe2\x80\xa2";
    size_t n = 0;

    while (n < line.n && isdigit((unsigned char)line.at[n]))
        n++;
    if (n && n < line.n && line.at[n] == '.')
        return passage_strip(passage_skip(line, n + 1));
    if (passage_starts(line, "-"))
        return passage_strip(passage_skip(line, 1));
    return passage_starts(line, bullet) ? passage_strip(passage_skip(line, sizeof bullet - 1)) : line;
}

static void add_lines(struct text_items *out, struct passage text)
{
    struct passage line;

    while (passage_line(&text, &line)) {
        line = passage_strip(line);
        if (line.n) {
            line = without_mark(line);
            text_items_add_once(out, line.at, line.n);
        }
    }
}

/* Skips an introduction such as "assistant: Here are the interpretations:". */
static struct passage without_role(struct passage text)
{
    static const char *const roles[] = { "system:", "assistant:" }, opening[] = "Here are the interpretations:";

    for (int i = 0; i < ARRAY_LEN(roles); i++)
        if (passage_starts(text, roles[i])) {
            text = passage_strip(passage_skip(text, strlen(roles[i])));
            return passage_starts(text, opening) ? passage_skip(text, strlen(opening)) : text;
        }
    return text;
}

void published_interpretations(struct text_items *out, const char *answer)
{
    struct passage text = without_role(passage_of(answer)), rest = text, block;
    bool fenced = false;

    for (; next_block(&rest, &block, FENCE_LINE); fenced = true)
        add_lines(out, block);
    if (!fenced)
        add_lines(out, text);
}

void published_infilled(struct text_items *out, const char *answer)
{
    struct passage rest = passage_of(answer), line;

    while (passage_line(&rest, &line))
        if (!passage_starts(line, OUTPUT_COVERED))
            text_items_add(out, line.at, line.n);
    if (*answer == '\0' || answer[strlen(answer) - 1] == '\n') /* Python's split returns an empty piece here */
        text_items_add(out, "", 0);
}

/* The number of bytes before a semicolon or an empty line. */
static size_t statement_length(struct passage p)
{
    for (size_t i = 0; i < p.n; i++)
        if (p.at[i] == ';' || (p.at[i] == '\n' && i + 1 < p.n && p.at[i + 1] == '\n'))
            return i;
    return p.n;
}

/* Adds the statements of a piece; the published program ignores a piece without an end. */
static void add_statements(struct text_items *out, struct passage piece)
{
    bool cut = false;
    int before = out->n;

    while (piece.n) {
        size_t n = statement_length(piece);
        struct passage s = passage_strip((struct passage){ piece.at, n });
        cut |= n < piece.n;
        if (passage_starts(s, "select") || passage_starts(s, "with"))
            text_items_add(out, s.at, s.n);
        piece = passage_skip(piece, n < piece.n ? n + 1 : n);
    }
    while (!cut && out->n > before)
        free(out->items[--out->n]);
}

/* A copy of the completion without label and role. */
static char *bare_answer(const char *answer)
{
    static const char label[] = "SQL query(s):", role[] = "assistant\n\n";
    char *text = xstrdup(answer), *at;

    while ((at = strstr(text, label)))
        memmove(at, at + sizeof label - 1, strlen(at + sizeof label - 1) + 1);
    struct passage p = passage_strip(passage_of(text));
    if (passage_starts(p, role))
        p = passage_strip(passage_skip(p, sizeof role - 1));
    memmove(text, p.at, p.n);
    text[p.n] = '\0';
    return text;
}

/* The authors' final step: no backslashes, and only texts that begin with SELECT. */
static void add_unescaped(struct text_items *out, const char *statement)
{
    char *text = xstrdup(statement);
    size_t n = 0;

    for (const char *c = statement; *c; c++)
        if (*c != '\\')
            text[n++] = *c;
    text[n] = '\0';
    if (passage_starts(passage_strip((struct passage){ text, n }), "select"))
        text_items_add_once(out, text, n);
    free(text);
}

void published_sql(struct text_items *out, const char *answer)
{
    struct text_items pieces = { 0 }, statements = { 0 };
    char *text = bare_answer(answer);
    struct passage rest = passage_of(text), block;

    for (; next_block(&rest, &block, FENCE_BLANK); text_items_add(&pieces, block.at, block.n))
        while (block.n && isspace((unsigned char)*block.at))
            block = passage_skip(block, 1);
    if (pieces.n == 0)
        text_items_add(&pieces, text, strlen(text));
    for (int i = 0; i < pieces.n; i++)
        add_statements(&statements, passage_of(pieces.items[i]));
    const struct text_items *found = statements.n == 0 ? &pieces : &statements;
    for (int i = 0; i < found->n; i++)
        add_unescaped(out, found->items[i]);
    text_items_release(&pieces);
    text_items_release(&statements);
    free(text);
}
