#include "train/detector/adapt_fit.h"

#include "data/base/stop.h"
#include "kernels/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- calibration ---- */

enum { NEWTON = 60 };
static const double LEAST = 0.05; /* min of a: scores keep their order */

static double loss_of(struct scored s, struct adapt_scale k, int i)
{
    double z = k.a * s.score[i] + k.b;
    return stats_softplus(s.label[i] ? -z : z);
}

double adapt_loss(struct scored s, struct adapt_scale k)
{
    double sum = 0;

    for (int i = 0; i < s.n; i++)
        sum += loss_of(s, k, i);
    return s.n ? sum / s.n : 0;
}

static double objective(struct scored s, struct adapt_scale k, double pull, int without)
{
    double sum = pull / 2 * ((k.a - 1) * (k.a - 1) + k.b * k.b);

    for (int i = 0; i < s.n; i++)
        sum += i == without ? 0 : loss_of(s, k, i);
    return sum;
}

/* One Newton step of the convex objective. */
static struct adapt_scale step_of(struct scored s, struct adapt_scale k, double pull, int without)
{
    double ga = pull * (k.a - 1), gb = pull * k.b, haa = pull, hab = 0, hbb = pull;

    for (int i = 0; i < s.n; i++) {
        double x = s.score[i], p = 1 / (1 + exp(-(k.a * x + k.b))), r = p - s.label[i], w = p * (1 - p);
        if (i == without)
            continue;
        ga += r * x;
        gb += r;
        haa += w * x * x;
        hab += w * x;
        hbb += w;
    }
    double det = haa * hbb - hab * hab;
    return (struct adapt_scale){ -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det };
}

struct adapt_scale adapt_scale_fit(struct scored s, double pull, int without)
{
    struct adapt_scale k = { 1, 0 };

    for (int i = 0; i < NEWTON && isfinite(pull); i++) {
        struct adapt_scale step = step_of(s, k, pull, without), next = k;
        double now = objective(s, k, pull, without), t = 1;
        for (; t > 1e-6; t /= 2) {
            next = (struct adapt_scale){ fmax(k.a + t * step.a, LEAST), k.b + t * step.b };
            if (objective(s, next, pull, without) < now)
                break;
        }
        if (t <= 1e-6)
            break;
        k = next;
    }
    return k;
}

struct adapt_scale adapt_calibrate(struct scored s, double *loss)
{
    static const double pulls[] = { INFINITY, 16, 4, 1 };
    struct adapt_scale best = { 1, 0 };

    *loss = INFINITY;
    for (int p = 0; p < ARRAY_LEN(pulls); p++) {
        double sum = 0;
        for (int i = 0; i < s.n; i++)
            sum += loss_of(s, adapt_scale_fit(s, pulls[p], i), i);
        if (sum / s.n >= *loss)
            continue;
        *loss = sum / s.n;
        best = adapt_scale_fit(s, pulls[p], -1);
    }
    return best;
}

/* ---- a step ---- */

static bool of_pairs(const struct adapt_batch *b)
{
    return b->model->net.config.classifier == CLASSIFIER_PAIR;
}

static int logits_of(const struct adapt_batch *b, int i)
{
    return of_pairs(b) ? b->items[i].schema->n_pairs : 1;
}

static void take_states(struct adapt_batch *b, const struct adapt_questions *q, const int *which)
{
    int64_t width = b->model->net.config.bert.hidden_size, at = 0;

    b->states = xmalloc((size_t)(b->n_nodes * width) * sizeof *b->states + 1);
    for (int i = 0; i < b->n; i++) {
        int64_t first = q->start[which[i]], count = (q->start[which[i] + 1] - first) * width;
        memcpy(b->states + at, q->states + first * width, (size_t)count * sizeof *b->states);
        at += count;
    }
}

static void write_text(struct adapt_batch *b)
{
    text_builder_reset(&b->text, &b->model->layout);
    for (int i = 0; i < b->n; i++)
        if (b->model->net.config.encode == ENCODE_SCHEMA)
            text_add_schema(&b->text, &b->items[i], NULL);
        else
            for (int node = 0; node < b->items[i].schema->n_nodes; node++)
                text_add_element(&b->text, &b->items[i], node);
}

