/* Part of run.h: steps, and what is due after each. */
#include "data/util/log.h"
#include "data/util/stop.h"
#include "train/run/run_impl.h"

#include <math.h>
#include <stdio.h>

enum { LOG_EVERY = 10 };

static const struct stage *stage_of(const struct run *r)
{
    return &r->stages[r->state.stage];
}

static double mean_loss(struct run *r)
{
    float total;

    device_download(&r->device, &total, r->loss_total);
    double mean = r->loss_steps ? (double)total / (double)r->loss_steps : 0;
    device_upload(&r->device, r->loss_total, &(float){ 0 });
    r->loss_steps = 0;
    return mean;
}

static void show(const struct run *r, struct progress *progress, double loss)
{
    char note[64];
    int64_t done = r->state.epoch * run_batches(r) + r->state.batch;
    int64_t units = r->trainer->unit ? r->state.units : r->state.step;

    snprintf(note, sizeof note, "loss %.4f", loss);
    progress_update(progress, done, (double)(units - r->units_before), note);
}

static int write_metrics(struct run *r, const struct metric *list, int n, struct error *err)
{
    if (!ranks_first(r))
        return 0;
    return metrics_log_write(&r->metrics, r->state.step, stage_of(r)->phase, list, n, err);
}

static int log_step(struct run *r, struct progress *progress, struct error *err)
{
    float lr;
    double loss = mean_loss(r);
    struct metric list[2 + TRAINER_METRICS] = { { "loss", loss } };

    device_download(&r->device, &lr, r->optim.lr);
    list[1] = (struct metric){ "learning_rate", (double)lr };
    int n = 2 + (r->trainer->metrics ? r->trainer->metrics(r->self, list + 2) : 0);
    if (!isfinite(loss))
        return error_set(err, EXIT_CODE_FAILURE, "step %lld: the loss is %g; a lower learning rate may help",
                         (long long)r->state.step, loss);
    show(r, progress, loss);
    return write_metrics(r, list, n, err);
}

static int note_figure(struct run *r, const struct validation *v, struct error *err)
{
    float figure = (float)v->figure; /* as the checkpoint keeps it */

    if ((double)figure <= r->state.best) {
        r->state.worse++;
        return 0;
    }
    r->state.best = (double)figure;
    r->state.best_step = r->state.step;
    r->state.worse = 0;
    if (!v->final)
        return 0;
    r->saved_best = r->state.step;
    return ranks_first(r) ? run_save_best(r, err) : 0;
}

/* Written before the other ranks know: should this one be lost then, the line is cut when the run goes on. */
static int validate_and_tell(struct run *r, struct validation *v, struct error *err)
{
    int rc = r->trainer->validate(r->self, v, err);

    return rc || !v->n ? rc : write_metrics(r, v->list, v->n, err);
}

/* 1 when a signal asked to stop before the figure was known. */
static int validate(struct run *r, struct error *err)
{
    struct validation v = { 0 };
    int rc = r->trainer->validate ? ranks_validate(r, validate_and_tell, &v, err) : 0;

    r->state.unvalidated = rc > 0;
    if (rc || !v.n)
        return rc;
    log_info("step %lld: validation %s", (long long)r->state.step, v.text);
    return note_figure(r, &v, err);
}

static bool stage_over(const struct run *r)
{
    return r->state.epoch == stage_of(r)->epochs || (r->set.patience && r->state.worse >= r->set.patience);
}

/* A run of one stage stays where it ended. */
bool run_over(const struct run *r)
{
    return r->state.stage == r->n_stages || (!r->trainer->enter_stage && stage_over(r));
}

/* Behind the last stage its state stays, for a run that is gone on with for more epochs. */
static int next_stage(struct run *r, struct error *err)
{
    if (!r->trainer->enter_stage)
        return 0;
    if (++r->state.stage == r->n_stages)
        return 0;
    workspace_forget(&r->work);
    r->state = (struct run_state){
        .stage = r->state.stage, .step = r->state.step, .units = r->state.units, .best = r->trainer->lowest
    };
    if (r->trainer->enter_stage(r->self, true, err))
        return -1;
    ranks_seed(r);
    return 0;
}

bool run_stopping(const struct run *r)
{
    return r->ranks.all.size > 1 ? r->ranks.stop != 0 : stop_requested() != 0;
}

int run_save(struct run *r, struct error *err)
{
    if (r->saved_step == r->state.step)
        return 0;
    r->saved_step = r->state.step;
    if (!ranks_first(r))
        return ranks_serve_states(r, err);
    int rc = run_save_checkpoint(r, err);
    ranks_end_states(r);
    return rc;
}

/* What is due after a step: validation, the loss of the last steps when no more will follow, the next stage, a
 * checkpoint.  1 when a signal cut it short. */
static int after_step(struct run *r, struct progress *progress, struct error *err)
{
    const struct run_settings *set = &r->set;
    bool valid = set->eval_every ? r->state.step % set->eval_every == 0 : r->state.batch == 0;
    bool last = r->state.epoch == stage_of(r)->epochs;
    bool due = set->save_every && r->state.step % set->save_every == 0;
    int rc = valid || last ? validate(r, err) : 0;

    if (rc)
        return rc;
    if (stage_over(r) && r->state.stage == r->n_stages - 1 && r->loss_steps && log_step(r, progress, err))
        return -1;
    if (stage_over(r) && next_stage(r, err))
        return -1;
    return valid || last || due ? run_save(r, err) : 0;
}

static void advance(struct run *r)
{
    r->state.step++;
    if (++r->state.batch == run_batches(r)) {
        r->state.batch = 0;
        r->state.epoch++;
    }
}

/* The validation that a signal cut short, when this run goes on after it. */
static int catch_up(struct run *r, struct progress *progress, struct error *err)
{
    if (!r->state.unvalidated || run_stopping(r))
        return 0;
    r->saved_step = -1;
    return after_step(r, progress, err);
}

static int take_step(struct run *r, struct progress *progress, struct error *err)
{
    if (run_step(r, err))
        return -1;
    advance(r);
    if (r->state.step % LOG_EVERY == 0 && log_step(r, progress, err))
        return -1;
    return after_step(r, progress, err);
}

/* Until the stage is over or a signal came. */
static int run_stage(struct run *r, struct error *err)
{
    int stage = r->state.stage;
    struct progress progress;

    if (ranks_prepare(r, err))
        return -1;
    r->units_before = r->trainer->unit ? r->state.units : r->state.step;
    progress_start(&progress, stage_of(r)->title, r->trainer->unit ? r->trainer->unit : "steps", run_stage_steps(r));
    int rc = catch_up(r, &progress, err);
    while (rc == 0 && r->state.stage == stage && !run_over(r) && !run_stopping(r))
        rc = take_step(r, &progress, err);
    progress_end(&progress);
    return rc;
}

int run_steps(struct run *r, struct error *err)
{
    int rc = 0;

    while (rc == 0 && !run_stopping(r) && !(run_over(r) && !r->state.unvalidated))
        rc = run_stage(r, err);
    return rc;
}
