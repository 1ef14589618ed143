#include "data/prompt/passage.h"

/* Words that continue a statement: of SQLite's grammar, then of other dialects. */
static const char *const clauses[] = {
    "and",    "as",       "asc",         "between",   "case",    "collate",       "cross",    "desc",
    "else",   "end",      "escape",      "except",    "exists",  "filter",        "from",     "full",
    "glob",   "group",    "having",      "in",        "inner",   "intersect",     "is",       "isnull",
    "join",   "left",     "like",        "limit",     "match",   "natural",       "not",      "notnull",
    "nulls",  "offset",   "on",          "or",        "order",   "outer",         "over",     "regexp",
    "right",  "select",   "then",        "union",     "using",   "values",        "when",     "where",
    "window", "with",     "apply",       "cluster",   "connect", "distribute",    "fetch",    "final",
    "for",    "format",   "ilike",       "interval",  "into",    "lateral",       "minus",    "option",
    "pivot",  "prewhere", "qualify",     "returning", "rlike",   "sample",        "settings", "similar",
    "sort",   "start",    "tablesample", "top",       "unpivot", "update",        "share",    "skip",
    "locked", "nowait",   "asof",        "anti",      "semi",    "straight_join", "rows",     "range",
    "unnest",
};

static const char *const words[] = {
    "an",    "are",   "because", "each", "every", "it", "its",   "our",   "that",  "the", "their", "them",
    "there", "these", "they",    "this", "those", "we", "which", "whose", "would", "you", "your",
};

static bool is_one_of(const char *word, size_t n, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(list[i]) == n && strncasecmp(list[i], word, n) == 0)
            return true;
    return false;
}

bool prose_has_word(const char *word, size_t n)
{
    return is_one_of(word, n, words, ARRAY_LEN(words));
}

static bool is_clause(struct passage word)
{
    return is_one_of(word.at, word.n, clauses, ARRAY_LEN(clauses));
}

/* Whether a word is capitalised: "Where" opens a sentence; WHERE and where are SQL. */
static bool is_title(struct passage word)
{
    return word.n > 1 && isupper((unsigned char)word.at[0]) && islower((unsigned char)word.at[1]);
}

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The first word: letters, with hyphens and apostrophes between them. */
static struct passage first_word(struct passage p)
{
    size_t n = 0;

    while (n < p.n && (is_letter(p.at[n]) || (n && (isdigit((unsigned char)p.at[n]) || p.at[n] == '_')) ||
                       (n && n + 1 < p.n && strchr("-'", p.at[n]) && is_letter(p.at[n + 1]))))
        n++;
    return (struct passage){ p.at, n };
}

/* The length of a mark of a list, a quotation or a heading; 0 without. */
static size_t mark_length(struct passage p)
{
    static const char bullet[] = "\xe2\x80\xa2";
    bool open = p.n && *p.at == '(';
    size_t n = open, from = n;

    while (n < p.n && n < from + 3 && isdigit((unsigned char)p.at[n]))
        n++;
    if (n == from && n + 1 < p.n && isalpha((unsigned char)p.at[n]) && p.at[n + 1] == ')')
        n++;
    if (n > from && n < p.n &&
        (p.at[n] == ')' || (!open && p.at[n] == '.' && !(n + 1 < p.n && isdigit((unsigned char)p.at[n + 1])))))
        return n + 1;
    if (passage_starts(p, bullet))
        return sizeof bullet - 1;
    for (n = 0; n < p.n && strchr("#*", p.at[n]);)
        n++;
    if (n > 1 || (n && *p.at == '#') || (n && (p.n == n || p.at[n] == ' ')))
        return n;
    return p.n && strchr("->+", *p.at) && (p.n == 1 || strchr(" \t", p.at[1])) ? 1 : 0;
}

size_t prose_blank_length(struct passage p)
{
    static const char *const blanks[] = { "\xc2\xa0",     "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
                                          "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
                                          "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
                                          "\xe2\x80\x8b", "\xe2\x80\xaf", "\xe2\x81\xa0", "\xe3\x80\x80",
                                          "\xef\xbb\xbf" };

    for (int i = 0; i < ARRAY_LEN(blanks); i++)
        if (passage_starts(p, blanks[i]))
            return strlen(blanks[i]);
    return 0;
}

