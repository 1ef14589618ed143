#include "train/detector/triage_train.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/base/strings.h"
#include "models/embed/schema_finder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of the descent, and the L2 penalty for one question. */
enum { STEPS = 1500 };
static const double PENALTY = 1;

/* Standardises the features, in place. */
static void standardise(struct gate_triage *t, double *x, const float *features, int n)
{
    for (int i = 0; i < TRIAGE_FEATURES; i++) {
        double sum = 0, square = 0;
        for (int k = 0; k < n; k++)
            sum += (double)features[k * TRIAGE_FEATURES + i];
        t->mean[i] = sum / n;
        for (int k = 0; k < n; k++) {
            x[k * TRIAGE_FEATURES + i] = (double)features[k * TRIAGE_FEATURES + i] - t->mean[i];
            square += x[k * TRIAGE_FEATURES + i] * x[k * TRIAGE_FEATURES + i];
        }
        t->scale[i] = fmax(sqrt(square / n), 1e-3);
        for (int k = 0; k < n; k++)
            x[k * TRIAGE_FEATURES + i] /= t->scale[i];
    }
}

enum { POINT = TRIAGE_CLASSES * (TRIAGE_FEATURES + 1) };
/* All parameters, by name and as one list. */
struct point {
    union {
        struct {
            double weight[TRIAGE_CLASSES][TRIAGE_FEATURES], bias[TRIAGE_CLASSES];
        };
        double all[POINT];
    };
};

static void probabilities(double p[TRIAGE_CLASSES], const struct point *w, const double *x)
{
    double largest = -HUGE_VAL, sum = 0;

    for (int c = 0; c < TRIAGE_CLASSES; c++) {
        p[c] = w->bias[c];
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            p[c] += w->weight[c][i] * x[i];
        largest = fmax(largest, p[c]);
    }
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        sum += p[c] = exp(p[c] - largest);
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        p[c] /= sum;
}

/* The gradient of the mean loss.  share: [classes] weight of one question. */
static void gradient(struct point *g, const struct point *w, const double *x, const uint8_t *classes, int n,
                     const double *share)
{
    *g = (struct point){ 0 };
    for (int k = 0; k < n; k++, x += TRIAGE_FEATURES) {
        double p[TRIAGE_CLASSES];
        probabilities(p, w, x);
        p[classes[k]] -= 1;
        for (int c = 0; c < TRIAGE_CLASSES; c++) {
            double d = p[c] * share[classes[k]];
            g->bias[c] += d;
            for (int i = 0; i < TRIAGE_FEATURES; i++)
                g->weight[c][i] += d * x[i];
        }
    }
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            g->weight[c][i] += PENALTY / n * w->weight[c][i];
}

/* The curvature of the loss is at most half the mean square of a question's features. */
static double step_size(const double *x, const uint8_t *classes, int n, const double *share)
{
    double bound = PENALTY / n + .5;

    for (int k = 0; k < n; k++)
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            bound += .5 * share[classes[k]] * x[k * TRIAGE_FEATURES + i] * x[k * TRIAGE_FEATURES + i];
    return 1 / bound;
}

static void descend(struct point *w, const double *x, const uint8_t *classes, int n, const double *share)
{
    double step = step_size(x, classes, n, share);
    struct point at = { 0 }, g = { 0 };

    *w = at;
    for (int s = 0; s < STEPS; s++) {
        gradient(&g, &at, x, classes, n, share);
        for (int i = 0; i < POINT; i++) {
            double next = at.all[i] - step * g.all[i];
            at.all[i] = next + s / (s + 3.) * (next - w->all[i]);
            w->all[i] = next;
        }
    }
}

void triage_fit(struct gate_triage *t, const float *features, const uint8_t *classes, int n)
{
    double *x = xmalloc((size_t)n * TRIAGE_FEATURES * sizeof *x + 1), share[TRIAGE_CLASSES] = { 0 };
    int of_class[TRIAGE_CLASSES] = { 0 };
    struct point w;

    *t = (struct gate_triage){ .known = true, .questions = n };
    for (int k = 0; k < n; k++)
        of_class[classes[k]]++;
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        share[c] = of_class[c] ? 1. / TRIAGE_CLASSES / of_class[c] : 0;
    standardise(t, x, features, n);
    descend(&w, x, classes, n, share);
    memcpy(t->weight, w.weight, sizeof w.weight);
    memcpy(t->bias, w.bias, sizeof w.bias);
    free(x);
}

struct triage_trainer {
    const struct triage_train_request *q;
    struct triage_train_counts *counts;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_scorer scorer;
    struct schema_set schemas;
    struct schema_input input; /* of the latest question's schema */
    struct triage_names names;
    const struct schema *schema; /* NULL: there was none */
    float *features;
    uint8_t *classes;
    int n, cap_features, cap_classes;
    struct progress progress;
};

static int prepare_schema(struct triage_trainer *t, const struct schema *s, struct error *err)
{
    const struct schema_input_settings settings =
        gate_model_input(&t->model, t->model.net.config.classifier == CLASSIFIER_PAIR);

    if (s == t->schema)
        return 0;
    schema_input_release(&t->input);
    triage_names_release(&t->names);
    t->schema = NULL;
    if (schema_input_init(&t->input, s, t->model.tokenizer, &settings, err))
        return -1;
    triage_names_init(&t->names, s);
    t->schema = s;
    return 0;
}

