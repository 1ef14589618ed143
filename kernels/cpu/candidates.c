/*
 * The k best tokens of each row, and their log probabilities.
 *
 * One pass over the row keeps a short sorted list. Most blocks of logits hold nothing better than the list's last
 * entry, which one vectorised maximum shows, so that the insertion costs little. Equal logits keep the order of their
 * ids.
 */
#include "kernels/cpu/choices.h"

#include <math.h>
#include <string.h>

/* The best choices so far, best first. */
struct best_choices {
    float logit[CANDIDATES_MAX];
    int64_t at[CANDIDATES_MAX];
    int n, k;
};

/* Inserts a choice after all that are no smaller. */
static void take_choice(struct best_choices *b, float logit, int64_t at)
{
    int i = b->n < b->k ? b->n++ : b->k - 1;

    for (; i > 0 && b->logit[i - 1] < logit; i--) {
        b->logit[i] = b->logit[i - 1];
        b->at[i] = b->at[i - 1];
    }
    b->logit[i] = logit;
    b->at[i] = at;
}

static float least_wanted(const struct best_choices *b)
{
    return b->n < b->k ? -INFINITY : b->logit[b->k - 1];
}

static void find_best(struct best_choices *b, const struct choices *ch)
{
    float buf[ROW_BLOCK];

    for (int64_t at = 0; at < ch->n; at += ROW_BLOCK) {
        int64_t run = run_length(at, ch->n);
        const float *x = choices_in(buf, ch, at, run);
        /* The negation also skips blocks of NaN. */
        if (!(row_most(x, run) > least_wanted(b)))
            continue;
        for (int64_t i = 0; i < run; i++)
            if (x[i] > least_wanted(b))
                take_choice(b, x[i], at + i);
    }
}

/* The destination of a row's candidates. */
struct candidate_row {
    float *value;
    int32_t *id, *state;
    int k;
};

static void no_candidates(struct candidate_row to, int from)
{
    for (int i = from; i < to.k; i++) {
        to.value[i] = -INFINITY;
        to.id[i] = -1;
        to.state[i] = STATE_FREE;
    }
}

static void row_candidates(struct candidate_row to, const struct choices *ch, const struct choices *of)
{
    struct best_choices b;
    /* Probabilities are over `of`: all tokens of the vocabulary, or only those that the automaton allows. */
    float most = choices_most(of), excess = choices_log_excess(of, most);

    b.n = 0;
    b.k = to.k;
    find_best(&b, ch);
    for (int i = 0; i < b.n; i++) {
        to.value[i] = choice_logp(b.logit[i], most, excess);
        to.id[i] = choice_id(ch, b.at[i]);
        to.state[i] = choice_state(ch, b.at[i]);
    }
    no_candidates(to, b.n);
}

void cpu_candidates(struct ctx *c, const struct candidates *y, const struct decode_state *s,
                    const struct decode_step *step, const struct tensor *logits, const struct automaton *a,
                    enum normalise normalise)
{
    const int32_t *request = step->request->data, *state = s->state->data;
    const int32_t *done = s->done->data;
    const float *score = s->score->data;
    int64_t rows = tensor_rows(y->value), k = y->k;

    (void)c;
#pragma omp parallel for schedule(dynamic) if (tensor_size(logits) > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++) {
        struct candidate_row to = { (float *)y->value->data + t * k, (int32_t *)y->id->data + t * k,
                                    (int32_t *)y->state->data + t * k, y->k };
        int64_t row = (int64_t)request[t / s->width] * s->width + t % s->width;
        if (row < 0 || done[row / s->width] || score[row] == -INFINITY) {
            no_candidates(to, 0);
            continue;
        }
        int64_t from = logit_row(s, step, t);
        struct choices all = choices_of(NULL, STATE_FREE, logits, from), ch = choices_of(a, state[row], logits, from);
        row_candidates(to, &ch, normalise == NORMALISE_FULL ? &all : &ch);
    }
}

void cpu_keep_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                         const struct candidates *best)
{
    const int32_t *request = step->request->data, *said = step->step->data, *done = s->done->data;
    int64_t steps = tensor_cols(s->said), kept = tensor_cols(s->best_id) / steps;

    (void)c;
    for (int64_t t = 0; t < tensor_size(step->request) * s->width; t++) {
        int64_t r = request[t / s->width], row = r * s->width + t % s->width;
        if (r < 0 || done[r])
            continue;
        int64_t to = (row * steps + said[t / s->width]) * kept, from = t * best->k;
        memcpy((int32_t *)s->best_id->data + to, (int32_t *)best->id->data + from, (size_t)kept * sizeof(int32_t));
        memcpy((float *)s->best_logp->data + to, (float *)best->value->data + from, (size_t)kept * sizeof(float));
    }
}
