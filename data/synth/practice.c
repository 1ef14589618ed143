#include "data/synth/practice.h"

#include "data/base/json.h"
#include "data/corpora/example.h"
#include "data/schema/schema_build.h"
#include "data/synth/contrast.h"
#include "data/synth/practice_domains.h"
#include "kernels/base.h"
#include "kernels/rng.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRACTICE_WORDINGS = 3 };

/*
 * A template of questions and their SQL. Placeholders stand in braces. Questions: t, ts, u, us (tables, singular and
 * plural), a, b, x (columns), vb, vx (a value of b, of x). SQL: t, u (sources), a, b, x, f (t's link), k (u's key),
 * vb, vx (literals), max:b, min:b, avg:b, total:b (aggregates of b). Also +t and +u (joins that the source needs). Text
 * in brackets is dropped if the aggregates are stored.
 */
struct practice_template {
    unsigned a, b, x; /* allowed roles of the column; 0: unused */
    const char *questions[PRACTICE_WORDINGS];
    const char *sql;
};

struct practice_query {
    const struct practice_domain *domain;
    const struct practice_template *of;
    int wording;
    int t, link; /* a table and its column that refers to u */
    int u;       /* -1: unused */
    int a, b, x; /* columns of t, t and u; -1: unused */
    char value_b[64], value_x[64];
};

/* An element and the alternative that the SQL uses. */
struct practice_interpretation {
    enum sia_type type;
    int table, column; /* column is -1 for T */
    int which;         /* -1: the original element */
};

/* Templates of questions and their SQL. */

enum {
    N = PRACTICE_NAME,
    C = PRACTICE_CLASS,
    M = PRACTICE_NUMBER,
    W = PRACTICE_TIME,
    TEXT = N | C,
    RANGED = M | W,
    ANY = N | C | M | W
};

