#include "models/tagger/dte_decode.h"

#include "models/tagger/dte_linker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Score of tag j at word t after tag i; i = tags: before the first word. -INFINITY: forbidden. */
static double step_score(const struct dte_chain *m, const struct dte_emissions *e, int t, int i, int j)
{
    bool barred = m->forbidden && m->forbidden[i] >> j & 1, allowed = !e->allowed || e->allowed[t] >> j & 1;

    if (barred || !allowed)
        return -INFINITY;
    return ((double)m->weights[i * m->tags + j] + (double)e->e[t * m->tags + j]) / e->temperature;
}

static double end_score(const struct dte_chain *m, const struct dte_emissions *e, int j)
{
    int end = m->tags + 1;

    if (m->forbidden && m->forbidden[end] >> j & 1)
        return -INFINITY;
    return (double)m->weights[end * m->tags + j] / e->temperature;
}

/* Best score of each tag of word t, from the scores of the word before; `back` gets the best previous tag. */
static void best_step(const struct dte_chain *m, const struct dte_emissions *e, int t, const double *before,
                      double *after, int *back)
{
    for (int j = 0; j < m->tags; j++) {
        after[j] = t ? -INFINITY : step_score(m, e, t, m->tags, j);
        back[j] = 0;
        for (int i = 0; t && i < m->tags; i++) {
            double s = before[i] + step_score(m, e, t, i, j);
            if (s > after[j]) {
                after[j] = s;
                back[j] = i;
            }
        }
    }
}

bool dte_chain_best(const struct dte_chain *m, const struct dte_emissions *e, int *tags)
{
    int *back = xmalloc((size_t)(e->n * m->tags) * sizeof *back), best = 0;
    double before[CRF_TAGS_MAX] = { 0 }, after[CRF_TAGS_MAX] = { 0 }, most = -INFINITY;

    for (int t = 0; t < e->n; t++) {
        best_step(m, e, t, before, after, back + t * m->tags);
        memcpy(before, after, sizeof before);
    }
    for (int j = 0; j < m->tags; j++)
        if (before[j] + end_score(m, e, j) > most) {
            most = before[j] + end_score(m, e, j);
            best = j;
        }
    for (int t = e->n - 1; t >= 0; t--) {
        tags[t] = best;
        best = back[t * m->tags + best];
    }
    free(back);
    return most > -INFINITY;
}

static double log_sum(const double *x, int n)
{
    double most = -INFINITY, sum = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int i = 0; i < n && most > -INFINITY; i++)
        sum += exp(x[i] - most);
    return most > -INFINITY ? most + log(sum) : most;
}

double dte_chain_log_z(const struct dte_chain *m, const struct dte_emissions *e)
{
    double alpha[CRF_TAGS_MAX] = { 0 }, next[CRF_TAGS_MAX] = { 0 }, terms[CRF_TAGS_MAX];

    for (int t = 0; t < e->n; t++) {
        for (int j = 0; j < m->tags; j++) {
            for (int i = 0; i < m->tags; i++)
                terms[i] = t ? alpha[i] + step_score(m, e, t, i, j) : -INFINITY;
            next[j] = t ? log_sum(terms, m->tags) : step_score(m, e, t, m->tags, j);
        }
        memcpy(alpha, next, sizeof alpha);
    }
    for (int j = 0; j < m->tags; j++)
        terms[j] = alpha[j] + end_score(m, e, j);
    return e->n ? log_sum(terms, m->tags) : 0;
}

double dte_chain_span(const struct dte_chain *m, const struct dte_emissions *e, int from, int to, const int *tags,
                      int32_t not_next)
{
    int32_t *allowed = xmalloc((size_t)e->n * sizeof *allowed);
    struct dte_emissions only = *e;

    for (int t = 0; t < e->n; t++) {
        int32_t any = e->allowed ? e->allowed[t] : (int32_t)((1u << m->tags) - 1);
        allowed[t] = t >= from && t < to ? any & (1 << tags[t - from]) : t == to ? any & ~not_next : any;
    }
    only.allowed = allowed;
    double p = exp(dte_chain_log_z(m, &only) - dte_chain_log_z(m, e));
    free(allowed);
    return p;
}

