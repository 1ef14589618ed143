/* Part of question.h: what stands before and behind it: the user's words, values of columns. */
#include "data/clarify/question_impl.h"

#include <stdio.h>
#include <string.h>

static bool list_touches(const struct schema *s, const struct form_list *list, int element)
{
    for (int i = 0; i < list->n; i++) {
        const struct form_term *t = &list->items[i];
        int table = t->table >= 0 ? t->table : t->column >= 0 ? s->columns[t->column].table : -1;
        if (element < s->n_tables ? table == element : t->column == element - s->n_tables)
            return true;
    }
    return false;
}

static bool form_touches(const struct schema *s, const struct form *form, int element)
{
    for (int clause = 0; clause < FORM_CLAUSES; clause++)
        if (list_touches(s, &form->lists[clause], element))
            return true;
    return false;
}

bool question_touches(const struct question_writer *w, int statement, int element)
{
    const struct schema *s = w->p->schema;

    if (!w->slot)
        return form_touches(s, w->a->forms[statement], element);
    if (!w->slot->values[statement])
        return false;
    const struct form *form = w->slot->forms[statement];
    const struct form_term *t = w->slot->terms[statement];
    if (t && w->slot->face != FACE_TABLE) {
        struct form_list one = { (struct form_term *)t, 1, 1 };
        return list_touches(s, &one, element) || t->other == element - s->n_tables;
    }
    return list_touches(s,
                        &form->lists[w->slot->face == FACE_TABLE   ? FORM_FROM
                                     : w->slot->face == FACE_GROUP ? FORM_GROUP
                                                                   : FORM_SELECT],
                        element);
}

/* Letter case aside. */
static bool has_text(const char *text, const char *part, size_t n)
{
    for (; n && *text; text++)
        if (strncasecmp(text, part, n) == 0)
            return true;
    return false;
}

/* Whether the user's words hold a constant that an option compares with. */
static bool says_value(const struct question_writer *w, const char *words)
{
    for (int i = 0; w->slot && i < w->q->n; i++) {
        const struct form_term *t = w->q->statement[i] >= 0 ? w->slot->terms[w->q->statement[i]] : NULL;
        if (!t || !t->constant)
            continue;
        bool quoted = t->value[0] == '\'' && strlen(t->value) > 2;
        if (has_text(words, t->value + quoted, strlen(t->value) - (quoted ? 2 : 0)))
            return true;
    }
    return false;
}

/* Options say something about just one of them, or part in them. */
static bool concerns(const struct question_writer *w, const int *elements, int n)
{
    for (int e = 0; e < n; e++)
        for (int i = 0; w->slot && i < w->q->n; i++) {
            int statement = w->q->statement[i];
            if (w->slot->terms[statement] && question_touches(w, statement, elements[e]))
                return true;
        }
    return question_parts(w, elements, n);
}

/* How well a span covers the question: what the tagger links to an option is best, then a value, then its words. */
static double coverage(const struct question_writer *w, const struct span *p)
{
    const struct schema *s = w->p->schema;
    double most = 0;

    if (p->label == SPAN_UNK || question_is_beside(w, p))
        return 0;
    if (p->n_elements)
        return concerns(w, p->elements, p->n_elements) ? 3 + p->probability : 0;
    if (says_value(w, p->words))
        return 2 + p->probability;
    for (int e = 0; e < s->n_tables + s->n_columns; e++)
        if (p->said[e] >= 0.5F && concerns(w, &e, 1) && p->said[e] + p->probability > most)
            most = p->said[e] + p->probability;
    return most;
}

static const char *user_words(const struct question_writer *w)
{
    const struct hints *h = w->a->hints;
    const struct span *open = question_open_span(w);
    const char *words = open ? open->words : NULL;
    double most = 0;

    for (int i = 0; h && !open && i < h->n_spans; i++) {
        double c = coverage(w, &h->spans[i]);
        if (c > most) {
            most = c;
            words = h->spans[i].words;
        }
    }
    return words;
}

