/* Part of run.h: one optimizer step. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

int64_t run_batches(const struct run *r)
{
    return sampler_batches(&r->sampler);
}

int64_t run_stage_steps(const struct run *r)
{
    return run_batches(r) * r->stages[r->state.stage].epochs;
}

struct batch_part run_batch(struct run *r)
{
    const struct collective *c = &r->ranks.all;
    struct batch_part b = { 0 };

    b.n = b.end = sampler_batch(&r->sampler, r->state.epoch, r->state.batch, &b.examples);
    if (c->size < 2)
        return b;
    b.first = sampler_cut(&r->sampler, b.examples, b.n, c->rank, c->size);
    b.end = sampler_cut(&r->sampler, b.examples, b.n, c->rank + 1, c->size);
    return b;
}

enum optimizer run_optimizer(const struct run *r, enum optimizer o)
{
    return ranks_sharded(r) ? (enum optimizer)(o | OPTIMIZER_SHARDED) : o;
}

int run_take(struct run *r, const struct param_arenas *a, struct error *err)
{
    r->optim.rank = r->ranks.all.rank;
    r->optim.ranks = ranks_sharded(r) ? r->ranks.all.size : 0;
    r->loss_total = tensor_alloc(a->host, a->data, F32, 1, (int64_t[]){ 1 });
    device_upload(&r->device, r->loss_total, &(float){ 0 });
    return optim_init(&r->optim, &r->device, r->params, err);
}

void run_plan(struct run *r, struct schedule schedule, double decay, double clip)
{
    r->optim.schedule = schedule;
    r->optim.adamw =
        (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = (float)decay, .clip = (float)clip };
    r->optim.adafactor = (struct adafactor){
        .decay_rate = 0.8f, .eps = 1e-30f, .threshold = 1, .decay = (float)decay, .clip = (float)clip
    };
}

static void update(struct ctx *c, void *arg)
{
    struct run *r = arg;
    optim_step(c, &r->optim, r->params);
}

/* Gradients and loss of this rank's part, which may be nothing. */
static int step_part(struct run *r, struct error *err)
{
    struct batch_part b = run_batch(r);

    if (b.first == b.end)
        return 0;
    r->work.ctx.recording = r->work.ctx.training = true;
    int rc = r->trainer->step(r->self, err);
    r->work.ctx.recording = r->work.ctx.training = false;
    return rc;
}

int run_step(struct run *r, struct error *err)
{
    double start = now_seconds();

    if (ranks_step(r, step_part, err))
        return -1;
    r->loss_steps++;
    if (workspace_step(&r->work, update, r, err) || ranks_gather_weights(r, err))
        return -1;
    log_debug("step %lld: %.2f ms of the host", (long long)r->state.step + 1, 1e3 * (now_seconds() - start));
    return 0;
}
