#include "train/adapt/adapt_step.h"

#include "kernels/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Texts, and what the layers without adapters make of them. */
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

/* A question without any pair stays at the base's logit, whatever is learnt. */
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
            return error_set(err, EXIT_CODE_FAILURE, "the adapted model gives no number: expected a lower --lr");
    take_answers(b);
    return 0;
}
