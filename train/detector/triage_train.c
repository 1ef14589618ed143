#include "train/detector/triage_train.h"

#include "data/base/json.h"
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

enum { POINT = TRIAGE_KINDS * (TRIAGE_FEATURES + 1) };
/* All parameters, by name and as one list. */
struct point {
    union {
        struct {
            double weight[TRIAGE_KINDS][TRIAGE_FEATURES], bias[TRIAGE_KINDS];
        };
        double all[POINT];
    };
};

static void probabilities(double p[TRIAGE_KINDS], const struct point *w, const double *x)
{
    double largest = -HUGE_VAL, sum = 0;

    for (int c = 0; c < TRIAGE_KINDS; c++) {
        p[c] = w->bias[c];
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            p[c] += w->weight[c][i] * x[i];
        largest = fmax(largest, p[c]);
    }
    for (int c = 0; c < TRIAGE_KINDS; c++)
        sum += p[c] = exp(p[c] - largest);
    for (int c = 0; c < TRIAGE_KINDS; c++)
        p[c] /= sum;
}

/* The gradient of the mean loss.  share: [kinds] weight of one question. */
static void gradient(struct point *g, const struct point *w, const double *x, const uint8_t *kinds, int n,
                     const double *share)
{
    *g = (struct point){ 0 };
    for (int k = 0; k < n; k++, x += TRIAGE_FEATURES) {
        double p[TRIAGE_KINDS];
        probabilities(p, w, x);
        p[kinds[k]] -= 1;
        for (int c = 0; c < TRIAGE_KINDS; c++) {
            double d = p[c] * share[kinds[k]];
            g->bias[c] += d;
            for (int i = 0; i < TRIAGE_FEATURES; i++)
                g->weight[c][i] += d * x[i];
        }
    }
    for (int c = 0; c < TRIAGE_KINDS; c++)
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            g->weight[c][i] += PENALTY / n * w->weight[c][i];
}

/* The curvature of the loss is at most half the mean square of a question's features. */
static double step_size(const double *x, const uint8_t *kinds, int n, const double *share)
{
    double bound = PENALTY / n + .5;

    for (int k = 0; k < n; k++)
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            bound += .5 * share[kinds[k]] * x[k * TRIAGE_FEATURES + i] * x[k * TRIAGE_FEATURES + i];
    return 1 / bound;
}

static void descend(struct point *w, const double *x, const uint8_t *kinds, int n, const double *share)
{
    double step = step_size(x, kinds, n, share);
    struct point at = { 0 }, g = { 0 };

    *w = at;
    for (int s = 0; s < STEPS; s++) {
        gradient(&g, &at, x, kinds, n, share);
        for (int i = 0; i < POINT; i++) {
            double next = at.all[i] - step * g.all[i];
            at.all[i] = next + s / (s + 3.) * (next - w->all[i]);
            w->all[i] = next;
        }
    }
}

/* The weight of a question of each kind: classes share the whole equally, and kinds with questions their class. */
static void weigh(double share[TRIAGE_KINDS], const uint8_t *kinds, int n)
{
    int of_kind[TRIAGE_KINDS] = { 0 }, found[TRIAGE_CLASSES] = { 0 };

    for (int k = 0; k < n; k++)
        found[triage_kind_class(kinds[k])] += of_kind[kinds[k]]++ == 0;
    for (int k = 0; k < TRIAGE_KINDS; k++)
        share[k] = of_kind[k] ? 1. / TRIAGE_CLASSES / found[triage_kind_class((enum triage_kind)k)] / of_kind[k] : 0;
}

void triage_fit(struct gate_triage *t, const float *features, const uint8_t *kinds, int n)
{
    double *x = xmalloc((size_t)n * TRIAGE_FEATURES * sizeof *x + 1), share[TRIAGE_KINDS];
    struct point w;

    *t = (struct gate_triage){ .known = true, .questions = n };
    weigh(share, kinds, n);
    standardise(t, x, features, n);
    descend(&w, x, kinds, n, share);
    memcpy(t->weight, w.weight, sizeof w.weight);
    memcpy(t->bias, w.bias, sizeof w.bias);
    free(x);
}

static int largest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The smallest threshold that at most `share` of the scores [n] reach; more than 1 if none is.  Sorts the scores. */
static double threshold_of(double *scores, int n, double share)
{
    int above = (int)(share * n);

    qsort(scores, (size_t)n, sizeof *scores, largest_first);
    if (above >= n)
        return 0;
    return n ? nextafter(scores[above], 2) : 2;
}