static const char *lead_of_span(const struct question_writer *w, const struct span *p)
{
    static const char *const counts[] = { "Two", "Three", "Four", "Five" };
    int beyond = p->n_elements - 2, tables = 0;

    for (int i = 0; i < p->n_elements; i++)
        tables += p->elements[i] < w->p->schema->n_tables;
    if (tables && tables < p->n_elements)
        return strings_printf(w->p->pool, "You wrote \"%s\". ", p->words);
    const char *what = tables ? "kinds of records fit" : p->is_value ? "columns have" : "columns fit";
    return strings_printf(w->p->pool, "%s %s what you wrote, \"%s\". ",
                          beyond < ARRAY_LEN(counts) ? counts[beyond] : "Several", what, p->words);
}

const char *question_lead(const struct question_writer *w)
{
    static const char *const found[SIA_KINDS][2] = {
        [SIA_COLUMN] = { "Two columns fit your question. ", "Two columns fit what you wrote, \"%s\". " },
        [SIA_TABLE] = { "Two kinds of records fit your question. ",
                        "Two kinds of records fit what you wrote, \"%s\". " },
        [SIA_JOIN] = { "What you ask for is kept in two places. ", "What you wrote, \"%s\", is kept in two places. " },
        [SIA_AGGREGATE] = { "What you ask for is stored, and can be worked out too. ",
                            "What you wrote, \"%s\", is stored, and can be worked out too. " },
    };
    const char *words = user_words(w), *format = words ? "You wrote \"%s\". " : "";

    bool asked = question_asks_found(w);
    const struct span *open = question_open_span(w);
    if (open && (!asked || (w->a->hints->kind <= SIA_TABLE && open->n_elements > w->a->hints->n_found)))
        return lead_of_span(w, open);
    if (asked)
        format = found[w->a->hints->kind][words != NULL];
    const char *blank = strstr(format, "%s");
    return blank ? strings_printf(w->p->pool, "%.*s%s%s", (int)(blank - format), format, words, blank + 2) : format;
}

static bool is_arm(const struct form *form, const struct form *of)
{
    while (of && of != form)
        of = of->next;
    return of != NULL;
}

const char *question_part(const struct question_writer *w)
{
    const char *part = NULL;

    for (int i = 0; w->slot && i < w->q->n; i++) {
        int statement = w->q->statement[i];
        const struct form *form = statement >= 0 ? w->slot->forms[statement] : NULL;
        if (!form)
            continue;
        if (is_arm(form, w->a->forms[statement]) || !form->lists[FORM_FROM].n)
            return "";
        const char *tables = phrase_tables(w->p, form);
        if (part && strcmp(part, tables) != 0)
            return "";
        part = tables;
    }
    return part ? strings_printf(w->p->pool, "For the part about %s: ", part) : "";
}

/* Of a table, the column that tells its rows best: the first text that is no key. */
static int telling_column(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].type == COLUMN_TEXT && !s->columns[c].primary)
            return c;
    return -1;
}

/* The column whose values tell the option from others; -1 when there is no single one. */
static int sampled_column(const struct question_writer *w, int statement)
{
    const struct form_term *t = w->slot ? w->slot->terms[statement] : NULL;
    const struct form *form = w->slot ? w->slot->forms[statement] : NULL;
    const struct form_list *list = NULL;

    switch (w->variable->face) {
    case FACE_COLUMN:
    case FACE_SORT:
    case FACE_STORED:
        if (t && t->value[0] && strcmp(t->op, "=") != 0)
            return -1;
        return t && !t->function[0] ? t->column : -1;
    case FACE_TABLE:
        if (t && t->column >= 0)
            return t->column;
        list = form ? &form->lists[FORM_FROM] : NULL;
        return list && list->n == 1 && list->items[0].table >= 0 ? telling_column(w->p->schema, list->items[0].table)
                                                                 : -1;
    case FACE_OUTPUT:
    case FACE_GROUP:
        list = form ? &form->lists[w->variable->face == FACE_GROUP ? FORM_GROUP : FORM_SELECT] : NULL;
        return list && list->n == 1 && !list->items[0].function[0] ? list->items[0].column : -1;
    default:
        return -1;
    }
}

const char *question_with_samples(const struct question_writer *w, const char *option, int statement)
{
    struct column_samples *samples = w->a->hints ? w->a->hints->samples : NULL;
    int column = samples && !w->variable->second ? sampled_column(w, statement) : -1;
    const char *values =
        column < 0 || w->p->schema->columns[column].primary ? "" : column_samples_text(samples, column);

    return values[0] ? strings_printf(w->p->pool, "%s (such as %s)", option, values) : option;
}