static const struct practice_template practice_templates[] = {
    /* one table: list, select, count */
    { .a = ANY,
      .questions = { "What is the {a} of each {t}?", "List the {a} of all {ts}.", "Show me every {t} by {a}." },
      .sql = "SELECT {a} FROM {t}{+t}" },
    { .a = ANY,
      .b = ANY,
      .questions = { "Show the {a} and {b} of every {t}.", "What are the {a} and the {b} of each {t}?",
                     "For all {ts} list {a} and {b}." },
      .sql = "SELECT {a}, {b} FROM {t}{+t}" },
    { .a = ANY,
      .b = N,
      .questions = { "What is the {a} of the {t} with the {b} {vb}?", "Give the {a} of the {t} whose {b} is {vb}.",
                     "Find the {a} of the {t} that has {vb} as its {b}." },
      .sql = "SELECT {a} FROM {t}{+t} WHERE {b} = {vb}" },
    { .a = ANY,
      .b = C,
      .questions = { "What is the {a} of the {ts} with the {b} {vb}?", "Give the {a} of all {ts} whose {b} is {vb}.",
                     "Among {ts} with {b} {vb}, what is the {a} of each?" },
      .sql = "SELECT {a} FROM {t}{+t} WHERE {b} = {vb}" },
    { .a = TEXT,
      .b = M,
      .questions = { "Show the {a} of {ts} with {b} above {vb}.",
                     "Which {ts} have a {b} of more than {vb}? Give the {a}.",
                     "List the {a} of every {t} whose {b} is greater than {vb}." },
      .sql = "SELECT {a} FROM {t}{+t} WHERE {b} > {vb}" },
    { .a = TEXT,
      .b = M,
      .questions = { "Show the {a} of {ts} with {b} below {vb}.",
                     "Which {ts} have a {b} of less than {vb}? Give the {a}.",
                     "List the {a} of every {t} whose {b} is under {vb}." },
      .sql = "SELECT {a} FROM {t}{+t} WHERE {b} < {vb}" },
    { .a = TEXT | M,
      .b = W,
      .questions = { "Show the {a} of {ts} with {b} after {vb}.",
                     "What is the {a} of the {ts} whose {b} is later than {vb}?",
                     "List the {a} of each {t} with {b} later than {vb}." },
      .sql = "SELECT {a} FROM {t}{+t} WHERE {b} > {vb}" },
    { .b = C,
      .questions = { "How many {ts} have the {b} {vb}?", "Count the {ts} whose {b} is {vb}.",
                     "What is the number of {ts} with {b} {vb}?" },
      .sql = "SELECT count(*) FROM {t}{+t} WHERE {b} = {vb}" },
    { .b = M,
      .questions = { "How many {ts} have a {b} of at least {vb}?", "Count the {ts} with {b} {vb} or more.",
                     "What is the number of {ts} whose {b} is {vb} or higher?" },
      .sql = "SELECT count(*) FROM {t}{+t} WHERE {b} >= {vb}" },
    { .b = W,
      .questions = { "How many {ts} have a {b} before {vb}?", "Count the {ts} with {b} earlier than {vb}.",
                     "What is the number of {ts} whose {b} is before {vb}?" },
      .sql = "SELECT count(*) FROM {t}{+t} WHERE {b} < {vb}" },
    { .questions = { "How many {ts} are there?", "Count all {ts}.", "What is the total number of {ts}?" },
      .sql = "SELECT count(*) FROM {t}{+t}" },
    /* order and extremes */
    { .a = TEXT,
      .b = M,
      .questions = { "What is the {a} of the {t} with the highest {b}?", "Which {t} has the largest {b}? Give its {a}.",
                     "Tell the {a} of the {t} whose {b} is the greatest." },
      .sql = "SELECT {a} FROM {t}{+t} ORDER BY {b} DESC LIMIT 1" },
    { .a = TEXT,
      .b = M,
      .questions = { "What is the {a} of the {t} with the lowest {b}?", "Which {t} has the smallest {b}? Give its {a}.",
                     "Tell the {a} of the {t} whose {b} is the least." },
      .sql = "SELECT {a} FROM {t}{+t} ORDER BY {b} LIMIT 1" },
    { .a = ANY,
      .b = W,
      .questions = { "What is the {a} of the {t} with the latest {b}?",
                     "Which {t} has the most recent {b}? Give its {a}.",
                     "Tell the {a} of the {t} whose {b} comes last." },
      .sql = "SELECT {a} FROM {t}{+t} ORDER BY {b} DESC LIMIT 1" },
    { .a = ANY,
      .b = RANGED,
      .questions = { "List the {a} of all {ts} sorted by {b}.", "Order the {ts} by {b} and show the {a} of each.",
                     "Show the {a} of each {t} in ascending order of {b}." },
      .sql = "SELECT {a} FROM {t}{+t} ORDER BY {b}" },
    { .a = TEXT,
      .b = M,
      .questions = { "Tell the {a} of the three {ts} with the highest {b}.",
                     "What is the {a} of the top three {ts} by {b}?", "Which three {ts} lead in {b}? Show the {a}." },
      .sql = "SELECT {a} FROM {t}{+t} ORDER BY {b} DESC LIMIT 3" },
    { .a = TEXT,
      .b = M,
      .questions = { "Show the {a} of {ts} whose {b} is above the average.",
                     "Which {ts} have more than the average {b}? Give the {a}.",
                     "List the {a} of each {t} that exceeds the mean {b}." },
      .sql = "SELECT {a} FROM {t}{+t} WHERE {b} > (SELECT avg({b}) FROM {t}{+t})" },
    /* aggregates */
    { .b = M,
      .questions = { "What is the average {b} of all {ts}?", "Give the mean {b} of the {ts}.",
                     "How high is the {b} of {ts} on average?" },
      .sql = "SELECT {avg:b} FROM {t}{+t}" },
    { .b = M,
      .questions = { "What is the highest {b} of any {t}?", "Give the maximum {b} among the {ts}.",
                     "How large is the top {b} of all {ts}?" },
      .sql = "SELECT {max:b} FROM {t}{+t}" },
    { .b = M,
      .questions = { "What is the lowest {b} of any {t}?", "Give the minimum {b} among the {ts}.",
                     "How small is the least {b} of all {ts}?" },
      .sql = "SELECT {min:b} FROM {t}{+t}" },
    { .b = M,
      .questions = { "What is the total {b} of all {ts}?", "Add up the {b} of the {ts}.",
                     "What is the sum of the {b} over all {ts}?" },
      .sql = "SELECT {total:b} FROM {t}{+t}" },
    { .a = C,
      .b = M,
      .questions = { "What is the average {b} of {ts} for each {a}?", "For each {a}, give the mean {b} of its {ts}.",
                     "Show every {a} with the average {b} of the {ts} there." },
      .sql = "SELECT {a}, {avg:b} FROM {t}{+t}[ GROUP BY {a}]" },
    { .a = C,
      .b = M,
      .questions = { "What is the highest {b} of {ts} for each {a}?", "For each {a}, give the maximum {b} of its {ts}.",
                     "Show every {a} with the top {b} of the {ts} there." },
      .sql = "SELECT {a}, {max:b} FROM {t}{+t}[ GROUP BY {a}]" },
    { .a = C,
      .b = M,
      .questions = { "What is the total {b} of {ts} for each {a}?", "For each {a}, add up the {b} of its {ts}.",
                     "Show every {a} with the sum of the {b} of the {ts} there." },
      .sql = "SELECT {a}, {total:b} FROM {t}{+t}[ GROUP BY {a}]" },
    /* groups */
    { .a = C,
      .questions = { "How many {ts} are there for each {a}?", "Count the {ts} by {a}.",
                     "For each {a}, what is the number of {ts}?" },
      .sql = "SELECT {a}, count(*) FROM {t}{+t} GROUP BY {a}" },
    { .a = C,
      .questions = { "Which {a} has more than two {ts}?", "Show each {a} that is shared by at least three {ts}.",
                     "Find every {a} with over two {ts}." },
      .sql = "SELECT {a} FROM {t}{+t} GROUP BY {a} HAVING count(*) > 2" },
    { .a = C,
      .questions = { "Which {a} is the most common among the {ts}?", "Give the {a} that most {ts} have.",
                     "What is the most frequent {a} of {ts}?" },
      .sql = "SELECT {a} FROM {t}{+t} GROUP BY {a} ORDER BY count(*) DESC LIMIT 1" },
    { .a = TEXT,
      .questions = { "How many different {a} entries do the {ts} have?", "Count the distinct {a} values of {ts}.",
                     "What is the number of distinct {a} entries among the {ts}?" },
      .sql = "SELECT count(DISTINCT {a}) FROM {t}{+t}" },
    { .a = C,
      .questions = { "What are the different {a} entries of the {ts}?", "List each distinct {a} of the {ts}.",
                     "Show every {a} that occurs among the {ts} once." },
      .sql = "SELECT DISTINCT {a} FROM {t}{+t}" },
    /* two tables */
    { .a = ANY,
      .x = ANY,
      .questions = { "For each {t}, show its {a} and the {x} of its {u}.",
                     "List the {a} of every {t} with the {x} of the {u}.",
                     "Show the {a} of all {ts} together with the {x} of their {u}." },
      .sql = "SELECT {a}, {x} FROM {t} JOIN {u} ON {f} = {k}{+t}{+u}" },
    { .a = ANY,
      .x = TEXT,
      .questions = { "Show the {a} of {ts} whose {u} has the {x} {vx}.",
                     "What is the {a} of each {t} of the {u} with {x} {vx}?",
                     "List the {a} of all {ts} that belong to the {u} with the {x} {vx}." },
      .sql = "SELECT {a} FROM {t} JOIN {u} ON {f} = {k}{+t}{+u} WHERE {x} = {vx}" },
    { .x = TEXT,
      .questions = { "How many {ts} does each {u} have? Give the {x} of the {u} too.",
                     "Show the {x} of every {u} with its number of {ts}.",
                     "Count the {ts} of each {u} and name the {x} of the {u}." },
      .sql = "SELECT {x}, count(*) FROM {t} JOIN {u} ON {f} = {k}{+t}{+u} GROUP BY {k}" },
    { .x = ANY,
      .questions = { "Show the {x} of {us} without any {ts}.", "What is the {x} of each {u} that has no {t}?",
                     "List the {x} of all {us} for which there are no {ts}." },
      .sql = "SELECT {x} FROM {u}{+u} WHERE {k} NOT IN (SELECT {f} FROM {t}{+t})" },
    { .b = M,
      .x = TEXT,
      .questions = { "What is the average {b} of the {ts} of each {u}? Give the {x} of the {u} too.",
                     "For every {u}, show its {x} and the mean {b} of its {ts}.",
                     "List the {x} of each {u} with the average {b} of its {ts}." },
      .sql = "SELECT {x}, avg({b}) FROM {t} JOIN {u} ON {f} = {k}{+t}{+u} GROUP BY {k}" },
    { .b = M,
      .x = TEXT,
      .questions = { "Show the {x} of {us} that have a {t} with {b} above {vb}.",
                     "Which {us} have {ts} whose {b} exceeds {vb}? Give the {x}.",
                     "List the {x} of each {u} with at least one {t} of {b} over {vb}." },
      .sql = "SELECT DISTINCT {x} FROM {t} JOIN {u} ON {f} = {k}{+t}{+u} WHERE {b} > {vb}" },
    { .x = TEXT,
      .questions = { "Which {u} has the most {ts}? Give its {x}.",
                     "What is the {x} of the {u} with the largest number of {ts}?",
                     "Tell the {x} of the {u} that has the most {ts}." },
      .sql = "SELECT {x} FROM {t} JOIN {u} ON {f} = {k}{+t}{+u} GROUP BY {k} ORDER BY count(*) DESC LIMIT 1" },
    { .b = M,
      .x = TEXT,
      .questions = { "What is the total {b} of the {ts} of the {u} with the {x} {vx}?",
                     "Add up the {b} of all {ts} whose {u} has the {x} {vx}.",
                     "How much {b} do the {ts} of the {u} with {x} {vx} have together?" },
      .sql = "SELECT sum({b}) FROM {t} JOIN {u} ON {f} = {k}{+t}{+u} WHERE {x} = {vx}" },
};

