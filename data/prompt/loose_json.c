#include "data/prompt/loose_json.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 32, MAX_CLOSES = 64 };

struct loose {
    struct passage rest;
    struct statement_reader *r;
    int depth;
    bool broken; /* nothing more can be read */
};

static const char *const quotes[][2] = { { "\"\"\"", "\"\"\"" },
                                         { "'''", "'''" },
                                         { "\"", "\"" },
                                         { "'", "'" },
                                         { "`", "`" },
                                         { "\xe2\x80\x9c", "\xe2\x80\x9d" },
                                         { "\xe2\x80\x98", "\xe2\x80\x99" } };

static const char *closing_quote(struct passage p, size_t *length)
{
    for (int i = 0; i < ARRAY_LEN(quotes); i++)
        if (passage_starts(p, quotes[i][0])) {
            *length = strlen(quotes[i][0]);
            return quotes[i][1];
        }
    return NULL;
}

static void take(struct loose *l, size_t n)
{
    l->rest = passage_skip(l->rest, n < l->rest.n ? n : l->rest.n);
}

/* Skips blanks and comments. */
static void skip_blanks(struct loose *l)
{
    for (struct passage line;;) {
        while (l->rest.n && isspace((unsigned char)*l->rest.at))
            take(l, 1);
        if (!passage_starts(l->rest, "//"))
            return;
        passage_line(&l->rest, &line);
    }
}

static unsigned read_hex(struct passage p)
{
    char digits[5] = { 0 };
    unsigned code = 0;

    if (p.n >= 4)
        memcpy(digits, p.at, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 && sscanf(digits, "%x", &code) == 1 ? code : 0;
}

static void put_code(FILE *f, unsigned c)
{
    if (c < 0x80)
        fputc((int)c, f);
    else if (c < 0x800)
        fprintf(f, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    else if (c < 0x10000)
        fprintf(f, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
    else
        fprintf(f, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)), (int)(0x80 | (c >> 6 & 0x3f)),
                (int)(0x80 | (c & 0x3f)));
}

/* Writes the character of \uXXXX or of a surrogate pair. Returns the bytes after the backslash, or 0. */
static size_t put_unicode(FILE *f, struct passage p)
{
    unsigned high = p.n > 4 ? read_hex(passage_skip(p, 1)) : 0, low = 0;

    if (high == 0)
        return 0;
    if (high >= 0xd800 && high < 0xdc00 && p.n > 10 && p.at[5] == '\\' && (p.at[6] | 32) == 'u')
        low = read_hex(passage_skip(p, 7));
    bool pair = low >= 0xdc00 && low < 0xe000;
    if (!pair && high >= 0xd800 && high < 0xe000)
        return 0;
    put_code(f, pair ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : high);
    return pair ? 11 : 5;
}

/* Writes the character of an escape. Returns the bytes taken after the backslash, or 0 if the backslash is literal. */
static size_t put_escape(FILE *f, struct passage p)
{
    static const char names[] = "nrtbf\"'\\/`\n", values[] = "\n\r\t\b\f\"'\\/`\n";
    const char *at = p.n && *p.at ? strchr(names, *p.at) : NULL;

    if (p.n && *p.at == 'u')
        return put_unicode(f, p);
    if (at)
        fputc(values[at - names], f);
    return at ? 1 : 0;
}

static json_t *unescape(struct passage p)
{
    char *text = NULL;
    size_t size, n;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "out of memory");
    for (; p.n; p = passage_skip(p, n)) {
        n = *p.at == '\\' ? put_escape(f, passage_skip(p, 1)) : 0;
        if (n == 0)
            fputc(*p.at, f);
        n++;
    }
    CHECK(fclose(f) == 0, "out of memory");
    json_t *o = json_stringn(text, size);
    free(text);
    return o ? o : json_null(); /* not UTF-8 */
}

/* Whether a string may end here: the text continues the list or object, or begins its next line. */
static bool may_close(struct passage behind)
{
    struct passage next = passage_strip(behind);
    bool line = memchr(behind.at, '\n', (size_t)(next.at - behind.at)) != NULL;

    return next.n == 0 || strchr(",]}:", *next.at) || passage_starts(next, "//") || (line && strchr("\"'`", *next.at));
}

static bool may_be_statement(struct passage p)
{
    p = passage_strip(p);
    return passage_starts(p, "select") || passage_starts(p, "with") || passage_starts(p, "values");
}

static bool is_whole(struct loose *l, struct passage raw)
{
    json_t *o = unescape(raw);
    const char *text = json_string_value(o);
    bool whole = text && statement_is_whole(l->r, passage_of(text));

    json_decref(o);
    return whole;
}

