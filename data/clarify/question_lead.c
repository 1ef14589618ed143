/* Part of question.h: what stands before and behind it: the user's words, values of columns, what a detector found. */
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

static int count_touching(const struct question_writer *w, int element)
{
    int n = 0;

    for (int i = 0; i < w->q->n; i++)
        n += w->q->statement[i] >= 0 && question_touches(w, w->q->statement[i], element);
    return n;
}

/* What was found is what is asked about: an option has one of the alternatives, and another one has not. */
static bool asks_about_found(const struct question_writer *w)
{
    const struct hints *h = w->a->hints;

    for (int i = 0; h && i < h->n_found; i++) {
        int n = count_touching(w, h->found[i]);
        if (n > 0 && n < w->q->n)
            return true;
    }
    return false;
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

/* How well a span covers the question: what the tagger links to an option is best, then a value, then its words. */
static double coverage(const struct question_writer *w, const struct span *p)
{
    const struct schema *s = w->p->schema;
    double most = 0;

    if (p->label == SPAN_UNKNOWN)
        return 0;
    for (int i = 0; i < p->n_elements; i++)
        if (count_touching(w, p->elements[i]))
            return 3 + p->probability;
    if (p->n_elements)
        return 0;
    if (says_value(w, p->words))
        return 2 + p->probability;
    for (int e = 0; e < s->n_tables + s->n_columns; e++)
        if (p->said[e] >= 0.5F && count_touching(w, e) && p->said[e] + p->probability > most)
            most = p->said[e] + p->probability;
    return most;
}

static const char *user_words(const struct question_writer *w)
{
    const struct hints *h = w->a->hints;
    const char *words = NULL;
    double most = 0;

    for (int i = 0; h && i < h->n_spans; i++) {
        double c = coverage(w, &h->spans[i]);
        if (c > most) {
            most = c;
            words = h->spans[i].words;
        }
    }
    return words;
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

    if (asks_about_found(w))
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

/* Only where an option is one column or one kind of records. */
void question_add_found(struct question_writer *w)
{
    const struct hints *h = w->a->hints;
    const struct schema *s = w->p->schema;
    enum face face = w->variable->face;
    bool fits = face == FACE_COLUMN || face == FACE_TABLE || face == FACE_SORT;

    if (!fits || w->variable->second || !asks_about_found(w))
        return;
    for (int i = 0; i < h->n_found && w->q->n < DIALOGUE_SHOWN; i++) {
        int e = h->found[i];
        if ((e < s->n_tables) != (face == FACE_TABLE) || count_touching(w, e))
            continue;
        const char *text = e < s->n_tables ? s->tables[e].text : phrase_column(w->p, e - s->n_tables);
        w->q->found[w->q->n] = hints_element_name(s, e, w->p->pool);
        w->q->statement[w->q->n] = -1;
        w->q->options[w->q->n++] = text;
    }
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