enum { SMALLEST_ORIGIN = 20, ALL_ORIGINS = -1 };

/* The threshold that at most `share` of the answerable questions of an origin reach, by the given scores [n] of all
 * questions.  0 for an origin with too few. */
static double threshold_of_origin(const double *scores, const uint8_t *classes, const int *origins, int n, int origin,
                                  double share)
{
    double *own = xmalloc((size_t)n * sizeof *own + 1), threshold = 0;
    int m = 0;

    for (int k = 0; k < n; k++)
        if (classes[k] == TRIAGE_ANSWERABLE && (origin == ALL_ORIGINS || origins[k] == origin))
            own[m++] = scores[k];
    if (m >= SMALLEST_ORIGIN || origin == ALL_ORIGINS)
        threshold = threshold_of(own, m, share);
    free(own);
    return threshold;
}

/* The largest of the thresholds of all origins and of all questions together. */
static double largest_threshold(const double *scores, const uint8_t *classes, const int *origins, int n, double share)
{
    int last = ALL_ORIGINS;
    double largest = 0;

    for (int k = 0; k < n; k++)
        last = origins[k] > last ? origins[k] : last;
    for (int origin = ALL_ORIGINS; origin <= last; origin++)
        largest = fmax(largest, threshold_of_origin(scores, classes, origins, n, origin, share));
    return largest;
}

static void measure(struct triage_shares *t, const struct gate_triage *head, const float *features,
                    const uint8_t *classes, int n)
{
    double p[TRIAGE_CLASSES];
    int of_class[TRIAGE_CLASSES] = { 0 };

    *t = (struct triage_shares){ 0 };
    for (int k = 0; k < n; k++) {
        gate_triage_predict(head, features + (size_t)k * TRIAGE_FEATURES, p);
        enum triage_class c = gate_triage_decide(head, p, false);
        of_class[classes[k]]++;
        t->refused[classes[k]] += triage_class_refused(c);
        t->asked[classes[k]] += c == TRIAGE_AMBIGUOUS;
    }
    for (int c = 0; c < TRIAGE_CLASSES; c++) {
        t->refused[c] /= of_class[c] ? of_class[c] : 1;
        t->asked[c] /= of_class[c] ? of_class[c] : 1;
    }
}

/* The number that a class's threshold is compared with; 0 if the question would be refused for another class. */
static double score_of(const double p[TRIAGE_CLASSES], enum triage_class class)
{
    if (class == TRIAGE_AMBIGUOUS)
        return p[class];
    return gate_triage_refusal_class(p) == class ? gate_triage_refusal(p) : 0;
}

void triage_choose(struct triage_shares *shares, struct gate_triage *head, const float *features,
                   const uint8_t *classes, const int *origins, int n, double false_refusals)
{
    double *scores = xmalloc((size_t)n * sizeof *scores + 1), p[TRIAGE_CLASSES];

    for (int c = TRIAGE_AMBIGUOUS; c < TRIAGE_CLASSES; c++) {
        for (int k = 0; k < n; k++) {
            gate_triage_predict(head, features + (size_t)k * TRIAGE_FEATURES, p);
            scores[k] = score_of(p, (enum triage_class)c);
        }
        double share = c == TRIAGE_AMBIGUOUS ? false_refusals : false_refusals / 2;
        head->threshold[c] = largest_threshold(scores, classes, origins, n, share);
    }
    measure(shares, head, features, classes, n);
    free(scores);
}

/* The features, classes and kinds of read questions. */
struct triage_features {
    float *features;
    uint8_t *classes, *kinds; /* kinds: TRIAGE_KINDS if unknown, of validation questions only */
    int *origins;
    int n, cap;
};

struct triage_trainer {
    const struct triage_train_request *q;
    struct triage_train_counts *counts;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_words words; /* the detector's head for words, if it has one */
    struct gate_scorer scorer;
    struct schema_set schemas; /* of the folder that is read */
    struct schema_input input; /* of the latest question's schema */
    struct triage_names names;
    struct word_names word_names;
    struct strings origins;
    const struct schema *schema;              /* NULL: there was none */
    struct triage_features train, valid, *to; /* to: the one of the folder that is read */
    int64_t read;
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
    word_names_release(&t->word_names);
    t->schema = NULL;
    if (schema_input_init(&t->input, s, t->model.tokenizer, &settings, err))
        return -1;
    triage_names_init(&t->names, s);
    word_names_init(&t->word_names, s);
    t->schema = s;
    return 0;
}