static const int practice_n_templates = ARRAY_LEN(practice_templates);

/* Draws a column of table t with one of the roles, other than `except`. -1 if there is none or none is needed. */
static int draw_column(const struct practice_table *t, unsigned roles, int except, struct rng *rng)
{
    int chosen = -1;
    uint32_t seen = 0;

    for (int i = 0; i < practice_n_columns(t); i++)
        if ((t->columns[i].role & roles) && i != except && rng_below(rng, ++seen) == 0)
            chosen = i;
    return chosen;
}

static void draw_value(char *out, size_t size, const struct practice_table *t, int column, struct rng *rng)
{
    if (column >= 0)
        practice_value(out, size, &t->columns[column], (int)rng_below(rng, 64));
}

/* Draws a template and elements. Returns false if they do not fit. */
static bool practice_draw(struct practice_query *q, const struct practice_domain *d, struct rng *rng)
{
    const struct practice_template *of = &practice_templates[rng_below(rng, (uint32_t)practice_n_templates)];

    *q = (struct practice_query){ .domain = d, .of = of, .u = -1, .link = -1, .x = -1 };
    q->wording = (int)rng_below(rng, PRACTICE_WORDINGS);
    q->t = (int)rng_below(rng, (uint32_t)practice_n_tables(d));
    const struct practice_table *t = &d->tables[q->t];
    q->a = draw_column(t, of->a, -1, rng);
    q->b = draw_column(t, of->b, q->a, rng);
    if ((of->a && q->a < 0) || (of->b && q->b < 0))
        return false;
    draw_value(q->value_b, sizeof q->value_b, t, q->b, rng);
    if (!of->x)
        return true;
    q->link = draw_column(t, PRACTICE_LINK, -1, rng);
    if (q->link < 0)
        return false;
    q->u = practice_table_find(d, t->columns[q->link].table);
    q->x = draw_column(&d->tables[q->u], of->x, -1, rng);
    draw_value(q->value_x, sizeof q->value_x, &d->tables[q->u], q->x, rng);
    return q->x >= 0;
}

