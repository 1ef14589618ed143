#include "train/gate/gate_run.h"

#include "data/cli/yaml.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/stop.h"
#include "train/gate/gate_open.h"
#include "train/gate/gate_report.h"
#include "train/gate/gate_save.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOG_EVERY = 10 };

static double mean_loss(struct trainer *t)
{
    float total;

    device_download(&t->device, &total, t->loss_total);
    double mean = t->loss_steps ? (double)total / (double)t->loss_steps : 0;
    t->device.driver->kernels->fill(&t->work.ctx, t->loss_total, 0.0f);
    t->loss_steps = 0;
    return mean;
}

static int log_step(struct trainer *t, struct progress *progress, int64_t done, struct error *err)
{
    float lr;
    char note[64];
    double loss = mean_loss(t);

    device_download(&t->device, &lr, t->optim.lr);
    struct metric list[] = { { "loss", loss }, { "learning_rate", (double)lr } };
    if (!isfinite(loss))
        return error_set(err, EXIT_CODE_FAILURE, "step %lld: the loss is %g; a lower learning rate may help",
                         (long long)t->state.step, loss);
    snprintf(note, sizeof note, "loss %.4f", loss);
    progress_update(progress, done, (double)done, note);
    return metrics_log_write(&t->metrics, t->state.step, train_stage_name(t->stages[t->state.stage]), list,
                             ARRAY_LEN(list), err);
}

/* What the stage is judged by: average precision of the score, or of relevance while that is all there is. */
static int validate(struct trainer *t, struct error *err)
{
    enum train_stage stage = t->stages[t->state.stage];
    struct gate_answers a;

    if (gate_eval(t, FOLD_VALID, false, &a, err))
        return -1;
    double relevance = stats_average_precision(gate_answers_relevance(&a));
    double score = stats_average_precision(gate_answers_scored(&a));
    struct metric list[] = { { "valid_relevance_ap", relevance }, { "valid_ap", score } };
    const struct metric *known = stage == STAGE_FROZEN ? list + 1 : list;
    int n = stage == STAGE_JOINT ? ARRAY_LEN(list) : 1;
    float figure = (float)(stage == STAGE_RELEVANCE ? relevance : score); /* as the checkpoint keeps it */
    gate_answers_release(&a);

    log_info("step %lld: validation AP %.4f%s", (long long)t->state.step, (double)figure,
             stage == STAGE_RELEVANCE ? " of relevance" : "");
    if (metrics_log_write(&t->metrics, t->state.step, train_stage_name(stage), known, n, err))
        return -1;
    if ((double)figure <= t->state.best) {
        t->state.worse++;
        return 0;
    }
    t->state.best = (double)figure;
    t->state.best_step = t->state.step;
    t->state.worse = 0;
    return stage == STAGE_RELEVANCE ? 0 : gate_save_best(t, err);
}

static bool stage_over(const struct trainer *t)
{
    return t->state.epoch == trainer_stage_epochs(t) || (t->set->patience && t->state.worse >= t->set->patience);
}

static int next_stage(struct trainer *t, struct error *err)
{
    t->state = (struct train_state){ .stage = t->state.stage + 1, .step = t->state.step, .best = -1 };
    return t->state.stage < t->n_stages ? trainer_enter_stage(t, true, err) : 0;
}

static int save(struct trainer *t, struct error *err)
{
    if (t->saved_step == t->state.step)
        return 0;
    t->saved_step = t->state.step;
    return gate_save_checkpoint(t, err);
}

/* What is due after a step: validation, the next stage, a checkpoint. */
static int after_step(struct trainer *t, struct error *err)
{
    const struct gate_settings *set = t->set;
    bool valid = set->eval_every ? t->state.step % set->eval_every == 0 : t->state.batch == 0;
    bool over = t->state.epoch == trainer_stage_epochs(t);
    bool due = set->save_every && t->state.step % set->save_every == 0;

    if ((valid || over) && validate(t, err))
        return -1;
    if (stage_over(t) && next_stage(t, err))
        return -1;
    return valid || over || due ? save(t, err) : 0;
}