/* A question of the folder. */
struct triage_example {
    struct triage_question question;
    enum triage_class class;
    enum triage_kind kind;
    int origin; /* number of its source_class */
    bool by_values;
};

/* A scored question: what the detector says of it, and the states that the head for words reads. */
struct scored_question {
    struct gate_item item;
    float *states, *relevance, *tokens, *elements; /* owned */
    struct gate_result result;
};

static void read_words(struct word_reading *r, const struct triage_trainer *t, const struct scored_question *s,
                       const struct triage_question *q)
{
    struct word_signs signs;
    const struct word_input in = { &t->model, &s->item, s->tokens, s->elements, &signs };

    word_signs_read(&signs, q->text, &t->word_names, q->values, q->n_values, q->has_values);
    gate_words_read(r, &t->words, &in);
}

static void append(struct triage_trainer *t, const struct scored_question *s, const struct triage_question *q,
                   const struct triage_example *e)
{
    struct triage_features *to = t->to;
    struct triage_reading signs;
    struct word_reading words = { 0 };
    const struct gate_triage_input in = { s->relevance, &t->input, s->item.n_question,
                                          &s->result,   &signs,    t->words.known ? &words : NULL };

    if (to->n == to->cap) {
        to->cap = to->n ? 2 * to->n : 1024;
        to->classes = xrealloc(to->classes, (size_t)to->cap);
        to->kinds = xrealloc(to->kinds, (size_t)to->cap);
        to->origins = xrealloc(to->origins, (size_t)to->cap * sizeof *to->origins);
        to->features = xrealloc(to->features, (size_t)to->cap * TRIAGE_FEATURES * sizeof *to->features);
    }
    triage_read(&signs, q, &t->names);
    if (t->words.known)
        read_words(&words, t, s, q);
    gate_triage_features(to->features + (size_t)to->n * TRIAGE_FEATURES, &in);
    word_reading_release(&words);
    to->origins[to->n] = e->origin;
    to->kinds[to->n] = (uint8_t)e->kind;
    to->classes[to->n++] = (uint8_t)e->class;
}

/* Adds the question without stored values, and with them if they are known.  Thresholds are chosen without values. */
static void append_all(struct triage_trainer *t, const struct scored_question *s, const struct triage_example *e)
{
    struct triage_question without = e->question;

    without.has_values = false;
    without.n_values = 0;
    if (!e->by_values)
        append(t, s, &without, e);
    if (e->question.has_values && t->to == &t->train)
        append(t, s, &e->question, e);
}

static int encode(struct triage_trainer *t, struct scored_question *s, struct error *err)
{
    size_t nodes = (size_t)t->input.n_nodes, width = (size_t)t->model.net.config.bert.hidden_size;

    s->states = xmalloc(nodes * width * sizeof *s->states);
    s->relevance = xmalloc(nodes * sizeof *s->relevance);
    if (!t->words.known)
        return gate_encode(&t->scorer, &s->item, 1, s->states, s->relevance, err);
    s->tokens = xmalloc((size_t)gate_asked(&t->scorer, &s->item, 1) * width * sizeof *s->tokens);
    s->elements = xmalloc(nodes * width * sizeof *s->elements);
    const struct gate_layer_states words = { t->words.layer, s->tokens, s->elements };
    return gate_encode_words(&t->scorer, &s->item, 1, s->states, s->relevance, &words, err);
}

static int score_question(struct triage_trainer *t, const struct ids *ids, const struct triage_example *e,
                          struct error *err)
{
    struct scored_question s = { .item = { .schema = &t->input, .text = e->question.text, .question = ids->items } };
    struct schema_graph drawn = { 0 };

    s.item.n_question = (int)ids->count;
    gate_draw_graph(&drawn, &s.item, &t->model.net.config);
    int rc = encode(t, &s, err) || gate_classify(&t->scorer, &s.item, 1, s.states, &s.result, NULL, err);
    if (rc == 0)
        append_all(t, &s, e);
    schema_graph_release(&drawn);
    free(s.states);
    free(s.relevance);
    free(s.tokens);
    free(s.elements);
    return rc ? -1 : 0;
}

