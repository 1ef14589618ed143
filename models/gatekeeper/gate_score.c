#include "models/gatekeeper/gate_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSIFY_NODES = 8192 /* max nodes of a classifier call */, PADDING_SHARE = 32 };

void gate_scorer_init(struct gate_scorer *s, const struct gate_model *m, struct workspace *w, int max_tokens)
{
    *s = (struct gate_scorer){ .model = m, .workspace = w, .max_tokens = max_tokens };
}

void gate_scorer_release(struct gate_scorer *s)
{
    text_builder_release(&s->text);
    *s = (struct gate_scorer){ 0 };
}

/* The next sequence to encode: a whole item (schema), or one element after another (element). */
struct cursor {
    int item, node;
    const float *judged; /* relevance logits from this node on; NULL: texts have no word for relevance */
};

static bool add_next(struct gate_scorer *s, const struct gate_item *items, int n, struct cursor *at)
{
    if (at->item == n)
        return false;
    const struct gate_item *item = &items[at->item];
    if (s->model->net.config.encode == ENCODE_SCHEMA) {
        text_add_schema(&s->text, item, NULL);
        at->item++;
        return true;
    }
    if (at->judged)
        text_add_judged(&s->text, item, at->node++, *at->judged++ > 0);
    else
        text_add_element(&s->text, item, at->node++);
    if (at->node == item->schema->n_nodes)
        *at = (struct cursor){ at->item + 1, 0, at->judged };
    return true;
}

/* Whether another sequence as long as the last one would exceed the budget. A share of the budget is reserved for
 * padding to the next size. */
static bool full(const struct gate_scorer *s, int before)
{
    return s->text.tokens.n + (s->text.tokens.n - before) > s->max_tokens - s->max_tokens / PADDING_SHARE;
}

struct encoding {
    struct gate_scorer *s;
    const float *judged; /* see struct cursor */
    int layer;           /* > 0: returns the states of all tokens before this layer, instead of the elements' states */
    float *states, *relevance;      /* results of the next step; NULL: not wanted */
    struct gate_layer_states words; /* the same; layer 0: not wanted */
    struct tensor *step_states, *step_relevance, *step_tokens, *step_elements;
};

enum { ASKED_STEPS = 4 };

/* The states x [T, C] of the questions' tokens, in the order of the text_builder, F32. */
static struct tensor *states_of_tokens(struct ctx *c, const struct text_builder *b, struct tensor *x)
{
    int64_t n = b->asked.n, padded = c->buckets ? batch_bucket(n, ASKED_STEPS) : n;
    int32_t *tokens = xcalloc((size_t)padded + 1, sizeof *tokens);

    memcpy(tokens, b->asked.v, (size_t)n * sizeof *tokens);
    struct index index = batch_index(c, tokens, padded, tensor_rows(x));
    free(tokens);
    return op_cast(c, op_gather(c, x, &index), F32);
}

/* Computes the states before the layer of the words.  The encoder then continues from them. */
static void run_words(struct ctx *c, struct encoding *e, struct gate_text *text)
{
    struct tensor *x = bert_states(c, &e->s->model->net.bert, &text->bert, e->words.layer);
    struct tensor *spans = op_segment_pool(c, op_gather(c, x, &text->rows), &text->spans, POOL_MEAN);

    e->step_tokens = states_of_tokens(c, &e->s->text, x);
    e->step_elements = op_cast(c, op_gather(c, spans, &text->place), F32);
    text->bert.given = x;
    text->bert.first = e->words.layer;
}

static void run_encode(struct ctx *c, void *arg)
{
    struct encoding *e = arg;
    const struct gatekeeper *g = &e->s->model->net;
    struct gate_text text;

    ctx_note(c, e->judged != NULL); /* selects the encoder */
    ctx_note(c, e->layer);
    ctx_note(c, e->words.layer);
    ctx_note(c, e->states || e->relevance);
    gate_text_build(c, &e->s->text, &g->config.bert, &text);
    if (e->words.layer)
        run_words(c, e, &text);
    if (!e->states && !e->relevance)
        return;
    struct tensor *x = e->layer    ? bert_states(c, &g->bert, &text.bert, e->layer)
                       : e->judged ? gatekeeper_embed(c, g, &text)
                                   : gatekeeper_states(c, g, &text);
    e->step_relevance = e->relevance ? gatekeeper_relevance(c, g, x) : NULL;
    e->step_states = e->states ? op_cast(c, x, F32) : NULL;
}

/* Downloads the results without padding. */
static void download_first(const struct gate_scorer *s, float *dst, const struct tensor *t, int64_t n)
{
    struct tensor first = tensor_view(t, 0, n);
    device_download(s->model->device, dst, &first);
}

