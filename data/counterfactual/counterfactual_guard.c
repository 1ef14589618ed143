/* Part of counterfactual.h: the guards, that an edit makes of a question what its label says. */
#include "data/counterfactual/counterfactual_impl.h"

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

/* Whether people said that the two names mean the same. */
static bool are_synonyms(const struct counterfactual *c, const char *a, const char *b)
{
    for (int i = 0; i < c->synonyms.n; i++) {
        const char *pair = c->synonyms.items[i], *second = strchr(pair, '\x1f') + 1;
        size_t n = (size_t)(second - pair) - 1;
        for (int k = 0; k < 2; k++) {
            const char *x = k ? b : a, *y = k ? a : b;
            if (strlen(x) == n && strncasecmp(x, pair, n) == 0 && strcasecmp(y, second) == 0)
                return true;
        }
    }
    return false;
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

    if (!q->used[column] || q->unlocated[column] || !asked_mention(t, q, column, &start, &end))
        return false;
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].column == column)
            return false;
    copy_span(said, sizeof said, q->text, start, end);
    for (int i = 0; i < t->n_columns; i++)
        if (i != column && is_like(c, &t->columns[i], &t->columns[column], said))
            return false;
    return true;
}

bool counterfactual_unrelated(const struct counterfactual *c, const struct asked_question *q, int column)
{
    struct spoken question, name;

    spoken_read(&question, q->text);
    spoken_read(&name, c->tables[q->table].columns[column].name);
    return !q->used[column] && !spoken_share(&question, &name);
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
