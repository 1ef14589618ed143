#include "train/gate/gate_evaluate.h"

#include "data/corpora/labels.h"
#include "data/util/stop.h"
#include "models/gate/gate_adapter.h"
#include "models/gate/gate_band.h"
#include "train/gate/gate_findings.h"
#include "train/gate/gate_predictions.h"
#include "train/gate/gate_risk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOST_BYTES = 64 << 20 };

struct evaluation {
    const struct gate_evaluate_request *q;
    struct dataset records;
    bool own; /* labels of people */
    struct device device;
    struct workspace work;
    struct gate_model model; /* of predictions threshold and temperature alone */
    struct gate_data data;
    struct gate_scorer scorer;
    struct sentence_encoder retriever; /* zeroed: none */
    struct gate_answers answers, presence;
    struct gate_abstain abstain;
    struct gate_band band; /* of abstain */
};

static int read_records(struct evaluation *e, struct error *err)
{
    const struct gate_evaluate_request *q = e->q;
    struct labels_request labels = {
        .path = q->data, .db = q->db, .schema = q->schema, .form = q->form, .label_field = q->label_field, .whole = true
    };

    e->own = q->db || q->schema;
    if (!e->own)
        return dataset_read(&e->records, q->data, err);
    if (labels_read(&e->records, &labels, err))
        return -1;
    return e->records.folds[FOLD_TEST].n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: holds no questions", q->data);
}

static int open_model(struct evaluation *e, struct error *err)
{
    const struct gate_evaluate_request *q = e->q;

    if (device_open(&e->device, q->device, err) || workspace_init(&e->work, &e->device, HOST_BYTES, err) ||
        gate_model_open(&e->model, &e->device, q->run, err) ||
        (q->adapt && gate_adapter_apply(&e->model, q->adapt, err)))
        return -1;
    e->work.eager = q->no_graph;
    gate_scorer_init(&e->scorer, &e->model, &e->work, (int)q->tokens);
    return q->retriever ? sentence_encoder_open(&e->retriever, &e->work, q->retriever, (int)q->tokens, err) : 0;
}

static int ask_model(struct evaluation *e, struct error *err)
{
    const struct gate_fold *test = &e->data.folds[FOLD_TEST];

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
    return gate_eval_fold(&e->scorer, test, false, &e->answers, err) ||
                   gate_eval_fold(&e->scorer, test, true, &e->presence, err)
               ? -1
               : 0;
}

static int answer(struct evaluation *e, struct error *err)
{
    int rc;

    if (e->q->predictions) {
        e->model.temperature = 1;
        e->model.threshold = 0.5;
        rc = gate_predictions_read(&e->answers, &e->presence, e->q->predictions, &e->records.folds[FOLD_TEST],
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
        struct gate_measures m = gate_measure_group(&e->model, &e->answers, g);
        gate_row_fill(&rows[g], e->answers.groups[g], &m);
    }
    putchar('\n');
    gate_rows_print("database", rows, n);
    free(rows);
}

/* What becomes of these questions with a band. */
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

static void print(const struct evaluation *e, const struct gate_findings *f)
{
    if (e->q->partial)
        printf("%d of %d questions have an answer\n", e->answers.n + e->presence.n, e->records.folds[FOLD_TEST].n);
    gate_findings_print(f);
    printf("F1 %.3f at the threshold %.3f; at best, with these labels known, %.3f at %.3f\n", f->all.decision.f1,
           f->threshold, f->all.best_f1, f->all.best_threshold);
    printf("macro-F1 %.3f, accuracy %.3f\n", stats_macro_f1(f->all.confusion), f->all.decision.accuracy);
    struct gate_risk risk = gate_risk(&e->model, &e->answers);
    gate_risk_print(&risk);
    if (e->q->abstain)
        print_abstention(e);
    if (e->answers.n_groups > 1)
        print_databases(e);
}

static json_t *databases_json(const struct evaluation *e)
{
    json_t *o = json_object();

    for (int g = 0; g < e->answers.n_groups; g++) {
        struct gate_measures m = gate_measure_group(&e->model, &e->answers, g);
        json_object_set_new(o, e->answers.groups[g], gate_measures_json(&m));
    }
    return o;
}

static int print_json(const struct evaluation *e, const struct gate_findings *f, struct error *err)
{
    json_t *o = gate_findings_json(f, "all");

    struct gate_risk risk = gate_risk(&e->model, &e->answers);

    json_object_set_new(o, "databases", databases_json(e));
    json_object_set_new(o, "risk", gate_risk_json(&risk));
    json_object_set_new(o, "answered", json_integer(e->answers.n + e->presence.n));
    if (e->q->abstain)
        json_object_set_new(o, "abstain", abstention_json(e));
    int rc = json_write_file("-", o, err);
    json_decref(o);
    return rc;
}

static int tell(const struct evaluation *e, struct error *err)
{
    struct gate_findings f;

    gate_findings_init(&f, &e->model, &e->answers, &e->presence, NULL, (uint64_t)e->q->seed);
    gate_findings_probe(&f, &e->records, e->own ? PROBE_OWN : PROBE_CROSSED);
    if (e->q->json)
        return print_json(e, &f, err);
    print(e, &f);
    return 0;
}

static void close_all(struct evaluation *e)
{
    gate_answers_release(&e->answers);
    gate_answers_release(&e->presence);
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
