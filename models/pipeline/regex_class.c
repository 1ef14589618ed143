/* Part of regex_spell.h: classes of characters, and sets of them in brackets. */
#include "models/pipeline/regex_spell.h"
#include "models/unicode/char_class.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_COMPLEMENTS = 8 };

#define WHITE "\\p{Z}\\t-\\r\\x{85}"
#define NOT_WHITE                                                                                                      \
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}"       \
    "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{10FFFF}"

/* Circled and squared letters are words to Oniguruma; so are, but not within brackets, the superscripts and fractions
 * of Latin-1. */
#define CIRCLED "\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"
#define SUPERSCRIPTS "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}"

static void put_range(FILE *out, uint32_t first, uint32_t last)
{
    fprintf(out, first == last ? "\\x{%X}" : "\\x{%X}-\\x{%X}", first, last);
}

static void put_late(FILE *out, const char *category)
{
    size_t n = strlen(category);
    const struct late_chars *l = late_chars, *end = late_chars + n_late_chars;

    for (uint32_t first; l < end; l++) {
        if (strncmp(l->category, category, n) != 0)
            continue;
        for (first = l->first; l + 1 < end && l[1].first == l->last + 1 && !strncmp(l[1].category, category, n); l++)
            ;
        put_range(out, first, l->last);
    }
}

static void put_category(FILE *out, const char *category)
{
    fprintf(out, "\\p{%s}", category);
    put_late(out, category);
}

static void put_word(FILE *out, bool brackets)
{
    static const char *const categories[] = { "L", "M", "Nd", "Nl", "Pc" };
    for (int i = 0; i < ARRAY_LEN(categories); i++)
        put_category(out, categories[i]);
    fputs(brackets ? CIRCLED : CIRCLED SUPERSCRIPTS, out);
}

/* Scripts that did not grow after Unicode 14, but for Han. */
static bool put_script(FILE *out, const char *name)
{
    static const char *const scripts[] = { "Hiragana", "Katakana", "Hangul",     "Cyrillic", "Greek", "Hebrew",
                                           "Thai",     "Lao",      "Devanagari", "Bengali",  "Tamil", "Armenian",
                                           "Georgian", "Khmer",    "Tibetan",    "Bopomofo", "Han" };
    int i = 0;

    while (i < ARRAY_LEN(scripts) && strcmp(scripts[i], name) != 0)
        i++;
    if (i == ARRAY_LEN(scripts))
        return false;
    fprintf(out, "\\p{sc:%s}", name);
    if (strcmp(name, "Han") == 0)
        fputs("\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}", out);
    if (strcmp(name, "Cyrillic") == 0)
        fputs("\\x{1C89}\\x{1C8A}\\x{1E030}-\\x{1E06D}\\x{1E08F}", out);
    return true;
}

static bool put_property(FILE *out, const char *name)
{
    static const char categories[] = " L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z "
                                     "Zs Zl Zp Cc Cf Co ";
    char word[8];

    snprintf(word, sizeof word, " %.4s ", name);
    if (strlen(name) > 2 || !strstr(categories, word))
        return put_script(out, name);
    put_category(out, name);
    return true;
}

/* \p{name}, \P{name} or \p{^name} */
static int put_braces(struct speller *s, FILE *out, bool *negated)
{
    char name[32];
    const char *from = s->at + 3, *end = s->at[2] == '{' ? strchr(from, '}') : NULL;

    *negated = s->at[1] == 'P';
    if (end && *from == '^') {
        *negated = !*negated;
        from++;
    }
    snprintf(name, sizeof name, "%.*s", end && end - from < 30 ? (int)(end - from) : 0, from);
    if (!end || !put_property(out, name))
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "class %.*s is not known",
                         end ? (int)(end + 1 - s->at < 60 ? end + 1 - s->at : 60) : 2, s->at);
    s->at = end + 1;
    return 1;
}

int regex_spell_class(struct speller *s, FILE *out, bool brackets, bool *negated)
{
    char c = s->at[1];

    if (c == 'p' || c == 'P')
        return put_braces(s, out, negated);
    *negated = c == 'W' || c == 'D' || c == 'H';
    if (c == 's')
        fputs(WHITE, out);
    else if (c == 'S')
        fputs(NOT_WHITE, out);
    else if (c == 'w' || c == 'W')
        put_word(out, brackets);
    else if (c == 'd' || c == 'D')
        put_category(out, "Nd");
    else if (c == 'h' || c == 'H')
        fputs("0-9a-fA-F", out);
    else
        return 0;
    s->at += 2;
    return 1;
}