static int dte_take_best(struct tag_concept **list, double *scores, const struct dte_reading *r, int most,
                         double share);

const char dte_unknown_column[] = "unknown";

/* Mean over words [from, to). */
static double mean(const float *x, int from, int to)
{
    double sum = 0;

    for (int q = from; q < to; q++)
        sum += x[q];
    return sum / (to - from);
}

/* Scores of the concepts that ground words [from, to), and -1 for the others. `own` is the link of these words. */
static double *score_grounded(const struct dte_reading *r, int from, int to, int own)
{
    double *scores = xmalloc((size_t)r->n_concepts * sizeof *scores);

    for (int k = 0; k < r->n_concepts; k++) {
        double g = mean(r->grounding + (DTE_KEYWORDS + k) * r->n_words, from, to);
        bool same_kind = (r->concepts[k].kind == TAG_VALUE) == (r->concepts[own].kind == TAG_VALUE);
        scores[k] = same_kind && g >= dte_link_threshold ? g : -1;
    }
    scores[own] = fmax(scores[own], 0);
    return scores;
}

static bool is_unknown(const struct dte_reading *r, int k)
{
    return r->concepts[k].kind == TAG_COLUMN &&
           strcmp(dte_concept_name(r->item, &r->concepts[k]), dte_unknown_column) == 0;
}

/* Builds the span of words [from, to), all linked to concept k. */
static void link_words(struct tag_span *span, const struct dte_reading *r, int from, int to, int k, int most)
{
    const struct dte_word *words = r->item->words;

    *span = (struct tag_span){ .start = words[from].start, .end = words[to - 1].end, .label = SPAN_UNK };
    if (is_unknown(r, k))
        return;
    double *scores = score_grounded(r, from, to, k);
    span->n_alternatives = dte_take_best(&span->alternatives, scores, r, most, 0);
    span->label = span->n_alternatives > 1 ? SPAN_AMB : r->concepts[k].kind == TAG_VALUE ? SPAN_VAL : SPAN_COL;
    free(scores);
}

void dte_decode_eta(struct tag_answer *a, const struct dte_reading *r, const struct dte_decode_settings *s)
{
    struct dte_term *terms = xmalloc((size_t)r->n_words * sizeof *terms);
    int words = r->n_words - dte_ends_with_mark(r->item);

    *a = (struct tag_answer){ .spans = xcalloc((size_t)r->n_words, sizeof *a->spans) };
    dte_link(terms, r);
    for (int q = 0, to; q < words; q = to) {
        double confidence = terms[q].confidence;
        for (to = q + 1; to < words && terms[to].concept == terms[q].concept; to++)
            confidence += terms[to].confidence;
        if (terms[q].concept < DTE_KEYWORDS)
            continue;
        struct tag_span *span = &a->spans[a->n_spans++];
        link_words(span, r, q, to, terms[q].concept - DTE_KEYWORDS, s->most);
        span->probability = confidence / (to - q);
    }
    free(terms);
}

static const double LEAST_SCORE = 0.3; /* min score of a concept that COL and VAL link to */

const struct dte_decode_settings dte_decode_defaults = { .temperature = 1, .threshold = 0, .share = 0.6, .most = 3 };

/* Words [from, to) of a question with the same label. */
struct word_run {
    const struct dte_reading *r;
    int from, to;
    enum span_label label;
};

/* For each concept, the mean over the run's words of its probability as their meaning. */
static double *score_concepts(const struct word_run *s)
{
    const struct dte_reading *r = s->r;
    double *scores = xcalloc((size_t)r->n_concepts, sizeof *scores);

    for (int k = 0; k < r->n_concepts; k++)
        for (int q = s->from; q < s->to; q++)
            scores[k] += (double)r->meaning[k * r->n_words + q] / (s->to - s->from);
    return scores;
}

static bool any_value(const struct dte_reading *r)
{
    for (int k = 0; k < r->n_concepts; k++)
        if (r->concepts[k].kind == TAG_VALUE)
            return true;
    return false;
}

