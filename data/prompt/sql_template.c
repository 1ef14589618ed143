#include "data/prompt/sql_template.h"

#include "data/corpora/ambiqt_text.h"
#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *lower(const char *s, size_t n)
{
    char *out = strndup(s, n);
    CHECK(out, "no memory for %zu bytes", n);
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return out;
}

static void add_name(struct strings *to, const char *s, size_t n)
{
    char *name = lower(s, n);
    strings_add(to, name);
    free(name);
}

/* Adds a name as written, without blanks around it. */
static void add_stripped(struct strings *to, const char *s, size_t n)
{
    while (n && isspace((unsigned char)*s)) {
        s++;
        n--;
    }
    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    char *name = strndup(s, n);
    CHECK(name, "no memory for %zu bytes", n);
    strings_add(to, name);
    free(name);
}

void template_names_of_schema(struct template_names *n, const struct schema *s)
{
    *n = (struct template_names){ 0 };
    strings_add(&n->columns, "*");
    for (int t = 0; t < s->n_tables; t++)
        add_name(&n->tables, s->tables[t].name, strlen(s->tables[t].name));
    for (int c = 0; c < s->n_columns; c++)
        add_name(&n->columns, s->columns[c].name, strlen(s->columns[c].name));
}

static void add_columns(struct strings *to, const char *s, size_t n)
{
    for (const char *end = s + n; s <= end;) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        comma = comma ? comma : end;
        add_stripped(to, s, (size_t)(comma - s));
        s = comma + 1;
    }
}

int template_names_as_written(struct template_names *n, const char *text, struct error *err)
{
    *n = (struct template_names){ 0 };
    strings_add(&n->columns, "*");
    for (const char *s = text;;) {
        size_t length = strcspn(s, "|"), table = strcspn(s, ":|");
        if (s[table] != ':')
            return error_set(err, EXIT_CODE_DATA, "schema: \"%.*s\" has no \":\" behind the table's name",
                             length > 80 ? 80 : (int)length, s);
        add_stripped(&n->tables, s, table);
        add_columns(&n->columns, s + table + 1, strcspn(s + table + 1, ":|"));
        if (!s[length])
            return 0;
        s += length + 1;
    }
}

static void lower_all(struct strings *s)
{
    struct strings low = { 0 };

    for (int i = 0; i < s->n; i++)
        add_name(&low, s->items[i], strlen(s->items[i]));
    strings_release(s);
    *s = low;
}

int template_names_of_text(struct template_names *n, const char *text, struct error *err)
{
    int rc = template_names_as_written(n, text, err);

    lower_all(&n->tables);
    lower_all(&n->columns);
    return rc;
}

void template_names_release(struct template_names *n)
{
    strings_release(&n->tables);
    strings_release(&n->columns);
}

/* A growing text of words. */
struct output {
    char *s;
    size_t n, cap;
};

static void put_word(struct output *o, const char *word)
{
    size_t n = strlen(word);

    if (o->n + n + 2 > o->cap) {
        o->cap = 2 * (o->n + n + 64);
        o->s = xrealloc(o->s, o->cap);
    }
    if (o->n)
        o->s[o->n++] = ' ';
    memcpy(o->s + o->n, word, n + 1);
    o->n += n;
}

/* The number of digits at *s, which moves behind them. */
static size_t take_digits(const char **s)
{
    size_t n = strspn(*s, "0123456789");

    *s += n;
    return n;
}

static void take_sign(const char **s)
{
    *s += **s == '-' || **s == '+';
}

/* Whether the word is a number: digits alone, or with any also a sign, a fraction and an exponent. */
static bool is_number(const char *word, bool any)
{
    const char *p = word;

    take_digits(&p);
    if (!any || !*p)
        return !*p;
    p = word;
    take_sign(&p);
    size_t digits = take_digits(&p);
    if (*p == '.') {
        p++;
        digits += take_digits(&p);
    }
    if (digits && (*p == 'e' || *p == 'E')) {
        p++;
        take_sign(&p);
        digits = take_digits(&p);
    }
    return digits && !*p;
}

/* Writes a word outside quotes; next is the following word or "". Reserved words and functions stay, even if a table
 * or column has that name. */
static void put_element(struct output *o, const struct template_names *n, const char *word, const char *next)
{
    bool sql = sql_word_use(word) == SQL_KEYWORD_RESERVED || *next == '(';
    bool alias = (word[0] == 't' || word[0] == 'T') && ambiqt_has_alias(word);
    char *name = lower(word + (alias ? 3 : 0), strlen(word));

    if (is_number(word, n->any_number))
        put_word(o, "number");
    else if (!sql && strings_find(&n->tables, name) >= 0)
        put_word(o, "table");
    else if (!sql && strings_find(&n->columns, name) >= 0)
        put_word(o, "column");
    else
        put_word(o, word);
    free(name);
}

