#include "train/gate/gate_mistakes.h"

#include "data/schema/schema_drawing.h"
#include "data/util/text_fold.h"

#include <math.h>
#include <stdlib.h>

enum { WORST = 10, PLACES = 300 /* of a question, a name */ };

struct mistake {
    int answer;                  /* its number */
    double probability, how_far; /* from the threshold, in logits */
};

static int furthest_first(const void *a, const void *b)
{
    double x = ((const struct mistake *)a)->how_far, y = ((const struct mistake *)b)->how_far;
    return (x < y) - (x > y);
}

/* All of them, the worst first; the caller frees. */
static struct mistake *find(const struct gate_model *m, const struct gate_answers *a, int *n)
{
    struct mistake *list = xcalloc((size_t)a->n + 1, sizeof *list);
    double threshold = log(fmax(m->threshold, 1e-12) / fmax(1 - m->threshold, 1e-12));

    *n = 0;
    for (int i = 0; i < a->n; i++) {
        double p = gate_probability(m, a->logit[i]);
        if ((p >= m->threshold) != a->label[i])
            list[(*n)++] = (struct mistake){ i, p, fabs((a->logit[i] - m->shift) / m->temperature - threshold) };
    }
    qsort(list, (size_t)*n, sizeof *list, furthest_first);
    return list;
}

static const char *name_of(const struct schema *s, int node, struct strings *text)
{
    if (node < s->n_tables)
        return s->tables[node].name;
    const struct schema_column *c = &s->columns[node - s->n_tables];
    return strings_printf(text, "%s.%s", s->tables[c->table].name, c->name);
}

static const char *either(const char *first, const char *second, struct strings *text)
{
    return text_shorten(text, strings_printf(text, "%s or %s", first, second), PLACES);
}

static const char *gold_of(const struct example *e, struct strings *text)
{
    return e->alternatives[0] ? either(e->alternatives[0], e->alternatives[1], text) : "-";
}

/* Nothing where a linguistic kind was likelier. */
static const struct gate_pair *pair_of(const struct gate_answers *a, int i)
{
    return a->pair[i].schema && a->logit[i] <= a->score[i] ? &a->pair[i] : NULL;
}

static const char *named_of(const struct gate_pair *p, struct strings *text)
{
    return p ? either(name_of(p->schema, p->u, text), name_of(p->schema, p->v, text), text) : "-";
}

static void mark_gold(uint8_t *marks, const struct schema *s, const struct example *e)
{
    int table, column;

    for (int i = 0; i < 2; i++)
        if (e->alternatives[i] && example_element(s, e->alternatives[i], &table, &column) == 0)
            marks[column < 0 ? table : s->n_tables + column] |= SCHEMA_GOLD;
}

static void draw(FILE *f, const struct schema *s, const struct example *e, const struct gate_pair *p)
{
    uint8_t *marks = xcalloc((size_t)(s->n_tables + s->n_columns) + 1, 1);

    mark_gold(marks, s, e);
    if (p && p->schema == s) {
        marks[p->u] |= SCHEMA_NAMED;
        marks[p->v] |= SCHEMA_NAMED;
    }
    schema_draw(f, s, marks);
    free(marks);
}

static void write_mistake(struct report *r, const struct schema *s, const struct gate_answers *a,
                          const struct mistake *m, int number)
{
    const struct example *e = a->example[m->answer];
    const struct gate_pair *p = pair_of(a, m->answer);
    struct strings text = { 0 };

    FILE *f = report_figure(r, strings_printf(&text, "%d. %s", number, text_shorten(&text, e->question, PLACES)));
    report_text(r, strings_printf(&text, "%s, kind %s: %s, score %.3f. By the labels: %s. By the detector: %s.",
                                  text_shorten(&text, e->db_id, PLACES), gate_kind_name(gate_kind(e)),
                                  e->ambiguous ? "ambiguous" : "clear", m->probability, gold_of(e, &text),
                                  named_of(p, &text)));
    draw(f, s, e, p);
    report_figure_end(r);
    strings_release(&text);
}

void gate_mistakes(struct report *r, const struct gate_model *m, const struct schema_set *schemas,
                   const struct gate_answers *a)
{
    int n;
    struct mistake *list = find(m, a, &n);

    report_text(r, n ? "Where it was surest and wrong. Framed: the two readings by the labels. Filled: those that the "
                       "detector finds likeliest, also where it calls the question clear."
                     : "No question is decided wrongly.");
    report_style(r, schema_drawing_style);
    for (int i = 0; i < n && i < WORST; i++)
        write_mistake(r, schema_find(schemas, a->example[list[i].answer]->db_id), a, &list[i], i + 1);
    free(list);
}
