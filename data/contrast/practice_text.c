/* Part of practice_query.h: templates filled in, the words of a question, the SQL of a reading. */
#include "data/contrast/practice_query_impl.h"

#include "kernels/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct template_filler {
    FILE *f;
    const struct practice_query *q;
    const struct practice_reading *r; /* NULL in a question */
    char word[16];                    /* what the braces hold */
};

static bool is(const struct template_filler *w, const char *word)
{
    return strcmp(w->word, word) == 0;
}

static const struct practice_table *table_of(const struct template_filler *w, char letter)
{
    return &w->q->domain->tables[letter == 'u' ? w->q->u : w->q->t];
}

/* The column that the letter stands for. */
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

/* A name's words. */
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

/* The element that is doubled stands in the table that the letter stands for. */
static bool altered_here(const struct template_filler *w, char letter)
{
    return w->r->which >= 0 && w->r->table == (letter == 'u' ? w->q->u : w->q->t);
}

static bool reads_new_table(const struct template_filler *w, enum sia_kind kind, char letter)
{
    return altered_here(w, letter) && w->r->kind == kind && w->r->which == 1;
}

static const struct practice_column *altered_column(const struct template_filler *w)
{
    return &w->q->domain->tables[w->r->table].columns[w->r->column];
}

/* Columns need their table named when the FROM clause has several. */
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
    fputs(altered_here(w, letter) && w->r->kind == SIA_TABLE ? t->synonyms[w->r->which] : t->name, w->f);
    if (qualified(w))
        fprintf(w->f, " AS %s", alias_of(letter));
}

/* What is joined to a source because its column stands in the split-off table. */
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
    fputs(doubled && w->r->kind == SIA_COLUMN ? c->synonyms[w->r->which] : c->name, w->f);
}

/* "max:b" */
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

/* Copies the template, filling in what stands in braces. */
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

char *practice_question(const struct practice_query *q)
{
    struct template_filler w = { .q = q };
    return fill(&w, q->of->questions[q->wording], put_question_word);
}

char *practice_sql(const struct practice_query *q, const struct practice_reading *r)
{
    struct template_filler w = { .q = q, .r = r };
    return fill(&w, q->of->sql, put_sql_word);
}
