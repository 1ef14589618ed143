#include "train/detector/gate_evaluate.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/corpora/labels.h"
#include "models/gatekeeper/gate_adapter.h"
#include "models/gatekeeper/gate_band.h"
#include "train/detector/gate_eval.h"
#include "train/detector/gate_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- predictions ---- */

struct predictions {
    const struct example_list *examples;
    struct strings ids; /* of the examples, in order */
    double *score;      /* [n]; -1: none yet */
    bool *named;
};

static int number_ids(struct predictions *p, struct error *err)
{
    for (int i = 0; i < p->examples->n; i++) {
        const char *id = p->examples->items[i].id;
        if (strings_add(&p->ids, id) != i)
            return error_set(err, EXIT_CODE_DATA,
                             "two labelled questions have the id \"%.100s\": predictions are met by id", id);
        p->score[i] = -1;
    }
    return 0;
}

/* True if the two alternatives are the record's, in either order. */
static bool names_both(const struct example *e, const json_t *alternatives)
{
    const char *a = json_string_value(json_array_get(alternatives, 0)),
               *b = json_string_value(json_array_get(alternatives, 1));

    if (!a || !b || !e->alternatives[0])
        return false;
    return (strcmp(a, e->alternatives[0]) == 0 && strcmp(b, e->alternatives[1]) == 0) ||
           (strcmp(a, e->alternatives[1]) == 0 && strcmp(b, e->alternatives[0]) == 0);
}

static int read_one(void *user, json_t *record, const char *where, struct error *err)
{
    struct predictions *p = user;
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(record, buffer);
    int i = strings_find(&p->ids, id);

    if (i < 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"id\": expected the id of a labelled question, got \"%.100s\"", where, id);
    if (p->score[i] >= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": \"%.100s\" has an answer already", where, id);
    if (json_object_get(record, "error"))
        return 0;
    if (record_get_real(record, "score", 0, 1, &p->score[i], where, err))
        return -1;
    p->named[i] = names_both(&p->examples->items[i], json_object_get(record, "alternatives"));
    return 0;
}

static int check_whole(const struct predictions *p, const char *path, bool partial, struct error *err)
{
    int first = -1, missing = 0;

    for (int i = 0; i < p->examples->n; i++)
        if (p->score[i] < 0) {
            first = first < 0 ? i : first;
            missing++;
        }
    if (!missing || (partial && missing < p->examples->n))
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: %d of %d questions have no answer, the first is \"%.100s\"", path,
                     missing, p->examples->n, p->examples->items[first].id);
}

static void take_slice(struct gate_answers *a, const struct predictions *p, bool hard_negatives)
{
    size_t size = (size_t)p->examples->n;
    const struct example **list = xcalloc(size, sizeof *list);
    double *score = xcalloc(size, sizeof *score);
    bool *named = xcalloc(size, sizeof *named);
    int n = 0;

    for (int i = 0; i < p->examples->n; i++)
        if (p->score[i] >= 0 && (p->examples->items[i].slice == EXAMPLE_HARD_NEGATIVE) == hard_negatives) {
            list[n] = &p->examples->items[i];
            score[n] = p->score[i];
            named[n++] = p->named[i];
        }
    gate_answers_given(a, list, score, named, n);
    free(list);
    free(score);
    free(named);
}

/* Reads {"id", "score"} with a score from 0 to 1 and optional "alternatives", as `ambit-infer detect` writes them:
 * one record for each example, in any order. The logits have temperature 1. -1 with EXIT_CODE_DATA, naming the line
 * or an example without a prediction. With `partial`, examples without a prediction are left out, but one must be
 * there. The caller releases both results either way. */
static int read_predictions(struct gate_answers *answers, struct gate_answers *hard_negatives, const char *path,
                            const struct example_list *examples, bool partial, struct error *err)
{
    size_t n = (size_t)examples->n;
    struct predictions p = { .examples = examples,
                             .score = xcalloc(n, sizeof *p.score),
                             .named = xcalloc(n, sizeof *p.named) };
    int rc = number_ids(&p, err) || records_each(path, RECORDS_AUTO, read_one, &p, err) ||
                     check_whole(&p, path, partial, err)
                 ? -1
                 : 0;

    if (rc == 0) {
        take_slice(answers, &p, false);
        take_slice(hard_negatives, &p, true);
    }
    strings_release(&p.ids);
    free(p.score);
    free(p.named);
    return rc;
}

/* ---- selective prediction ---- */

/* Accuracy on the questions that the detector is surest about (risk_coverage.h).  Confidence is the distance from the
 * threshold, in logits.  The unanswered questions of a row have scores between low and high, which `detect --abstain`
 * takes. */
struct gate_risk {
    struct risk_row rows[RISK_ROWS];
    double low[RISK_ROWS], high[RISK_ROWS];
    double area; /* mean error over all coverages (AURC) */
};

static struct gate_risk risk_of(const struct gate_model *m, const struct gate_answers *a)
{
    struct risk_decision *d = gate_decide(m, a->logit, a->label, a->n);
    struct gate_risk r;
    struct risk_curve c;

