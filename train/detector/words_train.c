#include "train/detector/words_train.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/span/span_schema.h"
#include "data/span/tag_source.h"
#include "kernels/optim.h"
#include "kernels/rng.h"
#include "kernels/tape.h"
#include "models/embed/schema_finder.h"
#include "models/net/param_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 /* questions encoded together */, BATCH = 512 /* words of a step */, HOST_BYTES = 64 << 20 };

struct words_trainer {
    const struct words_train_request *q;
    struct words_train_counts *counts;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_scorer scorer;
    struct gate_words head;
    struct word_examples train, valid;
    struct rng rng;
};

/* ---- features ---- */

/* A question of a group, with all that its reading needs. */
struct word_question_item {
    const struct span_record *record;
    struct schema schema;
    struct schema_input input;
    struct word_names names;
    struct word_signs signs;
    struct ids ids;
    bool looked; /* its stored values are known */
};

static int prepare(struct word_question_item *w, const struct words_trainer *t, struct error *err)
{
    const struct span_record *r = w->record;
    const struct schema_input_settings settings = gate_model_input(&t->model, false);

    span_schema_init(&w->schema, r->db_id, r->columns, r->n_columns, NULL, NULL);
    if (gate_question_tokens(&w->ids, t->model.tokenizer, r->question, r->id, err) ||
        schema_input_init(&w->input, &w->schema, t->model.tokenizer, &settings, err))
        return -1;
    struct tag_source source;
    struct tag_matches matches;
    tag_source_of(&source, r->columns, r->n_columns);
    struct tag_question asked = tag_source_ask(&source, r->question, &matches);
    word_names_init(&w->names, &w->schema);
    word_signs_read(&w->signs, r->question, &w->names, asked.values, asked.n_values, w->looked);
    tag_matches_release(&matches);
    tag_source_close(&source);
    return 0;
}

static void release(struct word_question_item *w)
{
    word_names_release(&w->names);
    schema_input_release(&w->input);
    schema_release(&w->schema);
    ids_release(&w->ids);
}

static uint8_t label_of(const struct span_record *r, const struct spoken_word *word)
{
    for (int i = 0; i < r->n_spans; i++)
        if (r->spans[i].start <= word->start && word->end <= r->spans[i].end)
            return (uint8_t)(1 + r->spans[i].label);
    return WORD_OTHER;
}

static void append(struct word_examples *e, const struct gate_words *h, const struct word_question_item *w,
                   const struct word_input *in)
{
    size_t inputs = (size_t)gate_words_inputs(h), words = (size_t)w->signs.words.n;
    float *features = xmalloc(words * inputs * sizeof *features + 1);
    int n = gate_words_features(features, h, in);

    if (e->n + n > e->cap) {
        e->cap = 2 * (e->n + n);
        e->features = xrealloc(e->features, (size_t)e->cap * inputs * sizeof *e->features);
        e->labels = xrealloc(e->labels, (size_t)e->cap);
        e->question = xrealloc(e->question, (size_t)e->cap * sizeof *e->question);
    }
    for (size_t i = 0; i < (size_t)n * inputs; i++)
        e->features[(size_t)e->n * inputs + i] = bf16_from_f32(features[i]);
    for (int i = 0; i < n; i++, e->n++) {
        e->labels[e->n] = label_of(w->record, &w->signs.words.words[i]);
        e->question[e->n] = e->n_questions;
    }
    e->n_questions++;
    free(features);
}

/* Encodes n prepared questions and appends their words. */
static int encode(struct words_trainer *t, struct word_examples *e, struct word_question_item *w, int n,
                  struct error *err)
{
    struct gate_item items[GROUP];
    size_t C = (size_t)t->head.width;

    for (int i = 0; i < n; i++)
        items[i] = (struct gate_item){ .schema = &w[i].input,
                                       .text = w[i].record->question,
                                       .question = w[i].ids.items,
                                       .n_question = (int)w[i].ids.count };
    float *elements = xmalloc((size_t)gate_nodes(items, n) * C * sizeof *elements + 1);
    float *tokens = xmalloc((size_t)gate_asked(&t->scorer, items, n) * C * sizeof *tokens + 1);
    const struct gate_layer_states states = { t->head.layer, tokens, elements };
    int rc = gate_encode_words(&t->scorer, items, n, NULL, NULL, &states, err);
    struct word_input in = { .model = &t->model, .tokens = tokens, .elements = elements };
    for (int i = 0; i < n && rc == 0; i++) {
        in.item = &items[i];
        in.signs = &w[i].signs;
        append(e, &t->head, &w[i], &in);
        in.tokens += (size_t)gate_asked(&t->scorer, &items[i], 1) * C;
        in.elements += (size_t)items[i].schema->n_nodes * C;
    }
    free(elements);
    free(tokens);
    return rc;
}

