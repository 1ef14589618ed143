/* Part of counterfactual.h: two questions about different columns of a table, each the other's control. */
#include "data/counterfactual/counterfactual_edit.h"

#include <stdlib.h>
#include <string.h>

/* Two questions, and what of each is edited: a column, or a value. */
struct asked_pair {
    const struct asked_question *q[2];
    int column[2], value[2];
};

static int fold_of(const struct counterfactual *c, const struct asked_question *q)
{
    return c->fold[c->tables[q->table].group];
}

/* Every value of the questions stands in its column and in no other. */
static bool values_are_single(const struct edited_table *e, const struct asked_question *q)
{
    for (int v = 0; v < q->n_values; v++)
        for (int i = 0, found = 0; i < e->n; i++) {
            for (int k = 0; k < e->columns[i].n_values; k++)
                found += strcasecmp(e->columns[i].values[k], q->values[v].text) == 0;
            if (found > 1 || (i + 1 == e->n && found == 0))
                return false;
        }
    return true;
}

/* All tables with both questions, or nothing where another fold has one of them or a table is not as it should be. */
static bool emit_all(struct counterfactual *c, const struct edited_table *tables, int n, const struct asked_pair *p)
{
    bool apart = true;

    for (int i = 0; i < n; i++)
        apart &= counterfactual_is_apart(c, &tables[i], fold_of(c, p->q[0]));
    for (int i = 0; i < n && apart; i++)
        for (int k = 0; k < 2; k++)
            counterfactual_emit(c, &tables[i], p->q[k]);
    return apart;
}

static bool start_pair(struct edited_table *base, struct counterfactual *c, const struct asked_pair *p)
{
    edited_table_init(base, c, p->q);
    if (values_are_single(base, p->q[0]) && values_are_single(base, p->q[1]))
        return true;
    edited_table_release(base);
    return false;
}

static const char *spoken_column(struct counterfactual *c, const struct asked_question *q, int column)
{
    const struct asked_table *t = &c->tables[q->table];
    struct spoken question, name;
    const char *text = "";
    int first = 0;

    spoken_read(&question, q->text);
    spoken_read(&name, t->columns[column].name);
    int n = spoken_locate(&question, &name, &first);
    struct spoken said = { .n = n };
    memcpy(said.words, question.words + first, (size_t)n * sizeof *said.words);
    for (int i = 0; i < name.n; i++)
        if (spoken_find(&said, name.words[i].stem))
            text = strings_printf(&c->text, "%s%s%.*s", text, *text ? " " : "", name.words[i].to - name.words[i].from,
                                  t->columns[column].name + name.words[i].from);
    return text;
}

/* The three edits of each column: two for it; two for it and one for the other; it is deleted. */
static void edit_columns(struct edited_table *tables, const struct edited_table *base, struct counterfactual *c,
                         const struct asked_pair *p, const char *names[2][2])
{
    static const enum edit_kind edits[] = { EDIT_DOUBLED, EDIT_REPLACED, EDIT_DELETED };
    const struct asked_table *t = &c->tables[p->q[0]->table];

    for (int i = 0; i < ARRAY_LEN(edits); i++)
        for (int k = 0; k < 2; k++, tables++) {
            edited_table_copy(tables, base);
            tables->kind = edits[i];
            edited_table_replace(tables, c, t, p->column[k], names[k], edits[i] == EDIT_DELETED ? 0 : 2);
            if (edits[i] == EDIT_REPLACED)
                edited_table_replace(tables, c, t, p->column[!k], names[!k], 1);
        }
}

static bool pair_columns(struct counterfactual *c, const struct asked_pair *p)
{
    const struct asked_table *t = &c->tables[p->q[0]->table];
    const char *questions[2] = { p->q[0]->text, p->q[1]->text }, *names[2][2];
    struct edited_table *tables = xcalloc(7, sizeof *tables), *base = &tables[6];
    bool done = false;

    for (int k = 0; k < 2; k++)
        if (!counterfactual_names(c, t, p->column[k], spoken_column(c, p->q[k], p->column[k]), questions, names[k]))
            goto out;
    for (int k = 0; k < 2; k++) {
        if (spoken_ratio(names[0][k], names[1][0]) > 0.9 || spoken_ratio(names[0][k], names[1][1]) > 0.9)
            goto out;
    }
    if (!start_pair(base, c, p))
        goto out;
    edit_columns(tables, base, c, p, names);
    bool single = true;
    for (int i = 0; i < 6; i++)
        single &= values_are_single(&tables[i], p->q[0]) && values_are_single(&tables[i], p->q[1]);
    done = single && emit_all(c, tables, 6, p);
    for (int i = 0; i < 7; i++)
        edited_table_release(&tables[i]);
out:
    free(tables);
    return done;
}