/* Adds the states of the questions' tokens to their means. */
static void collect_tokens(struct encoding *e)
{
    const struct text_builder *b = &e->s->text;
    size_t C = (size_t)e->s->model->net.config.bert.hidden_size;
    float *all = xmalloc((size_t)b->asked.n * C * sizeof *all + 1);
    int *texts = xcalloc((size_t)b->n_asked + 1, sizeof *texts);

    download_first(e->s, all, e->step_tokens, b->asked.n);
    memset(e->words.tokens, 0, (size_t)b->n_asked * C * sizeof *all);
    for (int i = 0; i < b->asked.n; i++)
        texts[b->asked_to.v[i]]++;
    for (int i = 0; i < b->asked.n; i++)
        for (size_t k = 0; k < C; k++)
            e->words.tokens[(size_t)b->asked_to.v[i] * C + k] +=
                all[(size_t)i * C + k] / (float)texts[b->asked_to.v[i]];
    e->words.tokens += (size_t)b->n_asked * C;
    free(texts);
    free(all);
}

/* Starts the download of a step's results for as many nodes, and rows of states.  Waits for the step before: the
 * device computes this step while the host prepares the next. */
static void collect(struct encoding *e, int nodes, int rows)
{
    struct device *d = e->s->model->device;
    int64_t C = e->s->model->net.config.bert.hidden_size;
    int started = 0;

    if (e->relevance) {
        struct tensor first = tensor_view(e->step_relevance, 0, nodes);
        device_download_start(d, e->relevance, &first);
        e->relevance += nodes;
        started++;
    }
    if (e->states) {
        struct tensor first = tensor_view(e->step_states, 0, rows);
        device_download_start(d, e->states, &first);
        e->states += rows * C;
        started++;
    }
    if (e->words.layer) {
        struct tensor first = tensor_view(e->step_elements, 0, nodes);
        device_download_start(d, e->words.elements, &first);
        e->words.elements += nodes * C;
        started++;
    }
    d->driver->download_finish(d, started);
    if (e->words.layer)
        collect_tokens(e);
}

static int encode_all(struct encoding e, const struct gate_item *items, int n, struct error *err)
{
    struct gate_scorer *s = e.s;
    struct device *d = s->model->device;
    struct cursor at = { .judged = e.judged };
    bool more = true;
    int rc = 0;

    s->workspace->ctx.recording = s->workspace->ctx.training = false;
    while (more && rc == 0) {
        int before;
        text_builder_reset(&s->text, &s->model->layout);
        do {
            before = s->text.tokens.n;
            more = add_next(s, items, n, &at);
        } while (more && !full(s, before));
        int nodes = s->text.n_nodes, rows = e.layer ? s->text.tokens.n : nodes;
        if (!nodes)
            continue;
        if (s->workspace->ctx.buckets)
            text_builder_pad(&s->text, gate_nodes_padded(nodes));
        rc = workspace_step(s->workspace, run_encode, &e, err);
        if (rc == 0)
            collect(&e, nodes, rows);
    }
    d->driver->download_finish(d, 0);
    return rc;
}

int gate_encode(struct gate_scorer *s, const struct gate_item *items, int n, float *states, float *relevance,
                struct error *err)
{
    struct encoding first = { .s = s, .states = states, .relevance = relevance };

    if (!states || !gatekeeper_says_word(&s->model->net.config))
        return encode_all(first, items, n, err);
    struct encoding again = { .s = s, .judged = relevance, .states = states };
    first.states = NULL;
    return encode_all(first, items, n, err) || encode_all(again, items, n, err) ? -1 : 0;
}

int gate_encode_words(struct gate_scorer *s, const struct gate_item *items, int n, float *states, float *relevance,
                      const struct gate_layer_states *words, struct error *err)
{
    return encode_all((struct encoding){ .s = s, .states = states, .relevance = relevance, .words = *words }, items, n,
                      err);
}

int gate_asked(const struct gate_scorer *s, const struct gate_item *items, int n)
{
    int asked = 0;

    for (int i = 0; i < n; i++)
        asked += gate_question_kept(&s->model->layout, &items[i]);
    return asked;
}

int gate_encode_before(struct gate_scorer *s, const struct gate_item *items, int n, int layer, float *states,
                       struct error *err)
{
    return encode_all((struct encoding){ .s = s, .layer = layer, .states = states }, items, n, err);
}

struct relevance_step {
    const struct gate_model *model;
    const float *states;
    int n;
    struct tensor *relevance;
};

static void run_relevance(struct ctx *c, void *arg)
{
    struct relevance_step *r = arg;
    const struct gatekeeper *g = &r->model->net;
    int64_t padded = c->buckets ? gate_nodes_padded(r->n) : r->n;
    struct tensor *x = batch_f32_padded(c, r->states, r->n, padded, g->config.bert.hidden_size, g->relevance_w->dtype);

    r->relevance = gatekeeper_relevance(c, g, x);
}

