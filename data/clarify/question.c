#include "data/clarify/question_impl.h"

#include <ctype.h>
#include <string.h>

/* The term of an option's statement at the slot; NULL when it is absent or no single term. */
static const struct form_term *term_of(const struct question_writer *w, int statement)
{
    return w->slot->terms[statement];
}

static const char *value_of(const struct question_writer *w, int statement)
{
    return w->slot->values[statement];
}

static const struct form_term *any_term(const struct question_writer *w)
{
    const struct form_term *found = NULL;

    for (int i = 0; i < w->q->n && !found; i++)
        found = w->q->statement[i] >= 0 ? term_of(w, w->q->statement[i]) : NULL;
    return found;
}

/* Options.  statement has the value that the option stands for. */

/* Everything of one table is said as that. */
static const char *option_output(const struct question_writer *w, int statement)
{
    const struct form *form = w->slot->forms[statement];
    const struct form_list *list = &form->lists[FORM_SELECT];
    const struct schema *s = w->p->schema;
    int table = list->n && list->items[0].column >= 0 ? s->columns[list->items[0].column].table : -1;
    bool all = table >= 0 && list->n == s->tables[table].n_columns;

    for (int i = 0; i < list->n && all; i++)
        all = list->items[i].column == s->tables[table].first_column + i && !list->items[i].function[0];
    const char *outputs = phrase_outputs(w->p, form);
    return all && strncmp(outputs, "all ", 4) != 0
               ? strings_printf(w->p->pool, "everything about %s: %s", s->tables[table].text, outputs)
               : outputs;
}

static bool is_constant(const struct form_term *t)
{
    return t->expr->kind == SQL_EXPR_STRING ||
           (t->expr->kind == SQL_EXPR_LITERAL && isdigit((unsigned char)*t->expr->text));
}

/* The constant that all options compare with for equality; NULL when they do not. */
static const char *looked_for(const struct question_writer *w)
{
    const struct form_term *first = any_term(w);

    for (int i = 0; first && i < w->q->n; i++) {
        const struct form_term *t = w->q->statement[i] >= 0 ? term_of(w, w->q->statement[i]) : NULL;
        if (t && (!t->constant || strcmp(t->op, "=") != 0 || strcmp(t->value, first->value) != 0))
            return NULL;
    }
    return first ? first->value : NULL;
}

/* "Where should 'x' be looked for?" is answered by a column; of any other comparison all is said. */
static const char *option_operand(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    if (w->slot->clause != SQL_SELECT && t->value[0])
        return looked_for(w) ? phrase_subject(w->p, t) : phrase_condition(w->p, t, false);
    return is_constant(t) ? strings_printf(w->p->pool, "the fixed value %s", phrase_operand(w->p, t))
                          : phrase_operand(w->p, t);
}

static const char *option_condition(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);
    bool boundary = w->variable->face == FACE_OPERATOR;

    const char *phrase = phrase_condition(w->p, t, boundary);
    return w->variable->face == FACE_CONDITION ? strings_printf(w->p->pool, "only where %s", phrase) : phrase;
}

static const char *option_stored(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);
    return strings_printf(w->p->pool, t->column < 0 || t->function[0] ? "%s, worked out now" : "%s, as it is stored",
                          phrase_operand(w->p, t));
}

static const char *option_table(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);
    const char *records = t && t->column >= 0 ? phrase_records(w->p, t) : NULL;
    return records ? records : phrase_tables(w->p, w->slot->forms[statement]);
}

static const char *option_logic(const struct question_writer *w, int statement)
{
    return strcmp(value_of(w, statement), "any") == 0 ? "one of them is enough" : "all of them must hold";
}

static const char *option_aggregate(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    if (t->value[0])
        return phrase_condition(w->p, t, false);
    return t->function[0] || t->column < 0
               ? phrase_operand(w->p, t)
               : strings_printf(w->p->pool, "%s as it is, one by one", phrase_operand(w->p, t));
}

static const char *option_distinct(const struct question_writer *w, int statement)
{
    return strcmp(value_of(w, statement), "all") == 0 ? "every row, repeats included" : "each different row once";
}

static const char *option_group(const struct question_writer *w, int statement)
{
    const char *groups = phrase_groups(w->p, w->slot->forms[statement]);
    return groups[0] ? strings_printf(w->p->pool, "each %s", groups) : "everything together, without groups";
}