/* Reads the records [n] of a group. */
static int read_group(struct words_trainer *t, struct word_examples *e, const struct span_record *const *records, int n,
                      int64_t first, struct error *err)
{
    struct word_question_item *w = xcalloc(GROUP, sizeof *w);
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++) {
        w[i].record = records[i];
        w[i].looked = (first + i) % 2 == 0;
        rc = prepare(&w[i], t, err);
    }
    rc = rc ? -1 : encode(t, e, w, n, err);
    for (int i = 0; i < n; i++)
        release(&w[i]);
    free(w);
    return rc;
}

static enum span_label worst_label(const struct span_record *r)
{
    enum span_label worst = SPAN_COL;

    for (int i = 0; i < r->n_spans; i++)
        worst = r->spans[i].label > worst ? r->spans[i].label : worst;
    return worst;
}

/* Draws at most `most` records, of which a quarter each has AMB and UNK words.  The caller frees the list. */
static const struct span_record **draw(struct words_trainer *t, const struct span_record_list *l, int64_t most, int *n)
{
    const struct span_record **list = xmalloc((size_t)l->n * sizeof *list + 1);
    int64_t left[SPAN_LABELS] = { [SPAN_COL] = most / 2, [SPAN_AMB] = most / 4, [SPAN_UNK] = most / 4 };
    int *order = xmalloc((size_t)l->n * sizeof *order + 1);

    *n = 0;
    for (int i = 0; i < l->n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, l->n, sizeof *order);
    for (int i = 0; i < l->n; i++) {
        const struct span_record *r = &l->items[order[i]];
        enum span_label of = span_record_is_problem(r) ? worst_label(r) : SPAN_COL;
        if (r->n_columns + 1 > SCHEMA_SEARCH_ELEMENTS)
            t->counts->skipped++;
        else if (left[of]-- > 0)
            list[(*n)++] = r;
    }
    free(order);
    return list;
}

static int read_file(struct words_trainer *t, struct word_examples *e, const char *path, int64_t most,
                     struct error *err)
{
    struct span_record_list l = { 0 };
    struct progress progress;
    int n = 0, rc = span_records_read(&l, path, err);
    const struct span_record **list = rc ? NULL : draw(t, &l, most, &n);

    progress_start(&progress, "encoding", "questions", n);
    for (int i = 0; i < n && rc == 0 && !stop_requested(); i += GROUP) {
        int some = n - i < GROUP ? n - i : GROUP;
        rc = read_group(t, e, list + i, some, i, err);
        progress_update(&progress, i + some, i + some, NULL);
    }
    progress_end(&progress);
    if (rc == 0 && !e->n)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected questions with marked words, got none", path);
    free(list);
    span_records_release(&l);
    return rc;
}

/* ---- training ---- */

struct word_net {
    struct arena host, data;
    struct params params;
    struct tensor *dense_w, *dense_b, *score_w, *score_b; /* [hidden, inputs], [hidden], [WORD_LABELS, hidden], ... */
    struct optim optim;
    float dropout;
};

/* One step: the words of a batch. */
struct word_step {
    struct word_net *net;
    const float *features; /* [n, inputs] */
    const int32_t *labels;
    int n, inputs;
};

static void run_step(struct ctx *c, void *arg)
{
    const struct word_step *s = arg;
    struct word_net *w = s->net;
    struct tensor *x = op_dropout(c, batch_f32(c, s->features, s->n, s->inputs, F32), w->dropout);
    struct tensor *h = op_dropout(c, op_linear(c, x, w->dense_w, w->dense_b, ACT_GELU), w->dropout);
    struct tensor *z = op_linear(c, h, w->score_w, w->score_b, ACT_NONE);

    tape_backward(c, op_cross_entropy(c, z, batch_i32(c, s->labels, s->n), 1.0f / (float)s->n));
    optim_step(c, &w->optim, &w->params);
}