    risk_curve_init(&c, d, a->n);
    r.area = c.area;
    risk_curve_release(&c);
    risk_rows(r.rows, d, a->n);
    for (int i = 0; i < RISK_ROWS; i++) {
        int n = r.rows[i].answered;
        gate_margin_scores(m, n ? d[n - 1].margin : 0, &r.low[i], &r.high[i]);
    }
    free(d);
    return r;
}

static void print_risk(const struct gate_risk *r)
{
    putchar('\n');
    risk_print_titles("unsure between");
    for (int i = 0; i < RISK_ROWS; i++) {
        char band[64];
        snprintf(band, sizeof band, "%.4f and %.4f", r->low[i], r->high[i]);
        risk_print_row(&r->rows[i], band);
    }
    printf("mean error over all coverages (AURC) %.4f\n", r->area);
}

static json_t *risk_json(const struct gate_risk *r)
{
    json_t *rows = json_array();

    for (int i = 0; i < RISK_ROWS; i++) {
        json_t *row = risk_row_json(&r->rows[i]);
        json_object_set_new(row, "low", json_real(r->low[i]));
        json_object_set_new(row, "high", json_real(r->high[i]));
        json_array_append_new(rows, row);
    }
    return json_pack("{s:o, s:o}", "rows", rows, "aurc", json_finite(r->area));
}

/* ---- the evaluation ---- */

enum { HOST_BYTES = 64 << 20 };

struct evaluation {
    const struct gate_evaluate_request *q;
    struct dataset records;
    bool own; /* a custom data set */
    struct device device;
    struct workspace work;
    struct gate_model model; /* for predictions from elsewhere: threshold and temperature only */
    struct gate_data data;
    struct gate_scorer scorer;
    struct sentence_encoder retriever; /* zeroed: none */
    struct gate_answers answers, hard_negatives;
    struct gate_abstain abstain;
    struct gate_band band; /* of abstain */
};

static int read_records(struct evaluation *e, struct error *err)
{
    const struct gate_evaluate_request *q = e->q;
    struct labels_request labels = { .path = q->data,
                                     .db = q->db,
                                     .schema = q->schema,
                                     .format_in = q->format_in,
                                     .label_field = q->label_field,
                                     .whole = true };

    e->own = q->db || q->schema;
    if (!e->own)
        return dataset_read(&e->records, q->data, err);
    if (labels_read(&e->records, &labels, err))
        return -1;
    return e->records.splits[SPLIT_TEST].n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: holds no questions", q->data);
}

static int open_model(struct evaluation *e, struct error *err)
{
    const struct gate_evaluate_request *q = e->q;

    if (device_open(&e->device, q->device, err) || workspace_init(&e->work, &e->device, HOST_BYTES, err) ||
        gate_model_open(&e->model, &e->device, q->run, err) ||
        (q->adapter && gate_adapter_apply(&e->model, q->adapter, err)))
        return -1;
    e->work.eager = q->no_graph;
    gate_scorer_init(&e->scorer, &e->model, &e->work, (int)q->tokens);
    return q->retriever ? sentence_encoder_open(&e->retriever, &e->work, q->retriever, (int)q->tokens, err) : 0;
}

static int ask_model(struct evaluation *e, struct error *err)
{
    const struct gate_split *test = &e->data.splits[SPLIT_TEST];

    if (open_model(e, err))
        return -1;
    struct gate_data_settings s = { .tokenizer = e->model.tokenizer,
                                    .layout = &e->model.layout,
                                    .net = &e->model.net.config,
                                    .input =
                                        gate_model_input(&e->model, e->model.net.config.classifier == CLASSIFIER_PAIR),
                                    .elements = (int)e->q->elements,
                                    .retriever = e->q->retriever ? &e->retriever : NULL,
                                    .test_only = true };
    if (gate_data_init(&e->data, &e->records, &s, err))
        return -1;
    return gate_eval_split(&e->scorer, test, false, &e->answers, err) ||
                   gate_eval_split(&e->scorer, test, true, &e->hard_negatives, err)
               ? -1
               : 0;
}

static int answer(struct evaluation *e, struct error *err)
{
    int rc;

    if (e->q->predictions) {
        e->model.temperature = 1;
        e->model.threshold = 0.5;
        rc = read_predictions(&e->answers, &e->hard_negatives, e->q->predictions, &e->records.splits[SPLIT_TEST],
                              e->q->partial, err);
    } else
        rc = ask_model(e, err);
    if (!isnan(e->q->threshold))
        e->model.threshold = e->q->threshold;
    return rc ? -1 : gate_band_find(&e->band, &e->model, &e->abstain, err);
}

static void print_databases(const struct evaluation *e)
{
    int n = e->answers.n_groups;
    struct gate_row *rows = xcalloc((size_t)n + 1, sizeof *rows);

    for (int g = 0; g < n; g++) {
        struct gate_metrics m = gate_measure_group(&e->model, &e->answers, g);
        gate_row_fill(&rows[g], e->answers.groups[g], &m);
    }
    putchar('\n');
    gate_rows_print("database", rows, n);
    free(rows);
}