static const char *option_join(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    const char *how = phrase_matching(w->p, w->slot->forms[statement], t);
    if (strcmp(t->op, "left") == 0)
        return strings_printf(w->p->pool,
                              w->p->exact && how[0] ? "also what has no %s (matched where %s)" : "also what has no %s",
                              t->table >= 0 ? w->p->schema->tables[t->table].text : "partner", how);
    return strings_printf(w->p->pool,
                          strcmp(t->op, "inner") == 0 ? "only what belongs together: %s" : "put together as %s", how);
}

static const char *option_sort(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    const char *by = phrase_operand(w->p, t);
    bool whole = strcmp(value_of(w, statement), t->text) == 0; /* where some do not sort at all */
    return whole ? strings_printf(w->p->pool, "%s, %s", by, phrase_direction(w->p, t)) : by;
}

static const char *option_direction(const struct question_writer *w, int statement)
{
    return phrase_direction(w->p, term_of(w, statement));
}

static const char *option_limit(const struct question_writer *w, int statement)
{
    const char *limit = value_of(w, statement);
    return limit[0] ? phrase_limit(w->p, limit) : "all of them";
}

static const char *option_set(const struct question_writer *w, int statement)
{
    return phrase_sets(w->p, w->slot->forms[statement]);
}

static const char *option_query(const struct question_writer *w, int statement)
{
    return phrase_query(w->p, w->a->forms[statement]);
}

/* Questions */

static const char *ask_column(const struct question_writer *w)
{
    const char *value = w->variable->clause == SQL_SELECT ? NULL : looked_for(w);

    if (w->variable->clause == SQL_SELECT)
        return "What should the result show?";
    return value ? strings_printf(w->p->pool, "Where should %s be looked for?", phrase_value(w->p, value))
                 : "Which condition is meant?";
}

static const char *ask_operator(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    bool number = t && t->constant && strpbrk(t->op, "<>");
    return number ? strings_printf(w->p->pool, "How should %s be compared with %s?", phrase_subject(w->p, t),
                                   phrase_value(w->p, t->value))
                  : "Which condition is meant?";
}

static const char *ask_value(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    return t && t->constant ? strings_printf(w->p->pool, "Which value of %s is meant?", phrase_subject(w->p, t))
                            : "Which condition is meant?";
}

static const char *ask_join(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);

    if (!t || !strchr(t->head, ','))
        return "What about rows without a partner?";
    return strings_printf(w->p->pool, "How should %s and %s be put together?", phrase_table(w->p, t->head, 0),
                          phrase_table(w->p, t->head, 1));
}

static const char *ask_direction(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    return t ? strings_printf(w->p->pool, "Sorted by %s, which should come first?", phrase_operand(w->p, t))
             : "Which should come first?";
}

typedef const char *option_fn(const struct question_writer *w, int statement);
typedef const char *ask_fn(const struct question_writer *w);
static const struct wording {
    option_fn *option; /* of a statement that has something at the slot */
    ask_fn *ask;       /* or, when it is always the same: */
    const char *text;
    const char *absent; /* the option of a statement that has not; NULL for what none of the words fit */
} templates[FACES] = {
    [FACE_OUTPUT] = { option_output, NULL, "What should the result show?", NULL },
    [FACE_COLUMN] = { option_operand, ask_column, NULL, NULL },
    [FACE_STORED] = { option_stored, NULL, "Should a stored value be used, or one that is worked out now?", NULL },
    [FACE_TABLE] = { option_table, NULL, "Which records are meant?", NULL },
    [FACE_CONDITION] = { option_condition, NULL, "Should the result be narrowed down?", "no such condition" },
    [FACE_VALUE] = { option_condition, ask_value, NULL, NULL },
    [FACE_OPERATOR] = { option_condition, ask_operator, NULL, NULL },
    [FACE_LOGIC] = { option_logic, NULL, "Must all conditions hold, or is one enough?", NULL },
    [FACE_AGGREGATE] = { option_aggregate, NULL, "What should be worked out?", NULL },
    [FACE_DISTINCT] = { option_distinct, NULL, "Should rows that are the same be shown once?", NULL },
    [FACE_GROUP] = { option_group, NULL, "What should there be one row for?", NULL },
    [FACE_JOIN] = { option_join, ask_join, NULL, NULL },
    [FACE_SORT] = { option_sort, NULL, "What should the result be sorted by?", "no particular order" },
    [FACE_DIRECTION] = { option_direction, ask_direction, NULL, "no particular order" },
    [FACE_LIMIT] = { option_limit, NULL, "How many rows are wanted?", NULL },
    [FACE_SET] = { option_set, NULL, "How should the two results be put together?", NULL },
    [FACE_SEQUENCE] = { option_output, NULL, "In which order should the columns stand?", NULL },
    [FACE_QUERY] = { option_query, NULL, "Which of these is meant?", NULL },
};