/* Sets concepts to -1 that a span with this label cannot mean. */
static void keep_kind(double *scores, const struct word_run *s)
{
    bool values = s->label == SPAN_VAL && any_value(s->r);

    for (int k = 0; k < s->r->n_concepts; k++) {
        bool value = s->r->concepts[k].kind == TAG_VALUE;
        if (s->label == SPAN_VAL ? value != values : value && s->label != SPAN_AMB)
            scores[k] = -1;
    }
}

/* Sets concepts to -1 that the question hardly means, unless none would be left. */
static void keep_meant(double *scores, const struct dte_reading *r)
{
    bool left = false;

    for (int k = 0; k < r->n_concepts; k++)
        left |= scores[k] >= 0 && r->concepts[k].score >= LEAST_SCORE;
    for (int k = 0; left && k < r->n_concepts; k++)
        if (r->concepts[k].score < LEAST_SCORE)
            scores[k] = -1;
}

static int best_of(const double *scores, int n)
{
    int best = 0;

    for (int k = 1; k < n; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

/* Removes a concept. A value and its own column are one meaning. */
static void take_out(double *scores, const struct dte_reading *r, int taken)
{
    const struct tag_concept *t = &r->concepts[taken];

    for (int k = 0; k < r->n_concepts; k++) {
        const struct tag_concept *c = &r->concepts[k];
        bool pair = c->kind + t->kind == TAG_VALUE + TAG_COLUMN && c->kind != t->kind && c->column == t->column;
        if (k == taken || pair)
            scores[k] = -1;
    }
}

/* Takes the concepts with the best scores [n_concepts] and returns their number, at most `most`. Each has at least
 * `share` of the best score, and at least 0. A value and its own column are one meaning. Scores of taken concepts
 * are overwritten. */
static int dte_take_best(struct tag_concept **list, double *scores, const struct dte_reading *r, int most, double share)
{
    int n = 0;
    double best = 0;

    *list = xmalloc((size_t)most * sizeof **list);
    while (n < most) {
        int k = best_of(scores, r->n_concepts);
        if (scores[k] < 0 || scores[k] < share * best)
            break;
        best = fmax(best, scores[k]);
        (*list)[n] = r->concepts[k];
        (*list)[n++].score = fmin(scores[k], 1);
        take_out(scores, r, k);
    }
    return n;
}

static void link_run(struct tag_span *span, const struct word_run *s, const struct dte_decode_settings *set)
{
    double *scores = score_concepts(s);

    keep_kind(scores, s);
    if (s->label == SPAN_UNK) {
        span->n_nearest = dte_take_best(&span->nearest, scores, s->r, set->most, 0);
    } else if (s->label == SPAN_AMB) {
        span->n_alternatives = dte_take_best(&span->alternatives, scores, s->r, set->most, set->share);
    } else {
        keep_meant(scores, s->r);
        span->n_alternatives = dte_take_best(&span->alternatives, scores, s->r, 1, 0);
    }
    free(scores);
}

struct decoding {
    const struct dte_reading *r;
    const struct dte_chain *chain;
    const struct dte_decode_settings *set;
    struct dte_emissions e;
    int first;  /* tag of the first label */
    bool plain; /* one tag per label, instead of begin and inside */
};

/* Bits of the tags of a label. */
static int32_t tags_of(const struct decoding *g, enum span_label label)
{
    return g->plain ? 1 << (g->first + (int)label) : 3 << (g->first + 2 * (int)label);
}

/* Probability that exactly this run has its label. */
static double run_probability(const struct decoding *g, const struct word_run *s)
{
    int begin = g->plain ? g->first + (int)s->label : g->first + 2 * (int)s->label, inside = begin + !g->plain;
    int *tags = xmalloc((size_t)(s->to - s->from) * sizeof *tags);

    for (int q = s->from; q < s->to; q++)
        tags[q - s->from] = q > s->from ? inside : begin;
    double p = dte_chain_span(g->chain, &g->e, s->from, s->to, tags, 1 << inside);
    free(tags);
    return fmin(p, 1);
}

/* Probability that some word is AMB or UNK. */
static double problem_probability(const struct decoding *g)
{
    int32_t *fine = xmalloc((size_t)g->e.n * sizeof *fine), problem = tags_of(g, SPAN_AMB) | tags_of(g, SPAN_UNK);
    struct dte_emissions e = g->e;

    for (int q = 0; q < g->e.n; q++)
        fine[q] = g->e.allowed[q] & ~problem;
    e.allowed = fine;
    double p = 1 - exp(dte_chain_log_z(g->chain, &e) - dte_chain_log_z(g->chain, &g->e));
    free(fine);
    return fmax(p, 0);
}

/* Turns an AMB run into its best concept. Its probability is that of both labels together: if the tags are sure of
 * AMB, the other label alone would be close to 0. */
static void make_plain(struct tag_span *span, const struct decoding *g, struct word_run *s)
{
    s->label = span->alternatives[0].kind == TAG_VALUE ? SPAN_VAL : SPAN_COL;
    free(span->alternatives);
    span->probability = fmin(span->probability + run_probability(g, s), 1);
    link_run(span, s, g->set);
}

/* Links a run. An AMB run with a low probability, or with a single meaning, becomes COL or VAL. */
static bool make_span(struct tag_span *span, const struct decoding *g, struct word_run *s)
{
    const struct dte_word *words = g->r->item->words;
    bool sure = (span->probability = run_probability(g, s)) >= g->set->threshold;

    if (s->label == SPAN_UNK && !sure)
        return false;
    link_run(span, s, g->set);
    if (s->label == SPAN_AMB && (!sure || span->n_alternatives < 2))
        make_plain(span, g, s);
    span->label = s->label;
    span->start = words[s->from].start;
    span->end = words[s->to - 1].end;
    return true;
}

/* The label of a tag; -1: none. */
static int label_of(const struct decoding *g, int tag)
{
    if (g->plain && tag == DTE_PUBLISHED_TABLE)
        return SPAN_COL;
    return tag < g->first ? -1 : g->plain ? tag - g->first : (tag - g->first) / 2;
}

/* Whether a word with this tag continues the span of the word before. */
static bool goes_on(const struct decoding *g, int before, int tag)
{
    return g->plain ? tag == before : tag >= g->first && (tag - g->first) % 2 == 1;
}

static void make_spans(struct tag_answer *a, const struct decoding *g, const int *tags)
{
    for (int q = 0, to; q < g->e.n; q = to) {
        for (to = q + 1; to < g->e.n && goes_on(g, tags[to - 1], tags[to]);)
            to++;
        int label = label_of(g, tags[q]);
        struct word_run s = { g->r, q, to, (enum span_label)label };
        if (label >= 0)
            a->n_spans += make_span(&a->spans[a->n_spans], g, &s);
    }
}

/* The mark at the end of a question has no label. */
static int32_t *allow_tags(const struct dte_reading *r)
{
    int32_t *allowed = xmalloc((size_t)r->n_words * sizeof *allowed);

    for (int q = 0; q < r->n_words; q++)
        allowed[q] = (1 << r->n_tags) - 1;
    if (dte_ends_with_mark(r->item))
        allowed[r->n_words - 1] = 1 << DTE_OTHER;
    return allowed;
}

void dte_decode(struct tag_answer *a, const struct dte_reading *r, const struct dte_chain *m, bool published,
                const struct dte_decode_settings *s)
{
    int32_t *allowed = allow_tags(r);
    int *tags = xmalloc((size_t)r->n_words * sizeof *tags);
    struct decoding g = { .r = r,
                          .chain = m,
                          .set = s,
                          .e = { r->emission, allowed, r->n_words, s->temperature },
                          .first = published ? DTE_PUBLISHED_SPAN : DTE_SPAN,
                          .plain = published };

    *a = (struct tag_answer){ .spans = xcalloc((size_t)r->n_words, sizeof *a->spans) };
    if (dte_chain_best(m, &g.e, tags)) {
        make_spans(a, &g, tags);
        a->problem = problem_probability(&g);
    }
    free(allowed);
    free(tags);
}
