#include "train/lm/lm_trainer.h"

#include <stdlib.h>

enum {
    SITES = 1 << 12,  /* random ops of a micro-batch, so that each draws numbers of its own */
    SHARED_LEAST = 16 /* tokens that are worth a sequence of their own */
};

void lm_sampler(struct lm_trainer *t)
{
    int *all = xmalloc((size_t)t->train.n * sizeof *all);

    for (int i = 0; i < t->train.n; i++)
        all[i] = i;
    sampler_init(&t->sampler, (uint64_t)t->request->seed, all, t->train.n, (int)t->set->batch);
    if (t->set->share_prefix)
        t->sampler.length = t->train.beginnings;
    else if (t->set->group_by_length)
        t->sampler.length = t->train.lengths;
    free(all);
}

int64_t lm_batches(const struct lm_trainer *t)
{
    return sampler_batches(&t->sampler);
}

/* A step_fn's argument: one micro-batch. */
struct micro {
    struct lm_trainer *t;
    int number;
    float scale; /* 1 / target tokens of the whole batch */
    bool update; /* gradients too */
    struct tensor *nll;
};

static void run_micro(struct ctx *c, void *arg)
{
    struct micro *m = arg;

    c->site = (uint32_t)(m->number * SITES);
    m->nll = llama_batch_nll(c, &m->t->model.net, &m->t->batch);
    if (!m->update)
        return;
    struct tensor *loss = op_sum(c, m->nll, m->scale);
    tape_backward(c, loss);
    RUN(c, accumulate, ((struct grad){ m->t->loss_total, true }), loss);
}

static void run_update(struct ctx *c, void *arg)
{
    struct lm_trainer *t = arg;
    optim_step(c, &t->optim, t->trained);
}

static const struct lm_example *example_of(const struct lm_data *d, const int *examples, int i)
{
    return &d->items[examples ? examples[i] : i];
}

/* Texts from `from` on that fit a micro-batch together; at least one.  Returns where the next begins.  examples NULL:
 * all of them in order. */
static int end_of_micro(const struct lm_trainer *t, const struct lm_data *d, const int *examples, int from, int n)
{
    int64_t tokens = 0;
    int i = from;

    for (; i < n; i++) {
        tokens += example_of(d, examples, i)->text.ids.count;
        if (i > from && tokens > t->set->tokens)
            break;
    }
    return i;
}

static int fill_micro(struct lm_trainer *t, const struct lm_data *d, const int *examples, int from, int n)
{
    int end = end_of_micro(t, d, examples, from, n), count = end - from;
    struct llama_text *texts = xmalloc((size_t)count * sizeof *texts);

    llama_batch_clear(&t->batch);
    for (int i = 0; i < count; i++) {
        const struct lm_text *p = &example_of(d, examples, from + i)->text;
        texts[i] = (struct llama_text){ p->ids.items, p->answer.items, p->ids.count };
        if (!t->set->share_prefix)
            llama_batch_add(&t->batch, texts[i].ids, texts[i].answer, texts[i].n);
    }
    if (t->set->share_prefix)
        llama_batch_add_shared(&t->batch, texts, count, SHARED_LEAST);
    free(texts);
    return end;
}

static int64_t batch_targets(const struct lm_data *d, const int *examples, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += d->items[examples[i]].targets;
    return sum;
}

int lm_step(struct lm_trainer *t, struct error *err)
{
    const int *examples;
    int n = sampler_batch(&t->sampler, t->state.epoch, t->state.batch, &examples), at = 0;
    struct micro m = { .t = t, .scale = 1.0f / (float)batch_targets(&t->train, examples, n), .update = true };

    t->work.ctx.recording = t->work.ctx.training = true;
    for (; at < n; m.number++) {
        at = fill_micro(t, &t->train, examples, at, n);
        if (workspace_run(&t->work, run_micro, &m, err))
            return -1;
        t->state.tokens += t->batch.n_tokens;
    }
    t->work.ctx.recording = t->work.ctx.training = false;
    t->loss_steps++;
    return workspace_run(&t->work, run_update, t, err);
}

/* What the memory of a micro-batch grows with, each by itself. */
struct extent {
    int64_t tokens, rows, sequences, prefixes;
};

static struct extent extent_of(const struct llama_batch *b)
{
    struct extent e = { b->n_tokens, b->n_rows, b->n_seqs, 0 };

    for (int64_t i = 0; i < b->n_seqs; i++)
        e.prefixes += b->prefix[i] >= 0;
    return e;
}

static bool fits_in(const struct extent *a, const struct extent *b)
{
    return a->tokens <= b->tokens && a->rows <= b->rows && a->sequences <= b->sequences && a->prefixes <= b->prefixes;
}

/* Extents whose memory is known. */
struct measured {
    struct extent *list;
    int n, cap;
    size_t most; /* bytes of the largest */
};

static void measure_micro(struct measured *seen, struct lm_trainer *t)
{
    struct micro m = { .t = t, .update = true };
    struct extent e = extent_of(&t->batch);

    for (int i = 0; i < seen->n; i++)
        if (fits_in(&e, &seen->list[i]))
            return;
    GROW(seen->list, seen->n, seen->cap);
    seen->list[seen->n++] = e;
    size_t bytes = workspace_measure(&t->work, run_micro, &m);
    seen->most = bytes > seen->most ? bytes : seen->most;
}

size_t lm_measure(struct lm_trainer *t)
{
    struct measured seen = { 0 };
    int64_t batches = lm_batches(t);

    t->work.ctx.recording = t->work.ctx.training = true;
    for (int64_t b = 0; b < batches * t->set->epochs; b++) {
        const int *examples;
        int n = sampler_batch(&t->sampler, b / batches, b % batches, &examples);
        for (int at = 0; at < n;) {
            at = fill_micro(t, &t->train, examples, at, n);
            measure_micro(&seen, t);
        }
    }
    t->work.ctx.recording = t->work.ctx.training = false;
    free(seen.list);
    return seen.most;
}

static void add_losses(struct lm_trainer *t, const struct tensor *nll, double *sum)
{
    int64_t n = tensor_size(nll);
    float *values = xmalloc((size_t)n * sizeof *values);

    device_download(&t->device, values, nll);
    for (int64_t i = 0; i < n; i++)
        *sum += (double)values[i];
    free(values);
}

int lm_valid_loss(struct lm_trainer *t, double *loss, struct error *err)
{
    struct micro m = { .t = t };
    double sum = 0;

    for (int at = 0; at < t->valid.n;) {
        at = fill_micro(t, &t->valid, NULL, at, t->valid.n);
        if (workspace_run(&t->work, run_micro, &m, err))
            return -1;
        add_losses(t, m.nll, &sum);
    }
    *loss = sum / (double)t->valid.targets;
    return 0;
}
