#include "models/tagger/dte_target.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float NOT_MEANT = 0.05f; /* grounding weight of a concept that the question does not mean */

static bool holds(const struct marked_span *s, const struct dte_word *w)
{
    return w->start < s->end && s->start < w->end;
}

/* Compares without case, blanks and quotes. */
static bool same_value(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " \"");
        b += strspn(b, " \"");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

/* Whether a column or value of a record is the concept. A value has its column. */
static bool is_concept(const struct span_concept *a, const struct tag_concept *c)
{
    if (a->column != c->column || !a->value != (c->kind != TAG_VALUE) || c->kind == TAG_TABLE)
        return false;
    return !a->value || same_value(a->value, c->value);
}

static bool is_alternative(const struct marked_span *s, const struct tag_concept *c)
{
    for (int i = 0; i < s->n_alternatives; i++)
        if (is_concept(&s->alternatives[i], c))
            return true;
    return false;
}

static bool same_table(const struct dte_item *item, int a, int b)
{
    const struct tag_concept x = { .kind = TAG_TABLE, .column = a }, y = { .kind = TAG_TABLE, .column = b };
    return strcmp(dte_concept_name(item, &x), dte_concept_name(item, &y)) == 0;
}

/* Whether the SQL has the concept, or a column of the table. */
static bool in_sql(const struct dte_item *item, const struct sql_concepts *sql, const struct tag_concept *c)
{
    for (int i = 0; i < sql->n; i++)
        if (c->kind == TAG_TABLE ? same_table(item, sql->items[i].column, c->column) : is_concept(&sql->items[i], c))
            return true;
    return false;
}

/* Whether a span means the concept, one of the column's values, or an element of the table. */
static bool in_spans(const struct dte_item *item, const struct dte_supervision *by, const struct tag_concept *c)
{
    for (int i = 0; i < by->n_spans; i++) {
        const struct marked_span *s = &by->spans[i];
        if (is_alternative(s, c))
            return true;
        for (int k = 0; k < s->n_alternatives && c->kind != TAG_VALUE; k++) {
            int column = s->alternatives[k].column;
            if (c->kind == TAG_COLUMN ? column == c->column : same_table(item, column, c->column))
                return true;
        }
    }
    return false;
}

static bool is_meant(const struct dte_item *item, const struct dte_supervision *by, const struct tag_concept *c)
{
    return by->by_sql ? in_sql(item, by->sql, c) : in_spans(item, by, c);
}

/* The labels that count among the marks. */
static unsigned marks_of(const struct dte_supervision *by)
{
    return by->by_sql ? 1u << SPAN_AMB | 1u << SPAN_UNK : (1u << SPAN_LABELS) - 1;
}

static int tag_of(enum span_label label, bool begins, const struct dte_config *config)
{
    return config->published ? DTE_PUBLISHED_SPAN + (int)label : DTE_SPAN + 2 * (int)label + !begins;
}

/* Tags the spans whose labels have their bit set. */
static void tag_spans(struct dte_target *t, const struct dte_item *item, const struct dte_supervision *by,
                      unsigned labels, const struct dte_config *config)
{
    for (int i = 0; i < by->n_spans; i++) {
        const struct marked_span *s = &by->spans[i];
        bool begins = true;
        for (int q = 0; q < item->n_words && labels >> s->label & 1; q++)
            if (holds(s, &item->words[q])) {
                t->tags[q] = 1 << tag_of(s->label, begins, config);
                begins = false;
            }
    }
}

/* Whether a span means the concept as one of its alternatives. If the window has no value of the span, the value's
 * column counts. */
static bool means(const struct marked_span *s, const struct tag_concept *c, bool columns)
{
    for (int i = 0; i < s->n_alternatives && columns; i++)
        if (c->kind == TAG_COLUMN && s->alternatives[i].column == c->column)
            return true;
    return !columns && is_alternative(s, c);
}