/* Builds the texts and computes the layers below the adapters once. */
static int take_text(struct adapt_batch *b, struct gate_scorer *s, struct error *err)
{
    const struct bert_config *g = &b->model->net.config.bert;

    write_text(b);
    b->n_tokens = b->text.tokens.n;
    b->first = g->layers - b->model->adapter_layers;
    if (!b->first)
        return 0;
    b->below = xmalloc((size_t)b->n_tokens * (size_t)g->hidden_size * sizeof *b->below + 1);
    return gate_encode_before(s, b->items, b->n, b->first, b->below, err);
}

int adapt_batch_init(struct adapt_batch *b, const struct adapt_questions *q, struct gate_scorer *s, const int *which,
                     int n, bool encode, struct error *err)
{
    size_t size = (size_t)n;

    *b = (struct adapt_batch){ .model = s->model, .n = n, .left_out = -1 };
    b->items = xcalloc(size, sizeof *b->items);
    b->label = xcalloc(size, 1);
    b->truth = xcalloc(size, sizeof *b->truth);
    b->part = xcalloc(size, sizeof *b->part);
    b->at_base = xcalloc(size, sizeof *b->at_base);
    b->likeliest = xcalloc(size, sizeof *b->likeliest);
    b->base = xcalloc(size, sizeof *b->base);
    b->logit = xcalloc(size, sizeof *b->logit);
    for (int i = 0; i < n; i++) {
        b->items[i] = q->items[which[i]];
        b->label[i] = q->list[which[i]].record->ambiguous;
        b->truth[i] = q->truth[which[i]];
        b->at_base[i] = q->likeliest[which[i]];
        b->base[i] = b->logit[i] = q->logit[which[i]];
        b->n_logits += logits_of(b, i);
    }
    b->n_nodes = gate_nodes(b->items, n);
    b->sizes = gate_sizes_of(b->items, n);
    b->target = xcalloc((size_t)b->n_logits + 1, sizeof *b->target);
    b->weight = xcalloc((size_t)b->n_logits + 1, sizeof *b->weight);
    b->answers = xcalloc((size_t)b->n_logits + 1, sizeof *b->answers);
    if (encode)
        return take_text(b, s, err);
    take_states(b, q, which);
    return 0;
}

void adapt_batch_release(struct adapt_batch *b)
{
    free(b->items);
    free(b->label);
    free(b->truth);
    free(b->part);
    free(b->at_base);
    free(b->likeliest);
    free(b->base);
    free(b->logit);
    free(b->states);
    free(b->below);
    free(b->target);
    free(b->weight);
    free(b->answers);
    text_builder_release(&b->text);
    *b = (struct adapt_batch){ 0 };
}

void adapt_batch_begin(struct adapt_batch *b, int left_out)
{
    b->left_out = left_out;
    memcpy(b->likeliest, b->at_base, (size_t)b->n * sizeof *b->likeliest);
}

static void set_targets(struct adapt_batch *b)
{
    int trained = 0, at = 0;

    for (int i = 0; i < b->n; i++)
        trained += b->part[i] != b->left_out;
    memset(b->target, 0, (size_t)b->n_logits * sizeof *b->target);
    memset(b->weight, 0, (size_t)b->n_logits * sizeof *b->weight);
    for (int i = 0; i < b->n; i++) {
        int best = b->likeliest[i], truth = b->truth[i];
        float weight = b->part[i] != b->left_out && best >= 0 ? 1.0f / (float)trained : 0;
        if (best >= 0) {
            b->weight[at + best] = weight;
            b->target[at + best] = b->label[i] && (truth < 0 || truth == best);
        }
        if (truth >= 0) {
            b->weight[at + truth] = weight;
            b->target[at + truth] = 1;
        }
        at += logits_of(b, i);
    }
}

/* A question without a candidate pair keeps the base's logit. */
static void take_answers(struct adapt_batch *b)
{
    const float *x = b->answers;

    for (int i = 0; i < b->n; x += logits_of(b, i), i++) {
        b->likeliest[i] = -1;
        for (int k = 0; k < logits_of(b, i); k++)
            if (b->likeliest[i] < 0 || x[k] > x[b->likeliest[i]])
                b->likeliest[i] = k;
        if (b->likeliest[i] >= 0)
            b->logit[i] = (double)x[b->likeliest[i]];
    }
}

struct adapt_run {
    struct adapt_batch *b;
    double temperature;
    bool learn;
    struct tensor *logits;
};

