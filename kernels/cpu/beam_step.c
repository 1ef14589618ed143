/*
 * One step of beam search for each request: candidates of all rows become the rows' continuations, or completions.
 *
 * The rules are those of transformers' beam search, whose results are the reference. Ties are broken by the row's
 * number and then by the candidate's, so that all devices agree.
 */
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One request: the state and the candidates of its rows. */
struct beam_request {
    const struct decode_state *s;
    const struct candidates *best;
    const struct beam_settings *set;
    int64_t row, from; /* its first row of the state and of the candidates */
    int step, limit, fixed, place;
};

/* One of the best candidates of all rows. */
struct continuation {
    int row, at; /* of the request's rows, and of its candidates */
    int32_t id;
    float score, logp;
    bool stop, hit; /* hit: ends here, by a stop token or the limit */
};

static int32_t *words(const struct tensor *t, int64_t at)
{
    return (int32_t *)t->data + at;
}

static float *numbers(const struct tensor *t, int64_t at)
{
    return (float *)t->data + at;
}

static bool is_stop(const struct tensor *stops, int32_t id)
{
    for (int64_t i = 0; i < tensor_size(stops); i++)
        if (*words(stops, i) == id)
            return true;
    return false;
}

static struct continuation continuation_of(const struct beam_request *q, int row, int at, float score)
{
    int64_t from = (q->from + row) * q->best->k + at;
    int32_t id = *words(q->best->id, from);
    bool stop = is_stop(q->set->stops, id);

    return (struct continuation){
        row, at, id, score, *numbers(q->best->value, from), stop, stop || q->step + 1 >= q->limit
    };
}

/* Merges the sorted candidates of all rows into the best ones; returns their number. */
static int merge(struct continuation *list, int keep, const struct beam_request *q)
{
    /* Each row has its candidates in decreasing order, so that the best one of all is at the head of a row. A later
     * row must be better to win a tie. */
    int at[BEAMS_MAX] = { 0 }, n = 0, k = q->best->k;

    for (; n < keep; n++) {
        float most = -INFINITY;
        int row = -1;
        for (int i = 0; i < q->s->width; i++) {
            if (at[i] == k)
                continue;
            float score = *numbers(q->best->value, (q->from + i) * k + at[i]) + *numbers(q->s->score, q->row + i);
            if (score > most) {
                most = score;
                row = i;
            }
        }
        if (row < 0)
            break;
        list[n] = continuation_of(q, row, at[row]++, most);
    }
    return n;
}

/* Copies slot `from` to slot `to`. */
static void move_answer(const struct decode_state *s, int64_t to, int64_t from)
{
    *words(s->end_step, to) = *words(s->end_step, from);
    *words(s->end_row, to) = *words(s->end_row, from);
    *words(s->end_token, to) = *words(s->end_token, from);
    *words(s->end_stop, to) = *words(s->end_stop, from);
    *numbers(s->end_logp, to) = *numbers(s->end_logp, from);
    *numbers(s->end_score, to) = *numbers(s->end_score, from);
}

/* Inserts a completion into its slot, after all that are no worse. */
static void take_answer(const struct beam_request *q, const struct continuation *w)
{
    const struct decode_state *s = q->s;
    float score = w->score / *numbers(q->set->norm, q->step + 1);
    int64_t slot = q->row + s->width - 1;

    /* Slots are in decreasing order. The last one is the worst, and its place is lost to a better completion. */
    if (!(score > *numbers(s->end_score, slot)))
        return;
    for (; slot > q->row && *numbers(s->end_score, slot - 1) < score; slot--)
        move_answer(s, slot, slot - 1);
    *words(s->end_step, slot) = q->step;
    *words(s->end_row, slot) = w->row;
    *words(s->end_token, slot) = w->id;
    *words(s->end_stop, slot) = w->stop;
    *numbers(s->end_logp, slot) = w->logp;
    *numbers(s->end_score, slot) = score;
}

/* Replaces the rows' table entries for their own positions by those of the rows that they continue. */
static void move_tables(const struct beam_request *q, const struct continuation *const *next, int n)
{
    int64_t keys = tensor_cols(q->s->table);
    size_t places = (size_t)(q->place - q->fixed + 1);
    int32_t *table = words(q->s->table, q->row * keys + q->fixed);
    /* Two rows may continue one, and a row may continue a later one, so that entries go through a copy. */
    int32_t *copy = xmalloc((size_t)n * places * sizeof *copy);

    for (int i = 0; i < n; i++)
        memcpy(copy + (size_t)i * places, table + next[i]->row * keys, places * sizeof *copy);
    for (int i = 0; i < n; i++)
        memcpy(table + i * keys, copy + (size_t)i * places, places * sizeof *copy);
    free(copy);
}

/* Moves the state of rows.  Rows after the last continuation become empty. */
static void move_rows(const struct beam_request *q, const struct continuation *const *next, int n)
{
    const struct decode_state *s = q->s;
    int64_t steps = tensor_cols(s->said);

    move_tables(q, next, n);
    for (int i = 0; i < s->width; i++) {
        int64_t row = q->row + i, log = row * steps + q->step;
        *numbers(s->score, row) = i < n ? next[i]->score : -INFINITY;
        if (i >= n)
            continue;
        *words(s->token, row) = *words(s->said, log) = next[i]->id;
        *words(s->parent, log) = next[i]->row;
        *numbers(s->logp, log) = next[i]->logp;
        *words(s->state, row) = *words(q->best->state, (q->from + next[i]->row) * q->best->k + next[i]->at);
    }
}

/* Returns whether the request is done.  That is so if no row continues, or if early stopping is on and every slot is
 * filled.  It is also so if the best row cannot become better than the worst slot, by the estimate of transformers. */
static bool is_done(const struct beam_request *q)
{
    const struct beam_settings *set = q->set;
    int64_t last = q->row + q->s->width - 1;
    int length = set->early == EARLY_NEVER && set->length_penalty > 0 ? q->limit : q->step + 1;
    float most = *numbers(q->s->score, q->row);

    if (most == -INFINITY || (set->early == EARLY_TRUE && *words(q->s->end_step, last) >= 0))
        return true;
    return !(most / *numbers(set->norm, length) > *numbers(q->s->end_score, last));
}

static void step_request(const struct beam_request *q)
{
    struct continuation list[CANDIDATES_MAX];
    const struct continuation *next[BEAMS_MAX];
    int width = q->s->width, n = merge(list, beam_candidates(width, tensor_size(q->set->stops)), q), going = 0;

    /* Only the best `width` candidates may end; a later one that ends is dropped, as in transformers. Others
     * continue until all rows are filled. */
    for (int i = 0; i < n; i++) {
        if (!list[i].hit && going < width)
            next[going++] = &list[i];
        else if (i < width && list[i].hit)
            take_answer(q, &list[i]);
    }
    move_rows(q, next, going);
    *words(q->s->done, q->row / width) = is_done(q);
}

void cpu_beam_step(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                   const struct candidates *best, const struct beam_settings *set)
{
    (void)c;
    for (int64_t i = 0; i < tensor_size(step->request); i++) {
        int32_t r = *words(step->request, i);
        if (r < 0 || *words(s->done, r))
            continue;
        struct beam_request q = { s,
                                  best,
                                  set,
                                  (int64_t)r * s->width,
                                  i * s->width,
                                  *words(step->step, i),
                                  *words(step->limit, i),
                                  *words(step->fixed, i),
                                  *words(step->place, i) };
        step_request(&q);
    }
}