static void declare(struct word_net *w, const struct gate_words *h, struct arena *data)
{
    const struct param_arenas arenas = { &w->host, data, OPTIMIZER_ADAMW };
    struct param_builder b = { &w->params, &arenas, F32, -1, 0, "" };

    w->dense_w = param_matrix(&b, h->hidden, gate_words_inputs(h), "dense.weight");
    w->dense_b = param_bias(&b, h->hidden, "dense.bias");
    w->score_w = param_matrix(&b, WORD_LABELS, h->hidden, "score.weight");
    w->score_b = param_bias(&b, WORD_LABELS, "score.bias");
}

enum { NET_HOST_BYTES = 1 << 20, NET_EXTRA = 4096 };

static int net_init(struct word_net *w, const struct words_trainer *t, int64_t steps, struct error *err)
{
    struct arena measured;

    *w = (struct word_net){ .dropout = (float)t->q->dropout };
    if (arena_init(&w->host, NET_HOST_BYTES, err))
        return -1;
    arena_measure(&measured);
    declare(w, &t->head, &measured);
    params_release(&w->params);
    if (device_arena(t->work.device, &w->data, measured.peak + NET_EXTRA, err))
        return -1;
    declare(w, &t->head, &w->data);
    params_init(&w->params, t->work.device, t->q->seed);
    w->optim.schedule = (struct schedule){ .lr = (float)t->q->lr, .total = steps };
    w->optim.adamw =
        (struct adamw){ .beta1 = .9F, .beta2 = .999F, .eps = 1e-8F, .decay = (float)t->q->weight_decay, .clip = 1 };
    return optim_init(&w->optim, t->work.device, &w->params, err);
}

static void net_release(struct word_net *w, struct device *d)
{
    optim_release(&w->optim, d);
    params_release(&w->params);
    arena_release(&w->host);
    if (w->data.base)
        device_arena_release(d, &w->data);
}

/* Mean and standard deviation of each feature, [inputs]. */
struct word_scale {
    float *mean, *scale;
};

static struct word_scale measure_scale(const struct word_examples *e, int inputs)
{
    struct word_scale s = { xmalloc((size_t)inputs * sizeof *s.mean), xmalloc((size_t)inputs * sizeof *s.scale) };

    for (int i = 0; i < inputs; i++) {
        double sum = 0, square = 0;
        for (int k = 0; k < e->n; k++) {
            double x = (double)f32_from_bf16(e->features[(size_t)k * (size_t)inputs + (size_t)i]);
            sum += x;
            square += x * x;
        }
        double mean = sum / e->n;
        s.mean[i] = (float)mean;
        s.scale[i] = (float)fmax(sqrt(fmax(square / e->n - mean * mean, 0)), 1e-3);
    }
    return s;
}

static void fill_batch(float *x, int32_t *labels, const struct word_examples *e, const int *order, int n, int inputs,
                       const struct word_scale *s)
{
    for (int k = 0; k < n; k++) {
        const uint16_t *from = e->features + (size_t)order[k] * (size_t)inputs;
        labels[k] = e->labels[order[k]];
        for (int i = 0; i < inputs; i++)
            x[(size_t)k * (size_t)inputs + (size_t)i] = (f32_from_bf16(from[i]) - s->mean[i]) / s->scale[i];
    }
}

/* Copies the weights as the file rounds them, with the standardisation of the features in them. */
static void take_weights(struct gate_words *h, const struct word_net *w, struct device *d, const struct word_scale *s)
{
    int inputs = gate_words_inputs(h);
    float *dense = start_values(&w->params, w->dense_w, d), *dense_b = start_values(&w->params, w->dense_b, d);
    float *score = start_values(&w->params, w->score_w, d), *score_b = start_values(&w->params, w->score_b, d);

    for (int k = 0; k < h->hidden; k++) {
        double bias = (double)dense_b[k];
        for (int i = 0; i < inputs; i++) {
            float x = f32_from_bf16(bf16_from_f32(dense[(size_t)k * (size_t)inputs + (size_t)i] / s->scale[i]));
            h->dense_w[(size_t)i * (size_t)h->hidden + (size_t)k] = x;
            bias -= (double)x * (double)s->mean[i];
        }
        h->dense_b[k] = (float)bias;
        for (int l = 0; l < WORD_LABELS; l++)
            h->score_w[k * WORD_LABELS + l] = score[l * h->hidden + k];
    }
    memcpy(h->score_b, score_b, WORD_LABELS * sizeof *score_b);
    free(dense);
    free(dense_b);
    free(score);
    free(score_b);
}

