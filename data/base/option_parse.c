#include "data/base/option_parse.h"

#include "data/base/real_text.h"
#include "data/base/shard.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX = 48 }; /* longer words are not typing errors of a known word */

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* The edit distance with swaps of neighbours (optimal string alignment). */
static int edit_distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b), d[WORD_MAX + 1][WORD_MAX + 1];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = min(min(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

void nearest_try(struct nearest *best, const char *typed, const char *known)
{
    size_t n = strlen(typed);
    if (n > WORD_MAX || strlen(known) > WORD_MAX)
        return;
    int distance = n >= 2 && strncmp(typed, known, n) == 0 ? 1 : edit_distance(typed, known);
    if (distance <= 1 + (int)n / 4 && distance < (int)n && (!best->word || distance < best->distance))
        *best = (struct nearest){ known, distance };
}

const char *mode_word(const struct command *mode)
{
    const char *blank = strrchr(mode->name, ' ');

    return blank ? blank + 1 : mode->name;
}

int option_count(const struct option *table)
{
    int n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

static bool same_name(const char *name, const char *typed, size_t n)
{
    if (strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] != (typed[i] == '_' ? '-' : typed[i]))
            return false;
    return true;
}

int option_find(const struct option *table, const char *name, size_t n)
{
    for (int i = 0; table && table[i].name; i++)
        if (same_name(table[i].name, name, n))
            return i;
    return -1;
}

const char *option_nearest(const struct option *table, const char *typed)
{
    struct nearest best = { 0 };
    for (int i = 0; table && table[i].name; i++)
        nearest_try(&best, typed, table[i].name);
    return best.word;
}

/* Names of other programs for an option, the likeliest meaning first. */
static const struct {
    const char *typed, *known;
} synonyms[] = {
    { "output", "out" },          { "outfile", "out" },
    { "out-file", "out" },        { "output-file", "out" },
    { "output-dir", "out" },      { "out-dir", "out" },
    { "database", "db" },         { "sqlite", "db" },
    { "db-path", "db" },          { "tables", "schema" },
    { "schemas", "schema" },      { "ddl", "schema" },
    { "query", "question" },      { "text", "question" },
    { "model", "detector" },      { "model", "parser" },
    { "model", "base" },          { "model", "encoder" },
    { "llm", "parser" },          { "llm", "lm" },
    { "llm", "model" },           { "checkpoint", "model" },
    { "checkpoint", "detector" }, { "checkpoint", "init" },
    { "checkpoint", "base" },     { "detector", "model" },
    { "batch", "tokens" },        { "batch-size", "batch" },
    { "batch-size", "tokens" },   { "learning-rate", "lr" },
    { "num-epochs", "epochs" },   { "max-steps", "epochs" },
    { "gpu", "device" },          { "cuda", "device" },
    { "jobs", "threads" },        { "workers", "threads" },
    { "num-workers", "threads" }, { "num-threads", "threads" },
    { "max-tokens", "max-new" },  { "max-new-tokens", "max-new" },
    { "max-length", "length" },   { "num-beams", "beams" },
    { "num-samples", "samples" }, { "n", "top" },
    { "limit", "top" },           { "cutoff", "threshold" },
    { "port", "serve" },          { "host", "serve" },
    { "listen", "serve" },        { "json", "format" },
    { "csv", "format" },          { "silent", "quiet" },
    { "debug", "verbose" },       { "log-level", "verbose" },
};

enum { OPTION_SUGGESTION = 192 };

/* Writes ", did you mean --A or --B?" for an unknown name: the table's options by synonyms that other programs use, or
 * else the closest name; "" if there is none. */
static void option_suggest(char *text, size_t size, const struct option *table, const char *typed)
{
    const char *nearest = option_nearest(table, typed);
    int n = 0, length = 0;

    *text = '\0';
    for (int i = 0; i < ARRAY_LEN(synonyms) && n < 2; i++) {
        const char *known = synonyms[i].known;
        if (!same_name(synonyms[i].typed, typed, strlen(typed)) || option_find(table, known, strlen(known)) < 0)
            continue;
        length += snprintf(text + length, size - (size_t)length, "%s--%s", n++ ? " or " : ", did you mean ", known);
    }
    if (!n && nearest)
        length = snprintf(text, size, ", did you mean --%s", nearest);
    if (length)
        snprintf(text + length, size - (size_t)length, "?");
}

static int range_error(const struct option *o, const char *text, struct error *err)
{
    bool above = o->low == OPTION_ABOVE_ZERO;
    if (o->high == HUGE_VAL && above)
        return error_set(err, EXIT_CODE_USAGE, "expected > 0, got %s", text);
    if (o->high == HUGE_VAL)
        return error_set(err, EXIT_CODE_USAGE, "expected at least %.16g, got %s", o->low, text);
    if (above)
        return error_set(err, EXIT_CODE_USAGE, "expected > 0 and at most %.16g, got %s", o->high, text);
    return error_set(err, EXIT_CODE_USAGE, "expected %.16g to %.16g, got %s", o->low, o->high, text);
}

static int check_range(const struct option *o, double value, const char *text, struct error *err)
{
    if (o->low < o->high && !(value >= o->low && value <= o->high))
        return range_error(o, text, err);
    return 0;
}

static int set_int(const struct option *o, int64_t *out, const char *text, struct error *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return error_set(err, EXIT_CODE_USAGE, "expected an integer, got '%.100s'", text);
    if (check_range(o, (double)n, text, err))
        return -1;
    *out = n;
    return 0;
}

static int set_real(const struct option *o, double *out, const char *text, struct error *err)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || !isfinite(x))
        return error_set(err, EXIT_CODE_USAGE, "expected a number, got '%.100s'", text);
    if (check_range(o, x, text, err))
        return -1;
    *out = x;
    return 0;
}