/* quote: the open quote, or 0. */
static void put_next(struct output *o, const struct template_names *n, const char *word, const char *next, char *quote)
{
    char last = word[strlen(word) - 1];

    if (*quote) {
        if (last == *quote) {
            *quote = 0;
            put_word(o, "string");
        }
    } else if (!strchr("'\"`", word[0])) {
        put_element(o, n, word, next);
    } else if (word[1] && last == word[0]) {
        put_word(o, "string");
    } else {
        *quote = word[0];
    }
}

static char *replace(char *s, const char *old, const char *by)
{
    char *out = text_replace(s, old, by);
    free(s);
    return out;
}

static char *squeeze(char *s)
{
    static const char *const changes[][2] = {
        { " ,", "," },       { "( ", "(" },       { " )", ")" },       { "count (", "count(" }, { "avg (", "avg(" },
        { "sum (", "sum(" }, { "min (", "min(" }, { "max (", "max(" }, { ") ,", ")," },
    };
    for (int i = 0; i < ARRAY_LEN(changes); i++)
        s = replace(s, changes[i][0], changes[i][1]);
    return s;
}

/* Reproduces the training files: a blank before "!=", one final semicolon dropped. */
static char *prepare(const char *sql)
{
    char *s = text_replace(sql, "!=", " !=");
    size_t n = strlen(s);

    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    n -= n && s[n - 1] == ';';
    s[n] = 0;
    return s;
}

char *sql_template(const struct template_names *n, const char *sql, enum sql_template_use use)
{
    bool training = use == SQL_TEMPLATE_TRAINING;
    struct output o = { 0 };
    struct ambiqt_words w;
    char quote = 0;

    char *s = replace(training ? prepare(sql) : ambiqt_normalize(sql), "''", "\"");
    ambiqt_words_split(&w, s);
    free(s);
    put_word(&o, "");
    for (int i = 0; i < w.n; i++)
        put_next(&o, n, w.items[i], i + 1 < w.n ? w.items[i + 1] : "", &quote);
    ambiqt_words_release(&w);
    char *low = lower(o.s, o.n);
    free(o.s);
    char *out = squeeze(low);
    if (training)
        return out;
    s = ambiqt_normalize(out);
    free(out);
    return s;
}

static char *matched(const char *s)
{
    char *low = lower(s, strlen(s));
    return squeeze(replace(low, "!=", " !="));
}

bool sql_template_match(const char *predicted, const char *reference)
{
    char *a = matched(predicted), *b = matched(reference);
    bool same = strcmp(a, b) == 0;

    free(a);
    free(b);
    return same;
}

/* Counts the items of the select list by commas outside parentheses. */
static int count_items(const struct ambiqt_words *w)
{
    int depth = 0, items = 0;

    for (int i = ambiqt_words_find(w, "select") + 1; i > 0 && i < w->n && (depth || strcmp(w->items[i], "from") != 0);
         i++) {
        depth += strcmp(w->items[i], "(") == 0;
        depth -= strcmp(w->items[i], ")") == 0;
        items += (!items) + (!depth && strcmp(w->items[i], ",") == 0);
    }
    return items;
}

struct sql_plan sql_plan_of(const char *sql)
{
    struct sql_plan p = { 0 };
    struct ambiqt_words w;

    char *s = ambiqt_normalize(sql);
    ambiqt_words_split(&w, s);
    for (int i = 0; i < w.n; i++)
        p.joins += strcmp(w.items[i], "join") == 0;
    p.selects = count_items(&w);
    ambiqt_words_release(&w);
    free(s);
    return p;
}

char *sql_plan_text(struct sql_plan p)
{
    char *s = NULL;
    CHECK(asprintf(&s, "%d joins @ %d selects @", p.joins, p.selects) >= 0, "cannot format a plan");
    return s;
}

int sql_plan_parse(struct sql_plan *p, const char *text, const char **rest, struct error *err)
{
    int end = -1;

    if (sscanf(text, " %9d joins @ %9d selects @ %n", &p->joins, &p->selects, &end) != 2 || end < 0 || p->joins < 0 ||
        p->selects < 1)
        return error_set(err, EXIT_CODE_DATA, "plan: expected \"N joins @ N selects @\", got \"%.60s\"", text);
    if (rest)
        *rest = text + end;
    return 0;
}

int sql_plan_neighbours(struct sql_plan p, struct sql_plan out[SQL_PLANS])
{
    int other = p.joins >= 4 ? p.joins - 2 : p.joins + 1, n = 0;
    const struct sql_plan tried[SQL_PLANS] = {
        p, { p.joins - 1, p.selects }, { other, p.selects }, { p.joins, p.selects - 1 }, { p.joins, p.selects + 1 },
    };

    for (int i = 0; i < SQL_PLANS; i++)
        if (tried[i].joins >= 0 && tried[i].selects > 0)
            out[n++] = tried[i];
    return n;
}
