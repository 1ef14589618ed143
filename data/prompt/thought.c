#include "data/prompt/thought.h"

#include <stdlib.h>

enum { MAX_STRING = 400 }; /* bytes on either side in which a string around a tag is looked for */

/* Tags of DeepSeek, Qwen and others, and those that prompts ask for; of Seed-OSS, Sky-T1, Command A, Magistral and
 * Kimi, and the channels of gpt-oss. */
static const struct tag {
    const char *open, *close;
} tags[] = {
    { "<think>", "</think>" },
    { "<thinking>", "</thinking>" },
    { "<thought>", "</thought>" },
    { "<reasoning>", "</reasoning>" },
    { "<thoughts>", "</thoughts>" },
    { "<reason>", "</reason>" },
    { "<analysis>", "</analysis>" },
    { "<scratchpad>", "</scratchpad>" },
    { "<thought_process>", "</thought_process>" },
    { "<antThinking>", "</antThinking>" },
    { "<reflection>", "</reflection>" },
    { "<seed:think>", "</seed:think>" },
    { "<|begin_of_thought|>", "<|end_of_thought|>" },
    { "<|START_THINKING|>", "<|END_THINKING|>" },
    { "[THINK]", "[/THINK]" },
    { "\xe2\x97\x81think\xe2\x96\xb7", "\xe2\x97\x81/think\xe2\x96\xb7" },
    { "<|channel|>analysis<|message|>", "<|channel|>final<|message|>" },
};

/* A tag found in an answer. */
struct tag_place {
    const char *at;
    size_t n;
    int kind; /* of tags */
    bool closes;
};

static bool is_quote(char c)
{
    return c && strchr("'\"`%", c);
}

/* The quote that opens a string of SQL before `at` on its line and is still open there; 0 without. */
static char open_quote(const char *answer, const char *at)
{
    const char *line = at;
    char quote = 0;

    while (line > answer && line[-1] != '\n' && at - line < MAX_STRING)
        line--;
    for (const char *c = line; c < at; c++)
        if (quote ? *c == quote : *c == '\'' && c > line && strchr(" (=,%", c[-1]))
            quote = quote ? 0 : *c;
    return quote;
}

/* Whether the text at `p` stands within a string of SQL that closes on its line. */
static bool in_string(struct passage p, const char *answer)
{
    char quote = open_quote(answer, p.at);

    for (size_t i = 0; quote && i < p.n && i < MAX_STRING && p.at[i] != '\n'; i++)
        if (p.at[i] == quote)
            return !(i + 1 < p.n && isalnum((unsigned char)p.at[i + 1]));
    return false;
}

/* The bytes of the tag that begins here, 0 without: blanks or attributes may stand before its '>'. */
static size_t tag_length(struct passage p, const char *tag)
{
    enum { MAX_ATTRIBUTES = 100 };
    size_t name = strlen(tag) - 1, n = name;

    if (passage_starts(p, tag))
        return name + 1;
    if (tag[name] != '>' || p.n <= name || strncasecmp(p.at, tag, name) != 0 || !isspace((unsigned char)p.at[name]))
        return 0;
    while (n < p.n && n < name + MAX_ATTRIBUTES && !strchr("<>", p.at[n]))
        n++;
    bool ends = n < p.n && p.at[n] == '>', blank = passage_strip((struct passage){ p.at + name, n - name }).n == 0;
    return ends && (blank || memchr(p.at + name, '=', n - name)) ? n + 1 : 0;
}

/* The bytes of the tag that begins here and is meant, not only spoken of; 0 without. */
static size_t is_here(struct passage p, const char *answer, const char *tag)
{
    size_t n = tag_length(p, tag);
    bool quoted = n && p.at > answer && is_quote(p.at[-1]) && is_quote(p.at[n]);

    return !n || quoted || in_string(p, answer) ? 0 : n;
}

static bool find_any(struct tag_place *f, struct passage p, const char *answer)
{
    for (; p.n; p = passage_skip(p, 1))
        for (int k = 0; k < ARRAY_LEN(tags); k++) {
            size_t close = is_here(p, answer, tags[k].close), n = close ? close : is_here(p, answer, tags[k].open);
            if (!n)
                continue;
            *f = (struct tag_place){ p.at, n, k, close > 0 };
            return true;
        }
    return false;
}

/* The first tag that closes this kind, or any kind with kind < 0. */
static bool find_close(struct tag_place *f, struct passage p, const char *answer, int kind)
{
    for (; p.n; p = passage_skip(p, 1))
        for (int k = 0; k < ARRAY_LEN(tags); k++) {
            size_t n = kind < 0 || k == kind ? is_here(p, answer, tags[k].close) : 0;
            if (!n)
                continue;
            *f = (struct tag_place){ p.at, n, k, true };
            return true;
        }
    return false;
}

static void add(struct stretches *s, struct passage p)
{
    if (passage_strip(p).n == 0)
        return;
    GROW(s->items, s->n, s->cap);
    s->items[s->n++] = p;
}

static struct passage behind(struct passage p, const struct tag_place *f)
{
    return passage_skip(p, (size_t)(f->at - p.at) + f->n);
}

void stretches_read(struct stretches *s, const char *answer)
{
    struct passage rest = passage_of(answer);
    bool lacks_close[ARRAY_LEN(tags)] = { false }; /* in the rest: its search is made once */
    struct tag_place f, end;

    while (find_any(&f, rest, answer)) {
        struct passage before = { rest.at, (size_t)(f.at - rest.at) };
        rest = behind(rest, &f);
        if (f.closes) {
            s->n = 0;
            continue;
        }
        add(s, before);
        lacks_close[f.kind] = lacks_close[f.kind] || !find_close(&end, rest, answer, f.kind);
        if (lacks_close[f.kind] && !find_close(&end, rest, answer, -1)) {
            s->n = 0;
            s->cut = true;
            return;
        }
        rest = behind(rest, &end);
    }
    add(s, rest);
}

void stretches_release(struct stretches *s)
{
    free(s->items);
    *s = (struct stretches){ 0 };
}
