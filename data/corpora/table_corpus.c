#include "data/corpora/table_corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct corpus_table *table_corpus_add_table(struct table_corpus *c, const char *id, int n, const char *where,
                                            struct error *err)
{
    int before = c->ids.n;

    if (n < 1 || n > CORPUS_COLUMNS) {
        error_set(err, EXIT_CODE_DATA, "%s: table %s: expected 1 to %d columns, got %d", where, id, CORPUS_COLUMNS, n);
        return NULL;
    }
    if (strings_add(&c->ids, id) < before) {
        error_set(err, EXIT_CODE_DATA, "%s: expected each table once, got %s twice", where, id);
        return NULL;
    }
    GROW(c->tables, c->n_tables, c->tables_cap);
    struct corpus_table *t = &c->tables[c->n_tables++];
    *t = (struct corpus_table){ c->ids.items[before], xcalloc((size_t)n, sizeof *t->columns), n };
    return t;
}

struct corpus_question *table_corpus_add_question(struct table_corpus *c, const char *text, int table)
{
    GROW(c->questions, c->n_questions, c->questions_cap);
    struct corpus_question *q = &c->questions[c->n_questions++];
    *q = (struct corpus_question){ .text = strings_keep(&c->text, text), .table = table };
    return q;
}

void corpus_column_name(struct table_corpus *c, struct corpus_column *column, const char *name)
{
    char *copy = xstrdup(name);

    for (char *p = copy; *p; p++)
        *p = *p == '\n' || *p == '\r' || *p == '\t' ? ' ' : *p;
    column->name = strings_keep(&c->text, copy);
    free(copy);
}

const char *table_corpus_text(struct table_corpus *c, const json_t *value)
{
    if (json_is_string(value))
        return strings_keep(&c->text, json_string_value(value));
    if (json_is_integer(value))
        return strings_printf(&c->text, "%lld", (long long)json_integer_value(value));
    if (!json_is_real(value))
        return NULL;
    double x = json_real_value(value);
    return strings_printf(&c->text, x == floor(x) && fabs(x) < 1e15 ? "%.0f" : "%.12g", x);
}

void corpus_column_add(struct table_corpus *c, struct corpus_column *column, const json_t *cell)
{
    if (column->n_values == CORPUS_VALUES || (json_is_string(cell) && !json_string_length(cell)))
        return;
    const char *text = table_corpus_text(c, cell);
    for (int i = 0; i < column->n_values && text; i++)
        if (column->values[i] == text) /* the pool has each text once */
            return;
    if (!text)
        return;
    GROW(column->values, column->n_values, column->cap);
    column->values[column->n_values++] = text;
}

void corpus_question_use(struct corpus_question *q, int column, const char *value)
{
    GROW(q->uses, q->n_uses, q->cap);
    q->uses[q->n_uses++] = (struct corpus_use){ column, value };
}

void table_corpus_release(struct table_corpus *c)
{
    for (int i = 0; i < c->n_tables; i++) {
        for (int k = 0; k < c->tables[i].n_columns; k++)
            free(c->tables[i].columns[k].values);
        free(c->tables[i].columns);
    }
    for (int i = 0; i < c->n_questions; i++)
        free(c->questions[i].uses);
    free(c->tables);
    free(c->questions);
    strings_release(&c->ids);
    strings_release(&c->text);
    *c = (struct table_corpus){ 0 };
}