/* Returns true if the question uses the element and would be ambiguous if the element were duplicated. */
static bool practice_asks(const struct practice_query *q, enum sia_type type, int table, int column)
{
    switch (type) {
    case SIA_TABLE:
        return table == q->t || table == q->u;
    case SIA_AGGREGATE:
        return table == q->t && column == q->b && strstr(q->of->sql, ":b}");
    default:
        return (table == q->t && (column == q->a || column == q->b)) || (table == q->u && column == q->x);
    }
}

/* Filling of templates. */

struct template_filler {
    FILE *f;
    const struct practice_query *q;
    const struct practice_interpretation *r; /* NULL in a question */
    char word[16];                           /* the placeholder's text */
};

static bool is(const struct template_filler *w, const char *word)
{
    return strcmp(w->word, word) == 0;
}

static const struct practice_table *table_of(const struct template_filler *w, char letter)
{
    return &w->q->domain->tables[letter == 'u' ? w->q->u : w->q->t];
}

/* Returns the column of a placeholder. */
static const struct practice_column *column_of(const struct template_filler *w, char letter)
{
    const struct practice_query *q = w->q;

    switch (letter) {
    case 'a':
        return &table_of(w, 't')->columns[q->a];
    case 'b':
        return &table_of(w, 't')->columns[q->b];
    case 'f':
        return &table_of(w, 't')->columns[q->link];
    case 'x':
        return &table_of(w, 'u')->columns[q->x];
    default:
        CHECK(letter == 'k', "no column {%c}", letter);
        return &table_of(w, 'u')->columns[0];
    }
}

/* Writes a name with blanks for underscores. */
static void put_words(FILE *f, const char *name)
{
    for (; *name; name++)
        putc(*name == '_' ? ' ' : *name, f);
}