static int set_flag(bool *out, const char *text, struct error *err)
{
    bool yes = !strcasecmp(text, "true") || !strcasecmp(text, "yes") || !strcasecmp(text, "on");
    if (!yes && strcasecmp(text, "false") && strcasecmp(text, "no") && strcasecmp(text, "off"))
        return error_set(err, EXIT_CODE_USAGE, "expected true or false, got '%.100s'", text);
    *out = yes;
    return 0;
}

/* The index of a choice; -1 with an error that suggests the closest one. */
static int find_choice(const struct option *o, const char *text, struct error *err)
{
    struct nearest best = { 0 };
    char word[WORD_MAX + 1];
    int place = 0;
    for (const char *c = o->choices; *c; place++) {
        size_t n = strcspn(c, "|");
        CHECK(n <= WORD_MAX, "--%s: a choice is longer than %d", o->name, WORD_MAX);
        snprintf(word, sizeof word, "%.*s", (int)n, c);
        if (strcmp(word, text) == 0)
            return place;
        nearest_try(&best, text, word);
        if (best.word == word) /* `word` changes in the next round, so point into the table */
            best.word = c;
        c += n + (c[n] == '|');
    }
    if (best.word)
        return error_set(err, EXIT_CODE_USAGE, "expected one of %s, got '%.100s' (did you mean '%.*s'?)", o->choices,
                         text, (int)strcspn(best.word, "|"), best.word);
    return error_set(err, EXIT_CODE_USAGE, "expected one of %s, got '%.100s'", o->choices, text);
}

static int set_choice(const struct option *o, int *out, const char *text, struct error *err)
{
    int place = find_choice(o, text, err);
    if (place < 0)
        return -1;
    *out = place;
    return 0;
}

static int set_word(const struct option *o, const char **out, const char *text, struct error *err)
{
    if (find_choice(o, text, err) < 0)
        return -1;
    *out = text;
    return 0;
}

enum expected option_expects(const struct option *o)
{
    if (o->type == OPTION_FLAG)
        return EXPECT_NOTHING;
    if (o->choices)
        return EXPECT_WORDS;
    if (!o->value)
        return EXPECT_VALUE;
    if (strcmp(o->value, "RUN") == 0 || (strstr(o->value, "DIR") && !strstr(o->value, "FILE")))
        return EXPECT_FOLDER;
    return strstr(o->value, "FILE") || strstr(o->value, "OUT") || strchr(o->value, '.') ? EXPECT_FILE : EXPECT_VALUE;
}

int option_set(const struct option *o, void *settings, const char *text, struct error *err)
{
    void *field = (char *)settings + o->offset;
    switch (o->type) {
    case OPTION_FLAG:
        return set_flag(field, text, err);
    case OPTION_INT:
        return set_int(o, field, text, err);
    case OPTION_REAL:
        return set_real(o, field, text, err);
    case OPTION_CHOICE:
        return set_choice(o, field, text, err);
    case OPTION_WORD:
    case OPTION_PRESET:
        return set_word(o, field, text, err);
    case OPTION_STRING:
    case OPTION_CONFIG:
        *(const char **)field = text;
        return 0;
    case OPTION_SHARD:
        return shard_parse(field, text, err);
    }
    CHECK(false, "option --%s has type %d", o->name, (int)o->type);
}

/* NAN means "not set". */
static void show_real(double x, char *text, size_t size)
{
    char real[REAL_TEXT];

    snprintf(text, size, "%s", isnan(x) ? "" : real_text(real, x));
}

static void show_shard(const struct shard *s, char *text, size_t size)
{
    *text = '\0';
    if (s->count)
        snprintf(text, size, "%d/%d", s->index, s->count);
}

static void show_choice(const char *choices, int place, char *text, size_t size)
{
    while (place-- > 0)
        choices += strcspn(choices, "|") + 1;
    snprintf(text, size, "%.*s", place < -1 ? 0 : (int)strcspn(choices, "|"), choices);
}

