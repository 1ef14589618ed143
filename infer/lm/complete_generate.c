/* Part of complete.h: a window of prompts through the engine. */
#include "data/util/stop.h"
#include "infer/lm/complete_impl.h"

#include <stdlib.h>

/* As engine_settings has it; arg is the run. */
static bool heard_enough(void *arg, const struct engine_request *r, int row, const int32_t *said, int64_t n)
{
    const struct completion *run = arg;
    const struct completion_requests *q = &run->asked;

    return stop_watch_read(&q->watches[(r - q->items) * run->engine.set.answers + row], said, n);
}

struct engine_settings complete_settings(const struct complete_request *q)
{
    return (struct engine_settings){
        .max_new = q->max_new,
        .answers = q->n ? (int)q->n : 1,
        .beams = (int)q->beams,
        .beam = { .length_penalty = (float)q->length_penalty, .early = q->early_stopping ? EARLY_TRUE : EARLY_FALSE },
        .draw = { .temperature = (float)q->temperature,
                  .top_k = (int)q->top_k,
                  .top_p = (float)q->top_p,
                  .typical_p = (float)q->typical_p,
                  .min_p = (float)q->min_p,
                  .seed = (uint64_t)q->seed },
        .keep = (int)q->logprobs,
        .normalise = (enum normalise)q->scores,
        .batch = q->batch,
        .step_tokens = q->tokens,
        .stop = stop_requested,
        .enough = q->stop ? heard_enough : NULL,
    };
}

void complete_requests_open(struct completion_requests *q, const struct completion *r, int from)
{
    int each = r->engine.set.answers;

    *q = (struct completion_requests){ .items = xcalloc((size_t)r->n + 1, sizeof *q->items),
                                       .answers = xcalloc((size_t)(r->n * each) + 1, sizeof *q->answers),
                                       .line = from };
    for (int i = from; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (p->error)
            continue;
        struct engine_request *e = &q->items[q->n];
        *e = engine_ask(&r->model, p->ids.items, p->ids.count);
        e->key = lm_text_key(p);
        e->constraint = r->bound ? r->bound[i] : NULL;
        e->adapter = r->adapters[i];
        e->answers = &q->answers[q->n * each];
        q->n++;
    }
    if (!r->request->stop)
        return;
    q->watches = xcalloc((size_t)(q->n * each) + 1, sizeof *q->watches);
    for (int64_t i = 0; i < q->n * each; i++)
        stop_watch_start(&q->watches[i], r->request->stop, r->model.tokenizer);
}

void complete_requests_release(struct completion_requests *q, const struct completion *r)
{
    for (int64_t i = 0; i < q->n * r->engine.set.answers; i++) {
        engine_answer_release(&q->answers[i]);
        if (q->watches)
            stop_watch_release(&q->watches[i]);
    }
    free(q->watches);
    free(q->answers);
    free(q->items);
}

static int64_t tokens_of(const struct engine_request *q)
{
    int64_t n = 0;
    for (int i = 0; i < q->n_answers; i++)
        n += q->answers[i].out.count;
    return n;
}

static int write_answers(struct completion *r, struct engine_request *one, struct error *err)
{
    struct completion_requests *q = &r->asked;
    struct stop_watch *watches = q->watches ? &q->watches[(one - q->items) * r->engine.set.answers] : NULL;

    if (watches)
        complete_cut(one, watches);
    return complete_write(r, q->line, complete_answers_json(r, &r->window[q->line], one, watches),
                          (struct completion_note){ .tokens = tokens_of(one) }, err);
}

/* The lines of the window up to the first record that is not done; they survive a kill. */
static int write_lines(struct completion *r, struct error *err)
{
    struct completion_requests *q = &r->asked;
    int from = q->line, rc = 0;

    for (; q->line < r->n && rc == 0; q->line++) {
        if (r->window[q->line].error)
            rc = complete_write_error(r, q->line, err);
        else if (q->items[q->request].done)
            rc = write_answers(r, &q->items[q->request++], err);
        else
            break;
    }
    return rc || q->line == from ? rc : part_flush(&r->part, err);
}

static void after_step(void *arg)
{
    struct completion *r = arg;
    char note[64];

    if (r->asked.rc == 0)
        r->asked.rc = write_lines(r, r->asked.err);
    snprintf(note, sizeof note, "%lld prompts", (long long)r->engine.done);
    progress_update(&r->progress, r->engine.done, (double)r->engine.tokens, note);
}

int complete_generate_window(struct completion *r, struct error *err)
{
    int from = complete_count_lines(r, 0, r->n);
    struct completion_requests *q = &r->asked;

    if (from == r->n)
        return 0;
    complete_requests_open(q, r, from);
    q->err = err;
    int rc = engine_run(&r->engine, q->items, q->n, after_step, r, err);
    if (rc == 0 && q->rc == 0)
        q->rc = write_lines(r, err); /* where no step was needed */
    rc = rc ? rc : q->rc;
    complete_requests_release(q, r);
    return rc;
}