static void put_question_word(struct template_filler *w)
{
    if (is(w, "t") || is(w, "u"))
        put_words(w->f, table_of(w, w->word[0])->name);
    else if (is(w, "ts") || is(w, "us"))
        fputs(table_of(w, w->word[0])->plural, w->f);
    else if (is(w, "vb") || is(w, "vx"))
        fputs(is(w, "vb") ? w->q->value_b : w->q->value_x, w->f);
    else
        put_words(w->f, column_of(w, w->word[0])->name);
}

/* Returns true if the duplicated element belongs to the placeholder's table. */
static bool altered_here(const struct template_filler *w, char letter)
{
    return w->r->which >= 0 && w->r->table == (letter == 'u' ? w->q->u : w->q->t);
}

static bool reads_new_table(const struct template_filler *w, enum sia_type type, char letter)
{
    return altered_here(w, letter) && w->r->type == type && w->r->which == 1;
}

static const struct practice_column *altered_column(const struct template_filler *w)
{
    return &w->q->domain->tables[w->r->table].columns[w->r->column];
}

/* Columns are qualified if FROM has several tables. */
static bool qualified(const struct template_filler *w)
{
    return w->q->u >= 0 || reads_new_table(w, SIA_JOIN, 't');
}

static const char *alias_of(char table)
{
    return table == 'u' ? "T2" : "T1";
}

static void put_source(struct template_filler *w, char letter)
{
    const struct practice_table *t = table_of(w, letter);

    if (reads_new_table(w, SIA_AGGREGATE, letter)) {
        fprintf(w->f, "%s_%s", t->name, altered_column(w)->name);
        return;
    }
    fputs(altered_here(w, letter) && w->r->type == SIA_TABLE ? t->synonyms[w->r->which] : t->name, w->f);
    if (qualified(w))
        fprintf(w->f, " AS %s", alias_of(letter));
}

/* Writes the join with the split-off table. */
static void put_joined(struct template_filler *w, char letter)
{
    const struct practice_table *t = table_of(w, letter);
    const char *key = t->columns[0].name;

    if (reads_new_table(w, SIA_JOIN, letter))
        fprintf(w->f, " JOIN %s_%s AS T3 ON %s.%s = T3.%s", t->name, altered_column(w)->name, alias_of(letter), key,
                key);
}

static void put_column(struct template_filler *w, char letter)
{
    const struct practice_column *c = column_of(w, letter);
    char table = letter == 'x' || letter == 'k' ? 'u' : 't';
    bool doubled = altered_here(w, table) && w->r->column >= 0 && c == altered_column(w);

    if (qualified(w))
        fprintf(w->f, "%s.", doubled && reads_new_table(w, SIA_JOIN, table) ? "T3" : alias_of(table));
    fputs(doubled && w->r->type == SIA_COLUMN ? c->synonyms[w->r->which] : c->name, w->f);
}

/* Writes an aggregate such as "max:b". */
static void put_aggregate(struct template_filler *w, size_t length)
{
    bool stored = reads_new_table(w, SIA_AGGREGATE, 't'), total = strncmp(w->word, "total", length) == 0;

    fprintf(w->f, "%.*s%s", (int)length, total && !stored ? "sum" : w->word, stored ? "_" : "(");
    put_column(w, w->word[length + 1]);
    if (!stored)
        putc(')', w->f);
}

static void put_literal(struct template_filler *w, const char *value)
{
    CHECK(!strchr(value, '\''), "a quote in %s", value);
    fprintf(w->f, practice_is_number(value) ? "%s" : "'%s'", value);
}

static void put_sql_word(struct template_filler *w)
{
    size_t colon = strcspn(w->word, ":");

    if (is(w, "t") || is(w, "u"))
        put_source(w, w->word[0]);
    else if (w->word[0] == '+')
        put_joined(w, w->word[1]);
    else if (w->word[0] == 'v')
        put_literal(w, is(w, "vb") ? w->q->value_b : w->q->value_x);
    else if (w->word[colon])
        put_aggregate(w, colon);
    else
        put_column(w, w->word[0]);
}

/* Returns the template with its placeholders filled. The caller frees it. */
static char *fill(struct template_filler *w, const char *from, void (*put)(struct template_filler *))
{
    char *text = NULL;
    size_t size;

    w->f = open_memstream(&text, &size);
    CHECK(w->f, "cannot write to memory");
    for (; *from; from++) {
        if (*from == '[' && reads_new_table(w, SIA_AGGREGATE, 't')) {
            from = strchr(from, ']');
        } else if (*from == '{') {
            size_t n = strcspn(++from, "}");
            CHECK(n < sizeof w->word, "unknown word {%s", from);
            snprintf(w->word, sizeof w->word, "%.*s", (int)n, from);
            put(w);
            from += n;
        } else if (!strchr("[]", *from)) {
            putc(*from, w->f);
        }
    }
    CHECK(fclose(w->f) == 0, "cannot write to memory");
    return text;
}