static int run_epochs(struct words_trainer *t, struct word_net *w, const struct word_scale *s, struct error *err)
{
    const struct word_examples *e = &t->train;
    int inputs = gate_words_inputs(&t->head), rc = 0;
    float *x = xmalloc((size_t)BATCH * (size_t)inputs * sizeof *x);
    int32_t labels[BATCH];
    int *order = xmalloc((size_t)e->n * sizeof *order);
    struct progress progress;
    int64_t steps = 0;

    for (int i = 0; i < e->n; i++)
        order[i] = i;
    t->work.ctx.recording = t->work.ctx.training = true;
    progress_start(&progress, "training", "steps", t->q->epochs * ((e->n + BATCH - 1) / BATCH));
    for (int64_t epoch = 0; epoch < t->q->epochs && rc == 0; epoch++) {
        rng_shuffle(&t->rng, order, e->n, sizeof *order);
        for (int i = 0; i < e->n && rc == 0 && !stop_requested(); i += BATCH) {
            struct word_step step = { w, x, labels, e->n - i < BATCH ? e->n - i : BATCH, inputs };
            fill_batch(x, labels, e, order + i, step.n, inputs, s);
            rc = workspace_step(&t->work, run_step, &step, err);
            steps++;
            progress_update(&progress, steps, (double)steps, NULL);
        }
    }
    progress_end(&progress);
    t->work.ctx.recording = t->work.ctx.training = false;
    free(x);
    free(order);
    return rc;
}

static int train(struct words_trainer *t, struct error *err)
{
    int inputs = gate_words_inputs(&t->head);
    struct word_scale s = measure_scale(&t->train, inputs);
    struct word_net w;
    int64_t steps = t->q->epochs * ((t->train.n + BATCH - 1) / BATCH);

    workspace_seed(&t->work, t->q->seed, 0);
    int rc = net_init(&w, t, steps, err) || run_epochs(t, &w, &s, err) ? -1 : 0;
    if (rc == 0)
        take_weights(&t->head, &w, t->work.device, &s);
    workspace_forget(&t->work);
    net_release(&w, t->work.device);
    free(s.mean);
    free(s.scale);
    return rc;
}

/* ---- calibration ---- */

/* Probabilities [n][WORD_LABELS] of all words; the caller frees them. */
static double (*predict_all(const struct gate_words *h, const struct word_examples *e))[WORD_LABELS]
{
    size_t inputs = (size_t)gate_words_inputs(h);
    double(*p)[WORD_LABELS] = xmalloc((size_t)e->n * sizeof *p + 1);

#pragma omp parallel for
    for (int k = 0; k < e->n; k++) {
        float *x = xmalloc(inputs * sizeof *x);
        for (size_t i = 0; i < inputs; i++)
            x[i] = f32_from_bf16(e->features[(size_t)k * inputs + i]);
        gate_words_predict(h, x, p[k]);
        free(x);
    }
    return p;
}

/* The mean loss of the words when the logits are divided by t. */
static double loss_at(double (*p)[WORD_LABELS], const struct word_examples *e, double t)
{
    double sum = 0;

    for (int k = 0; k < e->n; k++) {
        double all = 0;
        for (int l = 0; l < WORD_LABELS; l++)
            all += pow(fmax(p[k][l], 1e-300), 1 / t);
        sum += log(all) - log(fmax(p[k][e->labels[k]], 1e-300)) / t;
    }
    return sum / e->n;
}

/* The temperature of the smallest loss, by golden-section search; p is of temperature 1. */
static double fit_temperature(double (*p)[WORD_LABELS], const struct word_examples *e)
{
    const double ratio = (sqrt(5) - 1) / 2;
    double low = log(.25), high = log(8);

    for (int i = 0; i < 30; i++) {
        double a = high - ratio * (high - low), b = low + ratio * (high - low);
        if (loss_at(p, e, exp(a)) < loss_at(p, e, exp(b)))
            high = b;
        else
            low = a;
    }
    return exp((low + high) / 2);
}

static bool is_problem(const struct word_examples *e, int word)
{
    return e->labels[word] == 1 + SPAN_AMB || e->labels[word] == 1 + SPAN_UNK;
}

static int largest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The threshold that the largest probability of a label reaches in at most `share` of the questions without a
 * problem. */
static double threshold_of(double (*p)[WORD_LABELS], const struct word_examples *e, int label, double share)
{
    double *most = xcalloc((size_t)e->n_questions + 1, sizeof *most);
    int n = 0;

    for (int i = 0, end; i < e->n; i = end) {
        bool problem = false;
        double largest = 0;
        for (end = i; end < e->n && e->question[end] == e->question[i]; end++) {
            problem |= is_problem(e, end);
            largest = fmax(largest, p[end][label]);
        }
        if (!problem)
            most[n++] = largest;
    }
    qsort(most, (size_t)n, sizeof *most, largest_first);
    int above = (int)(share * n);
    double threshold = n ? nextafter(most[above < n ? above : n - 1], 2) : 2;
    free(most);
    return threshold;
}