static bool reads_table(const struct question_writer *w, int statement, const char *pair, int which)
{
    const struct form *form = w->slot->forms[statement];
    const struct form_list *from = form ? &form->lists[FORM_FROM] : NULL;
    const char *name = phrase_table(w->p, pair, which);

    for (int i = 0; from && i < from->n; i++)
        if (from->items[i].table >= 0 && strcmp(w->p->schema->tables[from->items[i].table].text, name) == 0)
            return true;
    return false;
}

/* Statements without the join all read the same one of the two, or it is not said which. */
static const char *absent_join(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    bool reads[2] = { false, false };

    for (int i = 0; t && strchr(t->head, ',') && i < w->a->now->n; i++)
        for (int which = 0; which < 2; which++)
            if (w->a->now->p[i] > 0 && !w->slot->values[i] && reads_table(w, i, t->head, which))
                reads[which] = true;
    return reads[0] != reads[1] ? strings_printf(w->p->pool, "%s alone", phrase_table(w->p, t->head, reads[1]))
                                : "they do not have to belong together";
}

static const char *slot_option(struct question_writer *w, const struct slot *slot, int statement)
{
    const struct wording *t = &templates[slot ? slot->face : FACE_QUERY];

    if (slot == w->variable->slot)
        t = &templates[w->variable->face];
    w->slot = slot;
    if (!slot || slot->values[statement])
        return t->option(w, statement);
    if (t->absent)
        return t->absent;
    if (slot->face == FACE_JOIN)
        return absent_join(w);
    return w->variable->clause == SQL_SELECT  ? "nothing more"
           : w->variable->clause == SQL_WHERE ? "no such condition"
                                              : "none of that";
}

static const char *option_text(struct question_writer *w, int statement)
{
    const struct variable *v = w->variable;
    const char *text = slot_option(w, v->slot, statement);

    return v->second ? strings_printf(w->p->pool, "%s; %s", text, slot_option(w, v->second, statement)) : text;
}

static int best_statement(const struct question_context *a, const struct question_view *view, int option)
{
    int best = -1;

    for (int i = 0; i < a->now->n; i++)
        if (view->split.value[i] == option && a->now->p[i] > 0 && (best < 0 || a->now->p[i] > a->now->p[best]))
            best = i;
    return best;
}

static void write_options(struct question_writer *w, const struct question_view *view)
{
    struct question *q = w->q;

    for (int i = 0; i < q->n; i++)
        q->options[i] = option_text(w, q->statement[i]);
    question_make_distinct(w, option_text);
    w->slot = w->variable->slot;
    if (!view->other)
        question_add_found(w);
    for (int i = 0; i < q->n; i++) {
        q->names[i] = q->options[i];
        if (q->statement[i] >= 0)
            q->options[i] = question_with_samples(w, q->names[i], q->statement[i]);
    }
    if (!view->other)
        return;
    q->statement[q->n] = -1;
    q->names[q->n] = q->options[q->n] = "something else";
    q->n++;
}

struct question_writer question_begin(struct question *q, const struct question_context *a,
                                      const struct question_view *view)
{
    const struct variable *v = &a->variables->list[view->variable];

    *q = (struct question){ .n = view->n_shown };
    for (int i = 0; i < q->n; i++)
        q->statement[i] = best_statement(a, view, i);
    return (struct question_writer){ a, &a->phrasing, v, v->slot, q };
}

void question_write(struct question *q, const struct question_context *a, const struct question_view *view)
{
    struct question_writer w = question_begin(q, a, view);
    const struct variable *v = w.variable;
    const struct wording *t = &templates[v->face];
    const char *text = v->second ? "Which of these is meant?" : t->ask ? t->ask(&w) : t->text;
    const char *part = question_part(&w);
    q->text = strings_printf(a->phrasing.pool, "%s%s%c%s", question_lead(&w), part,
                             part[0] ? tolower((unsigned char)text[0]) : text[0], text + 1);
    write_options(&w, view);
}