int gate_relevance(struct gate_scorer *s, const float *states, int n, float *relevance, struct error *err)
{
    int64_t C = s->model->net.config.bert.hidden_size;

    s->workspace->ctx.recording = s->workspace->ctx.training = false;
    for (int first = 0; first < n; first += CLASSIFY_NODES) {
        int some = n - first < CLASSIFY_NODES ? n - first : CLASSIFY_NODES;
        struct relevance_step r = { .model = s->model, .states = states + first * C, .n = some };
        if (workspace_step(s->workspace, run_relevance, &r, err))
            return -1;
        download_first(s, relevance + first, r.relevance, some);
    }
    return 0;
}

struct classify_step {
    const struct gate_model *model;
    const struct gate_item *items;
    const float *states;
    int n, n_nodes;
    struct gate_scores scores;
};

static void run_classify(struct ctx *c, void *arg)
{
    struct classify_step *k = arg;
    const struct gatekeeper *g = &k->model->net;
    struct gate_graph graph;

    gate_graph_build(c, k->items, k->n, &g->config, &graph);
    struct tensor *x = batch_f32_padded(c, k->states, k->n_nodes, graph.graph.nodes, g->config.bert.hidden_size, F32);
    k->scores = gatekeeper_classify(c, g, x, &graph);
}

/* The score of a question is that of its most probable pair. */
static void take_likeliest_pair(const float *pairs, int n, struct gate_result *r)
{
    for (int i = 0; i < n; i++)
        if (r->pair < 0 || pairs[i] > r->score) {
            r->pair = i;
            r->score = pairs[i];
        }
}

static void take_likeliest_kind(const float *kinds, struct gate_result *r)
{
    for (int k = 0; k < LINGUISTIC_TYPES; k++)
        if (!k || kinds[k] > r->linguistic) {
            r->linguistic = kinds[k];
            r->type = (enum linguistic_type)(k + 1);
        }
}

/* Stores the linguistic types, if the model has a head for them. */
static void take_kinds(const struct gate_scorer *s, const struct classify_step *k, struct gate_result *results)
{
    if (!k->scores.linguistic)
        return;
    float *kinds = xmalloc((size_t)k->n * LINGUISTIC_TYPES * sizeof *kinds);
    download_first(s, kinds, k->scores.linguistic, k->n);
    for (int i = 0; i < k->n; i++)
        take_likeliest_kind(kinds + (size_t)i * LINGUISTIC_TYPES, &results[i]);
    free(kinds);
}

/* Copies the pairs' logits to *all_pairs, unless it is NULL, and advances it. */
static int classify_some(struct gate_scorer *s, struct classify_step *k, struct gate_result *results, float **all_pairs,
                         struct error *err)
{
    if (workspace_step(s->workspace, run_classify, k, err))
        return -1;
    int64_t n_pairs = k->scores.pair ? gate_sizes_of(k->items, k->n).pairs : 0;
    float *scores = xmalloc((size_t)(k->n + n_pairs) * sizeof *scores), *pairs = scores + k->n;
    download_first(s, scores, k->scores.score, k->n);
    if (n_pairs)
        download_first(s, pairs, k->scores.pair, n_pairs);
    if (*all_pairs) {
        memcpy(*all_pairs, pairs, (size_t)n_pairs * sizeof *pairs);
        *all_pairs += n_pairs;
    }
    int rc = 0;
    for (int i = 0; i < k->n; i++)
        results[i] = (struct gate_result){ .score = scores[i], .pair = -1 };
    take_kinds(s, k, results);
    for (int i = 0; i < k->n && rc == 0; i++) {
        if (n_pairs) {
            take_likeliest_pair(pairs, k->items[i].schema->n_pairs, &results[i]);
            pairs += k->items[i].schema->n_pairs;
        }
        if (!isfinite(results[i].score) || !isfinite(results[i].linguistic))
            rc = error_set(err, EXIT_CODE_FAILURE, "the score is not a number: the model's weights have diverged");
    }
    free(scores);
    return rc;
}

int gate_classify(struct gate_scorer *s, const struct gate_item *items, int n, const float *states,
                  struct gate_result *results, float *pairs, struct error *err)
{
    int64_t C = s->model->net.config.bert.hidden_size;

    s->workspace->ctx.recording = s->workspace->ctx.training = false;
    for (int first = 0, end; first < n; first = end) {
        struct classify_step k = { .model = s->model, .items = items + first, .states = states };
        for (end = first; end < n && (end == first || k.n_nodes + items[end].schema->n_nodes <= CLASSIFY_NODES); end++)
            k.n_nodes += items[end].schema->n_nodes;
        k.n = end - first;
        if (classify_some(s, &k, results + first, &pairs, err))
            return -1;
        states += k.n_nodes * C;
    }
    return 0;
}