static int count_meant(const struct dte_window *w, const struct marked_span *s, bool columns)
{
    int n = 0;

    for (int k = 0; k < w->n_entities; k++)
        n += means(s, &w->entities[k].concept, columns);
    return n;
}

/* A span's weight is divided equally among its words, and each word's among its meanings. */
static void link_span(struct dte_target *t, const struct dte_item *item, const struct dte_window *w,
                      const struct marked_span *s)
{
    bool columns = !count_meant(w, s, false);
    int words = 0, meanings = count_meant(w, s, columns);

    for (int q = 0; q < item->n_words; q++)
        words += holds(s, &item->words[q]);
    if (!words || !meanings)
        return;
    t->links++;
    for (int q = 0; q < item->n_words; q++)
        for (int k = 0; k < w->n_entities && holds(s, &item->words[q]); k++)
            if (means(s, &w->entities[k].concept, columns))
                t->meaning_weight[q * w->n_entities + k] += 1 / (float)(words * meanings);
}

/* Labels of the concepts. Keywords have one if the SQL is known. */
static void label_concepts(struct dte_target *t, const struct dte_item *item, const struct dte_window *w,
                           const struct dte_supervision *by)
{
    float mean = 1 / (float)(w->n_entities + (by->sql ? DTE_KEYWORDS : 0));

    for (int k = 0; k < DTE_KEYWORDS && by->sql; k++) {
        t->concept[k] = (by->sql->keywords >> k & 1) != 0;
        t->concept_weight[k] = mean;
    }
    for (int k = 0; k < w->n_entities; k++) {
        t->concept[DTE_KEYWORDS + k] = is_meant(item, by, &w->entities[k].concept);
        t->concept_weight[DTE_KEYWORDS + k] = mean;
    }
}

void dte_target_init(struct dte_target *t, const struct dte_item *item, int window, const struct dte_supervision *by,
                     const struct dte_config *config)
{
    const struct dte_window *w = &item->windows[window];
    size_t words = (size_t)item->n_words, entities = (size_t)w->n_entities, concepts = entities + DTE_KEYWORDS;
    size_t floats = 2 * (concepts + concepts * (words + 1) + words * entities);

    *t = (struct dte_target){ .concept = xcalloc(floats, sizeof(float)), .tags = xcalloc(words, sizeof *t->tags) };
    t->concept_weight = t->concept + concepts;
    t->grounding = t->concept_weight + concepts;
    t->grounding_weight = t->grounding + concepts * (words + 1);
    t->meaning = t->grounding_weight + concepts * (words + 1);
    t->meaning_weight = t->meaning + words * entities;
    label_concepts(t, item, w, by);
    for (size_t i = 0; i < words * entities; i++)
        t->meaning[i] = 1;
    for (int i = 0; i < by->n_spans; i++)
        if (marks_of(by) >> by->spans[i].label & 1)
            link_span(t, item, w, &by->spans[i]);
    for (size_t q = 0; q < words; q++)
        t->tags[q] = 1 << DTE_OTHER;
    tag_spans(t, item, by, marks_of(by), config);
}

void dte_target_release(struct dte_target *t)
{
    free(t->concept);
    free(t->tags);
    *t = (struct dte_target){ 0 };
}

/* A concept of a window whose grounding is weighed. */
struct grounded {
    const struct dte_item *item;
    const struct dte_window *window;
    const struct dte_target *target;
    const struct dte_supervision *by;
    const struct tag_concept *concept;
};

static bool says(const struct grounded *g, const struct dte_word *word)
{
    for (int i = 0; i < g->by->n_spans; i++)
        if (holds(&g->by->spans[i], word) && is_alternative(&g->by->spans[i], g->concept))
            return true;
    return false;
}

