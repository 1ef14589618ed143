/* Part of template_constraint.h: the strings and numbers that a question may mean. */
#include "data/plan/template_constraint_impl.h"

#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_WORDS = 200, MAX_RUN = 6, FEW_VALUES = 12, MAX_VALUE = 200 };

/* Words of a question, without the punctuation around them. */
struct value_words {
    struct {
        const char *begin, *end;
    } items[MAX_WORDS];
    int n;
};

static void split_words(struct value_words *w, const char *s)
{
    static const char edge[] = ".,?!;:()[]{}\"'`";

    w->n = 0;
    while (*s && w->n < MAX_WORDS) {
        const char *begin = s + strspn(s, " \t\r\n"), *end = begin + strcspn(begin, " \t\r\n");
        s = end;
        while (begin < end && strchr(edge, *begin))
            begin++;
        while (end > begin && strchr(edge, end[-1]))
            end--;
        if (end > begin) {
            w->items[w->n].begin = begin;
            w->items[w->n++].end = end;
        }
    }
}

/* A word that SQLite could take for a column when it stands in double quotes. */
static bool is_column(const struct schema *s, const char *text)
{
    for (int c = 0; c < s->n_columns; c++)
        if (strcasecmp(s->columns[c].name, text) == 0)
            return true;
    return strcasecmp(text, "rowid") == 0 || strcasecmp(text, "oid") == 0 || strcasecmp(text, "_rowid_") == 0;
}

/* Appends "before text after" as a string of SQL, in the quotes that most published queries have where they do. */
static void add_string(struct strings *to, const struct schema *s, const char *before, const char *text,
                       const char *after)
{
    struct sql_printer p = { 0 };
    char *value = NULL;

    CHECK(asprintf(&value, "%s%s%s", before, text, after) >= 0, "cannot format a string");
    sql_put_quoted(&p, value, strchr(value, '"') || is_column(s, value) ? '\'' : '"');
    sql_put(&p, "");
    char *quoted = strndup(p.text, p.n);
    CHECK(quoted, "no memory for %zu bytes", p.n);
    strings_add(to, quoted);
    free(quoted);
    free(p.text);
    free(value);
}

static void add_value(struct strings *to, const struct schema *s, const char *text, bool pattern)
{
    if (pattern) {
        add_string(to, s, "%", text, "%");
        add_string(to, s, "", text, "%");
        add_string(to, s, "%", text, "");
    }
    add_string(to, s, "", text, "");
}

/* Whether the question says a value, in letters of any case and not within a word. */
static bool says(const char *question, const char *value)
{
    size_t n = strlen(value);

    for (const char *p = question; n && (p = strcasestr(p, value)); p++)
        if ((p == question || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

/* Values of the database that the question says, or that a column has few of; texts alone. */
static void add_database(struct strings *to, const struct template_question *q, bool pattern, bool said)
{
    for (int c = 0; q->values && c < q->values->n_columns; c++) {
        for (int i = 0; i < q->values->counts[c]; i++) {
            const char *shown = q->values->columns[c][i];
            size_t n = strlen(shown);
            if (*shown != '"' || n < 3 || n > MAX_VALUE)
                continue;
            char *text = strndup(shown + 1, n - 2);
            CHECK(text, "no memory for %zu bytes", n);
            if (said ? says(q->question, text) : q->values->counts[c] <= FEW_VALUES)
                add_value(to, q->schema, text, pattern && said);
            free(text);
        }
    }
}

/* Without "'s", or a plural's s, both written in ways that questions have; 0 where there is none. */
static size_t without_ending(const char *begin, const char *end)
{
    static const char *const endings[] = { "'s", "\xe2\x80\x99s", "s" };

    for (int i = 0; i < ARRAY_LEN(endings); i++) {
        size_t n = strlen(endings[i]);
        if ((size_t)(end - begin) > n + 1 && memcmp(end - n, endings[i], n) == 0)
            return (size_t)(end - begin) - n;
    }
    return 0;
}

/* As it stands, and with a first capital, which values have more often than questions. */
static void add_words(struct strings *to, const struct template_question *q, const char *begin, size_t n, bool pattern)
{
    char *text = strndup(begin, n);

    CHECK(text, "no memory for %zu bytes", n);
    add_value(to, q->schema, text, pattern);
    if (islower((unsigned char)*text)) {
        *text = (char)toupper((unsigned char)*text);
        add_value(to, q->schema, text, pattern);
    }
    free(text);
}

static void add_run(struct strings *to, const struct template_question *q, const char *begin, const char *end,
                    bool pattern)
{
    size_t shorter = without_ending(begin, end);

    if (*end == ')' && memchr(begin, '(', (size_t)(end - begin)))
        end++;
    add_words(to, q, begin, (size_t)(end - begin), pattern);
    if (shorter)
        add_words(to, q, begin, shorter, pattern);
}

/* What stands in quotes. */
static void add_quoted(struct strings *to, const struct template_question *q, bool pattern)
{
    for (const char *p = q->question; (p = strpbrk(p, "\"'")); p++) {
        const char *end = strchr(p + 1, *p);
        bool opens = p == q->question || isspace((unsigned char)p[-1]) || p[-1] == '(';
        if (!end || end == p + 1 || !opens)
            continue;
        add_run(to, q, p + 1, end, pattern);
        p = end;
    }
}

static json_t *list_of(struct strings *s)
{
    json_t *list = json_array();

    for (int i = 0; i < s->n; i++) {
        json_t *text = json_string(s->items[i]);
        if (text)
            json_array_append_new(list, text);
    }
    strings_release(s);
    return list;
}

json_t *template_strings(const struct template_question *q, bool pattern)
{
    struct strings found = { 0 };
    struct value_words w;

    split_words(&w, q->question);
    add_quoted(&found, q, pattern);
    add_database(&found, q, pattern, true);
    for (int n = 1; n <= MAX_RUN; n++)
        for (int i = 0; i + n <= w.n; i++)
            add_run(&found, q, w.items[i].begin, w.items[i + n - 1].end, pattern);
    add_database(&found, q, pattern, false);
    if (found.n == 0)
        strings_add(&found, "''");
    return list_of(&found);
}

json_t *template_numbers(const struct template_question *q)
{
    static const char *const words[] = { "zero",  "one",   "two",  "three", "four",   "five",  "six",
                                         "seven", "eight", "nine", "ten",   "eleven", "twelve" };
    struct strings found = { 0 };
    char digits[32];

    for (const char *p = q->question; *p; p++) {
        size_t n = strspn(p, "0123456789");
        if (n == 0)
            continue;
        if (n < sizeof digits) {
            snprintf(digits, sizeof digits, "%.*s", (int)n, p);
            strings_add(&found, digits);
        }
        p += n - 1;
    }
    for (int i = 0; i < ARRAY_LEN(words); i++) {
        snprintf(digits, sizeof digits, "%d", i);
        if (says(q->question, words[i]) || i == 1 || i == 2 || i == 3)
            strings_add(&found, digits);
    }
    return list_of(&found);
}
