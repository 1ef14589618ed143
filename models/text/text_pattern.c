#include "models/text/text_pattern.h"

#include "data/base/json.h"
#include "kernels/base.h"
#include "models/text/char_class.h"
#include "models/text/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Translation of regular expressions from Oniguruma's syntax to PCRE2's.
 *
 * Character classes are expanded, for three reasons. The two libraries disagree about \s, \w, \b and \h. \p{...}
 * follows the library's Unicode version: 14 in PCRE2 of Debian 12, 16 in the Oniguruma of tokenizers 0.23. Only
 * Oniguruma has nested sets. Syntax without an equivalent is refused. */

struct translator {
    const char *at; /* rest of the pattern */
    FILE *out;
    struct error *err;
};

/* Character classes and bracketed sets. */

enum { MAX_DEPTH = 8, MAX_COMPLEMENTS = 8 };

#define WHITE "\\p{Z}\\t-\\r\\x{85}"
#define NOT_WHITE                                                                                                      \
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}"       \
    "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{10FFFF}"

/* Oniguruma's \w includes circled and squared letters. Outside brackets it includes the superscripts and fractions of
 * Latin-1 too. */
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

/* Scripts that did not change after Unicode 14, except for Han and Cyrillic, whose additions are listed. */
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

/* Translates \p{name}, \P{name} or \p{^name}. */
static int put_braces(struct translator *s, FILE *out, bool *negated)
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
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "unsupported class %.*s",
                         end ? (int)(end + 1 - s->at < 60 ? end + 1 - s->at : 60) : 2, s->at);
    s->at = end + 1;
    return 1;
}

/* Translates the class escape at s->at, inside or outside brackets. *negated tells whether the items written are those
 * of the complement. Returns 1 and advances s->at, 0 if the escape is not a class, or -1 if the class is unsupported.
 */
static int translate_class(struct translator *s, FILE *out, bool brackets, bool *negated)
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

/* A bracketed set: its items, and complements of classes, which PCRE2 cannot hold in one set. */
struct set {
    char *items;
    size_t size;
    FILE *out; /* stream that writes to items */
    char *complements[MAX_COMPLEMENTS];
    int n_complements;
    bool negated;
};

static int add_complement(struct translator *s, struct set *set, char *items)
{
    if (set->n_complements < MAX_COMPLEMENTS) {
        set->complements[set->n_complements++] = items;
        return 0;
    }
    free(items);
    return error_set(s->err, EXIT_CODE_CHECKPOINT, "expected at most %d complements in a set", MAX_COMPLEMENTS);
}

/* Reads an escape inside brackets. */
static int read_escape(struct translator *s, struct set *set)
{
    char *text = NULL;
    size_t size;
    bool negated = false;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    int rc = translate_class(s, out, true, &negated);
    CHECK(fclose(out) == 0, "out of memory");
    if (rc > 0 && negated)
        return add_complement(s, set, text);
    fputs(rc > 0 ? text : "", set->out);
    free(text);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (isalnum((unsigned char)s->at[1]) && !strchr("tnrfaexb0", s->at[1]))
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "unsupported escape \\%c in a set", s->at[1]);
    for (int i = 0; i < 2 && *s->at; i++)
        putc(*s->at++, set->out);
    return 0;
}

static int read_set(struct translator *s, struct set *set, int depth);

static void set_release(struct set *set)
{
    if (set->out)
        fclose(set->out);
    free(set->items);
    for (int i = 0; i < set->n_complements; i++)
        free(set->complements[i]);
}

/* Adds a nested set to the outer one. */
static int read_inner(struct translator *s, struct set *set, int depth)
{
    struct set inner = { 0 };
    int rc = read_set(s, &inner, depth + 1);

    if (rc == 0 && inner.negated && inner.n_complements > 0)
        rc = error_set(s->err, EXIT_CODE_CHECKPOINT, "unsupported complement in a negated set in a set");
    if (rc == 0 && inner.negated)
        rc = add_complement(s, set, xstrdup(inner.items));
    else if (rc == 0)
        fputs(inner.items, set->out);
    for (int i = 0; rc == 0 && i < inner.n_complements; i++)
        rc = add_complement(s, set, xstrdup(inner.complements[i]));
    set_release(&inner);
    return rc;
}

