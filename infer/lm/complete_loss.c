/* Part of complete.h: how badly a model predicts answers that are known. */
#include "data/util/stop.h"
#include "infer/lm/complete_impl.h"
#include "models/lm/llama_batch.h"
#include "models/lm/t5_batch.h"

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
    struct llama_batch batch; /* of a decoder */
    struct t5_batch pairs;    /* of an encoder-decoder */
    int adapter;
    struct tensor *nll;
    struct loss_line *lines;
    int *pack, n_pack;
    int written; /* lines */
};

static bool seq2seq(const struct loss_step *s)
{
    return s->r->model.seq2seq;
}

/* Tokens that the step reads, those that it predicts, and how many of these each text has. */
static int64_t tokens_of(const struct loss_step *s)
{
    return seq2seq(s) ? s->pairs.source.n_tokens + s->pairs.answer.n_tokens : s->batch.n_tokens;
}

static int64_t rows_of(const struct loss_step *s)
{
    return seq2seq(s) ? s->pairs.answer.n_tokens : s->batch.n_rows;
}

static const int32_t *counts_of(const struct loss_step *s)
{
    return seq2seq(s) ? s->pairs.answer.lengths : s->batch.row_counts;
}

static void add_text(struct loss_step *s, const struct lm_text *p)
{
    if (seq2seq(s))
        t5_batch_add(&s->pairs, &s->r->model.t5.config, p->ids.items, p->answer.items, p->ids.count);
    else
        llama_batch_add(&s->batch, p->ids.items, p->answer.items, p->ids.count);
}

static void run_loss(struct ctx *c, void *arg)
{
    struct loss_step *s = arg;

    ctx_note(c, s->adapter);
    s->nll = seq2seq(s) ? t5_batch_nll(c, &s->r->model.t5, &s->pairs)
                        : llama_batch_nll(c, llama_model_net(&s->r->model, s->adapter), &s->batch);
}

/* The first record without a line, and those behind it that have its adapter, until the step's tokens are full.  Which
 * they are does not depend on where an earlier run ended. */
static void fill_pack(struct loss_step *s, int first)
{
    const struct completion *r = s->r;

    llama_batch_clear(&s->batch);
    t5_batch_clear(&s->pairs);
    s->n_pack = 0;
    s->adapter = r->adapters[first];
    for (int i = first; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (s->lines[i].packed || p->error || r->adapters[i] != s->adapter)
            continue;
        if (s->n_pack && tokens_of(s) + p->ids.count > r->request->tokens)
            break;
        add_text(s, p);
        s->lines[i].packed = true;
        s->pack[s->n_pack++] = i;
    }
    if (r->work.ctx.buckets && seq2seq(s))
        t5_batch_pad(&s->pairs);
    else if (r->work.ctx.buckets)
        llama_batch_pad(&s->batch);
}

static void take_losses(struct loss_step *s, const float *nll)
{
    for (int k = 0; k < s->n_pack; k++) {
        struct loss_line *l = &s->lines[s->pack[k]];
        l->there = true;
        l->tokens = counts_of(s)[k];
        for (int64_t t = 0; t < l->tokens; t++)
            l->nll += (double)*nll++;
    }
}

static int score_pack(struct loss_step *s, struct error *err)
{
    struct completion *r = s->r;
    float *nll = xmalloc((size_t)(rows_of(s) + 1) * sizeof *nll);
    int rc = rows_of(s) ? workspace_step(&r->work, run_loss, s, err) : 0;

    if (rc == 0 && rows_of(s))
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
    llama_batch_release(&s.batch);
    t5_batch_release(&s.pairs);
    return rc;
}
