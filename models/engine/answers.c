/* Part of engine.h: what a request has said, off the device. */
#include "models/engine/engine_impl.h"

#include <stdlib.h>
#include <string.h>

/* The rows of a request, on the host. */
struct said {
    int64_t width, steps, keep;
    int32_t *said, *parent, *best_id; /* [width, steps (keep)] */
    float *logp, *best_logp;
    int32_t *end_step, *end_row, *end_token, *end_stop; /* [width] */
    float *end_logp, *end_score;
};

/* Rows of a request in one of the state's tensors; the caller frees. */
static void *rows_of(const struct engine *e, const struct active_request *a, struct tensor *t)
{
    struct tensor rows = tensor_view(t, a->slot * e->width, e->width);
    void *host = xmalloc(tensor_bytes(&rows) + 1);

    device_download(e->model->device, host, &rows);
    return host;
}

static struct said read_said(const struct engine *e, const struct active_request *a)
{
    const struct decode_state *s = &e->state;

    return (struct said){ .width = e->width,
                          .steps = e->steps,
                          .keep = e->set.keep,
                          .said = rows_of(e, a, s->said),
                          .parent = rows_of(e, a, s->parent),
                          .logp = rows_of(e, a, s->logp),
                          .best_id = s->best_id ? rows_of(e, a, s->best_id) : NULL,
                          .best_logp = s->best_logp ? rows_of(e, a, s->best_logp) : NULL,
                          .end_step = rows_of(e, a, s->end_step),
                          .end_row = rows_of(e, a, s->end_row),
                          .end_token = rows_of(e, a, s->end_token),
                          .end_stop = rows_of(e, a, s->end_stop),
                          .end_logp = rows_of(e, a, s->end_logp),
                          .end_score = rows_of(e, a, s->end_score) };
}

static void release(struct said *s)
{
    void *const all[] = { s->said,    s->parent,    s->logp,     s->best_id,  s->best_logp, s->end_step,
                          s->end_row, s->end_token, s->end_stop, s->end_logp, s->end_score };
    for (int i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

static void keep_best(struct engine_answer *a, const struct said *s, int64_t row, int64_t step)
{
    size_t at = (size_t)((row * s->steps + step) * s->keep), n = (size_t)s->keep;

    memcpy(a->best + step * s->keep, s->best_id + at, n * sizeof *a->best);
    memcpy(a->best_logp + step * s->keep, s->best_logp + at, n * sizeof *a->best_logp);
}

/* The answer in a slot, walked back from its last token. */
static void read_answer(struct engine_answer *a, const struct said *s, int64_t slot)
{
    int64_t last = s->end_step[slot], row = s->end_row[slot], n = last + (s->end_stop[slot] == 0);

    *a = (struct engine_answer){ .last = s->end_token[slot],
                                 .stopped = s->end_stop[slot] != 0,
                                 .score = (double)s->end_score[slot],
                                 .logp = (double)s->end_logp[slot],
                                 .steps = last + 1,
                                 .step_logp = xcalloc((size_t)last + 1, sizeof *a->step_logp) };
    a->step_logp[last] = s->end_logp[slot];
    if (s->keep) {
        a->best = xcalloc((size_t)(a->steps * s->keep), sizeof *a->best);
        a->best_logp = xcalloc((size_t)(a->steps * s->keep), sizeof *a->best_logp);
        keep_best(a, s, row, last);
    }
    for (int64_t i = 0; i < n; i++)
        ids_push(&a->out, s->end_token[slot]);
    for (int64_t t = last - 1; t >= 0; t--) {
        a->out.items[t] = s->said[row * s->steps + t];
        a->logp += (double)(a->step_logp[t] = s->logp[row * s->steps + t]);
        row = s->parent[row * s->steps + t];
        if (s->keep)
            keep_best(a, s, row, t);
    }
}

/* Rows that said enough end with their newest token. */
static void end_rows(struct said *s, int64_t step)
{
    for (int64_t i = 0; i < s->width; i++)
        if (s->end_step[i] < 0) {
            s->end_step[i] = (int32_t)step - 1;
            s->end_row[i] = (int32_t)i;
            s->end_token[i] = s->said[i * s->steps + step - 1];
            s->end_logp[i] = s->logp[i * s->steps + step - 1];
            s->end_stop[i] = 0;
        }
}

void engine_read_answers(struct engine *e, struct active_request *a)
{
    struct said s = read_said(e, a);
    struct engine_request *r = a->of;

    if (e->set.enough)
        end_rows(&s, a->step);
    r->n_answers = 0;
    for (int64_t i = 0; i < s.width && r->n_answers < e->set.answers; i++)
        if (s.end_step[i] >= 0) {
            read_answer(&r->answers[r->n_answers], &s, i);
            e->tokens += r->answers[r->n_answers++].steps;
        }
    release(&s);
}

void engine_answer_release(struct engine_answer *a)
{
    ids_release(&a->out);
    free(a->step_logp);
    free(a->best);
    free(a->best_logp);
    *a = (struct engine_answer){ 0 };
}
