/* Part of lm_trainer.h: micro-batches and their losses. */
#include "data/util/log.h"
#include "data/util/stop.h"
#include "kernels/batch.h"
#include "train/lm/lm_trainer_impl.h"

#include <stdlib.h>

enum { SITES = 1 << 12 /* random ops of a micro-batch, so that each draws numbers of its own */ };

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

    if (m->update) { /* on the device: no launch may depend on which micro-batch it is */
        int32_t first = m->number * SITES;
        struct tensor *site = batch_i32(c, &first, 1);
        RUN(c, set_site, c->rng, site);
    }
    m->nll = lm_batch_nll(c, &m->t->model, 0, &m->t->batch);
    if (!m->update)
        return;
    struct tensor *loss = op_sum(c, m->nll, batch_f32(c, &m->scale, 1, 1, F32));
    tape_backward(c, loss);
    RUN(c, accumulate, ((struct destination){ m->t->run.loss_total, true }), loss);
}

static struct llama_text text_of(const struct lm_data *d, const int *examples, int i)
{
    return lm_data_text(d, examples ? examples[i] : i);
}

/* Tokens of a text that are not those of the one before it. */
static int64_t new_tokens(const struct lm_trainer *t, const struct lm_data *d, const int *examples, int i, int from)
{
    struct llama_text text = text_of(d, examples, i);

    if (i == from || !t->set->share_prefix)
        return text.n;
    struct llama_text before = text_of(d, examples, i - 1);
    return text.n - llama_text_common(&before, &text);
}

/* Texts from `from` on that fit a micro-batch together; at least one.  Returns where the next begins.  examples NULL:
 * all of them in order. */
static int end_of_micro(const struct lm_trainer *t, const struct lm_data *d, const int *examples, int from, int n)
{
    int64_t tokens = 0;
    int i = from;

    for (; i < n; i++) {
        tokens += new_tokens(t, d, examples, i, from);
        if (i > from && tokens > t->set->tokens)
            break;
    }
    return i;
}

static int fill_micro(struct lm_trainer *t, const struct lm_data *d, const int *examples, int from, int n)
{
    int end = end_of_micro(t, d, examples, from, n), count = end - from;
    struct llama_text *texts = xmalloc((size_t)count * sizeof *texts);

    for (int i = 0; i < count; i++)
        texts[i] = text_of(d, examples, from + i);
    lm_batch_clear(&t->batch);
    lm_batch_add(&t->batch, &t->model, texts, count, t->set->share_prefix);
    free(texts);
    t->micro_tokens = lm_batch_tokens(&t->batch);
    if (t->run.work.ctx.buckets)
        lm_batch_pad(&t->batch, &t->model);
    return end;
}

static int64_t batch_targets(const struct lm_data *d, const int *examples, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += d->items[examples[i]].targets;
    return sum;
}

int lm_step(void *trainer, struct error *err)
{
    struct lm_trainer *t = trainer;
    struct batch_part b = run_batch(&t->run);
    struct micro m = { .t = t, .scale = 1.0f / (float)batch_targets(&t->train, b.examples, b.n), .update = true };

    for (int at = b.first; at < b.end; m.number++) {
        at = fill_micro(t, &t->train, b.examples, at, b.end);
        if (at == b.end)
            ranks_last(&t->run);
        if (workspace_step(&t->run.work, run_micro, &m, err))
            return -1;
        t->run.state.units += t->micro_tokens;
    }
    return 0;
}

/* Of a decoder: tokens, rows of targets, sequences, those that go on from another's, keys that are copies. */
static struct extent extent_of(const struct lm_batch *b)
{
    const struct t5_batch *p = &b->pairs;
    struct extent e = { { b->texts.n_tokens, b->texts.n_rows, b->texts.n_seqs } };

    if (p->source.n_seqs)
        return (struct extent){ { p->source.n_tokens, p->answer.n_tokens, p->source.n_seqs } };
    for (int64_t i = 0; i < b->texts.n_seqs; i++)
        e.size[3] += b->texts.prefix[i] >= 0;
    e.size[4] = b->texts.n_copies;
    return e;
}

void lm_measure(void *trainer, struct measurement *measured)
{
    struct lm_trainer *t = trainer;
    struct micro m = { .t = t, .update = true };
    struct batch_part b = run_batch(&t->run);

    for (int at = b.first; at < b.end;) {
        at = fill_micro(t, &t->train, b.examples, at, b.end);
        struct extent e = extent_of(&t->batch);
        measurement_add(measured, &e, run_micro, &m);
    }
}

void lm_foretell(struct lm_trainer *t)
{
    struct sampler *s = &t->run.sampler;
    int64_t shared = 0;
    const int *examples;

    for (int64_t batch = 0; batch < sampler_batches(s); batch++) {
        int n = sampler_batch(s, 0, batch, &examples);
        for (int at = 0; at < n; shared += t->micro_tokens)
            at = fill_micro(t, &t->train, examples, at, n);
    }
    t->prefix_gain = (double)t->train.tokens / (double)shared;
    log_info("sharing prefixes: %lld tokens of a pass become %lld, %.2f times fewer", (long long)t->train.tokens,
             (long long)shared, t->prefix_gain);
}

static void add_losses(struct lm_trainer *t, const struct tensor *nll, double *sum)
{
    int64_t n = tensor_size(nll);
    float *values = xmalloc((size_t)n * sizeof *values);

    device_download(&t->run.device, values, nll);
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
        if (stop_requested())
            return 1;
        if (workspace_step(&t->run.work, run_micro, &m, err))
            return -1;
        add_losses(t, m.nll, &sum);
    }
    *loss = sum / (double)t->valid.targets;
    return 0;
}