/* Result of abstaining within a band of scores. */
struct abstention {
    int answered, wrong;
};

static struct abstention abstain(const struct evaluation *e)
{
    const struct gate_answers *a = &e->answers;
    struct abstention o = { 0 };

    for (int i = 0; i < a->n; i++) {
        double p = gate_probability(&e->model, a->logit[i]);
        if (p > e->band.low && p < e->band.high)
            continue;
        o.answered++;
        o.wrong += (p >= e->model.threshold) != a->label[i];
    }
    return o;
}

static void print_abstention(const struct evaluation *e)
{
    const struct gate_band *b = &e->band;
    struct abstention o = abstain(e);

    printf("unsure between %.4f and %.4f: %d of %d answered, %d wrongly (%.4f)\n", b->low, b->high, o.answered,
           e->answers.n, o.wrong, o.answered ? (double)o.wrong / o.answered : 0.0);
    if (e->abstain.rate > 0)
        printf("of %d validation questions %d are answered, %d wrongly, at most %.4f with 95 %%\n", b->n, b->answered,
               b->wrong, b->bound);
}

static json_t *abstention_json(const struct evaluation *e)
{
    const struct gate_band *b = &e->band;
    struct abstention o = abstain(e);

    return json_pack("{s:f, s:f, s:i, s:i, s:o, s:{s:i, s:i, s:i, s:o}}", "low", b->low, "high", b->high, "answered",
                     o.answered, "wrong", o.wrong, "rate", json_finite(e->abstain.rate > 0 ? e->abstain.rate : NAN),
                     "validation", "questions", b->n, "answered", b->answered, "wrong", b->wrong, "bound",
                     json_finite(b->n ? b->bound : NAN));
}

static void print(const struct evaluation *e, const struct gate_test_metrics *f)
{
    if (e->q->partial)
        printf("%d of %d questions have an answer\n", e->answers.n + e->hard_negatives.n,
               e->records.splits[SPLIT_TEST].n);
    gate_test_metrics_print(f);
    printf("at the threshold %.3f:", f->threshold);
    for (int k = 0; k < STATS_METRICS; k++)
        printf("%s %s %.3f", k ? "," : "", stats_metric_names[k].title,
               stats_metric(f->all.confusion, (enum stats_metric)k));
    printf("\nthe threshold with the best F1 on these labels: %.3f, with F1 %.3f\n", f->all.best_threshold,
           f->all.best_f1);
    struct gate_risk risk = risk_of(&e->model, &e->answers);
    print_risk(&risk);
    if (e->q->abstain)
        print_abstention(e);
    if (e->answers.n_groups > 1)
        print_databases(e);
}

static json_t *databases_json(const struct evaluation *e)
{
    json_t *o = json_object();

    for (int g = 0; g < e->answers.n_groups; g++) {
        struct gate_metrics m = gate_measure_group(&e->model, &e->answers, g);
        json_object_set_new(o, e->answers.groups[g], gate_metrics_json(&m));
    }
    return o;
}

static int print_json(const struct evaluation *e, const struct gate_test_metrics *f, struct error *err)
{
    json_t *o = gate_test_metrics_json(f, "all");

    struct gate_risk risk = risk_of(&e->model, &e->answers);

    json_object_set_new(o, "databases", databases_json(e));
    json_object_set_new(o, "risk", risk_json(&risk));
    json_object_set_new(o, "answered", json_integer(e->answers.n + e->hard_negatives.n));
    if (e->q->abstain)
        json_object_set_new(o, "abstain", abstention_json(e));
    int rc = json_write_file("-", o, err);
    json_decref(o);
    return rc;
}

static int tell(const struct evaluation *e, struct error *err)
{
    struct gate_test_metrics f;

    gate_test_metrics_init(&f, &e->model, &e->answers, &e->hard_negatives, NULL, (uint64_t)e->q->seed);
    gate_test_metrics_probe(&f, &e->records, e->own ? PROBE_OWN : PROBE_CONTRAST);
    if (e->q->json)
        return print_json(e, &f, err);
    print(e, &f);
    return 0;
}

static void close_all(struct evaluation *e)
{
    gate_answers_release(&e->answers);
    gate_answers_release(&e->hard_negatives);
    gate_scorer_release(&e->scorer);
    gate_data_release(&e->data);
    sentence_encoder_close(&e->retriever);
    gate_model_release(&e->model);
    if (e->work.device)
        workspace_release(&e->work);
    if (e->device.driver)
        device_close(&e->device);
    dataset_release(&e->records);
}

int gate_evaluate(const struct gate_evaluate_request *q, struct error *err)
{
    struct evaluation *e = xcalloc(1, sizeof *e);

    stop_install();
    e->q = q;
    int rc = gate_abstain_read(&e->abstain, q->abstain, err) || read_records(e, err) || answer(e, err) || tell(e, err)
                 ? -1
                 : 0;
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    close_all(e);
    free(e);
    return rc;
}