/* What a set has: items between brackets, and complements of such. */
struct set {
    char *items;
    size_t size;
    FILE *out; /* writes items */
    char *complements[MAX_COMPLEMENTS];
    int n_complements;
    bool negated;
};

static int add_complement(struct speller *s, struct set *set, char *items)
{
    if (set->n_complements < MAX_COMPLEMENTS) {
        set->complements[set->n_complements++] = items;
        return 0;
    }
    free(items);
    return error_set(s->err, EXIT_CODE_CHECKPOINT, "more than %d complements in one set", MAX_COMPLEMENTS);
}

/* An escape within brackets. */
static int read_escape(struct speller *s, struct set *set)
{
    char *text = NULL;
    size_t size;
    bool negated = false;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    int rc = regex_spell_class(s, out, true, &negated);
    CHECK(fclose(out) == 0, "out of memory");
    if (rc > 0 && negated)
        return add_complement(s, set, text);
    fputs(rc > 0 ? text : "", set->out);
    free(text);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (isalnum((unsigned char)s->at[1]) && !strchr("tnrfaexb0", s->at[1]))
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "\\%c within brackets is not known", s->at[1]);
    for (int i = 0; i < 2 && *s->at; i++)
        putc(*s->at++, set->out);
    return 0;
}

static int read_set(struct speller *s, struct set *set, int depth);

static void set_release(struct set *set)
{
    if (set->out)
        fclose(set->out);
    free(set->items);
    for (int i = 0; i < set->n_complements; i++)
        free(set->complements[i]);
}

/* A set within a set adds to it. */
static int read_inner(struct speller *s, struct set *set, int depth)
{
    struct set inner = { 0 };
    int rc = read_set(s, &inner, depth + 1);

    if (rc == 0 && inner.negated && inner.n_complements > 0)
        rc = error_set(s->err, EXIT_CODE_CHECKPOINT, "a complement within a negated set within a set is not known");
    if (rc == 0 && inner.negated)
        rc = add_complement(s, set, xstrdup(inner.items));
    else if (rc == 0)
        fputs(inner.items, set->out);
    for (int i = 0; rc == 0 && i < inner.n_complements; i++)
        rc = add_complement(s, set, xstrdup(inner.complements[i]));
    set_release(&inner);
    return rc;
}

static int read_item(struct speller *s, struct set *set, int depth)
{
    if (!*s->at)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "missing ]");
    if (*s->at == '\\')
        return read_escape(s, set);
    if (s->at[0] == '&' && s->at[1] == '&')
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "&& within brackets is not known");
    if (s->at[0] == '[' && s->at[1] == ':')
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%.10s within brackets is not known", s->at);
    if (*s->at == '[')
        return read_inner(s, set, depth);
    putc(*s->at++, set->out);
    return 0;
}

static int read_set(struct speller *s, struct set *set, int depth)
{
    int rc = 0;

    if (depth == MAX_DEPTH)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "sets within sets deeper than %d", MAX_DEPTH);
    set->out = open_memstream(&set->items, &set->size);
    CHECK(set->out, "out of memory");
    set->negated = *++s->at == '^';
    s->at += set->negated;
    if (*s->at == ']') { /* which is plain where it comes first */
        fputs("\\]", set->out);
        s->at++;
    }
    while (rc == 0 && *s->at != ']')
        rc = read_item(s, set, depth);
    s->at += rc == 0;
    CHECK(fclose(set->out) == 0, "out of memory");
    set->out = NULL;
    return rc;
}

/* Complements become alternatives, or what must not come. */
static void put_set(struct speller *s, const struct set *set)
{
    if (set->n_complements == 0) {
        fprintf(s->out, "[%s%s]", set->negated ? "^" : "", set->items);
        return;
    }
    fputs("(?:", s->out);
    if (*set->items)
        fprintf(s->out, set->negated ? "(?![%s])" : "[%s]", set->items);
    for (int i = 0; i < set->n_complements; i++) {
        bool last = i + 1 == set->n_complements;
        if (set->negated)
            fprintf(s->out, last ? "[%s]" : "(?=[%s])", set->complements[i]);
        else
            fprintf(s->out, "%s[^%s]", i > 0 || *set->items ? "|" : "", set->complements[i]);
    }
    putc(')', s->out);
}

int regex_spell_set(struct speller *s)
{
    struct set set = { 0 };
    int rc = read_set(s, &set, 0);

    if (rc == 0)
        put_set(s, &set);
    set_release(&set);
    return rc;
}
