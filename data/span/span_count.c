#include "data/span/span_count.h"

#include "data/span/spoken.h"

#include <math.h>
#include <string.h>

static bool is_problem(enum span_label label)
{
    return label == SPAN_AMB || label == SPAN_UNK;
}

/* The groups that a label counts in, up to the first COUNT_LABELS. */
static void groups_of(int groups[3], enum span_label label)
{
    groups[0] = (int)label;
    groups[1] = COUNT_ALL;
    groups[2] = is_problem(label) ? COUNT_PROBLEM : COUNT_LABELS;
}

static bool is_met(const struct marked_span *g, const struct tag_span *t)
{
    return g->label == t->label && g->start < t->end && t->start < g->end;
}

static bool is_linked(const struct span_concept *wanted, const struct tag_span *t)
{
    for (int i = 0; i < t->n_alternatives; i++) {
        const struct tag_concept *c = &t->alternatives[i];
        if (c->column == wanted->column && c->kind == (wanted->value ? TAG_VALUE : TAG_COLUMN) &&
            (!wanted->value || strcasecmp(c->value, wanted->value) == 0))
            return true;
    }
    return false;
}

/* The number of the gold span's meanings that the tagged span has. */
static int count_linked(const struct marked_span *g, const struct tag_span *t)
{
    int linked = 0;

    for (int i = 0; i < g->n_alternatives; i++)
        linked += is_linked(&g->alternatives[i], t);
    return linked;
}

static void count_links(struct span_counts *c, const struct marked_span *g, const struct tag_span *t)
{
    int linked = count_linked(g, t);

    c->linkable[g->label]++;
    c->linked_any[g->label] += linked > 0;
    c->linked_all[g->label] += linked == g->n_alternatives;
}

static void count_gold(struct span_counts *c, const struct marked_span *g, const struct tag_answer *a)
{
    const struct tag_span *met = NULL;
    bool exact = false;
    int groups[3];

    for (int i = 0; i < a->n_spans && !exact; i++)
        if (is_met(g, &a->spans[i])) {
            exact = a->spans[i].start == g->start && a->spans[i].end == g->end;
            met = exact || !met ? &a->spans[i] : met;
        }
    groups_of(groups, g->label);
    for (int k = 0; k < 3 && groups[k] < COUNT_LABELS; k++) {
        c->label[groups[k]].gold++;
        c->label[groups[k]].exact += exact;
        c->label[groups[k]].gold_met += met != NULL;
    }
    if (met && g->n_alternatives)
        count_links(c, g, met);
}

static void count_tagged(struct span_counts *c, const struct tag_span *t, const struct span_record *gold)
{
    bool met = false;
    int groups[3];

    for (int i = 0; i < gold->n_spans; i++)
        met |= is_met(&gold->spans[i], t);
    groups_of(groups, t->label);
    for (int k = 0; k < 3 && groups[k] < COUNT_LABELS; k++) {
        c->label[groups[k]].tagged++;
        c->label[groups[k]].tagged_met += met;
    }
}

static const struct marked_span *gold_at(const struct span_record *r, int at)
{
    for (int i = 0; i < r->n_spans; i++)
        if (r->spans[i].start <= at && at < r->spans[i].end)
            return &r->spans[i];
    return NULL;
}

static const struct tag_span *tagged_at(const struct tag_answer *a, int at)
{
    for (int i = 0; i < a->n_spans; i++)
        if (a->spans[i].start <= at && at < a->spans[i].end)
            return &a->spans[i];
    return NULL;
}

/* Counts a word of a gold span as grounded or not. */
static void count_grounding(struct span_counts *c, const struct marked_span *g, bool grounded)
{
    const int groups[] = { (int)g->label, COUNT_GROUNDED };

    for (int i = 0; i < ARRAY_LEN(groups) && g->label != SPAN_UNK; i++) {
        c->groundable[groups[i]]++;
        c->grounded[groups[i]] += grounded;
    }
}

static void count_words(struct span_counts *c, const struct span_record *gold, const struct tag_answer *a)
{
    struct spoken words;

    spoken_read(&words, gold->question);
    for (int i = 0; i < words.n; i++) {
        const struct marked_span *g = gold_at(gold, words.words[i].start);
        const struct tag_span *t = tagged_at(a, words.words[i].start);
        int wanted = g ? (int)g->label : COUNT_NONE;
        bool right = wanted == (t ? (int)t->label : COUNT_NONE);
        c->words[wanted]++;
        c->words_right[wanted] += right;
        if (g)
            count_grounding(c, g, right && t && count_linked(g, t) == g->n_alternatives);
    }
}

void span_count(struct span_counts *c, const struct span_record *gold, const struct tag_answer *a)
{
    bool alarm = false;

    for (int i = 0; i < gold->n_spans; i++)
        count_gold(c, &gold->spans[i], a);
    for (int i = 0; i < a->n_spans; i++) {
        count_tagged(c, &a->spans[i], gold);
        alarm |= is_problem(a->spans[i].label);
    }
    count_words(c, gold, a);
    c->records++;
    if (span_record_is_problem(gold))
        return;
    c->answerable++;
    c->alarmed += alarm;
}

void span_counts_add(struct span_counts *to, const struct span_counts *more)
{
    int64_t *sum = (int64_t *)to;
    const int64_t *part = (const int64_t *)more;

    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++)
        sum[i] += part[i];
}

double span_f1(int64_t hits_gold, int64_t gold, int64_t hits_tagged, int64_t tagged)
{
    double recall = gold ? (double)hits_gold / (double)gold : 0;
    double precision = tagged ? (double)hits_tagged / (double)tagged : 0;

    if (!gold && !tagged)
        return NAN;
    return recall + precision > 0 ? 2 * recall * precision / (recall + precision) : 0;
}