/* The length of a string that `close` ends, or -1 if it is truncated. */
static int64_t string_length(struct loose *l, const char *close)
{
    size_t n = strlen(close);
    int64_t first = -1;
    int tries = 0;

    for (size_t i = 0; i + n <= l->rest.n && tries < MAX_CLOSES; i++) {
        struct passage p = passage_skip(l->rest, i);
        if (*p.at == '\\') {
            i++;
        } else if (passage_starts(p, close) && may_close(passage_skip(p, n))) {
            struct passage raw = { l->rest.at, i };
            if (!may_be_statement(raw) || l->r->work <= 0 || is_whole(l, raw))
                return (int64_t)i;
            first = first < 0 ? (int64_t)i : first;
            tries++;
        }
    }
    return first;
}

static json_t *read_string(struct loose *l)
{
    size_t open;
    const char *close = closing_quote(l->rest, &open);

    if (!close)
        return NULL;
    take(l, open);
    int64_t n = string_length(l, close);
    if (n < 0) {
        take(l, l->rest.n);
        l->broken = true;
        return NULL;
    }
    json_t *o = unescape((struct passage){ l->rest.at, (size_t)n });
    take(l, (size_t)n + strlen(close));
    return o;
}

/* Reads a number, or a word such as true, None or a field name. */
static struct passage read_word(struct loose *l)
{
    struct passage word = { l->rest.at, 0 };

    while (word.n < l->rest.n && (isalnum((unsigned char)word.at[word.n]) || strchr("_.+-", word.at[word.n])))
        word.n++;
    take(l, word.n);
    return word;
}

static json_t *read_value(struct loose *l);

/* Skips the comma after an element, if present. False at the end of the list or object. */
static bool goes_on(struct loose *l, char close)
{
    skip_blanks(l);
    while (l->rest.n && *l->rest.at == ',') {
        take(l, 1);
        skip_blanks(l);
    }
    if (l->rest.n == 0)
        l->broken = true;
    if (l->rest.n && *l->rest.at == close) {
        take(l, 1);
        return false;
    }
    return !l->broken;
}

static json_t *read_list(struct loose *l)
{
    json_t *list = json_array(), *v;

    while (goes_on(l, ']') && (v = read_value(l)))
        json_array_append_new(list, v);
    return list;
}

/* Reads a field name and its colon. NULL ends the object. */
static json_t *read_name(struct loose *l)
{
    json_t *name = read_string(l);

    if (!name && !l->broken) {
        struct passage word = read_word(l);
        name = word.n ? json_stringn(word.at, word.n) : NULL;
    }
    skip_blanks(l);
    if (json_is_string(name) && passage_starts(l->rest, ":")) {
        take(l, 1);
        return name;
    }
    json_decref(name);
    l->broken = true;
    return NULL;
}

/* Keeps repeated fields under numbered names. */
static void add_field(json_t *o, const char *name, json_t *v)
{
    char *other = NULL;

    if (json_object_get(o, name)) {
        CHECK(asprintf(&other, "%s %zu", name, json_object_size(o)) >= 0, "out of memory");
        name = other;
    }
    json_object_set_new(o, name, v);
    free(other);
}

static json_t *read_object(struct loose *l)
{
    json_t *o = json_object(), *name, *v;

    while (goes_on(l, '}') && (name = read_name(l))) {
        if ((v = read_value(l)))
            add_field(o, json_string_value(name), v);
        json_decref(name);
    }
    return o;
}

static json_t *read_container(struct loose *l, bool list)
{
    if (l->depth == MAX_DEPTH) {
        l->broken = true;
        return NULL;
    }
    take(l, 1);
    l->depth++;
    json_t *o = list ? read_list(l) : read_object(l);
    l->depth--;
    return o;
}

static json_t *read_value(struct loose *l)
{
    size_t n;

    skip_blanks(l);
    if (l->rest.n == 0 || l->broken) {
        l->broken = true;
        return NULL;
    }
    if (strchr("[{", *l->rest.at))
        return read_container(l, *l->rest.at == '[');
    if (closing_quote(l->rest, &n))
        return read_string(l);
    if (read_word(l).n)
        return json_null();
    l->broken = true;
    return NULL;
}

/* Whether a list or an object may begin here, judged by its first element: [name] and {SELECT ...} are neither. */
static bool may_begin(struct passage p)
{
    size_t n;

    if (p.n == 0 || !strchr("[{", *p.at))
        return false;
    bool list = *p.at == '[';
    struct loose l = { .rest = passage_skip(p, 1) };
    skip_blanks(&l);
    if (l.rest.n == 0 || closing_quote(l.rest, &n))
        return l.rest.n > 0;
    if (list)
        return strchr("[{", *l.rest.at) != NULL;
    return read_word(&l).n && (skip_blanks(&l), passage_starts(l.rest, ":"));
}

json_t *loose_json(struct passage text, struct statement_reader *r, size_t *used)
{
    struct loose l = { .rest = text, .r = r };
    json_error_t strict;

    *used = 1;
    if (!may_begin(text))
        return NULL;
    json_t *o = json_loadb(text.at, text.n, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &strict);
    if (o) {
        *used = (size_t)strict.position;
        return o;
    }
    o = read_value(&l);
    *used = (size_t)(l.rest.at - text.at);
    return o;
}
