#include "train/gate/gate_trainer.h"

#include "data/util/log.h"
#include "models/gate/gate_band.h"
#include "train/gate/gate_eval.h"
#include "train/gate/gate_note.h"
#include "train/gate/gate_report.h"
#include "train/gate/gate_trainer_impl.h"

#include <math.h>
#include <stdio.h>

/* Of the folders of a mixture: the mean of their average precisions, so that a small one counts as much as a large one;
 * NAN where there is none. */
static double validate_parts(struct gate_trainer *t, const struct gate_answers *a, struct validation *v)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < t->mixture.n; i++) {
        struct gate_part_score s = gate_answers_of_part(a, t->mixture.parts[i].name);
        if (!isfinite(s.ap))
            continue;
        v->list[v->n++] = (struct metric){ t->mixture.parts[i].metric, s.ap };
        log_info("%s: AP %.4f, both alternatives named %.3f", t->mixture.parts[i].name, s.ap, s.named);
        sum += s.ap;
        n++;
    }
    return n ? sum / n : NAN;
}

/* What the stage is judged by: average precision of the score, or of relevance while that is all there is.  Of
 * questions that are all ambiguous, or none, there is no precision: then by the mean likelihood of their labels. */
static int validate(void *trainer, struct validation *v, struct error *err)
{
    struct gate_trainer *t = trainer;
    enum gate_stage stage = gate_stage(t);
    struct gate_answers a;
    int rc = gate_eval(t, FOLD_VALID, false, &a, err);

    if (rc)
        return rc;
    double relevance = stats_average_precision(gate_answers_relevance(&a));
    double auc = stats_auc(gate_answers_scored(&a)), nll = stats_nll(gate_answers_scored(&a), 1);
    double score = isfinite(auc) ? stats_average_precision(gate_answers_scored(&a)) : exp(-nll), f1;
    double parts = stage == STAGE_RELEVANCE ? NAN : validate_parts(t, &a, v);
    score = isfinite(parts) ? parts : score;
    stats_best_f1(gate_answers_scored(&a), &f1);
    gate_answers_release(&a);
    if (stage != STAGE_FROZEN && isfinite(relevance))
        v->list[v->n++] = (struct metric){ "valid_relevance_ap", relevance };
    if (stage != STAGE_RELEVANCE)
        v->list[v->n++] = (struct metric){ isfinite(auc) ? "valid_ap" : "valid_likelihood", score };
    v->final = stage != STAGE_RELEVANCE;
    bool by_f1 = v->final && t->set->select == GATE_BY_F1;
    if (by_f1)
        v->list[v->n++] = (struct metric){ "valid_f1", f1 };
    v->figure = by_f1 ? f1 : v->final ? score : relevance;
    snprintf(v->text, sizeof v->text, "%s %.4f%s",
             by_f1                        ? "F1"
             : isfinite(auc) || !v->final ? "AP"
                                          : "likelihood",
             v->figure, v->final ? "" : " of relevance");
    return 0;
}

static void describe(const void *trainer, json_t *meta)
{
    const struct gate_trainer *t = trainer;
    char note[GATE_NOTE];

    gate_note(&t->data.folds[FOLD_TRAIN], note);
    if (*note)
        json_object_set_new(meta, "note", json_string(note));
    json_object_set_new(meta, "encoder", json_string(t->linker ? t->linker : t->encoder ? t->encoder : "from scratch"));
    json_object_set_new(meta, "model", gate_model_to_json(&t->model));
    json_t *validation = gate_validation_json(&t->model);
    if (validation)
        json_object_set_new(meta, "validation", validation);
}

static int save_tokenizer(void *trainer, const char *dir, struct error *err)
{
    const struct gate_trainer *t = trainer;
    return tokenizer_save(t->model.tokenizer, dir, err);
}

/* No more gradients: from here on numbers are rounded as where ambit-infer runs the model, however the run got here. */
static void freeze(struct params *p)
{
    for (int i = 0; i < p->n; i++) {
        p->list[i].t->needs_grad = false;
        p->list[i].t->frozen = true;
    }
}

/* Calibrated on validation, judged on the test fold. */
static int finish(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;
    struct gate_answers a = { 0 }, presence = { 0 };

    freeze(&t->model.params);
    if (t->run.n_stages && t->kinds[t->run.n_stages - 1] == STAGE_RELEVANCE) {
        log_info("no classifier was trained: there is nothing to calibrate or to test");
        return 0;
    }
    int rc = gate_eval(t, FOLD_VALID, false, &a, err);
    if (rc == 0)
        rc = gate_eval(t, FOLD_VALID, true, &presence, err);
    if (rc == 0) {
        gate_calibrate(&t->model, &a, &presence, t->set->false_alarms);
        gate_validation_keep(&t->model, a.logit, a.label, a.n);
    }
    gate_answers_release(&a);
    gate_answers_release(&presence);
    return rc ? rc : gate_report(t, err);
}

static const char *const same[] = { "encoder", NULL };

static const struct trainer gatekeeper = {
    .kind = "gatekeeper",
    .part = "step",
    .lowest = -1,
    .same = same,
    .open = gate_open,
    .close = gate_close,
    .enter_stage = gate_enter_stage,
    .prepare = gate_prepare,
    .step = gate_step,
    .measure = gate_measure_step,
    .validate = validate,
    .describe = describe,
    .save_beside = save_tokenizer,
    .finish = finish,
};

void gate_trainer_init(struct gate_trainer *t, const struct gate_request *q)
{
    *t = (struct gate_trainer){
        .set = &q->settings,
        .data_folder = q->data,
        .labels = q->labels,
        .db = q->db,
        .form = q->form,
        .label_field = q->label_field,
        .encoder = q->encoder,
        .linker = q->linker,
        .states = q->states,
    };
    t->run = (struct run){ .trainer = &gatekeeper, .self = t };
    t->run.set = RUN_SETTINGS(q, gate_request_table);
}

int gate_train(const struct gate_request *q, struct error *err)
{
    struct gate_trainer t;

    gate_trainer_init(&t, q);
    return run_train(&t.run, err);
}