/* The caller frees the question and the SQL. */
static char *practice_question(const struct practice_query *q)
{
    struct template_filler w = { .q = q };
    return fill(&w, q->of->questions[q->wording], put_question_word);
}

static char *practice_sql(const struct practice_query *q, const struct practice_interpretation *r)
{
    struct template_filler w = { .q = q, .r = r };
    return fill(&w, q->of->sql, put_sql_word);
}

enum {
    DRAWS = 2000,  /* attempts to find a question about one element */
    QUESTIONS = 90 /* unambiguous questions of one domain, including rejected ones */
};

/* questions about one element of each type: tables are few and aggregates fewer */
static const int questions_of[AMBIQT_TYPES] = {
    [SIA_COLUMN] = 2, [SIA_TABLE] = 5, [SIA_JOIN] = 1, [SIA_AGGREGATE] = 3
};

static enum column_type type_of(enum practice_role role)
{
    if (role & (PRACTICE_NAME | PRACTICE_CLASS))
        return COLUMN_TEXT;
    return role == PRACTICE_TIME ? COLUMN_TIME : COLUMN_NUMBER;
}

/* Builds the domain's schema. */
static void make_schema(struct schema *out, const struct practice_domain *d, const char *db_id)
{
    int n = practice_n_tables(d), at[PRACTICE_TABLES][PRACTICE_COLUMNS];
    struct schema_build b;

    schema_build_init(&b, db_id);
    for (int t = 0; t < n; t++) {
        int table = schema_build_table(&b, d->tables[t].name, NULL);
        for (int i = 0; i < practice_n_columns(&d->tables[t]); i++) {
            const struct practice_column *c = &d->tables[t].columns[i];
            at[t][i] = schema_build_column(&b, table, c->name, NULL, type_of(c->role));
        }
        schema_build_primary(&b, at[t][0]);
    }
    for (int t = 0; t < n; t++)
        for (int i = 0; i < practice_n_columns(&d->tables[t]); i++)
            if (d->tables[t].columns[i].role == PRACTICE_LINK)
                schema_build_foreign_key(&b, at[t][i], at[practice_table_find(d, d->tables[t].columns[i].table)][0]);
    schema_build_finish(&b, out);
}

struct practice_corpus {
    struct contrast_corpora in;
    struct strings asked; /* types and questions so far */
    struct rng rng;
};

static const char *keep(struct strings *text, char *s)
{
    const char *kept = strings_keep(text, s);
    free(s);
    return kept;
}

static void name_alternatives(struct ambiqt_record *r, struct strings *text, const struct practice_table *t, int column)
{
    static const char *const aggregates[] = { "max", "min", "avg", "total" };

    r->table = t->name;
    if (!ambiguity_types[r->type].new_table) {
        for (int i = 0; i < 2; i++)
            r->names[i] = r->type == SIA_TABLE ? t->synonyms[i] : t->columns[column].synonyms[i];
    } else {
        r->key = t->columns[0].name;
        r->new_table = strings_printf(text, "%s_%s", t->name, t->columns[column].name);
    }
    if (r->type != SIA_TABLE)
        r->column = t->columns[column].name;
    for (int i = 0; i < ARRAY_LEN(aggregates) && r->type == SIA_AGGREGATE; i++)
        r->new_columns[r->n_new_columns++] = strings_printf(text, "%s_%s", aggregates[i], r->column);
}

static void add_record(struct practice_corpus *m, const struct practice_query *q,
                       struct practice_interpretation element)
{
    struct ambiqt_corpus *c = &m->in.ambiqt;
    struct ambiqt_record r = { .type = element.type, .db_id = q->domain->name };

    r.question = keep(&c->text, practice_question(q));
    if (strings_find(&m->asked, strings_printf(&c->text, "%d %s", (int)r.type, r.question)) >= 0)
        return;
    strings_printf(&m->asked, "%d %s", (int)r.type, r.question);
    element.which = -1;
    r.original = keep(&c->text, practice_sql(q, &element));
    for (element.which = 0; element.which < 2; element.which++)
        r.interpretations[element.which] = keep(&c->text, practice_sql(q, &element));
    name_alternatives(&r, &c->text, &q->domain->tables[element.table], element.column);
    GROW(c->items, c->n, c->cap);
    c->items[c->n++] = r;
}