static int read_item(struct translator *s, struct set *set, int depth)
{
    if (!*s->at)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "missing ]");
    if (*s->at == '\\')
        return read_escape(s, set);
    if (s->at[0] == '&' && s->at[1] == '&')
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "unsupported operator && in a set");
    if (s->at[0] == '[' && s->at[1] == ':')
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "unsupported syntax %.10s in a set", s->at);
    if (*s->at == '[')
        return read_inner(s, set, depth);
    putc(*s->at++, set->out);
    return 0;
}

static int read_set(struct translator *s, struct set *set, int depth)
{
    int rc = 0;

    if (depth == MAX_DEPTH)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "expected sets nested at most %d deep", MAX_DEPTH);
    set->out = open_memstream(&set->items, &set->size);
    CHECK(set->out, "out of memory");
    set->negated = *++s->at == '^';
    s->at += set->negated;
    if (*s->at == ']') { /* "]" is a plain character at the start of a set */
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

/* Writes complements as alternatives, or as lookaheads in a negated set. */
static void put_set(struct translator *s, const struct set *set)
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

/* Translates the bracketed set at s->at. */
static int translate_set(struct translator *s)
{
    struct set set = { 0 };
    int rc = read_set(s, &set, 0);

    if (rc == 0)
        put_set(s, &set);
    set_release(&set);
    return rc;
}

static int refuse(struct translator *s, size_t n)
{
    return error_set(s->err, EXIT_CODE_CHECKPOINT, "unsupported syntax \"%.*s\"", (int)n, s->at);
}

static void copy(struct translator *s, size_t n)
{
    for (; n > 0 && *s->at; n--)
        putc(*s->at++, s->out);
}

/* Translates \b and \B with Oniguruma's word characters. */
static void put_boundary(struct translator *s)
{
    static const char *const forms[2] = { "(?:(?<=W)(?!W)|(?<!W)(?=W))", "(?:(?<=W)(?=W)|(?<!W)(?!W))" };
    char *word = NULL;
    size_t size;
    bool negated;
    FILE *out = open_memstream(&word, &size);
    struct translator inner = { .at = "\\w" };

    CHECK(out, "out of memory");
    translate_class(&inner, out, false, &negated);
    CHECK(fclose(out) == 0, "out of memory");
    for (const char *p = forms[s->at[1] == 'B']; *p; p++) {
        if (*p == 'W')
            fprintf(s->out, "[%s]", word);
        else
            putc(*p, s->out);
    }
    free(word);
    s->at += 2;
}

/* Translates an escape that is not a class. */
static int put_other_escape(struct translator *s)
{
    char c = s->at[1];

    if (c == 'b' || c == 'B')
        put_boundary(s);
    else if (c == 'v') {
        fputs("\\x0B", s->out);
        s->at += 2;
    } else if (isalnum((unsigned char)c) && !strchr("tnrfaexAzZ0123456789", c))
        return refuse(s, 2);
    else
        copy(s, 2);
    return 0;
}

static int put_escape(struct translator *s)
{
    char *items = NULL;
    size_t size;
    bool negated = false;
    FILE *out = open_memstream(&items, &size);

    CHECK(out, "out of memory");
    int rc = translate_class(s, out, false, &negated);
    CHECK(fclose(out) == 0, "out of memory");
    if (rc > 0)
        fprintf(s->out, "[%s%s]", negated ? "^" : "", items);
    free(items);
    return rc != 0 ? (rc < 0 ? -1 : 0) : put_other_escape(s);
}

/* Translates a group that starts with "(?". Oniguruma's option m is PCRE2's s. Options without a group are supported
 * only at the start of their enclosing group, where their scope is the same in both. */
static int put_group(struct translator *s, bool first)
{
    static const char *const same[] = { "(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!" };
    const char *p = s->at + 2;

    for (int i = 0; i < ARRAY_LEN(same); i++)
        if (strncmp(s->at, same[i], strlen(same[i])) == 0) {
            copy(s, strlen(same[i]));
            return 0;
        }
    while (*p && strchr("im-", *p))
        p++;
    if (p == s->at + 2 || (*p != ':' && !(*p == ')' && first)))
        return refuse(s, *p ? (size_t)(p + 1 - s->at) : 2);
    for (; s->at <= p; s->at++)
        putc(*s->at == 'm' ? 's' : *s->at, s->out);
    return 0;
}

/* Translates {n,m}. In Oniguruma, {n}+ repeats the interval and {n}? makes it optional; neither is a possessive or lazy
 * quantifier. */
static int put_interval(struct translator *s)
{
    char *end;
    long low = strtol(s->at + 1, &end, 10), high = low;
    bool range = *end == ',';

    if (range)
        high = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : (end++, -1);
    if (*end != '}') {
        copy(s, 1);
        return 0;
    }
    bool more = end[1] == '+', perhaps = end[1] == '?' && !range;
    if ((more && (low > 1 || high == 0)) || (perhaps && low != 1) || low > 1000 || high > 1000)
        return refuse(s, (size_t)(end + 2 - s->at));
    if (more)
        putc(low == 0 ? '*' : '+', s->out);
    else if (perhaps)
        putc('?', s->out);
    else
        fprintf(s->out, "%.*s", (int)(end + 1 - s->at), s->at);
    s->at = end + 1 + (more || perhaps);
    return 0;
}

static int put_part(struct translator *s, bool *first)
{
    bool was_first = *first;

    *first = *s->at == '(' || (was_first && *s->at == '|');
    switch (*s->at) {
    case '\\':
        return put_escape(s);
    case '[':
        return translate_set(s);
    case '{':
        if (s->at[1] == ',')
            return refuse(s, 2);
        if (isdigit((unsigned char)s->at[1]))
            return put_interval(s);
        fputs("\\{", s->out);
        s->at++;
        return 0;
    case '(':
        if (s->at[1] == '?')
            return put_group(s, was_first);
        if (s->at[1] == '*')
            return refuse(s, 2);
        break;
    default:
        break;
    }
    copy(s, 1);
    return 0;
}

/* Returns the pattern for PCRE2 with PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE; the caller frees it. NULL with
 * EXIT_CODE_CHECKPOINT. */
static char *translate_pattern(const char *pattern, struct error *err)
{
    char *text = NULL;
    size_t size;
    struct translator s = { .at = pattern, .out = open_memstream(&text, &size), .err = err };
    bool first = true;
    int rc = 0;

    CHECK(s.out, "out of memory");
    while (rc == 0 && *s.at)
        rc = put_part(&s, &first);
    CHECK(fclose(s.out) == 0, "out of memory");
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

enum { MAX_HEAP_KIB = 64 << 10 }; /* of PCRE2's interpreter, whose default limit is 20 GB */

#define PUBLISHED(digits)                                                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                                               \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const char regex_llama3[] = PUBLISHED("\\p{N}{1,3}");
const char regex_qwen2[] = PUBLISHED("\\p{N}");
const char regex_words[] = "\\p{L}+(?=s(?!\\p{L}))|\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const char regex_gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct regex {
    pcre2_code *code;
    uint32_t empty; /* the pattern may match the empty string */
    pcre2_match_context *limits;
};

static int compile(struct regex *r, const char *pattern, struct error *err)
{
    char *text = translate_pattern(pattern, err);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    unsigned char why[128];
    PCRE2_SIZE at;
    int code;

    CHECK(context, "out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    if (text)
        r->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &code,
                                &at, context);
    pcre2_compile_context_free(context);
    if (text && !r->code) {
        pcre2_get_error_message(code, why, sizeof why);
        error_set(err, EXIT_CODE_CHECKPOINT, "%s", (char *)why);
    }
    free(text);
    if (!r->code)
        return error_prefix(err, "pattern \"%.80s\"", pattern);
    pcre2_pattern_info(r->code, PCRE2_INFO_MATCHEMPTY, &r->empty);
    r->limits = pcre2_match_context_create(NULL);
    CHECK(r->limits, "out of memory");
    pcre2_set_heap_limit(r->limits, MAX_HEAP_KIB);
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* without JIT, pcre2_match interprets */
    return 0;
}

static void regex_close(struct regex *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    pcre2_match_context_free(r->limits);
    free(r);
}

struct regex *regex_open(const char *pattern, struct error *err)
{
    if (strlen(pattern) > REGEX_MAX_PATTERN) {
        error_set(err, EXIT_CODE_CHECKPOINT, "pattern: expected at most %d bytes, got %zu", REGEX_MAX_PATTERN,
                  strlen(pattern));
        return NULL;
    }
    struct regex *r = xcalloc(1, sizeof *r);
    if (compile(r, pattern, err) == 0)
        return r;
    regex_close(r);
    return NULL;
}

static void regex_search_start(struct regex_search *s, const char *text, int64_t length)
{
    *s = (struct regex_search){ .text = text, .end = length, .last = -1, .found = s->found };
    if (!s->found)
        s->found = pcre2_match_data_create(1, NULL);
    CHECK(s->found, "out of memory");
}

/* Finds the first match at or after s->at. */
static bool find_match(struct regex_search *s, const struct regex *r, int64_t *start, int64_t *stop)
{
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(s->found);
    int rc = pcre2_match(r->code, (PCRE2_SPTR)s->text, (PCRE2_SIZE)s->end, (PCRE2_SIZE)s->at, PCRE2_NO_UTF_CHECK,
                         s->found, r->limits);

    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter may use more memory than the JIT stack */
        rc = pcre2_match(r->code, (PCRE2_SPTR)s->text, (PCRE2_SIZE)s->end, (PCRE2_SIZE)s->at,
                         PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, s->found, r->limits);
    if (rc < 0 || place[0] < (PCRE2_SIZE)s->at ||
        place[1] < place[0]) /* rc is 0 if the pattern has more groups than match data holds */
        return false;
    *start = (int64_t)place[0];
    *stop = (int64_t)place[1];
    return true;
}

/* The next match, or false if there is none or the search takes too many steps. */
static bool regex_search_next(struct regex_search *s, const struct regex *r, int64_t *start, int64_t *stop)
{
    uint32_t cp;
    bool valid;

    if (!r->empty) {
        bool found = s->at < s->end && find_match(s, r, start, stop) && *stop > *start;
        s->at = found ? *stop : s->end;
        return found;
    }
    while (s->at <= s->end && find_match(s, r, start, stop)) {
        bool again = *start == *stop && *stop == s->last;
        s->at = *stop;
        if (!again) {
            s->last = *stop;
            return true;
        }
        s->at += s->at < s->end ? utf8_read(s->text + s->at, s->end - s->at, &cp, &valid) : 1;
    }
    s->at = s->end + 1;
    return false;
}

static void regex_search_end(struct regex_search *s)
{
    pcre2_match_data_free(s->found);
    s->found = NULL;
}

void text_pattern_set(struct text_pattern *p, const char *text)
{
    struct error err;

    if (!*text) {
        p->regex = regex_open("", &err);
        CHECK(p->regex, "%s", err.text);
        return;
    }
    p->text = xstrdup(text);
    p->length = (int64_t)strlen(text);
}

int text_pattern_read(struct text_pattern *p, const json_t *o, const char *where, struct error *err)
{
    const json_t *pattern = json_get_object(o, "pattern", where, err);
    const char *text = json_string_value(json_object_get(pattern, "String"));

    if (!pattern)
        return -1;
    if (text) {
        text_pattern_set(p, text);
        return 0;
    }
    if (!(text = json_get_string(pattern, "Regex", where, err)))
        return -1;
    p->regex = regex_open(text, err);
    return p->regex ? 0 : error_prefix(err, "%s", where);
}

void text_pattern_release(struct text_pattern *p)
{
    regex_close(p->regex);
    free(p->text);
    *p = (struct text_pattern){ 0 };
}

void pattern_walk_start(struct pattern_walk *w, const struct text_pattern *p, const char *text, int64_t length)
{
    w->pattern = p;
    if (p->regex) {
        regex_search_start(&w->search, text, length);
        return;
    }
    w->search.text = text;
    w->search.at = 0;
    w->search.end = length;
}

/* Finds the next character for which `is` holds. */
static bool next_matching_char(struct regex_search *s, char_test *is, int64_t *start, int64_t *stop)
{
    uint32_t cp;
    bool valid;

    while (s->at < s->end) {
        *start = s->at;
        s->at += utf8_read(s->text + s->at, s->end - s->at, &cp, &valid);
        if (is(cp)) {
            *stop = s->at;
            return true;
        }
    }
    return false;
}

/* pattern_walk_next for plain texts and classes of characters. */
static bool next_plain(struct pattern_walk *w, int64_t *start, int64_t *stop)
{
    const struct text_pattern *p = w->pattern;
    struct regex_search *s = &w->search;

    if (!p->text)
        return next_matching_char(s, p->is, start, stop);
    const char *found = memmem(s->text + s->at, (size_t)(s->end - s->at), p->text, (size_t)p->length);
    if (!found)
        return false;
    *start = found - s->text;
    *stop = s->at = *start + p->length;
    return true;
}

bool pattern_walk_next(struct pattern_walk *w, int64_t *start, int64_t *stop)
{
    const struct regex *r = w->pattern->regex;
    return r ? regex_search_next(&w->search, r, start, stop) : next_plain(w, start, stop);
}

void pattern_walk_end(struct pattern_walk *w)
{
    regex_search_end(&w->search);
}

int cut_behavior_read(enum cut_behavior *out, const char *name, const char *where, struct error *err)
{
    static const char *const names[] = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous" };

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum cut_behavior)i;
            return 0;
        }
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: behavior: expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got "
                     "\"%.80s\"",
                     where, name);
}