/* A column of words that neither question speaks of, drawn; -1 when there is none. */
static int draw_column(struct counterfactual *c, const struct asked_pair *p)
{
    const struct asked_table *t = &c->tables[p->q[0]->table];
    int fit[ASKED_COLUMNS], n = 0;

    for (int i = 0; i < t->n_columns; i++)
        if (t->columns[i].type == COLUMN_TEXT && counterfactual_unrelated(c, p->q[0], i) &&
            counterfactual_unrelated(c, p->q[1], i))
            fit[n++] = i;
    return n ? fit[rng_below(&c->rng, (uint32_t)n)] : -1;
}

static bool pair_values(struct counterfactual *c, const struct asked_pair *p)
{
    struct edited_table *tables = xcalloc(5, sizeof *tables), *base = &tables[4];
    int other = draw_column(c, p);
    bool done = false;

    if (other >= 0 && start_pair(base, c, p)) {
        for (int k = 0; k < 4; k++) {
            const struct asked_value *v = &p->q[k % 2]->values[p->value[k % 2]];
            edited_table_copy(&tables[k], base);
            tables[k].kind = k < 2 ? EDIT_COPIED : EDIT_MISSING;
            if (k < 2)
                edited_table_add_value(&tables[k], other, v->text);
            else
                edited_table_remove_value(&tables[k], v->column, v->text);
        }
        done = emit_all(c, tables, 4, p);
        for (int k = 0; k < 5; k++)
            edited_table_release(&tables[k]);
    }
    free(tables);
    return done;
}

static bool same_text(const struct asked_value *a, const struct asked_question *q)
{
    for (int i = 0; i < q->n_values; i++)
        if (spoken_ratio(a->text, q->values[i].text) > 0.8)
            return true;
    return false;
}

static bool try_values(struct counterfactual *c, struct asked_pair *p)
{
    for (p->value[0] = 0; p->value[0] < p->q[0]->n_values; p->value[0]++)
        for (p->value[1] = 0; p->value[1] < p->q[1]->n_values; p->value[1]++)
            if (counterfactual_may_edit_value(c, p->q[0], p->value[0]) &&
                counterfactual_may_edit_value(c, p->q[1], p->value[1]) &&
                !same_text(&p->q[0]->values[p->value[0]], p->q[1]) &&
                !same_text(&p->q[1]->values[p->value[1]], p->q[0]) && pair_values(c, p))
                return true;
    return false;
}

static bool try_columns(struct counterfactual *c, struct asked_pair *p)
{
    int n = c->tables[p->q[0]->table].n_columns;

    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if (p->q[0]->editable[a] && p->q[1]->editable[b] && counterfactual_unrelated(c, p->q[0], b) &&
                counterfactual_unrelated(c, p->q[1], a)) {
                p->column[0] = a;
                p->column[1] = b;
                if (pair_columns(c, p))
                    return true;
            }
    return false;
}

/* Each question of a table with the first one behind it in a drawn order that makes a pair, and no question twice. */
static void pair_table(struct counterfactual *c, const struct asked_table *t,
                       bool (*try)(struct counterfactual *, struct asked_pair *))
{
    bool *spent = xcalloc((size_t)t->n_questions + 1, sizeof *spent);

    rng_shuffle(&c->rng, t->questions, t->n_questions, sizeof *t->questions);
    for (int i = 0; i < t->n_questions; i++)
        for (int j = i + 1; j < t->n_questions && !spent[i]; j++) {
            struct asked_pair p = { .q = { &c->questions[t->questions[i]], &c->questions[t->questions[j]] } };
            if (!spent[j] && try(c, &p))
                spent[i] = spent[j] = true;
        }
    free(spent);
}

/* The question on its own table. */
static void emit_plain(struct counterfactual *c, const struct asked_question *q)
{
    const struct asked_pair p = { .q = { q, q } };
    struct edited_table e;

    if (!start_pair(&e, c, &p))
        return;
    if (counterfactual_is_apart(c, &e, fold_of(c, q)))
        counterfactual_emit(c, &e, q);
    edited_table_release(&e);
}

/* Of tables, or of databases as a whole. */
static void make_pairs(struct counterfactual *c, bool whole)
{
    for (int i = 0; i < c->n_questions; i++) {
        struct asked_question *q = &c->questions[i];
        if (c->tables[q->table].whole != whole)
            continue;
        for (int column = 0; column < c->tables[q->table].n_columns; column++)
            q->editable[column] = counterfactual_may_edit(c, q, column);
        emit_plain(c, q);
    }
    for (int i = 0; i < c->n_tables; i++)
        if (c->tables[i].whole == whole) {
            pair_table(c, &c->tables[i], try_columns);
            pair_table(c, &c->tables[i], try_values);
        }
}

void counterfactual_pairs(struct counterfactual *c)
{
    make_pairs(c, false);
    make_pairs(c, true);
}