static struct tensor *states_of(struct ctx *c, const struct adapt_batch *b, int64_t nodes)
{
    const struct gatekeeper *g = &b->model->net;
    struct gate_text text;

    if (b->states)
        return batch_f32_padded(c, b->states, b->n_nodes, nodes, g->config.bert.hidden_size, g->relevance_w->dtype);
    gate_text_build(c, &b->text, &g->config.bert, &text);
    text.bert.first = b->first;
    if (b->below)
        text.bert.given = batch_f32_padded(c, b->below, b->n_tokens, b->text.tokens.n, g->config.bert.hidden_size,
                                           g->relevance_w->dtype);
    return gatekeeper_states(c, g, &text);
}

static struct tensor *vector(struct ctx *c, const float *values, int n, const struct tensor *logits)
{
    int64_t padded = tensor_size(logits);
    return op_reshape(c, batch_f32_padded(c, values, n, padded, 1, F32), 1, &padded);
}

static void run_step(struct ctx *c, void *arg)
{
    struct adapt_run *r = arg;
    const struct adapt_batch *b = r->b;
    const struct gatekeeper *g = &b->model->net;
    struct gate_graph graph;

    gate_graph_build(c, b->items, b->n, &g->config, &graph);
    struct gate_scores scores = gatekeeper_classify(c, g, states_of(c, b, graph.graph.nodes), &graph);
    r->logits = of_pairs(b) ? scores.pair : scores.score;
    if (!r->learn)
        return;
    struct tensor *scaled = op_scale(c, r->logits, (float)(1 / r->temperature));
    struct tensor *target = vector(c, b->target, b->n_logits, scaled);
    tape_backward(c, op_bce(c, scaled, target, vector(c, b->weight, b->n_logits, scaled), 1, 1));
}

int adapt_batch_step(struct adapt_batch *b, struct gate_scorer *s, double temperature, bool learn, struct error *err)
{
    struct adapt_run r = { .b = b, .temperature = temperature, .learn = learn };

    set_targets(b);
    s->workspace->ctx.training = false;
    s->workspace->ctx.recording = learn;
    int nodes = gate_sizes_padded(b->sizes).nodes;
    if (s->workspace->ctx.buckets && b->text.n_nodes && b->text.n_nodes < nodes)
        text_builder_pad(&b->text, nodes);
    if (workspace_run(s->workspace, run_step, &r, err))
        return -1;
    struct tensor first = tensor_view(r.logits, 0, b->n_logits);
    device_download(b->model->device, b->answers, &first);
    for (int i = 0; i < b->n_logits; i++)
        if (!isfinite(b->answers[i]))
            return error_set(err, EXIT_CODE_FAILURE,
                             "the adapted model's scores are not numbers: expected a lower --lr");
    take_answers(b);
    return 0;
}

/* ---- training ---- */

enum { HOST_BYTES = 1 << 20 };
static const double BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8; /* of Adam */

/* Defaults of each method. LoRA has few steps, so that a dozen labels take ten seconds on two cores. */
static const struct {
    int64_t steps, parts;
    double lr;
} own[ADAPT_METHODS] = { [ADAPT_THRESHOLD] = { 30, 12, 0 },
                         [ADAPT_LINEAR] = { 30, 12, 0.01 },
                         [ADAPT_LAYER] = { 30, 12, 0.003 },
                         [ADAPT_LORA] = { 8, 4, 0.002 } };

/* Parameters that change may have no packed copies. */
static void unfreeze(struct adapt_fit *f)
{
    f->grad = arena_alloc(&f->host, (size_t)f->params.n * sizeof *f->grad + 1);
    for (int i = 0; i < f->params.n; i++) {
        struct tensor *t = f->params.list[i].t;
        t->frozen = false;
        f->grad[i] = tensor_alloc(&f->host, &f->grads, F32, t->ndim, t->shape);
    }
}

/* Gives the method's parameters gradients while it trains; methods may share parameters. */
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

/* Downloads the gradients into dw. */
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

/* One Adam step on loss and pull; t counts from 1. */
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

/* Trains without the held-out part. `left` has room for logits [steps + 1, n] and gets those of the held-out
 * questions; NULL: not wanted. */
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

/* Deals questions to parts in turn, one label after the other. */
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