static void advance(struct trainer *t)
{
    t->state.step++;
    if (++t->state.batch == trainer_stage_batches(t)) {
        t->state.batch = 0;
        t->state.epoch++;
    }
}

/* Until the stage is over or a signal came. */
static int run_stage(struct trainer *t, struct error *err)
{
    int stage = t->state.stage;
    int64_t batches = trainer_stage_batches(t), total = batches * trainer_stage_epochs(t);
    struct progress progress;
    int rc = 0;

    if (trainer_prepare(t, err))
        return -1;
    progress_start(&progress, train_stage_name(t->stages[stage]), "steps", total);
    while (rc == 0 && t->state.stage == stage && !stop_requested()) {
        if ((rc = trainer_step(t, err)) != 0)
            break;
        advance(t);
        int64_t done = t->state.epoch * batches + t->state.batch;
        if (t->state.step % LOG_EVERY == 0)
            rc = log_step(t, &progress, done, err);
        if (rc == 0)
            rc = after_step(t, err);
    }
    progress_end(&progress);
    return rc;
}

/* No more gradients: from here on numbers are rounded as where ambit-infer runs the model, however the run got here. */
static void freeze(struct params *p)
{
    for (int i = 0; i < p->n; i++) {
        p->list[i].t->needs_grad = false;
        p->list[i].t->frozen = true;
    }
}

/* Best weights, calibrated on validation, judged on the test fold, put in place last. */
static int finish(struct trainer *t, struct error *err)
{
    struct gate_answers a;

    if (gate_load_best(t, err))
        return -1;
    freeze(&t->model.params);
    if (gate_eval(t, FOLD_VALID, false, &a, err))
        return -1;
    gate_calibrate(&t->model, &a);
    gate_answers_release(&a);
    if (gate_report(t, err) || gate_save_model(t, err))
        return -1;
    log_info("%s: the model is finished", t->out);
    return 0;
}

static int write_config(const struct gate_request *q, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/config.yaml", q->out);
    return yaml_write(path, gate_request_table, q, err);
}

/* A folder that holds a run, or a model, is only touched to go on with it. */
static int check_out(const struct gate_request *q, struct error *err)
{
    char *newest = NULL, path[4096];

    snprintf(path, sizeof path, "%s/" CHECKPOINT_FILE, q->out);
    if (q->resume || checkpoint_newest(q->out, &newest, NULL) || (!newest && access(path, F_OK) != 0))
        return 0;
    error_set(err, EXIT_CODE_USAGE, "%s: holds a run already; --resume goes on with it, another --out starts anew",
              q->out);
    free(newest);
    return -1;
}

/* Where to begin: at the checkpoint when resuming, else at the first stage.  Nothing is touched before it is sure that
 * the folder is this run's. */
static int begin(struct trainer *t, const struct gate_request *q, struct error *err)
{
    int found = make_dirs(t->out, err) == 0 ? (q->resume ? gate_load_checkpoint(t, err) : 0) : -1;

    if (found < 0 || write_config(q, err) || metrics_log_open(&t->metrics, t->out, t->state.step, err))
        return -1;
    if (found) {
        log_info("going on after step %lld", (long long)t->state.step);
        t->saved_step = t->state.step;
    } else {
        gate_forget_best(t);
    }
    return t->state.stage < t->n_stages ? trainer_enter_stage(t, !found, err) : 0;
}

int gate_train(const struct gate_request *q, struct error *err)
{
    struct trainer t;
    int rc = -1;

    stop_install();
    t = (struct trainer){ 0 };
    if (check_out(q, err) || trainer_open(&t, q, err))
        goto out;
    rc = 0;
    if (q->dry_run)
        goto out;
    rc = begin(&t, q, err);
    while (rc == 0 && t.state.stage < t.n_stages && !stop_requested())
        rc = run_stage(&t, err);
    if (rc == 0 && stop_requested())
        rc = t.state.step && save(&t, err) ? -1 : 1;
    else if (rc == 0)
        rc = finish(&t, err);
out:
    trainer_close(&t);
    return rc;
}