/* Reads the field "values", matches of stored values in the question.  The caller frees them. */
static int read_values(struct triage_question *q, const json_t *record, const char *where, struct error *err)
{
    const json_t *list = json_object_get(record, "values") ? json_get_array(record, "values", where, err) : NULL;
    struct tag_value *values = xcalloc(json_array_size(list) + 1, sizeof *values);
    int rc = json_object_get(record, "values") && !list ? -1 : 0;

    q->values = values;
    q->has_values = list != NULL;
    for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
        int64_t column = 0, start = 0, end = 0;
        rc = json_get_int(json_array_get(list, i), "column", 0, INT32_MAX, &column, where, err) ||
             json_get_int(json_array_get(list, i), "start", 0, INT32_MAX, &start, where, err) ||
             json_get_int(json_array_get(list, i), "end", start, INT32_MAX, &end, where, err);
        values[q->n_values++] = (struct tag_value){ .column = (int)column, .start = (int)start, .end = (int)end };
    }
    return rc ? -1 : 0;
}

static int read_class(enum triage_class *class, const json_t *record, const char *where, struct error *err)
{
    const char *name = json_get_string(record, "class", where, err);

    if (!name)
        return -1;
    *class = triage_class_of(name);
    return *class < TRIAGE_CLASSES ? 0
                                   : error_set(err, EXIT_CODE_DATA, "%s: expected a class, got \"%.60s\"", where, name);
}

/* Reads class and kind.  The head learns kinds, so training questions must have one. */
static int read_labels(struct triage_example *e, const struct triage_trainer *t, const json_t *record,
                       const char *where, struct error *err)
{
    if (read_class(&e->class, record, where, err) || triage_kind_read(&e->kind, e->class, record, where, err))
        return -1;
    if (e->kind == TRIAGE_KINDS && t->to == &t->train)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected field \"kind\" in training questions, as ambit-data triage make writes it",
                         where);
    return 0;
}

/* Fills the example and finds its schema; its values are freed by the caller. */
static int read_example(struct triage_example *e, const struct schema **s, struct triage_trainer *t,
                        const json_t *record, const char *where, struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);

    if (!db_id || !(e->question.text = json_get_string(record, "question", where, err)) ||
        read_labels(e, t, record, where, err) || triage_context(&e->question.context, record, where, err) ||
        read_values(&e->question, record, where, err))
        return -1;
    const char *origin = json_string_value(json_object_get(record, "source_class"));
    e->origin = strings_add(&t->origins, origin ? origin : "");
    e->by_values = json_is_true(json_object_get(record, "by_values"));
    *s = schema_find(&t->schemas, db_id);
    return *s ? 0 : error_set(err, EXIT_CODE_DATA, "%s: no schema of \"%.60s\"", where, db_id);
}

static int add_example(struct triage_trainer *t, const struct triage_example *e, const struct schema *s,
                       const char *where, struct error *err)
{
    struct ids ids = { 0 };
    int rc = 0;

    if (s->n_tables + s->n_columns > SCHEMA_SEARCH_ELEMENTS ||
        gate_question_tokens(&ids, t->model.tokenizer, e->question.text, where, err))
        t->counts->skipped++;
    else {
        if (t->to == &t->train) {
            t->counts->of_class[e->class]++;
            t->counts->of_kind[e->kind]++;
        }
        rc = prepare_schema(t, s, err) || score_question(t, &ids, e, err) ? -1 : 0;
    }
    ids_release(&ids);
    return rc;
}

/* A record_fn. */
static int add_question(void *user, json_t *record, const char *where, struct error *err)
{
    struct triage_trainer *t = user;
    struct triage_example e = { 0 };
    const struct schema *s = NULL;
    int rc = read_example(&e, &s, t, record, where, err) || add_example(t, &e, s, where, err) ? -1 : 0;

    free((void *)e.question.values);
    t->read++;
    progress_update(&t->progress, t->read, (double)t->read, NULL);
    return rc;
}

/* The mean over the classes of the share of right predictions. */
static double accuracy(const struct gate_triage *head, const struct triage_features *f)
{
    int of_class[TRIAGE_CLASSES] = { 0 }, right[TRIAGE_CLASSES] = { 0 };
    double sum = 0;

    for (int k = 0; k < f->n; k++) {
        double p[TRIAGE_CLASSES];
        int best = 0;
        gate_triage_predict(head, f->features + (size_t)k * TRIAGE_FEATURES, p);
        for (int c = 1; c < TRIAGE_CLASSES; c++)
            best = p[c] > p[best] ? c : best;
        of_class[f->classes[k]]++;
        right[best] += best == f->classes[k];
    }
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        sum += of_class[c] ? (double)right[c] / of_class[c] : 0;
    return sum / TRIAGE_CLASSES;
}