struct passage prose_without_blanks(struct passage p)
{
    for (size_t n; (p = passage_lstrip(p)).n && (n = prose_blank_length(p));)
        p = passage_skip(p, n);
    return p;
}

struct passage prose_without_marks(struct passage line)
{
    line = passage_strip(line);
    for (size_t n; (n = mark_length(line));)
        line = passage_strip(passage_skip(line, n));
    return line;
}

bool prose_goes_on(struct passage rest)
{
    struct passage word = first_word(passage_strip(rest));
    return is_clause(word) && !is_title(word);
}

/* Counts of the words at the beginning of a line. */
struct sentence {
    int n;
    bool prose, caps_clause, clause;
    struct passage rest;
};

static struct sentence read_words(struct passage line)
{
    struct sentence s = { .rest = line };

    for (struct passage w; (w = first_word(s.rest)).n; s.n++) {
        s.prose = s.prose || prose_has_word(w.at, w.n) || memchr(w.at, '\'', w.n);
        s.clause = s.clause || is_clause(w);
        s.caps_clause = s.caps_clause || (is_clause(w) && w.n > 2 && isupper((unsigned char)w.at[1]));
        s.rest = passage_skip(s.rest, w.n);
        if (s.rest.n > 1 && *s.rest.at == ',' && s.rest.at[1] == ' ' && s.prose)
            s.rest = passage_skip(s.rest, 1);
        if (s.rest.n && !strchr(" \t", *s.rest.at))
            return (s.n++, s);
        s.rest = passage_strip(s.rest);
    }
    return s;
}

/* The number of bytes before the first of some characters. */
static size_t strcspn_of(struct passage p, const char *signs)
{
    size_t n = 0;

    while (n < p.n && !strchr(signs, p.at[n]))
        n++;
    return n;
}

/* Whether the first letter is not ASCII: a dash, an arrow, another script. Quotes may be meant as SQL. */
static bool is_foreign(struct passage p)
{
    return (unsigned char)*p.at >= 0x80 && !passage_starts(p, "\xe2\x80\x9c") && !passage_starts(p, "\xe2\x80\x98") &&
           !passage_starts(p, "\xe2\x80\x9d") && !passage_starts(p, "\xe2\x80\x99");
}

/* Inside a line, prose requires two words of prose, or five words without a clause. */
static bool is_inside(const struct sentence *s)
{
    return !s->caps_clause && (s->prose ? s->n >= 2 : s->n >= 5 && !s->clause);
}

/* At the beginning of a line; `bare` is `line` without marks. */
static bool is_line(const struct sentence *s, struct passage line, struct passage bare)
{
    bool marked = bare.n < line.n && !strchr("->+*", *line.at), bold = passage_starts(line, "**");
    bool plain = s->prose && strcspn_of(line, "=<>('\"`") == line.n;
    bool label = passage_starts(s->rest, ":") && !passage_starts(s->rest, "::");

    if (s->n == 0 || s->caps_clause || (prose_goes_on(bare) && !marked && !plain))
        return false;
    if (s->prose)
        return true;
    if (is_clause(first_word(bare)))
        return false;
    return marked || bold || label || s->n >= 3 || passage_ends(line, ".") || passage_ends(line, "!");
}

/* Whether the line ends a batch: GO of SQL Server, / of Oracle. */
static bool ends_batch(struct passage line)
{
    return (line.n == 2 && passage_starts(line, "go")) || (line.n == 1 && *line.at == '/');
}

bool prose_begins(struct passage rest, bool inside)
{
    struct passage line, bare;

    rest = passage_strip(rest);
    if (!passage_line(&rest, &line))
        return false;
    line = passage_strip(line);
    bare = prose_without_marks(line);
    if (bare.n == 0)
        return !inside;
    if (inside && strcspn_of(line, "=<>(") < line.n)
        return false;
    if (is_foreign(bare) || ends_batch(bare) || (*bare.at == '(' && passage_ends(line, ".)")))
        return true;
    struct sentence s = read_words(bare);
    if (s.rest.n && strchr("=<>(+*/%", *s.rest.at) && !passage_starts(line, "**"))
        return false;
    return inside ? is_inside(&s) : is_line(&s, line, bare);
}
