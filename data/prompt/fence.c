#include "data/prompt/fence.h"

/* Whether nothing but blanks and quotation marks stands between `at` and the line end before it. */
static bool at_line(const char *begin, const char *at)
{
    while (at > begin && strchr(" \t>", at[-1]))
        at--;
    return at == begin || at[-1] == '\n';
}

static const char *find_fence(struct passage p, const char *mark, bool line)
{
    const char *begin = p.at, *at;

    for (; (at = memmem(p.at, p.n, mark, 3)); p = passage_skip(p, (size_t)(at - p.at) + 1))
        if (!line || at_line(begin, at))
            return at;
    return NULL;
}

/* Without the word behind the opening fence: one that has the rest of the line to itself, or a language's name. */
static struct passage without_word(struct passage in)
{
    size_t n = 0;

    while (n < in.n && (isalnum((unsigned char)in.at[n]) || strchr("_-+.", in.at[n])))
        n++;
    size_t blanks = n;
    while (blanks < in.n && strchr(" \t\r", in.at[blanks]))
        blanks++;
    if (blanks == in.n || in.at[blanks] == '\n')
        return passage_skip(in, blanks);
    bool name =
        n && n < in.n && isspace((unsigned char)in.at[n]) && (passage_starts(in, "sql") || passage_starts(in, "json"));
    return name && n <= 6 ? passage_skip(in, n) : in;
}

bool fence_next(struct passage *rest, struct passage *block)
{
    const char *ticks = find_fence(*rest, "```", false), *waves = find_fence(*rest, "~~~", true);
    const char *open = ticks && (!waves || ticks < waves) ? ticks : waves, *close;

    if (!open)
        return false;
    const char *mark = open == ticks ? "```" : "~~~";
    bool line = at_line(rest->at, open);
    struct passage in = passage_skip(*rest, (size_t)(open - rest->at) + 3);
    while (in.n && *in.at == *mark) /* fences of four and more */
        in = passage_skip(in, 1);
    in = without_word(in);
    close = line ? find_fence(in, mark, true) : NULL;
    if (!close)
        close = find_fence(in, mark, false);
    *block = (struct passage){ in.at, close ? (size_t)(close - in.at) : in.n };
    *rest = close ? passage_skip(in, block->n + 3) : passage_skip(in, in.n);
    while (close && rest->n && *rest->at == *mark)
        *rest = passage_skip(*rest, 1);
    return true;
}