/* Whether a span marks the word as a value of the column. */
static bool says_value(const struct grounded *g, const struct dte_word *word)
{
    for (int i = 0; i < g->by->n_spans; i++)
        for (int k = 0; k < g->by->spans[i].n_alternatives && holds(&g->by->spans[i], word); k++)
            if (g->by->spans[i].alternatives[k].column == g->concept->column && g->by->spans[i].alternatives[k].value)
                return true;
    return false;
}

/* Whether the word belongs to a match of a value of the column that the SQL has. */
static bool matches_value(const struct grounded *g, int word)
{
    for (int k = 0; k < g->window->n_entities; k++) {
        const struct tag_concept *v = &g->window->entities[k].concept;
        if (v->kind == TAG_VALUE && v->column == g->concept->column && g->target->concept[DTE_KEYWORDS + k] > 0 &&
            dte_value_covers(g->item, v, word))
            return true;
    }
    return false;
}

/* Whether erasing the word tells nothing of a meant concept: of a column, where the word means its value; of a value,
 * where other words do. */
static bool is_cleaned(const struct grounded *g, int word)
{
    const struct dte_word *w = &g->item->words[word];

    if (g->concept->kind == TAG_COLUMN)
        return g->by->by_sql ? matches_value(g, word) : says_value(g, w);
    if (g->concept->kind == TAG_VALUE)
        return g->by->by_sql ? !dte_value_covers(g->item, g->concept, word) : !says(g, w);
    return false;
}

/* Grounding weight of a meant concept at a word. */
static float meant_weight(const struct grounded *g, int word, const float *awake)
{
    if (!awake)
    return g->concept && says(g, &g->item->words[word]);
    return g->concept && is_cleaned(g, word) ? 0 : awake[word];
}

void dte_target_ground(struct dte_target *t, const struct dte_item *item, int window, const struct dte_supervision *by,
                       const float *awake)
{
    const struct dte_window *w = &item->windows[window];
    int words = item->n_words, first = by->sql ? 0 : DTE_KEYWORDS, end = DTE_KEYWORDS + w->n_entities;
    float mean = 1 / ((float)(end - first) * (float)words);

    CHECK(awake || !by->by_sql, "grounding by spans needs marked words");
    for (int row = first; row < end; row++) {
        struct grounded g = { item, w, t, by, row < DTE_KEYWORDS ? NULL : &w->entities[row - DTE_KEYWORDS].concept };
        for (int q = 0; q < words; q++) {
            int at = row * (words + 1) + q;
            bool meant = t->concept[row] > 0;
            t->grounding[at] = t->concept[row];
            t->grounding_weight[at] =
                mean * (meant ? meant_weight(&g, q, awake ? awake + row * words : NULL) : NOT_MEANT);
        }
    }
}

/* Tag of a word; begins: the word before means another concept. */
static int tag_of_term(const struct dte_reading *r, const struct dte_term *term, bool begins,
                       const struct dte_config *config)
{
    if (term->concept < DTE_KEYWORDS)
    return term->concept < 0 ? DTE_OTHER : DTE_KEYWORD;
    enum tag_kind kind = r->concepts[term->concept - DTE_KEYWORDS].kind;
    if (kind == TAG_TABLE && config->published)
        return DTE_PUBLISHED_TABLE;
    return tag_of(kind == TAG_VALUE ? SPAN_VAL : SPAN_COL, begins, config);
}

/* An inside tag without its begin, since a mark cut the run, becomes a begin. */
static void begin_cut_runs(int32_t *tags, int n)
{
    for (int q = 0; q < n; q++)
        for (int32_t begin = 1 << DTE_SPAN; begin < 1 << DTE_TAGS; begin <<= 2)
            if (tags[q] == begin << 1 && (q == 0 || !(tags[q - 1] & (begin | begin << 1))))
                tags[q] = begin;
}