static void ask(struct practice_corpus *m, const struct practice_domain *d, struct practice_interpretation element)
{
    struct practice_query q;
    int wanted = questions_of[element.type];

    for (int i = 0; i < DRAWS && wanted > 0; i++)
        if (practice_draw(&q, d, &m->rng) && practice_asks(&q, element.type, element.table, element.column)) {
            add_record(m, &q, element);
            wanted--;
        }
}

static void ask_column(struct practice_corpus *m, const struct practice_domain *d, int table, int column)
{
    enum practice_role role = d->tables[table].columns[column].role;

    if (role == PRACTICE_KEY || role == PRACTICE_LINK)
        return;
    ask(m, d, (struct practice_interpretation){ SIA_COLUMN, table, column, -1 });
    ask(m, d, (struct practice_interpretation){ SIA_JOIN, table, column, -1 });
    if (role == PRACTICE_NUMBER)
        ask(m, d, (struct practice_interpretation){ SIA_AGGREGATE, table, column, -1 });
}

static int ask_domain(struct practice_corpus *m, const struct practice_domain *d, struct error *err)
{
    struct schema s;

    make_schema(&s, d, d->name);
    for (int t = 0; t < practice_n_tables(d); t++) {
        ask(m, d, (struct practice_interpretation){ SIA_TABLE, t, -1, -1 });
        for (int i = 0; i < practice_n_columns(&d->tables[t]); i++)
            ask_column(m, d, t, i);
    }
    return schema_set_add(&m->in.schemas, &s, err);
}

int practice_build(struct dataset *out, uint64_t seed, struct error *err)
{
    const struct contrast_options options = { .seed = seed, .test_share = 0.2, .valid_share = 0.1 };
    struct practice_corpus m = { .rng = { .seed = seed } };
    const struct practice_domain *d;
    int rc = 0;

    *out = (struct dataset){ 0 };
    for (int i = 0; (d = practice_domain(i)) && rc == 0; i++)
        rc = ask_domain(&m, d, err);
    if (rc == 0)
        rc = contrast_build_from(out, &options, &m.in, err);
    strings_release(&m.asked);
    contrast_corpora_release(&m.in);
    return rc;
}

/* Adds the distinct questions of one domain. */
static void add_questions(json_t *list, struct strings *asked, const struct practice_domain *d, const char *db_id,
                          struct rng *rng)
{
    const struct practice_interpretation plain = { .which = -1 };
    struct practice_query q;

    for (int i = 0; i < QUESTIONS; i++) {
        if (!practice_draw(&q, d, rng))
            continue;
        char *question = practice_question(&q), *sql = practice_sql(&q, &plain);
        int before = asked->n;
        if (strings_add(asked, question) == before)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:s}", "db_id", db_id, "question", question, "query", sql));
        free(question);
        free(sql);
    }
}

static json_t *domain_to_json(const struct practice_domain *d, const char *db_id)
{
    struct schema s;

    make_schema(&s, d, db_id);
    json_t *v = schema_to_json(&s);
    schema_release(&s);
    return v;
}

static int write_both(const char *dir, json_t *const lists[2], bool force, struct error *err)
{
    static const char *const names[] = { "tables.json", "train_spider.json" };
    struct out_file files[2] = { 0 };
    int rc = make_dirs(dir, err);

    for (int i = 0; i < 2 && rc == 0; i++) {
        char *path = NULL;
        CHECK(asprintf(&path, "%s/%s", dir, names[i]) >= 0, "cannot format a path in %s", dir);
        rc = out_file_open(&files[i], path, err);
        free(path);
        if (rc == 0)
            rc = json_write_line(&files[i], lists[i], err);
    }
    if (rc == 0)
        rc = out_files_commit(files, 2, force, err);
    for (int i = 0; i < 2; i++)
        out_file_abort(&files[i]);
    return rc;
}

int practice_write_questions(const char *dir, const char *prefix, uint64_t seed, bool force, struct error *err)
{
    json_t *lists[2] = { json_array(), json_array() };
    struct rng rng = { .seed = seed };
    struct strings asked = { 0 };
    const struct practice_domain *d;

    for (int i = 0; (d = practice_domain(i)); i++) {
        char *db_id = NULL;
        CHECK(asprintf(&db_id, "%s%s", prefix, d->name) >= 0, "cannot format a name");
        json_array_append_new(lists[0], domain_to_json(d, db_id));
        add_questions(lists[1], &asked, d, db_id, &rng);
        free(db_id);
    }
    int rc = write_both(dir, lists, force, err);
    strings_release(&asked);
    json_decref(lists[0]);
    json_decref(lists[1]);
    return rc;
}

/* SQLite files of the domains. */

