/* Part of engine.h: the sources of an encoder-decoder's requests, whose keys every row of a request reads. */
#include "models/engine/engine_impl.h"
#include "models/net/t5.h"

#include <stdlib.h>

/* The sources of requests [from, to) of those under way that have not started. */
struct source_step {
    struct engine *e;
    int64_t from, to;
    int32_t *ids, *lengths, *rows;
    int64_t n_tokens, n_seqs;
};

static void run_encode(struct ctx *c, void *arg)
{
    struct source_step *s = arg;
    const struct t5 *net = &s->e->model->t5;
    struct t5_tokens source = { .ids = batch_index(c, s->ids, s->n_tokens, net->config.vocab_size),
                                .seqs = batch_seqs(c, s->lengths, s->n_seqs) };

    t5_cache_source(c, net, t5_encode(c, net, &source), &s->e->sources.cache, batch_i32(c, s->rows, s->n_tokens));
}

/* As many as fit the tokens of a step, at least one. */
static void count_sources(struct source_step *s)
{
    const struct engine *e = s->e;

    s->n_tokens = s->n_seqs = 0;
    for (s->to = s->from; s->to < e->n_active; s->to++) {
        const struct active_request *a = &e->active[s->to];
        if (a->started)
            continue;
        if (s->n_seqs && s->n_tokens + a->of->n_source > e->set.step_tokens)
            break;
        s->n_tokens += a->of->n_source;
        s->n_seqs++;
    }
}

/* The caller frees s->ids, in whose memory all words lie. */
static void lay_out_sources(struct source_step *s)
{
    const struct engine *e = s->e;
    int64_t at = 0, seq = 0;

    s->ids = xmalloc((size_t)(2 * s->n_tokens + s->n_seqs) * sizeof *s->ids);
    s->rows = s->ids + s->n_tokens;
    s->lengths = s->ids + 2 * s->n_tokens;
    for (int64_t i = s->from; i < s->to; i++) {
        const struct active_request *a = &e->active[i];
        if (a->started)
            continue;
        s->lengths[seq++] = (int32_t)a->of->n_source;
        for (int64_t k = 0; k < a->of->n_source; k++, at++) {
            s->ids[at] = a->of->source[k];
            s->rows[at] = (int32_t)(a->slot * tensor_cols(e->sources.table) + k);
        }
    }
}

int engine_encode(struct engine *e, struct error *err)
{
    struct source_step s = { .e = e };
    int rc = 0;

    for (; e->model->seq2seq && rc == 0 && s.from < e->n_active; s.from = s.to) {
        count_sources(&s);
        if (!s.n_seqs)
            continue;
        lay_out_sources(&s);
        e->work->ctx.rows = ROWS_MANY;
        rc = workspace_run(e->work, run_encode, &s, err);
        e->work->ctx.rows = ROWS_BY_NUMBER;
        free(s.ids);
    }
    return rc;
}

struct workspace_bytes engine_encode_bytes(struct engine *e)
{
    struct source_step s = { .e = e };
    struct workspace_bytes most = { 0 };

    for (; e->model->seq2seq && s.from < e->n_active; s.from = s.to) {
        count_sources(&s);
        if (!s.n_seqs)
            continue;
        lay_out_sources(&s);
        workspace_raise(&most, workspace_measure(e->work, run_encode, &s));
        free(s.ids);
    }
    return most;
}
