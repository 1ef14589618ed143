#include "data/ambiguate/reword.h"

#include "data/schema/element_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

static const float NONE = .15f, ALL = .15f, SINGLE_NONE = .2f;

/* A word of the question. */
struct word {
    int start, end;
    uint32_t hash;
};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static int find_words(const char *text, struct word words[MAX_WORDS])
{
    int n = 0;

    for (int i = 0; text[i] && n < MAX_WORDS;) {
        int start = i;
        while (text[i] && is_letter(text[i]))
            i++;
        if (i == start) {
            i++;
            continue;
        }
        words[n] = (struct word){ .start = start, .end = i };
        char *word = strndup(text + start, (size_t)(i - start));
        words_read(word, &words[n++].hash, 1);
        free(word);
    }
    return n;
}

/* Whether the words stand at words[at]. */
static bool stands_at(const struct word *words, int n, int at, const uint32_t *name, int k)
{
    for (int i = 0; i < k; i++)
        if (at + i >= n || words[at + i].hash != name[i])
            return false;
    return k > 0;
}

/* Words that are no name of an element beside some others; "" is any word. */
static const struct {
    const char *before, *word, *behind;
} phrases[] = {
    { "in", "order", "" },
    { "alphabetical", "order", "" },
    { "alphabetic", "order", "" },
    { "ascending", "order", "" },
    { "descending", "order", "" },
    { "increasing", "order", "" },
    { "decreasing", "order", "" },
    { "lexicographic", "order", "" },
    { "lexicographical", "order", "" },
    { "chronological", "order", "" },
    { "reverse", "order", "" },
    { "numerical", "order", "" },
    { "", "order", "by" },
    { "", "group", "by" },
    { "", "number", "of" },
    { "", "count", "the" },
    { "", "count", "all" },
    { "", "count", "how" },
    { "", "select", "the" },
    { "", "select", "all" },
    { "", "total", "number" },
    { "in", "total", "" },
    { "in", "case", "" },
    { "to", "date", "" },
};

/* Words that hold a question together are no name of an element. */
static const char *const glue[] = { "a",  "all", "an", "and", "as", "at",   "by", "for",  "from",  "in",   "is",
                                    "no", "not", "of", "on",  "or", "than", "to", "with", "where", "which" };

static bool has_hash(const struct word *words, int n, int at, const char *word)
{
    return !*word || (at >= 0 && at < n && words[at].hash == word_hash(word));
}

/* Whether the word is part of a phrase. */
static bool is_phrase(const struct word *words, int n, int at)
{
    for (int i = 0; i < ARRAY_LEN(glue); i++)
        if (words[at].hash == word_hash(glue[i]))
            return true;
    for (int i = 0; i < ARRAY_LEN(phrases); i++)
        if (words[at].hash == word_hash(phrases[i].word) && has_hash(words, n, at - 1, phrases[i].before) &&
            has_hash(words, n, at + 1, phrases[i].behind))
            return true;
    return false;
}

/* Whether words[at] to words[at + k - 1] lie inside this name, which is longer and stands in the question. */
static bool is_inside(const struct word *words, int n, int at, int k, const char *name)
{
    uint32_t longer[NAME_MAX_WORDS];
    int m = words_read(name, longer, NAME_MAX_WORDS);

    for (int i = at + k - m; m > k && i <= at; i++)
        if (i >= 0 && stands_at(words, n, i, longer, m))
            return true;
    return false;
}

/* Whether the words name another element of the schema, or none. */
static bool is_other(const struct word *words, int n, int at, int k, const char *schema_text)
{
    char *copy = xstrdup(schema_text ? schema_text : ""), *state = NULL;
    bool found = k == 1 && is_phrase(words, n, at);

    for (char *name = strtok_r(copy, "|:,", &state); name && !found; name = strtok_r(NULL, "|:,", &state))
        found = is_inside(words, n, at, k, name);
    free(copy);
    return found;
}

/* A name for people: blanks for underscores. */
static void put_name(FILE *out, const char *name)
{
    for (; *name; name++)
        putc(*name == '_' ? ' ' : tolower((unsigned char)*name), out);
}

static bool ends_in_s(const char *text, int length)
{
    return length > 1 && (text[length - 1] | 32) == 's';
}

