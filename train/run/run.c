#include "train/run/run.h"

#include "data/cli/yaml.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/stop.h"
#include "train/run/run_impl.h"
#include "train/run/run_request.h"

#include <stdio.h>

enum { HOST_BYTES = 256 << 20 };

int run_open(struct run *r, struct error *err)
{
    char own[32];

    r->state = (struct run_state){ .best = r->trainer->lowest };
    r->saved_step = -1;
    if (device_open(&r->device, ranks_device(r, r->set.device, own), err) ||
        workspace_init(&r->work, &r->device, HOST_BYTES, err))
        return -1;
    r->work.eager = r->set.no_graph;
    if (r->trainer->open(r->self, err) || run_fit(r, err))
        return -1;
    if (r->set.dry_run)
        return 0;
    if (r->trainer->start && r->trainer->start(r->self, err))
        return -1;
    return workspace_reserve(&r->work, r->step_bytes, err);
}

void run_close(struct run *r)
{
    metrics_log_close(&r->metrics);
    sampler_release(&r->sampler);
    r->trainer->close(r->self);
    if (r->work.device)
        workspace_release(&r->work);
    if (!r->device.driver)
        return;
    ranks_unlink(r);
    optim_release(&r->optim, &r->device);
    device_close(&r->device);
}

static int write_config(const struct run_settings *s, struct error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/" RUN_CONFIG, s->out);
    return yaml_write(path, s->table, s->request, err);
}

static int open_files(struct run *r, struct error *err)
{
    if (!ranks_first(r))
        return 0;
    if (write_config(&r->set, err))
        return -1;
    return metrics_log_open(&r->metrics, r->set.out, r->state.step, r->state.unvalidated, err);
}

/* More epochs do nothing for a run that patience has ended. */
static void tell_patience(const struct run *r)
{
    int last = r->n_stages - 1;

    if (run_over(r) && last >= 0 && r->state.epoch < r->stages[last].epochs)
        log_info("no more steps: %lld validations without a better one have ended the run", (long long)r->set.patience);
}

/* Where to begin: at the checkpoint when resuming, else at the first step.  Nothing is touched before it is sure that
 * the folder is this run's. */
static int begin(struct run *r, struct error *err)
{
    const struct run_settings *s = &r->set;
    int found = make_dirs(s->out, err) == 0 ? (s->resume ? run_load_checkpoint(r, err) : 0) : -1;

    if (found < 0 || open_files(r, err))
        return -1;
    if (found) {
        log_info("going on after step %lld", (long long)r->state.step);
        r->saved_step = r->state.step;
        tell_patience(r);
    } else if (ranks_first(r)) {
        run_forget_best(r);
    }
    if (r->trainer->enter_stage && r->state.stage < r->n_stages && r->trainer->enter_stage(r->self, !found, err))
        return -1;
    ranks_seed(r);
    return 0;
}

static void tell_steps(const struct run *r)
{
    char text[STEP_COUNTS], shared[RANKS_TEXT];

    if (workspace_tell(&r->work, text))
        log_info("%s", text);
    if (ranks_tell(r, shared))
        log_info("%s", shared);
}

static int finish(struct run *r, struct error *err)
{
    int rc = run_load_best(r, err);

    workspace_forget(&r->work); /* the trainer may set its weights fast */
    if (rc == 0)
        rc = r->trainer->finish(r->self, err);
    if (rc == 0)
        rc = run_save_result(r, err);
    tell_steps(r);
    if (rc == 0)
        log_info("%s: the model is finished", r->set.out);
    return rc;
}

static int work(struct run *r, struct error *err)
{
    if (ranks_agree(r, err) || ranks_link(r, err) || begin(r, err) || ranks_agree_weights(r, err))
        return -1;
    int rc = run_steps(r, err);
    if (rc == 0 && !run_stopping(r))
        return ranks_finish(r, finish, err);
    if (rc < 0)
        return -1;
    return r->state.step && run_save(r, err) ? -1 : 1;
}

/* -1 as run_check_folder; one rank looks, before any touches it. */
static int check_folder(const struct run *r, struct error *err)
{
    return ranks_first(r) ? run_check_folder(&r->set, err) : 0;
}

int run_train(struct run *r, struct error *err)
{
    stop_install();
    int rc = ranks_open(r, err) || check_folder(r, err) || run_open(r, err) ? -1 : 0;
    if (rc == 0)
        rc = r->set.dry_run ? ranks_agree(r, err) : work(r, err);
    if (rc > 0)
        run_tell_resume(r);
    ranks_end(r, rc, err);
    run_close(r);
    ranks_close(r);
    return rc;
}