void option_show(const struct option *o, const void *settings, char *text, size_t size)
{
    const void *field = (const char *)settings + o->offset;
    const char *s = NULL;
    switch (o->type) {
    case OPTION_FLAG:
        s = *(const bool *)field ? "true" : "false";
        break;
    case OPTION_INT:
        snprintf(text, size, "%lld", (long long)*(const int64_t *)field);
        return;
    case OPTION_REAL:
        show_real(*(const double *)field, text, size);
        return;
    case OPTION_CHOICE:
        show_choice(o->choices, *(const int *)field, text, size);
        return;
    case OPTION_SHARD:
        show_shard(field, text, size);
        return;
    case OPTION_STRING:
    case OPTION_WORD:
    case OPTION_CONFIG:
    case OPTION_PRESET:
        s = *(const char *const *)field;
    }
    snprintf(text, size, "%s", s ? s : "");
}

bool option_is_source(const struct option *o)
{
    return o->type == OPTION_CONFIG || o->type == OPTION_PRESET;
}

bool option_reads(const struct option *o)
{
    return o->type == OPTION_STRING && !o->writes && option_expects(o) >= EXPECT_FILE;
}

/* State of one pass over the words. */
struct parse {
    const struct option *table;
    struct command_line *line;
    int at;
    bool only_config;
};

static int assign(struct parse *p, int i, const char *value, const char *shown, struct error *err)
{
    const struct option *o = &p->table[i];
    if (p->only_config != option_is_source(o))
        return 0;
    p->line->seen[i] = true;
    return option_set(o, p->line->settings, value, err) ? error_prefix(err, "%s", shown) : 0;
}

/* Sets the value from "=value" or "-ovalue", otherwise from the next word. */
static int take(struct parse *p, int i, const char *value, const char *shown, struct error *err)
{
    const char *name = p->table[i].value;
    if (!value && ++p->at == p->line->argc)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected a value: %s", shown, name ? name : "VALUE");
    return assign(p, i, value ? value : p->line->argv[p->at], shown, err);
}

static bool is_flag(const struct option *table, int i)
{
    return i >= 0 && table[i].type == OPTION_FLAG;
}

static int parse_long(struct parse *p, const char *word, struct error *err)
{
    char shown[WORD_MAX + 4];
    size_t n = strcspn(word + 2, "=");
    const char *value = word[2 + n] ? word + 3 + n : NULL;
    snprintf(shown, sizeof shown, "%.*s", (int)(n > WORD_MAX ? WORD_MAX : n) + 2, word);
    int i = option_find(p->table, word + 2, n);
    if (i >= 0 && !p->table[i].help)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected in the file of --config only", shown);
    if (is_flag(p->table, i))
        return assign(p, i, value ? value : "true", shown, err);
    if (i >= 0)
        return take(p, i, value, shown, err);
    if (!value && n > 3 && strncmp(word, "--no-", 5) == 0 && is_flag(p->table, option_find(p->table, word + 5, n - 3)))
        return assign(p, option_find(p->table, word + 5, n - 3), "false", shown, err);
    char hint[OPTION_SUGGESTION];
    option_suggest(hint, sizeof hint, p->table, shown + 2);
    return error_set(err, EXIT_CODE_USAGE, "unknown option %s%s", shown, hint);
}

static int find_letter(const struct option *table, char letter)
{
    for (int i = 0; table && table[i].name; i++)
        if (table[i].letter == letter)
            return i;
    return -1;
}

static int unknown_letter(const struct option *table, const char *shown, const char *word, struct error *err)
{
    char known[64] = "";
    size_t n = 0;

    for (int i = 0; table && table[i].name && n + 4 < sizeof known; i++)
        if (table[i].letter && table[i].help)
            n += (size_t)snprintf(known + n, sizeof known - n, " -%c", table[i].letter);
    return error_set(err, EXIT_CODE_USAGE, "unknown option %s in '%.100s'%s%s", shown, word, n ? "; expected" : "",
                     known);
}

static int parse_letters(struct parse *p, const char *word, struct error *err)
{
    for (const char *c = word + 1; *c; c++) {
        int i = find_letter(p->table, *c);
        char shown[3] = { '-', *c, 0 };
        if (i < 0)
            return unknown_letter(p->table, shown, word, err);
        if (!is_flag(p->table, i))
            return take(p, i, c[1] ? c + 1 : NULL, shown, err);
        if (assign(p, i, "true", shown, err))
            return -1;
    }
    return 0;
}

int options_parse(const struct option *table, struct command_line *line, bool only_config, struct error *err)
{
    struct parse p = { .table = table, .line = line, .only_config = only_config };
    bool ended = false;
    int n = 0;
    for (; p.at < line->argc; p.at++) {
        char *word = line->argv[p.at];
        if (ended || word[0] != '-' || !word[1]) {
            if (!only_config)
                line->argv[n] = word;
            n++;
        } else if (strcmp(word, "--") == 0) {
            ended = true;
        } else if ((word[1] == '-' ? parse_long : parse_letters)(&p, word, err)) {
            return -1;
        }
    }
    line->n_operands = n;
    return 0;
}
