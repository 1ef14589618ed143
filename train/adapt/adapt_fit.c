#include "train/adapt/adapt_fit.h"

#include "data/util/stop.h"
#include "kernels/tape.h"
#include "train/adapt/adapt_calibrate.h"
#include "train/adapt/adapt_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 1 << 20 };
static const double BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8; /* Adam's */

/* Of LoRA as many as a dozen labels are fitted with in ten seconds on two cores. */
static const struct {
    int64_t steps, parts;
    double lr;
} own[ADAPT_METHODS] = { [ADAPT_THRESHOLD] = { 30, 12, 0 },
                         [ADAPT_LINEAR] = { 30, 12, 0.01 },
                         [ADAPT_LAYER] = { 30, 12, 0.003 },
                         [ADAPT_LORA] = { 8, 4, 0.002 } };

/* No packed copies are kept of what will change. */
static void unfreeze(struct adapt_fit *f)
{
    f->grad = arena_alloc(&f->host, (size_t)f->params.n * sizeof *f->grad + 1);
    for (int i = 0; i < f->params.n; i++) {
        struct tensor *t = f->params.list[i].t;
        t->frozen = false;
        f->grad[i] = tensor_alloc(&f->host, &f->grads, F32, t->ndim, t->shape);
    }
}

/* While this method trains its parameters have gradients; other methods may share them. */
static void want_gradients(struct adapt_fit *f, bool wanted)
{
    for (int i = 0; i < f->params.n; i++) {
        f->params.list[i].t->needs_grad = wanted;
        f->params.list[i].t->grad = wanted ? f->grad[i] : NULL;
    }
}

static int take_memory(struct adapt_fit *f, struct error *err)
{
    size_t bytes = 4096;

    for (int i = 0; i < f->params.n; i++) {
        f->n += tensor_size(f->params.list[i].t);
        bytes += (size_t)tensor_size(f->params.list[i].t) * sizeof(float) + 256;
    }
    if (arena_init(&f->host, HOST_BYTES, err) || device_arena(f->model->device, &f->grads, bytes, err))
        return -1;
    float **all[] = { &f->start, &f->value, &f->m, &f->v, &f->dw };
    for (int i = 0; i < ARRAY_LEN(all); i++)
        *all[i] = xcalloc((size_t)f->n + 1, sizeof **all[i]);
    return 0;
}

int adapt_fit_init(struct adapt_fit *f, struct gate_model *m, struct gate_scorer *s, const struct adapt_settings *set,
                   struct error *err)
{
    int64_t at = 0;

    *f = (struct adapt_fit){ .scorer = s, .model = m, .set = *set, .temperature = m->temperature };
    if (!set->steps)
        f->set.steps = own[set->method].steps;
    if (!set->parts)
        f->set.parts = own[set->method].parts;
    if (set->lr <= 0)
        f->set.lr = own[set->method].lr;
    f->params = gate_adapter_params(m, set->method);
    if (take_memory(f, err))
        return -1;
    unfreeze(f);
    for (int i = 0; i < f->params.n; i++) {
        param_download(&f->params.list[i], m->device, f->start + at);
        at += tensor_size(f->params.list[i].t);
    }
    return 0;
}