void dte_target_link(struct dte_target *t, const struct dte_reading *r, const struct dte_supervision *by,
                     const struct dte_config *config)
{
    const struct dte_item *item = r->item;
    struct dte_term *terms = xmalloc((size_t)item->n_words * sizeof *terms);

    dte_link(terms, r);
    for (int q = 0; q < item->n_words; q++)
        t->tags[q] = 1 << tag_of_term(r, &terms[q], q == 0 || terms[q].concept != terms[q - 1].concept, config);
    if (dte_ends_with_mark(item))
        t->tags[item->n_words - 1] = 1 << DTE_OTHER;
    tag_spans(t, item, by, 1u << SPAN_AMB | 1u << SPAN_UNK, config);
    if (!config->published)
        begin_cut_runs(t->tags, item->n_words);
    free(terms);
}

static void push_run(struct dte_sequences *list, const struct dte_item *item, int window, int from, int to)
{
    GROW(list->items, list->n, list->cap);
    list->items[list->n++] = (struct dte_sequence){ item, window, from, to };
}

/* Whether the pieces of words [from, to) are adjacent in a column's name. */
static bool name_has(const struct dte_item *item, const struct dte_window *w, const struct dte_entity *e, int from,
                     int to)
{
    int first = item->words[from].at, n = item->words[to - 1].at + item->words[to - 1].n - first;

    for (int i = e->at + 1; i + n <= e->end; i++)
        if (memcmp(w->tokens.items + i, w->tokens.items + first, (size_t)n * sizeof *w->tokens.items) == 0)
            return true;
    return false;
}

/* Length of the longest run of the question's words in the name, at least 2; 0: none. */
static int longest_run(const struct dte_item *item, const struct dte_window *w, const struct dte_entity *e, int *from)
{
    int best = 0;

    for (int i = 0; i < item->n_words; i++)
        for (int end = i + 2; end <= item->n_words && name_has(item, w, e, i, end); end++)
            if (end - i > best) {
                best = end - i;
                *from = i;
            }
    return best;
}

static bool is_covered(const struct dte_sequence *runs, int n, const struct dte_sequence *run)
{
    for (int i = 0; i < n; i++)
        if (runs[i].from <= run->from && run->to <= runs[i].to)
            return true;
    return false;
}

static int by_length(const void *a, const void *b)
{
    const struct dte_sequence *x = a, *y = b;
    int order = (y->to - y->from) - (x->to - x->from);
    return order ? order : x->from - y->from;
}

void dte_erasures(struct dte_sequences *list, const struct dte_item *item, int window)
{
    const struct dte_window *w = &item->windows[window];
    struct dte_sequences found = { 0 };
    int first = list->n, from = 0;

    for (int k = 0; k < w->n_entities; k++) {
        int n = w->entities[k].concept.kind == TAG_COLUMN ? longest_run(item, w, &w->entities[k], &from) : 0;
        if (n)
            push_run(&found, item, window, from, from + n);
    }
    if (found.n)
        qsort(found.items, (size_t)found.n, sizeof *found.items, by_length);
    for (int i = 0; i < found.n; i++)
        if (!is_covered(list->items + first, list->n - first, &found.items[i]))
            push_run(list, item, window, found.items[i].from, found.items[i].to);
    for (int q = 0; q < item->n_words; q++)
        push_run(list, item, window, q, q + 1);
    free(found.items);
}

void dte_awake(float *awake, const struct dte_item *item, int concepts, const float *base,
               const struct dte_sequence *runs, int n, const float *erased)
{
    for (int q = 0; q < item->n_words; q++) {
        int holding = 0;
        for (int i = 0; i < n; i++)
            holding += runs[i].from <= q && q < runs[i].to;
        for (int k = 0; k < concepts; k++) {
            float sum = 0;
            for (int i = 0; i < n; i++)
                if (runs[i].from <= q && q < runs[i].to)
                    sum += fminf(fmaxf(base[k] - erased[(int64_t)i * concepts + k], 0), 1);
            awake[k * item->n_words + q] = holding ? sum / (float)holding : 0;
        }
    }
}
