/* Part of question.h: what a detector and a tagger found, in the question that it is about. */
#include "data/clarify/question_impl.h"

#include <math.h>
#include <string.h>

int question_touching(const struct question_writer *w, int element)
{
    int n = 0;

    for (int i = 0; i < w->q->n; i++)
        n += w->q->statement[i] >= 0 && question_touches(w, w->q->statement[i], element);
    return n;
}

/* Whether an option has one of the elements and not all, as everything about a table has. */
static bool chooses(const struct question_writer *w, int option, const int *elements, int n)
{
    int has = 0;

    for (int i = 0; i < n && w->q->statement[option] >= 0; i++)
        has += question_touches(w, w->q->statement[option], elements[i]);
    return has > 0 && (has < n || n == 1);
}

bool question_parts(const struct question_writer *w, const int *elements, int n)
{
    bool chosen = false, differs = false;

    for (int i = 0; i < w->q->n; i++)
        chosen = chosen || chooses(w, i, elements, n);
    for (int i = 0; i < n && chosen; i++) {
        int having = question_touching(w, elements[i]);
        differs = differs || (having > 0 && having < w->q->n);
    }
    return differs;
}

bool question_asks_found(const struct question_writer *w)
{
    const struct hints *h = w->a->hints;
    return h && question_parts(w, h->found, h->n_found);
}

bool question_is_beside(const struct question_writer *w, const struct span *p)
{
    return p->is_value && w->variable->clause == SQL_SELECT;
}

static bool leaves_open(const struct question_writer *w, const struct span *p)
{
    return p->label == SPAN_AMB && p->n_elements > 1 && !question_is_beside(w, p) &&
           question_parts(w, p->elements, p->n_elements);
}

const struct span *question_open_span(const struct question_writer *w)
{
    const struct hints *h = w->a->hints;
    const struct span *best = NULL;

    for (int i = 0; h && i < h->n_spans; i++) {
        const struct span *p = &h->spans[i];
        if ((!best || p->probability > best->probability) && leaves_open(w, p))
            best = p;
    }
    return best;
}

/* Options of one kind of records each are said as that. */
static const char *text_of(const struct question_writer *w, int element)
{
    const struct schema *s = w->p->schema;
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];

    if (!c || w->variable->face == FACE_TABLE)
        return s->tables[c ? c->table : element].text;
    return phrase_column(w->p, element - s->n_tables);
}

static bool is_offered(const struct question *q, const char *text)
{
    for (int i = 0; i < q->n; i++)
        if (strcmp(q->options[i], text) == 0)
            return true;
    return false;
}

/* Only where an option is one column or one kind of records. */
static void offer(struct question_writer *w, const int *elements, int n)
{
    const struct schema *s = w->p->schema;
    enum face face = w->variable->face;
    bool columns = face == FACE_SORT || (w->slot->face == FACE_COLUMN && face != FACE_STORED);
    struct question *q = w->q;

    for (int i = 0; i < n && q->n < DIALOGUE_SHOWN; i++) {
        bool fits = elements[i] < s->n_tables ? face == FACE_TABLE : columns;
        const char *text = fits ? text_of(w, elements[i]) : NULL;
        if (!fits || question_touching(w, elements[i]) || is_offered(q, text))
            continue;
        q->found[q->n] = hints_element_name(s, elements[i], w->p->pool);
        q->statement[q->n] = -1;
        q->options[q->n++] = text;
    }
}

void question_add_found(struct question_writer *w)
{
    const struct hints *h = w->a->hints;
    const struct span *open = question_open_span(w);

    if (!w->slot || w->variable->second)
        return;
    if (question_asks_found(w))
        offer(w, h->found, h->n_found);
    if (open)
        offer(w, open->elements, open->n_elements);
}

double question_support(const struct question_context *a, const struct question_view *view)
{
    struct question q;
    struct question_writer w = question_begin(&q, a, view);
    const struct span *open = w.slot ? question_open_span(&w) : NULL;
    double support = open ? open->probability : 0;

    return w.slot && question_asks_found(&w) ? fmax(support, a->hints->score) : support;
}