void words_calibrate(struct gate_words *h, const struct word_examples *valid, double false_alarms)
{
    h->temperature = 1;
    double(*p)[WORD_LABELS] = predict_all(h, valid);
    h->temperature = fit_temperature(p, valid);
    free(p);
    p = predict_all(h, valid);
    h->threshold[SPAN_AMB] = threshold_of(p, valid, 1 + SPAN_AMB, false_alarms / 2);
    h->threshold[SPAN_UNK] = threshold_of(p, valid, 1 + SPAN_UNK, false_alarms / 2);
    free(p);
}

static void measure(struct words_train_counts *c, const struct gate_words *h, const struct word_examples *e)
{
    double(*p)[WORD_LABELS] = predict_all(h, e);
    int64_t both[WORD_LABELS] = { 0 }, either[WORD_LABELS] = { 0 }, clear = 0, alarms = 0;

    c->loss = loss_at(p, e, 1);
    for (int i = 0, end; i < e->n; i = end) {
        bool problem = false, alarm = false;
        for (end = i; end < e->n && e->question[end] == e->question[i]; end++) {
            int label = gate_words_decide(h, p[end]);
            problem |= is_problem(e, end);
            alarm |= label == 1 + SPAN_AMB || label == 1 + SPAN_UNK;
            both[label] += label == e->labels[end];
            either[label]++;
            either[e->labels[end]]++;
        }
        clear += !problem;
        alarms += !problem && alarm;
    }
    for (int l = 0; l < SPAN_LABELS; l++)
        c->right[l] = either[1 + l] ? 2. * (double)both[1 + l] / (double)either[1 + l] : 0;
    c->alarms = clear ? (double)alarms / (double)clear : 0;
    free(p);
}

/* ---- run ---- */

static int open_all(struct words_trainer *t, struct error *err)
{
    const struct words_train_request *q = t->q;

    if (device_open(&t->device, q->device, err) || workspace_init(&t->work, &t->device, HOST_BYTES, err) ||
        gate_model_open(&t->model, &t->device, q->model, err))
        return -1;
    const char *refusal = gate_words_refusal(&t->model);
    int layers = t->model.net.config.bert.layers, layer = q->layer ? (int)q->layer : (2 * layers + 1) / 3;
    if (refusal)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a detector that can tag words: %s", q->model,
                         refusal);
    if (layer >= layers)
        return error_set(err, EXIT_CODE_USAGE, "--layer: expected 1 to %d, got %d", layers - 1, layer);
    t->work.eager = q->no_graph;
    gate_scorer_init(&t->scorer, &t->model, &t->work, (int)q->tokens);
    gate_words_init(&t->head, t->model.net.config.bert.hidden_size, layer, (int)q->hidden);
    return 0;
}

static void release_examples(struct word_examples *e)
{
    free(e->features);
    free(e->labels);
    free(e->question);
}

static void close_all(struct words_trainer *t)
{
    gate_scorer_release(&t->scorer);
    gate_words_release(&t->head);
    gate_model_release(&t->model);
    if (t->work.device)
        workspace_release(&t->work);
    if (t->device.driver)
        device_close(&t->device);
    release_examples(&t->train);
    release_examples(&t->valid);
}

static int run(struct words_trainer *t, struct error *err)
{
    if (read_file(t, &t->train, t->q->data, t->q->questions, err) ||
        read_file(t, &t->valid, t->q->valid, t->q->questions, err) || train(t, err))
        return -1;
    if (stop_requested())
        return error_set(err, stop_exit_code(), "interrupted");
    words_calibrate(&t->head, &t->valid, t->q->false_alarms);
    t->counts->questions = t->train.n_questions;
    t->counts->words = t->head.words = t->train.n;
    measure(t->counts, &t->head, &t->valid);
    return gate_words_save(&t->head, &t->model, t->q->out, err);
}

int words_train(const struct words_train_request *q, struct words_train_counts *counts, struct error *err)
{
    struct words_trainer t = { .q = q, .counts = counts, .rng = { .seed = q->seed } };

    stop_install_waiting();
    int rc = open_all(&t, err) || run(&t, err) ? -1 : 0;
    close_all(&t);
    return rc;
}