static void append(struct triage_trainer *t, const float *relevance, int n_question, const struct gate_result *result,
                   const struct triage_reading *signs, enum triage_class class)
{
    if (t->n == t->cap_classes) {
        t->cap_classes = t->n ? 2 * t->n : 1024;
        t->classes = xrealloc(t->classes, (size_t)t->cap_classes);
        t->features = xrealloc(t->features, (size_t)t->cap_classes * TRIAGE_FEATURES * sizeof *t->features);
    }
    gate_triage_features(t->features + (size_t)t->n * TRIAGE_FEATURES, relevance, t->input.n_nodes, n_question, result,
                         signs);
    t->classes[t->n++] = (uint8_t) class;
    t->counts->of_class[class]++;
}

static int score_question(struct triage_trainer *t, const char *question, const struct ids *ids,
                          enum triage_class class, struct error *err)
{
    struct gate_item item = { .schema = &t->input, .text = question, .question = ids->items };
    size_t nodes = (size_t)t->input.n_nodes, width = (size_t)t->model.net.config.bert.hidden_size;
    float *states = xmalloc(nodes * width * sizeof *states), *relevance = xmalloc(nodes * sizeof *relevance);
    struct schema_graph drawn = { 0 };
    struct triage_reading signs;
    struct gate_result result;

    item.n_question = (int)ids->count;
    gate_draw_graph(&drawn, &item, &t->model.net.config);
    int rc = gate_encode(&t->scorer, &item, 1, states, relevance, err) ||
             gate_classify(&t->scorer, &item, 1, states, &result, NULL, err);
    if (rc == 0) {
        triage_read(&signs, question, &t->names, NULL, 0);
        append(t, relevance, item.n_question, &result, &signs, class);
    }
    schema_graph_release(&drawn);
    free(states);
    free(relevance);
    return rc ? -1 : 0;
}

/* A record_fn. */
static int add_question(void *user, json_t *record, const char *where, struct error *err)
{
    struct triage_trainer *t = user;
    const char *db_id = json_get_string(record, "db_id", where, err);
    const char *question = db_id ? json_get_string(record, "question", where, err) : NULL;
    const char *name = question ? json_get_string(record, "class", where, err) : NULL;
    const struct schema *s = name ? schema_find(&t->schemas, db_id) : NULL;
    struct ids ids = { 0 };
    int rc = 0;

    if (!name)
        return -1;
    enum triage_class class = triage_class_of(name);
    if (!s || class == TRIAGE_CLASSES)
        return error_set(err, EXIT_CODE_DATA, s ? "%s: expected a class, got \"%.60s\"" : "%s: no schema of \"%.60s\"",
                         where, s ? name : db_id);
    if (s->n_tables + s->n_columns > SCHEMA_SEARCH_ELEMENTS ||
        gate_question_tokens(&ids, t->model.tokenizer, question, where, err))
        t->counts->skipped++;
    else
        rc = prepare_schema(t, s, err) || score_question(t, question, &ids, class, err) ? -1 : 0;
    ids_release(&ids);
    progress_update(&t->progress, t->n, (double)t->n, NULL);
    return rc;
}

/* The mean over the classes of the share of right predictions. */
static double accuracy(const struct gate_triage *head, const struct triage_trainer *t)
{
    double sum = 0;

    for (int k = 0; k < t->n; k++) {
        double p[TRIAGE_CLASSES];
        int best = 0;
        gate_triage_predict(head, t->features + (size_t)k * TRIAGE_FEATURES, p);
        for (int c = 1; c < TRIAGE_CLASSES; c++)
            best = p[c] > p[best] ? c : best;
        sum += best == t->classes[k] ? 1. / (double)t->counts->of_class[best] : 0;
    }
    return sum / TRIAGE_CLASSES;
}

static int open_all(struct triage_trainer *t, const char *tables, struct error *err)
{
    const struct triage_train_request *q = t->q;

    if (schema_set_open(&t->schemas, tables, err) || device_open(&t->device, q->device, err) ||
        workspace_init(&t->work, &t->device, (size_t)64 << 20, err) ||
        gate_model_open(&t->model, &t->device, q->model, err))
        return -1;
    t->work.eager = q->no_graph;
    gate_scorer_init(&t->scorer, &t->model, &t->work, (int)q->tokens);
    return 0;
}

static void close_all(struct triage_trainer *t)
{
    gate_scorer_release(&t->scorer);
    schema_input_release(&t->input);
    triage_names_release(&t->names);
    gate_model_release(&t->model);
    if (t->work.device)
        workspace_release(&t->work);
    if (t->device.driver)
        device_close(&t->device);
    schema_set_close(&t->schemas);
    free(t->features);
    free(t->classes);
}

static int fit_and_save(struct triage_trainer *t, const char *questions, struct error *err)
{
    struct gate_triage head;

    for (int c = 0; c < TRIAGE_CLASSES; c++)
        if (!t->counts->of_class[c])
            return error_set(err, EXIT_CODE_DATA, "%s: expected questions of each class, got none that is %s",
                             questions, triage_class_name((enum triage_class)c));
    triage_fit(&head, t->features, t->classes, t->n);
    t->counts->accuracy = accuracy(&head, t);
    return gate_triage_save(&head, &t->model, t->q->out, err);
}

int triage_train(const struct triage_train_request *q, struct triage_train_counts *counts, struct error *err)
{
    char *questions = path_in(q->data, "questions.jsonl"), *tables = path_in(q->data, "tables.json");
    struct triage_trainer t = { .q = q, .counts = counts };
    int rc = open_all(&t, tables, err);

    if (rc == 0) {
        progress_start(&t.progress, "scoring", "questions", record_file_total(questions, RECORDS_AUTO, NULL));
        rc = records_each(questions, RECORDS_AUTO, add_question, &t, err);
        progress_end(&t.progress);
    }
    if (rc == 0)
        rc = fit_and_save(&t, questions, err);
    close_all(&t);
    free(questions);
    free(tables);
    return rc;
}