/* The mean over the kinds of the share of questions whose likeliest kind is right. */
static double kind_accuracy(const struct gate_triage *head, const struct triage_features *f)
{
    int of_kind[TRIAGE_KINDS] = { 0 }, right[TRIAGE_KINDS] = { 0 }, found = 0;
    double sum = 0;

    for (int k = 0; k < f->n; k++) {
        double p[TRIAGE_KINDS];
        int best = 0;
        if (f->kinds[k] == TRIAGE_KINDS)
            continue;
        gate_triage_predict_kinds(head, f->features + (size_t)k * TRIAGE_FEATURES, p);
        for (int i = 1; i < TRIAGE_KINDS; i++)
            best = p[i] > p[best] ? i : best;
        found += of_kind[f->kinds[k]]++ == 0;
        right[best] += best == f->kinds[k];
    }
    for (int k = 0; k < TRIAGE_KINDS; k++)
        sum += of_kind[k] ? (double)right[k] / of_kind[k] : 0;
    return found ? sum / found : NAN;
}

static int open_all(struct triage_trainer *t, struct error *err)
{
    const struct triage_train_request *q = t->q;

    if (device_open(&t->device, q->device, err) || workspace_init(&t->work, &t->device, (size_t)64 << 20, err) ||
        gate_model_open(&t->model, &t->device, q->model, err) || gate_words_open(&t->words, &t->model, q->model, err))
        return -1;
    t->work.eager = q->no_graph;
    gate_scorer_init(&t->scorer, &t->model, &t->work, (int)q->tokens);
    return 0;
}

/* Drops the schemas of a folder. */
static void close_schemas(struct triage_trainer *t)
{
    schema_input_release(&t->input);
    triage_names_release(&t->names);
    word_names_release(&t->word_names);
    schema_set_close(&t->schemas);
    t->schema = NULL;
}

static void release_features(struct triage_features *f)
{
    free(f->features);
    free(f->classes);
    free(f->kinds);
    free(f->origins);
}

static void close_all(struct triage_trainer *t)
{
    gate_scorer_release(&t->scorer);
    close_schemas(t);
    gate_words_release(&t->words);
    gate_model_release(&t->model);
    if (t->work.device)
        workspace_release(&t->work);
    if (t->device.driver)
        device_close(&t->device);
    strings_release(&t->origins);
    release_features(&t->train);
    release_features(&t->valid);
}

/* Reads the questions of a folder, of each class at least one. */
static int read_folder(struct triage_trainer *t, struct triage_features *to, const char *dir, struct error *err)
{
    char *questions = path_in(dir, "questions.jsonl"), *tables = path_in(dir, "tables.json");
    bool found[TRIAGE_CLASSES] = { false };

    t->to = to;
    t->read = 0;
    int rc = schema_set_open(&t->schemas, tables, err);
    if (rc == 0) {
        progress_start(&t->progress, "scoring", "questions", record_file_total(questions, RECORDS_AUTO, NULL));
        rc = records_each(questions, RECORDS_AUTO, add_question, t, err);
        progress_end(&t->progress);
    }
    for (int k = 0; k < to->n; k++)
        found[to->classes[k]] = true;
    for (int c = 0; c < TRIAGE_CLASSES && rc == 0; c++)
        if (!found[c])
            rc = error_set(err, EXIT_CODE_DATA, "%s: expected questions of each class, got none that is %s", questions,
                           triage_class_name((enum triage_class)c));
    close_schemas(t);
    free(questions);
    free(tables);
    return rc;
}

static int fit_and_save(struct triage_trainer *t, struct error *err)
{
    struct gate_triage head;

    triage_fit(&head, t->train.features, t->train.kinds, t->train.n);
    triage_choose(&t->counts->valid, &head, t->valid.features, t->valid.classes, t->valid.origins, t->valid.n,
                  t->q->false_refusals);
    t->counts->accuracy = accuracy(&head, &t->valid);
    t->counts->kind_accuracy = kind_accuracy(&head, &t->valid);
    return gate_triage_save(&head, &t->model, &t->words, t->q->out, err);
}

int triage_train(const struct triage_train_request *q, struct triage_train_counts *counts, struct error *err)
{
    struct triage_trainer t = { .q = q, .counts = counts };
    int rc = open_all(&t, err) || read_folder(&t, &t.train, q->data, err) || read_folder(&t, &t.valid, q->valid, err) ||
                     fit_and_save(&t, err)
                 ? -1
                 : 0;

    close_all(&t);
    return rc;
}