void adapt_fit_release(struct adapt_fit *f)
{
    float *all[] = { f->start, f->value, f->m, f->v, f->dw };

    for (int i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
    params_release(&f->params);
    arena_release(&f->host);
    if (f->grads.base)
        device_arena_release(f->model->device, &f->grads);
    *f = (struct adapt_fit){ 0 };
}

static void upload(struct adapt_fit *f)
{
    int64_t at = 0;

    for (int i = 0; i < f->params.n; i++) {
        param_upload(&f->params.list[i], f->model->device, f->value + at);
        at += tensor_size(f->params.list[i].t);
    }
}

static void begin(struct adapt_fit *f)
{
    size_t bytes = (size_t)f->n * sizeof(float);

    memcpy(f->value, f->start, bytes);
    memset(f->m, 0, bytes);
    memset(f->v, 0, bytes);
    upload(f);
}

void adapt_fit_reset(struct adapt_fit *f)
{
    begin(f);
    f->model->temperature = f->temperature;
    f->model->shift = 0;
}

/* Gradients into dw, and zeros in their place for the next step. */
static void take_gradients(struct adapt_fit *f)
{
    int64_t at = 0;

    for (int i = 0; i < f->params.n; i++) {
        struct tensor *grad = f->grad[i];
        device_download(f->model->device, f->dw + at, grad);
        at += tensor_size(grad);
    }
}

static void clear_gradients(struct adapt_fit *f)
{
    int64_t at = 0;

    memset(f->dw, 0, (size_t)f->n * sizeof *f->dw);
    for (int i = 0; i < f->params.n; i++) {
        struct tensor *grad = f->grad[i];
        device_upload(f->model->device, grad, f->dw + at);
        at += tensor_size(grad);
    }
}

/* Adam on the loss with its pull; t counts from 1. */
static void update(struct adapt_fit *f, int t)
{
    double c1 = 1 - pow(BETA1, t), c2 = 1 - pow(BETA2, t);

    take_gradients(f);
    for (int64_t i = 0; i < f->n; i++) {
        double g = (double)f->dw[i] + f->set.pull * ((double)f->value[i] - (double)f->start[i]);
        f->m[i] = (float)(BETA1 * (double)f->m[i] + (1 - BETA1) * g);
        f->v[i] = (float)(BETA2 * (double)f->v[i] + (1 - BETA2) * g * g);
        f->value[i] -= (float)(f->set.lr * ((double)f->m[i] / c1) / (sqrt((double)f->v[i] / c2) + EPSILON));
    }
    upload(f);
}

/* Trains on the batch without what is left out; left (NULL: not wanted) has room for the logits [steps + 1, n] of
 * what is left out. */
static int train(struct adapt_fit *f, struct adapt_batch *b, int part, int steps, double *left, struct error *err)
{
    begin(f);
    adapt_batch_begin(b, part);
    for (int s = 0; s <= steps; s++) {
        if (!left && s == steps)
            break;
        if (s < steps)
            clear_gradients(f);
        if (stop_requested() || adapt_batch_step(b, f->scorer, f->temperature, s < steps, err))
            return -1;
        for (int i = 0; left && i < b->n; i++)
            if (b->part[i] == part)
                left[s * b->n + i] = b->logit[i] / f->temperature;
        if (s < steps)
            update(f, s + 1);
        if (f->told)
            f->told(f->told_arg, ++f->taken, f->most);
    }
    return 0;
}

/* Questions of one label after those of the other, dealt to the parts in turn. */
static void deal_parts(struct adapt_batch *b, int parts)
{
    int dealt = 0;

    for (int label = 0; label < 2; label++)
        for (int i = 0; i < b->n; i++)
            if (b->label[i] == label)
                b->part[i] = dealt++ % parts;
}

static int best_step(const struct adapt_batch *b, const double *left, int steps, struct adapt_outcome *out)
{
    int best = 0;

    for (int s = 0; s <= steps; s++) {
        double loss = adapt_loss((struct scored){ left + s * b->n, b->label, b->n }, (struct adapt_scale){ 1, 0 });
        if (s == 0)
            out->base_loss = out->left_out_loss = loss;
        if (loss < out->left_out_loss) {
            out->left_out_loss = loss;
            best = s;
        }
    }
    return best;
}

static int run(struct adapt_fit *f, struct adapt_batch *b, double *left, struct adapt_outcome *out, struct error *err)
{
    int steps = f->n ? (int)f->set.steps : 0, parts = f->set.parts < b->n ? (int)f->set.parts : b->n;

    f->taken = 0;
    f->most = parts * (steps + 1) + steps;
    deal_parts(b, parts);
    for (int i = 0; i < b->n; i++)
        left[i] = b->base[i] / f->temperature;
    for (int p = 0; f->n && p < parts; p++)
        if (train(f, b, p, steps, left, err))
            return -1;
    out->steps = best_step(b, left, steps, out);
    if (f->n && train(f, b, -1, out->steps, NULL, err))
        return -1;
    struct scored honest = { left + out->steps * b->n, b->label, b->n };
    struct adapt_scale k = adapt_calibrate(honest, &out->final_loss);
    f->model->temperature = f->temperature / k.a;
    f->model->shift = -k.b * f->model->temperature;
    return 0;
}

int adapt_fit_run(struct adapt_fit *f, const struct adapt_questions *q, const int *which, int n,
                  struct adapt_outcome *out, struct error *err)
{
    struct adapt_batch b;
    double *left = xcalloc((size_t)(f->set.steps + 1) * (size_t)n, sizeof *left);

    *out = (struct adapt_outcome){ 0 };
    want_gradients(f, true);
    int rc =
        adapt_batch_init(&b, q, f->scorer, which, n, f->set.method == ADAPT_LORA, err) || run(f, &b, left, out, err)
            ? -1
            : 0;
    want_gradients(f, false);
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    adapt_batch_release(&b);
    free(left);
    return rc;
}
