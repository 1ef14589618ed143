/* Part of complete.h: how badly a model predicts answers that are known. */
#include "data/util/stop.h"
#include "infer/lm/complete_impl.h"
#include "models/lm/llama_batch.h"

#include <stdlib.h>

/* One step over the prompts of a pack. */
struct loss_step {
    struct completion *r;
    struct llama_batch batch;
    struct tensor *nll;
};

static void run_loss(struct ctx *c, void *arg)
{
    struct loss_step *s = arg;
    s->nll = llama_batch_nll(c, &s->r->model.net, &s->batch);
}

/* Records of the window that one step reads, of which the first `done` have their lines. */
struct pack {
    int from, to, done;
};

static int write_losses(struct completion *r, const struct pack *pack, const float *nll, const int32_t *counts,
                        struct error *err)
{
    int rc = 0;

    for (int i = pack->from; i < pack->to && rc == 0; i++) {
        const struct lm_text *p = &r->window[i];
        struct completion_note note = { .failed = p->error != NULL, .tokens = p->error ? 0 : *counts++ };
        double sum = 0;
        for (int64_t k = 0; k < note.tokens; k++)
            sum += (double)*nll++;
        if (i < pack->from + pack->done)
            continue;
        rc = p->error
                 ? complete_write_error(r, i, err)
                 : complete_write(r, i, json_pack("{s:O, s:f, s:I}", "id", p->id, "nll", sum, "tokens", note.tokens),
                                  note, err);
    }
    return rc ? rc : part_flush(&r->part, err);
}

/* As many prompts as fit the tokens of a step, at least one. */
static void fill_pack(struct loss_step *s, struct pack *pack)
{
    const struct completion *r = s->r;

    llama_batch_clear(&s->batch);
    for (pack->to = pack->from; pack->to < r->n; pack->to++) {
        const struct lm_text *p = &r->window[pack->to];
        if (p->error)
            continue;
        if (s->batch.n_seqs && s->batch.n_tokens + p->ids.count > r->request->tokens)
            break;
        llama_batch_add(&s->batch, p->ids.items, p->answer.items, p->ids.count);
    }
    if (r->work.ctx.buckets)
        llama_batch_pad(&s->batch);
}

static int score_pack(struct loss_step *s, const struct pack *pack, struct error *err)
{
    struct completion *r = s->r;
    float *nll = NULL;
    int rc = 0;

    if (s->batch.n_rows) {
        rc = workspace_step(&r->work, run_loss, s, err);
        nll = xmalloc((size_t)s->batch.n_rows * sizeof *nll);
        if (rc == 0)
            device_download(&r->device, nll, s->nll);
    }
    if (rc == 0)
        rc = write_losses(r, pack, nll, s->batch.row_counts, err);
    free(nll);
    return rc;
}

int complete_loss_window(struct completion *r, struct error *err)
{
    struct loss_step s = { .r = r };
    int rc = 0;

    for (struct pack p = { 0 }; rc == 0 && p.from < r->n && !stop_requested(); p.from = p.to) {
        fill_pack(&s, &p);
        p.done = complete_count_lines(r, p.from, p.to);
        if (p.from + p.done < p.to)
            rc = score_pack(&s, &p, err);
        progress_update(&r->progress, r->counts->records, (double)r->counts->tokens, NULL);
    }
    llama_batch_release(&s.batch);
    return rc;
}
