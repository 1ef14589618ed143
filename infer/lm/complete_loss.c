/* Part of complete.h: how badly a model predicts answers that are known. */
#include "data/util/stop.h"
#include "infer/lm/complete_impl.h"
#include "models/lm/lm_batch.h"

#include <stdlib.h>

/* What is known of a record of the window. */
struct loss_line {
    bool packed, there; /* a step has read it; and here it is */
    int64_t tokens;
    double nll;
};

/* One step over the prompts of a pack, which have the same adapter. */
struct loss_step {
    struct completion *r;
    struct lm_batch batch;
    int adapter;
    struct tensor *nll;
    struct loss_line *lines;
    int *pack, n_pack;
    int written; /* lines */
};

static void add_text(struct loss_step *s, const struct lm_text *p)
{
    struct llama_text text = { p->ids.items, p->answer.items, p->ids.count };
    lm_batch_add(&s->batch, &s->r->model, &text, 1, false);
}

static void run_loss(struct ctx *c, void *arg)
{
    struct loss_step *s = arg;

    ctx_note(c, s->adapter);
    s->nll = lm_batch_nll(c, &s->r->model, s->adapter, &s->batch);
}

/* The first record without a line, and those behind it that have its adapter, until the step's tokens are full.  Which
 * they are does not depend on where an earlier run ended. */
static void fill_pack(struct loss_step *s, int first)
{
    const struct completion *r = s->r;

    lm_batch_clear(&s->batch);
    s->n_pack = 0;
    s->adapter = r->adapters[first];
    for (int i = first; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (s->lines[i].packed || p->error || r->adapters[i] != s->adapter)
            continue;
        if (s->n_pack && lm_batch_tokens(&s->batch) + p->ids.count > r->request->tokens)
            break;
        add_text(s, p);
        s->lines[i].packed = true;
        s->pack[s->n_pack++] = i;
    }
    if (r->work.ctx.buckets)
        lm_batch_pad(&s->batch, &r->model);
}

static void take_losses(struct loss_step *s, const float *nll)
{
    for (int k = 0; k < s->n_pack; k++) {
        struct loss_line *l = &s->lines[s->pack[k]];
        l->there = true;
        l->tokens = lm_batch_row_counts(&s->batch)[k];
        for (int64_t t = 0; t < l->tokens; t++)
            l->nll += (double)*nll++;
    }
}

static int score_pack(struct loss_step *s, struct error *err)
{
    struct completion *r = s->r;
    float *nll = xmalloc((size_t)(lm_batch_rows(&s->batch) + 1) * sizeof *nll);
    int rc = lm_batch_rows(&s->batch) ? workspace_step(&r->work, run_loss, s, err) : 0;

    if (rc == 0 && lm_batch_rows(&s->batch))
        device_download(&r->device, nll, s->nll);
    if (rc == 0)
        take_losses(s, nll);
    free(nll);
    return rc;
}

static int write_line(struct completion *r, int i, const struct loss_line *l, struct error *err)
{
    const struct lm_text *p = &r->window[i];

    if (p->error)
        return complete_write_error(r, i, err);
    return complete_write(r, i, json_pack("{s:O, s:f, s:I}", "id", p->id, "nll", l->nll, "tokens", l->tokens),
                          (struct completion_note){ .tokens = l->tokens }, err);
}

/* The lines up to the first record that is not scored; they survive a kill. */
static int write_lines(struct loss_step *s, struct error *err)
{
    struct completion *r = s->r;
    int rc = 0;

    for (; s->written < r->n && rc == 0 && (r->window[s->written].error || s->lines[s->written].there); s->written++)
        rc = write_line(r, s->written, &s->lines[s->written], err);
    return rc ? rc : part_flush(&r->part, err);
}

/* Whether a line is wanted of any of the pack. */
static bool is_wanted(const struct loss_step *s)
{
    return s->pack[s->n_pack - 1] >= s->written;
}

int complete_loss_window(struct completion *r, struct error *err)
{
    struct loss_step s = { .r = r, .written = complete_count_lines(r, 0, r->n) };
    int rc = 0;

    s.lines = xcalloc((size_t)r->n, sizeof *s.lines);
    s.pack = xcalloc((size_t)r->n, sizeof *s.pack);
    for (int i = 0; i < r->n && rc == 0 && !stop_requested(); i++) {
        if (s.lines[i].packed || r->window[i].error)
            continue;
        fill_pack(&s, i);
        rc = is_wanted(&s) ? score_pack(&s, err) : 0;
        if (rc == 0)
            rc = write_lines(&s, err);
        progress_update(&r->progress, r->counts->records, (double)r->counts->tokens, NULL);
    }
    if (rc == 0)
        rc = write_lines(&s, err);
    free(s.lines);
    free(s.pack);
    lm_batch_release(&s.batch);
    return rc;
}