void cut_start(struct cut *c, const struct text_pattern *p, enum cut_behavior behavior, bool invert, const char *text,
               int64_t length)
{
    pattern_walk_start(&c->walk, p, text, length);
    c->behavior = behavior;
    c->invert = invert;
    c->at = 0;
    c->has_found = c->has_held = c->last_match = false;
}

/* Returns the next segment: a match, or the text before it. */
static bool next_segment(struct cut *c, struct segment *s)
{
    int64_t start, stop;

    if (c->has_found) {
        *s = c->found;
        c->has_found = false;
    } else if (pattern_walk_next(&c->walk, &start, &stop)) {
        *s = (struct segment){ start, stop, true };
        if (start > c->at) {
            c->found = *s;
            c->has_found = true;
            *s = (struct segment){ c->at, start, false };
        }
    } else if (c->at < c->walk.search.end) {
        *s = (struct segment){ c->at, c->walk.search.end, false };
    } else {
        return false;
    }
    c->at = s->stop;
    s->match ^= c->invert;
    return true;
}

/* Returns whether a segment is appended to the held one. */
static bool joins(const struct cut *c, const struct segment *s)
{
    switch (c->behavior) {
    case CUT_MERGED_WITH_PREVIOUS:
        return s->match && !c->last_match;
    case CUT_MERGED_WITH_NEXT:
        return !s->match && c->last_match;
    case CUT_CONTIGUOUS:
        return s->match == c->last_match;
    default:
        return false;
    }
}

bool cut_next(struct cut *c, int64_t *start, int64_t *stop)
{
    struct segment s = { 0 }, out;

    for (bool more = true; more;) {
        more = next_segment(c, &s);
        if (more && c->has_held && joins(c, &s)) {
            c->held.stop = s.stop;
            c->last_match = s.match;
            continue;
        }
        bool whole = c->has_held;
        out = c->held;
        c->held = s;
        c->has_held = more;
        c->last_match = s.match;
        if (whole && out.stop > out.start && !(out.match && c->behavior == CUT_REMOVED)) {
            *start = out.start;
            *stop = out.stop;
            return true;
        }
    }
    return false;
}

void cut_end(struct cut *c)
{
    pattern_walk_end(&c->walk);
}
