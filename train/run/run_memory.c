/* Part of run.h: whether the run fits, before any step of it. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

static void measure_part(struct run *r, struct measurement *m)
{
    struct batch_part b = run_batch(r);

    if (b.first < b.end)
        r->trainer->measure(r->self, m);
}

/* All batches of all epochs of the current stage. */
static void measure_stage(struct run *r, struct workspace_bytes *most)
{
    struct measurement m = { .work = &r->work };

    for (r->state.epoch = 0; r->state.epoch < r->stages[r->state.stage].epochs; r->state.epoch++)
        for (r->state.batch = 0; r->state.batch < run_batches(r); r->state.batch++)
            measure_part(r, &m);
    workspace_raise(most, m.most);
    measurement_release(&m);
}

int run_measure(struct run *r, struct workspace_bytes *bytes, struct error *err)
{
    struct run_state keep = r->state;
    int rc = 0;

    *bytes = (struct workspace_bytes){ 0 };
    r->work.ctx.recording = r->work.ctx.training = true;
    for (r->state.stage = 0; rc == 0 && r->state.stage < r->n_stages; r->state.stage++) {
        rc = r->trainer->enter_stage ? r->trainer->enter_stage(r->self, false, err) : 0;
        if (rc == 0)
            measure_stage(r, bytes);
    }
    r->work.ctx.recording = r->work.ctx.training = false;
    r->state = keep;
    return rc;
}

static size_t all_bytes(const struct run *r)
{
    return r->model_bytes + workspace_total(r->step_bytes);
}

static void tell(const struct run *r)
{
    size_t model = r->model_bytes, step = workspace_total(r->step_bytes);

    log_info("memory: %zu MiB of weights, gradients and moments, %zu MiB for a %s, %zu MiB in all, on %s", model >> 20,
             step >> 20, r->trainer->part, (model + step) >> 20, r->device.description);
    if (r->copied_bytes)
        log_info("memory: %zu MiB of these are copies of frozen weights in the layouts that products read",
                 r->copied_bytes >> 20);
}

/* Prints what is needed; where it is too much, layers keep their output only and are computed again in the backward,
 * which changes no number; where even that is too much the run is refused, but for a dry one, which tells. */
int run_fit(struct run *r, struct error *err)
{
    size_t free = r->device.free_memory;

    if (ranks_sharded(r))
        r->model_bytes += optim_share_bytes(r->params, r->ranks.all.rank, r->ranks.all.size);
    if (run_measure(r, &r->step_bytes, err))
        return -1;
    if (free && r->recompute && all_bytes(r) > free) {
        log_info("memory: %zu MiB for a %s are too many, so layers are computed twice",
                 workspace_total(r->step_bytes) >> 20, r->trainer->part);
        *r->recompute = true;
        if (run_measure(r, &r->step_bytes, err))
            return -1;
    }
    tell(r);
    if (!free || all_bytes(r) <= free || r->set.dry_run)
        return 0;
    return error_set(err, EXIT_CODE_MEMORY, "%zu MiB are needed, %s has %zu MiB free: %s", all_bytes(r) >> 20,
                     r->device.description, free >> 20, r->hint);
}
