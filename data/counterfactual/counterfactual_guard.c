/* Part of counterfactual.h: the guards, that an edit makes of a question what its label says. */
#include "data/counterfactual/counterfactual_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ALIKE = 0.8;

bool asked_mention(const struct asked_table *t, const struct asked_question *q, int column, int *start, int *end)
{
    struct spoken question, name;
    int first, n;

    spoken_read(&question, q->text);
    spoken_read(&name, t->columns[column].name);
    n = spoken_locate(&question, &name, &first);
    if (n == 0)
        return false;
    *start = question.words[first].start;
    *end = question.words[first + n - 1].end;
    for (int i = 0; i < q->n_values; i++)
        if (*start < q->values[i].end && q->values[i].start < *end)
            return false;
    return true;
}

/* Both names in one text, in lower case; the caller frees it. */
static char *pair_key(const char *a, const char *b)
{
    char *key = NULL;

    CHECK(asprintf(&key, "%s\x1f%s", a, b) >= 0, "cannot join %s and %s", a, b);
    for (char *p = key; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return key;
}

void counterfactual_add_synonym(struct counterfactual *c, const char *a, const char *b)
{
    for (int k = 0; k < 2; k++) {
        char *key = pair_key(k ? b : a, k ? a : b);
        strings_add(&c->synonyms, key);
        free(key);
    }
}

static bool are_synonyms(const struct counterfactual *c, const char *a, const char *b)
{
    char *key = pair_key(a, b);
    bool found = strings_find(&c->synonyms, key) >= 0;

    free(key);
    return found;
}

static bool value_is_like(const struct asked_column *column, const char *text)
{
    for (int i = 0; i < column->n_values; i++)
        if (spoken_ratio(column->values[i], text) >= ALIKE)
            return true;
    return false;
}

/* Whether another column could be meant by what the question says of this one. */
static bool is_like(const struct counterfactual *c, const struct asked_column *other, const struct asked_column *column,
                    const char *said)
{
    struct spoken words, name;

    spoken_read(&words, said);
    spoken_read(&name, other->name);
    return spoken_share(&words, &name) || spoken_ratio(other->name, said) >= ALIKE ||
           spoken_ratio(other->name, column->name) >= ALIKE || are_synonyms(c, column->name, other->name) ||
           value_is_like(other, said);
}

/* Whether a table of the database could be meant by it. */
static bool is_like_table(const struct asked_column *column, const char *said)
{
    struct spoken words, name;

    if (!column->table)
        return false;
    spoken_read(&words, said);
    spoken_read(&name, column->table);
    const struct spoken_word *a = spoken_head(&words), *b = spoken_head(&name);
    return (a && b && strcmp(a->stem, b->stem) == 0) || spoken_ratio(column->table, said) >= ALIKE;
}

/* The question's words from start to end in said. */
static void copy_span(char *said, size_t size, const char *question, int start, int end)
{
    size_t n = 0;

    for (int letters = -1; *question; question++) {
        letters += ((unsigned char)*question & 0xc0) != 0x80;
        if (letters >= start && letters < end && n + 1 < size)
            said[n++] = *question;
    }
    said[n] = 0;
}

bool counterfactual_may_edit(const struct counterfactual *c, const struct asked_question *q, int column)
{
    const struct asked_table *t = &c->tables[q->table];
    char said[256];
    int start, end;

    if (!q->used[column] || q->joined[column] || q->unlocated[column] || !asked_mention(t, q, column, &start, &end))
        return false;
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].column == column)
            return false;
    copy_span(said, sizeof said, q->text, start, end);
    for (int i = 0; i < t->n_columns; i++)
        if ((i != column && is_like(c, &t->columns[i], &t->columns[column], said)) ||
            is_like_table(&t->columns[i], said))
            return false;
    return true;
}

bool counterfactual_unrelated(const struct counterfactual *c, const struct asked_question *q, int column)
{
    struct spoken question, name;

    spoken_read(&question, q->text);
    spoken_read(&name, c->tables[q->table].columns[column].name);
    return !q->used[column] && !q->joined[column] && !spoken_share(&question, &name);
}

bool counterfactual_may_edit_value(const struct counterfactual *c, const struct asked_question *q, int value)
{
    const struct asked_table *t = &c->tables[q->table];
    const struct asked_value *v = &q->values[value];
    struct spoken question, name;

    spoken_read(&question, q->text);
    spoken_read(&name, t->columns[v->column].name);
    if (spoken_share(&question, &name) || t->columns[v->column].type != COLUMN_TEXT)
        return false;
    for (int i = 0; i < t->n_columns; i++) {
        if (i != v->column &&
            (value_is_like(&t->columns[i], v->text) || spoken_ratio(t->columns[i].name, v->text) >= ALIKE))
            return false;
        for (int k = 0; i == v->column && k < t->columns[i].n_values; k++)
            if (strcasecmp(t->columns[i].values[k], v->text) != 0 &&
                spoken_ratio(t->columns[i].values[k], v->text) >= ALIKE)
                return false;
    }
    return true;
}