/* The other name in place of text [start, end): with a capital or in the plural where that has it. */
static void put_instead(FILE *out, const char *text, const char *element, const char *name)
{
    int length = (int)strlen(text), k = (int)strlen(name), e = (int)strlen(element);
    bool plural = ends_in_s(text, length) && !ends_in_s(element, e) && !ends_in_s(name, k);
    char *copy = xstrdup(name);

    if (isupper((unsigned char)*text))
        *copy = (char)toupper((unsigned char)*copy);
    bool ies = plural && k > 2 && copy[k - 1] == 'y' && !strchr("aeiou", copy[k - 2]);
    for (int i = 0; i < k - ies; i++)
        putc(copy[i] == '_' ? ' ' : i ? tolower((unsigned char)copy[i]) : copy[i], out);
    fputs(ies ? "ies" : plural ? "s" : "", out);
    free(copy);
}

/* The text that a memory stream became. */
static FILE *start_text(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    CHECK(out, "out of memory");
    return out;
}

static void end_text(FILE *out)
{
    CHECK(fclose(out) == 0, "out of memory");
}

char *reword_question(const char *question, const char *element, const char *name, const char *schema_text)
{
    struct word words[MAX_WORDS];
    uint32_t wanted[NAME_MAX_WORDS];
    int n = find_words(question, words), k = words_read(element, wanted, NAME_MAX_WORDS), from = 0;
    char *text = NULL;
    size_t size;
    FILE *out = start_text(&text, &size);

    for (int i = 0; i + k <= n; i++) {
        if (!stands_at(words, n, i, wanted, k) || is_other(words, n, i, k, schema_text))
            continue;
        int start = words[i].start, end = words[i + k - 1].end;
        char *old = strndup(question + start, (size_t)(end - start));
        fwrite(question + from, 1, (size_t)(start - from), out);
        put_instead(out, old, element, name);
        free(old);
        from = end;
        i += k - 1;
    }
    fputs(question + from, out);
    if (from == 0) {
        fputs(" (", out);
        put_name(out, element);
        fputs(": ", out);
        put_name(out, name);
        putc(')', out);
    }
    end_text(out);
    return text;
}

/* "QUESTION (WHAT TABLE)". */
static char *with_table(const char *question, const char *column, const char *what, const char *table)
{
    char *text = NULL;
    size_t size;
    FILE *out = start_text(&text, &size);

    fprintf(out, "%s (", question);
    if (column)
        put_name(out, column);
    fprintf(out, "%s%s ", column ? " " : "", what);
    put_name(out, table);
    putc(')', out);
    end_text(out);
    return text;
}

void reword_golds(char *texts[2], const struct ambiqt_record *r)
{
    for (int i = 0; i < 2; i++) {
        const char *table = i ? r->new_table : r->table;
        if (r->kind == SIA_COLUMN || r->kind == SIA_TABLE)
            texts[i] =
                reword_question(r->question, r->kind == SIA_COLUMN ? r->column : r->table, r->names[i], r->schema_text);
        else if (r->kind == SIA_JOIN)
            texts[i] = with_table(r->question, r->column, "from", table);
        else
            texts[i] = with_table(r->question, NULL, i ? "stored in" : "computed from", table);
    }
}

/* How many of n golds exist. */
static size_t draw_count(size_t n, struct rng *rng)
{
    float u = rng_uniform(rng);

    if (n == 1)
        return u >= SINGLE_NONE;
    if (u < NONE + ALL)
        return u < NONE ? 0 : n;
    return 1 + rng_below(rng, (uint32_t)n - 1);
}

void reword_readings(json_t *record, struct rng *rng)
{
    json_t *golds = json_object_get(record, "golds"), *left = json_copy(golds), *readings = json_array();

    for (size_t n = draw_count(json_array_size(golds), rng); n > 0; n--) {
        size_t i = rng_below(rng, (uint32_t)json_array_size(left));
        const json_t *gold = json_array_get(left, i);
        json_array_append_new(readings, json_pack("{s:O, s:O}", "text", json_object_get(gold, "text"), "sql",
                                                  json_object_get(gold, "sql")));
        json_array_remove(left, i);
    }
    json_decref(left);
    json_object_set_new(record, "readings", readings);
}