enum { ROWS = 12 }; /* of a table without a name column */

static int n_rows(const struct practice_table *t)
{
    for (int i = 0; i < practice_n_columns(t); i++)
        if (t->columns[i].role == PRACTICE_NAME)
            return practice_n_values(&t->columns[i]);
    return ROWS;
}

static const char *declared_type(const struct practice_column *c)
{
    switch (c->role) {
    case PRACTICE_KEY:
        return "INTEGER PRIMARY KEY";
    case PRACTICE_LINK:
        return "INTEGER";
    case PRACTICE_NUMBER:
        return "NUMERIC";
    case PRACTICE_TIME:
        return "DATE";
    default:
        return "TEXT";
    }
}

static void put_table(FILE *f, const struct practice_domain *d, const struct practice_table *t)
{
    fprintf(f, "CREATE TABLE \"%s\" (", t->name);
    for (int i = 0; i < practice_n_columns(t); i++) {
        const struct practice_column *c = &t->columns[i];
        fprintf(f, "%s\"%s\" %s", i ? ", " : "", c->name, declared_type(c));
        if (c->role == PRACTICE_LINK)
            fprintf(f, " REFERENCES \"%s\"(\"%s\")", c->table,
                    d->tables[practice_table_find(d, c->table)].columns[0].name);
    }
    fputs(");\n", f);
}

static void put_cell(FILE *f, const struct practice_domain *d, const struct practice_column *c, int row)
{
    char value[64];

    if (c->role == PRACTICE_KEY) {
        fprintf(f, "%d", row + 1);
    } else if (c->role == PRACTICE_LINK) {
        /* out of step with the other columns, and some rows have no partner */
        fprintf(f, "%d", 1 + row * row % n_rows(&d->tables[practice_table_find(d, c->table)]));
    } else {
        practice_value(value, sizeof value, c, row);
        fprintf(f, c->role != PRACTICE_NAME && practice_is_number(value) ? "%s" : "'%s'", value);
    }
}

static void put_rows(FILE *f, const struct practice_domain *d, const struct practice_table *t)
{
    for (int row = 0; row < n_rows(t); row++) {
        fprintf(f, "INSERT INTO \"%s\" VALUES (", t->name);
        for (int i = 0; i < practice_n_columns(t); i++) {
            fputs(i ? ", " : "", f);
            put_cell(f, d, &t->columns[i], row);
        }
        fputs(");\n", f);
    }
}

/* Returns the statements that create the database. The caller frees them. */
static char *script_of(const struct practice_domain *d)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    fputs("BEGIN;\n", f);
    for (int t = 0; t < practice_n_tables(d); t++)
        put_table(f, d, &d->tables[t]);
    for (int t = 0; t < practice_n_tables(d); t++)
        put_rows(f, d, &d->tables[t]);
    fputs("COMMIT;\n", f);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return text;
}

/* Builds the database in memory, so that the file appears at once. */
static int write_database(const struct practice_domain *d, const char *path, bool force, struct error *err)
{
    struct out_file o = { 0 };
    sqlite3_int64 size = 0;
    sqlite3 *db = NULL;
    char *script = script_of(d);

    int rc = sqlite3_open(":memory:", &db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, script, NULL, NULL, NULL);
    CHECK(rc == SQLITE_OK || rc == SQLITE_NOMEM, "domain %s: %s", d->name, sqlite3_errmsg(db));
    unsigned char *bytes = rc == SQLITE_OK ? sqlite3_serialize(db, "main", &size, 0) : NULL;
    if (!bytes)
        rc = error_set(err, EXIT_CODE_MEMORY, "no memory for the database %s", d->name);
    else if ((rc = out_file_open(&o, path, err)) == 0) {
        fwrite(bytes, 1, (size_t)size, o.f);
        rc = out_files_commit(&o, 1, force, err);
    }
    out_file_abort(&o);
    sqlite3_free(bytes);
    sqlite3_close(db);
    free(script);
    return rc;
}

int practice_write_databases(const char *dir, const char *prefix, bool force, struct error *err)
{
    const struct practice_domain *d;
    char *folder = NULL;

    CHECK(asprintf(&folder, "%s/db", dir) >= 0, "cannot format a path in %s", dir);
    int rc = make_dirs(folder, err);
    for (int i = 0; (d = practice_domain(i)) && rc == 0; i++) {
        char *path = NULL;
        CHECK(asprintf(&path, "%s/%s%s.sqlite", folder, prefix, d->name) >= 0, "cannot format a path in %s", dir);
        rc = write_database(d, path, force, err);
        free(path);
    }
    free(folder);
    return rc;
}
