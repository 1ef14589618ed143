#include "train/lm/lm_train.h"

#include "data/cli/yaml.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/stop.h"
#include "models/checkpoint/checkpoint.h"
#include "train/lm/lm_report.h"
#include "train/lm/lm_save.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_EVERY = 10 };

static double mean_loss(struct lm_trainer *t)
{
    float total;

    device_download(&t->device, &total, t->loss_total);
    double mean = t->loss_steps ? (double)total / (double)t->loss_steps : 0;
    device_upload(&t->device, t->loss_total, &(float){ 0 });
    t->loss_steps = 0;
    return mean;
}

static int log_step(struct lm_trainer *t, struct progress *progress, struct error *err)
{
    float lr, norm;
    char note[64];
    double loss = mean_loss(t);

    device_download(&t->device, &lr, t->optim.lr);
    device_download(&t->device, &norm, t->optim.norm);
    struct metric list[] = { { "loss", loss },
                             { "learning_rate", (double)lr },
                             { "grad_norm", sqrt((double)norm) },
                             { "tokens", (double)t->state.tokens } };
    if (!isfinite(loss))
        return error_set(err, EXIT_CODE_FAILURE, "step %lld: the loss is %g; a lower learning rate may help",
                         (long long)t->state.step, loss);
    snprintf(note, sizeof note, "loss %.4f", loss);
    progress_update(progress, t->state.step, (double)(t->state.tokens - t->tokens_before), note);
    return metrics_log_write(&t->metrics, t->state.step, "train", list, ARRAY_LEN(list), err);
}

/* The figure that chooses, larger is better.  1 when a signal asked to stop before it was known. */
static int validate(struct lm_trainer *t, struct error *err)
{
    double loss, recall = NAN;
    bool by_recall = !strcmp(t->set->select, "recall");
    int rc = lm_valid_loss(t, &loss, err);

    if (rc == 0 && by_recall)
        rc = lm_valid_recall(t, &recall, err);
    t->state.unvalidated = rc > 0;
    if (rc)
        return rc;
    struct metric list[] = { { "valid_loss", loss }, { "valid_recall", recall } };
    log_info(by_recall ? "step %lld: validation loss %.4f, recall %.4f" : "step %lld: validation loss %.4f",
             (long long)t->state.step, loss, recall);
    if (metrics_log_write(&t->metrics, t->state.step, "train", list, by_recall ? 2 : 1, err))
        return -1;
    float figure = (float)(by_recall ? recall : -loss); /* as the checkpoint keeps it */
    if ((double)figure <= t->state.best) {
        t->state.worse++;
        return 0;
    }
    t->state.best = (double)figure;
    t->state.best_step = t->state.step;
    t->state.worse = 0;
    return lm_save_best(t, err);
}

static bool is_over(const struct lm_trainer *t)
{
    return t->state.epoch == t->set->epochs || (t->set->patience && t->state.worse >= t->set->patience);
}

static int save(struct lm_trainer *t, struct error *err)
{
    if (t->saved_step == t->state.step)
        return 0;
    t->saved_step = t->state.step;
    return lm_save_checkpoint(t, err);
}

/* What is due after a step: validation at the end of an epoch, the loss of the last steps when no more will follow, a
 * checkpoint.  1 when a signal cut it short. */
static int after_step(struct lm_trainer *t, struct progress *progress, struct error *err)
{
    bool epoch_over = t->state.batch == 0;
    bool due = t->set->save_every && t->state.step % t->set->save_every == 0;
    int rc = epoch_over && t->valid.n ? validate(t, err) : 0;

    if (rc == 0 && is_over(t) && t->loss_steps)
        rc = log_step(t, progress, err);
    return rc == 0 && (epoch_over || due) ? save(t, err) : rc;
}

static void advance(struct lm_trainer *t)
{
    t->state.step++;
    if (++t->state.batch == lm_batches(t)) {
        t->state.batch = 0;
        t->state.epoch++;
    }
}

/* The validation that a signal cut short, when this run goes on after it. */
static int catch_up(struct lm_trainer *t, struct progress *progress, struct error *err)
{
    if (!t->state.unvalidated)
        return 0;
    t->saved_step = -1;
    return after_step(t, progress, err);
}

/* Until all epochs are done, or a signal came: 1 when that cut a validation short. */
static int run_steps(struct lm_trainer *t, struct error *err)
{
    struct progress progress;

    progress_start(&progress, "training", "tokens", lm_batches(t) * t->set->epochs);
    int rc = catch_up(t, &progress, err);
    while (rc == 0 && !is_over(t) && !stop_requested()) {
        if ((rc = lm_step(t, err)) != 0)
            break;
        advance(t);
        if (t->state.step % LOG_EVERY == 0)
            rc = log_step(t, &progress, err);
        if (rc == 0)
            rc = after_step(t, &progress, err);
    }
    progress_end(&progress);
    return rc;
}

static int finish(struct lm_trainer *t, struct error *err)
{
    if (lm_load_best(t, err) || lm_report(t, err) || lm_save_result(t, err))
        return -1;
    log_info("%s: finished", t->request->out);
    return 0;
}

static int write_config(const struct lm_request *q, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/config.yaml", q->out);
    return yaml_write(path, lm_request_table, q, err);
}

/* A folder that holds a run, or a result, is only touched to go on with it; the base never is. */
static int check_out(const struct lm_request *q, struct error *err)
{
    char *newest = NULL, path[4096];

    if (q->base && same_path(q->out, q->base))
        return error_set(err, EXIT_CODE_USAGE, "--out: %s is the base, which is read; another folder wanted", q->out);
    snprintf(path, sizeof path, "%s/" CHECKPOINT_FILE, q->out);
    if (q->resume || q->dry_run || checkpoint_newest(q->out, &newest, NULL) || (!newest && access(path, F_OK) != 0))
        return 0;
    error_set(err, EXIT_CODE_USAGE, "%s: holds a run already; --resume goes on with it, another --out starts anew",
              q->out);
    free(newest);
    return -1;
}

/* At the checkpoint when resuming, else at the first step.  Nothing is touched before it is sure that the folder is
 * this run's. */
static int begin(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;
    int found = make_dirs(q->out, err) == 0 ? (q->resume ? lm_load_checkpoint(t, err) : 0) : -1;

    if (found < 0 || write_config(q, err) || metrics_log_open(&t->metrics, q->out, t->state.step, err))
        return -1;
    if (found) {
        log_info("going on after step %lld", (long long)t->state.step);
        t->saved_step = t->state.step;
    } else {
        lm_forget_best(t);
    }
    return 0;
}

int lm_train(const struct lm_request *q, struct error *err)
{
    struct lm_trainer t = { 0 };
    int rc = -1;

    stop_install();
    if (check_out(q, err) || lm_open(&t, q, err))
        goto out;
    rc = q->dry_run ? 0 : begin(&t, err);
    if (rc || q->dry_run)
        goto out;
    rc = run_steps(&t, err);
    if (rc == 0 && is_over(&t))
        rc = finish(&t, err);
    else if (rc >= 0)
        rc = t.state.step && save(&t, err) ? -1 : 1;
out:
    lm_close(&t);
    return rc;
}
