/* Part of restricted_infilling.h: the beam search, which counts as transformers' BeamSearchScorer does. */
#include "data/plan/restricted_infilling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct infilling_candidate {
    double sum;
    int beam;
    int32_t token;
};

/* Beams of one length, and the answers that have been finished. */
struct infilling_beams {
    const struct infilling_search *s;
    int32_t **ids, **next; /* [beams][max_length] of this step, and of the one to come */
    double *sums;          /* [beams] */
    int n, length;
    double *rows;                       /* [beams, n_vocabulary] */
    enum infilling_decision *decisions; /* [beams] */
    struct infilling_candidate *best;   /* [2 beams] the step's, the best first */
    int n_best;
    struct infilling_answer *answers; /* [beams] */
    int n_answers;
};

static int32_t **new_beams(const struct infilling_search *s)
{
    int32_t **ids = xmalloc((size_t)s->beams * sizeof *ids);
    for (int i = 0; i < s->beams; i++)
        ids[i] = xmalloc((size_t)s->max_length * sizeof **ids);
    return ids;
}

static void free_beams(int32_t **ids, int n)
{
    for (int i = 0; i < n; i++)
        free(ids[i]);
    free(ids);
}

static void begin(struct infilling_beams *b, const struct infilling_search *s)
{
    size_t n = (size_t)s->beams;

    *b = (struct infilling_beams){ .s = s, .ids = new_beams(s), .next = new_beams(s), .n = s->beams, .length = 1 };
    b->sums = xmalloc(n * sizeof *b->sums);
    b->rows = xmalloc(n * (size_t)s->n_vocabulary * sizeof *b->rows);
    b->decisions = xmalloc(n * sizeof *b->decisions);
    b->best = xmalloc(2 * n * sizeof *b->best);
    b->answers = xmalloc(n * sizeof *b->answers);
    for (int i = 0; i < s->beams; i++) {
        b->ids[i][0] = s->start;
        b->sums[i] = i ? -1e9 : 0;
    }
}

/* All but the answers. */
static void end(struct infilling_beams *b)
{
    free_beams(b->ids, b->s->beams);
    free_beams(b->next, b->s->beams);
    free(b->sums);
    free(b->rows);
    free(b->decisions);
    free(b->best);
}

static int restrict_rows(struct infilling_beams *b)
{
    const struct infilling_search *s = b->s;

    if (s->scores(s->user, b->rows, (const int32_t *const *)b->ids, b->n, b->length))
        return -1;
    for (int i = 0; i < b->n; i++) {
        char *text = infilling_reads(s->rules, b->length) ? s->decode(s->user, b->ids[i], b->length) : NULL;
        double *row = b->rows + (int64_t)i * s->n_vocabulary;
        b->decisions[i] = infilling_restrict(s->rules, text, b->length, row, s->n_vocabulary);
        free(text);
    }
    return 0;
}

/* In its place behind all that are as good. */
static void rank_candidate(struct infilling_beams *b, struct infilling_candidate c)
{
    int at = b->n_best, most = 2 * b->s->beams;

    if (at == most && c.sum <= b->best[at - 1].sum)
        return;
    b->n_best += at < most;
    at -= at == most;
    for (; at && c.sum > b->best[at - 1].sum; at--)
        b->best[at] = b->best[at - 1];
    b->best[at] = c;
}

static void find_best(struct infilling_beams *b)
{
    const double *row = b->rows;

    b->n_best = 0;
    for (int i = 0; i < b->n; i++, row += b->s->n_vocabulary)
        for (int32_t token = 0; token < b->s->n_vocabulary; token++)
            if (row[token] > -INFINITY)
                rank_candidate(b, (struct infilling_candidate){ b->sums[i] + row[token], i, token });
}

/* Of the worst, the one that came first leaves. */
static void drop_worst(struct infilling_beams *b)
{
    int at = --b->n_answers;

    while (at && b->answers[at - 1].score == b->answers[b->n_answers].score)
        at--;
    free(b->answers[at].ids);
    memmove(b->answers + at, b->answers + at + 1, (size_t)(b->n_answers - at) * sizeof *b->answers);
}

/* A beam's text is an answer, if it is among the best. */
static void finish(struct infilling_beams *b, int beam, double sum)
{
    struct infilling_answer a = { .n = b->length - 1, .score = sum / b->length };
    bool full = b->n_answers == b->s->beams;

    if (full && a.score <= b->answers[b->n_answers - 1].score)
        return;
    if (full)
        drop_worst(b);
    a.ids = xmalloc((size_t)b->length * sizeof *a.ids);
    memcpy(a.ids, b->ids[beam] + 1, (size_t)a.n * sizeof *a.ids);
    int at = b->n_answers++;
    for (; at && a.score > b->answers[at - 1].score; at--)
        b->answers[at] = b->answers[at - 1];
    b->answers[at] = a;
}

/* Of the step's best some end, others are the next step's beams. */
static void share_out(struct infilling_beams *b)
{
    const struct infilling_search *s = b->s;
    int n = 0;

    for (int rank = 0; rank < b->n_best && n < s->beams; rank++) {
        const struct infilling_candidate *c = b->best + rank;
        if (c->token == s->end) {
            if (rank < s->beams)
                finish(b, c->beam, c->sum);
            continue;
        }
        memcpy(b->next[n], b->ids[c->beam], (size_t)b->length * sizeof **b->ids);
        b->next[n][b->length] = c->token;
        b->sums[n++] = c->sum;
    }
    b->n = n;
}

/* Whether nothing better can come, by the step that has just been made. */
static bool settled(const struct infilling_beams *b)
{
    return b->n_best && b->n_answers == b->s->beams && b->answers[b->n_answers - 1].score >= b->best[0].sum / b->length;
}

/* 1 where the search is over. */
static int step(struct infilling_beams *b)
{
    const struct infilling_search *s = b->s;
    int n_decisions = b->n;

    if (restrict_rows(b))
        return -1;
    find_best(b);
    share_out(b);
    int32_t **ids = b->next;
    b->next = b->ids;
    b->ids = ids;
    bool over = settled(b);
    b->length++;
    if (s->seen)
        s->seen(s->user, b->decisions, n_decisions, (const int32_t *const *)b->ids, b->sums, b->n);
    return over;
}

int infilling_run(struct infilling_answer **answers, const struct infilling_search *s)
{
    struct infilling_beams b;
    int rc = 0;

    begin(&b, s);
    while (rc == 0 && b.n && b.length < s->max_length)
        rc = step(&b);
    for (int i = 0; rc == 0 && i < b.n; i++)
        finish(&b, i, b.sums[i]);
    end(&b);
    *answers = b.answers;
    if (rc >= 0)
        return b.n_answers;
    for (int i = 0; i < b.n_answers; i++)
        free(b.answers[i].ids);
    free(b.answers);
    *answers = NULL;
    return -1;
}
