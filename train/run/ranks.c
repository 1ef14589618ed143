#include "train/run/ranks.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "train/run/run_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAVING_SECONDS = 600, TELLING_SECONDS = 1 }; /* that a rank waits for another to save, to say why all end */
static const double PATIENCE =
    0.3; /* seconds from a signal to the step's end, less than launchers wait before a kill */

static bool alone(const struct run *r)
{
    return r->ranks.all.size < 2;
}

bool ranks_first(const struct run *r)
{
    return r->ranks.all.rank == 0;
}

/* A signal while others still compute: a launcher that has lost one of them lets the others little time. */
static void save_early(void *run)
{
    struct run *r = run;
    struct ranks *x = &r->ranks;

    if (!x->in_step || !stop_requested() || !ranks_first(r) || !r->state.step || ranks_sharded(r))
        return;
    x->asked = x->asked > 0 ? x->asked : now_seconds();
    if (now_seconds() - x->asked > PATIENCE && run_save(r, NULL))
        log_warn("%s: step %lld could not be saved", r->set.out, (long long)r->state.step);
}

int ranks_open(struct run *r, struct error *err)
{
    struct collective *all = &r->ranks.all;

    if (collective_open(all, err))
        return -1;
    if (all->rank > 0)
        log_set_level(LOG_ERROR);
    if (all->size > 1)
        log_info("%d ranks share each batch", all->size);
    r->ranks.notes = xcalloc((size_t)all->size, sizeof *r->ranks.notes);
    r->ranks.come = xcalloc((size_t)all->size, sizeof *r->ranks.come);
    all->waiting = save_early;
    all->waiting_arg = r;
    return 0;
}

/* A launcher ends all when one ends with a code, and the first has to say why. */
static void let_tell(const struct ranks *x)
{
    if (x->told && x->all.rank > 0)
        sleep(TELLING_SECONDS);
}

void ranks_close(struct run *r)
{
    const struct ranks ended = r->ranks;

    order_thread_end(&r->ranks.thread);
    grad_watch_release(&r->ranks.watch);
    buckets_release(&r->ranks.buckets);
    collective_close(&r->ranks.all);
    free(r->ranks.notes);
    free(r->ranks.come);
    free(r->ranks.in);
    free(r->ranks.out);
    r->ranks = (struct ranks){ 0 };
    let_tell(&ended);
}

void ranks_seed(struct run *r)
{
    int32_t rng[4];

    if (ranks_first(r))
        return;
    workspace_rng(&r->work, rng);
    rng[1] ^= (int32_t)(0x9E3779B9u * (uint32_t)r->ranks.all.rank);
    device_upload(&r->device, r->work.ctx.rng, rng);
}

static bool save_instead(struct run *r)
{
    if (!r->state.step)
        return false;
    ranks_seed(r);
    return r->saved_step == r->state.step || run_save_checkpoint(r, NULL) == 0;
}

/* All hold the same state: the first that is left saves it. */
static void end_without(struct run *r, int lost, const struct error *err)
{
    int saver = lost == 0;

    if (r->ranks.all.rank != saver)
        sleep(SAVING_SECONDS);
    else if (ranks_sharded(r))
        log_error("%s, and with it a share of the optimizer's state; --resume goes on after the newest checkpoint",
                  err->text);
    else if (save_instead(r))
        log_error("%s; step %lld is saved, --resume goes on", err->text, (long long)r->state.step);
    else
        log_error("%s; this step is not saved", err->text);
    collective_abort(&r->ranks.all, err->code);
}

void ranks_end(struct run *r, int rc, struct error *err)
{
    struct rank_note note = { .code = err->code };

    if (rc >= 0 || alone(r) || !r->ranks.notes)
        return;
    if (r->ranks.all.lost < 0 && !r->ranks.told) {
        snprintf(note.text, sizeof note.text, "%s", err->text);
        ranks_meet(r, note, err);
    }
    ranks_unlink(r); /* what waits for a rank that is gone is given up */
    if (r->ranks.all.lost >= 0)
        end_without(r, r->ranks.all.lost, err);
    if (!ranks_first(r))
        log_mute();
}

const char *ranks_device(const struct run *r, const char *device, char own[32])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int n = 1;

    if (alone(r) || (strcmp(device, "cuda") && strcmp(device, "auto")))
        return device;
    if (!strcmp(device, "auto") && !device_gpu_expected())
        return "cpu";
    for (const char *at = visible; at && (at = strchr(at, ',')); at++)
        n++;
    snprintf(own, 32, "cuda:%d", visible ? r->ranks.all.local_rank % n : r->ranks.all.local_rank);
    return own;
}

int ranks_heed(struct ranks *x, const struct rank_note *notes, struct error *err)
{
    int k = 0;

    while (k < x->all.size && notes[k].code == EXIT_CODE_OK)
        k++;
    if (k == x->all.size)
        return 0;
    x->told = true;
    error_set(err, notes[k].code, "%s", notes[k].text);
    return k == 0 ? -1 : error_prefix(err, "rank %d", k);
}

int ranks_meet(struct run *r, struct rank_note mine, struct error *err)
{
    struct ranks *x = &r->ranks;
    double start = now_seconds();

    if (alone(r))
        return 0;
    mine.stop = stop_requested();
    if (collective_gather(&x->all, x->notes, &mine, sizeof mine, err))
        return -1;
    x->met += now_seconds() - start;
    for (int i = 0; i < x->all.size; i++)
        x->stop = x->stop ? x->stop : x->notes[i].stop;
    stop_note(x->stop);
    return ranks_heed(x, x->notes, err);
}

/* What it leaves in the folder is there for the others. */
int ranks_prepare(struct run *r, struct error *err)
{
    const struct rank_note none = { 0 };

    if (!r->trainer->prepare)
        return 0;
    if (ranks_first(r) && r->trainer->prepare(r->self, err))
        return -1;
    if (ranks_meet(r, none, err))
        return -1;
    if (!ranks_first(r) && !r->ranks.stop && r->trainer->prepare(r->self, err))
        return -1;
    return ranks_meet(r, none, err);
}

int ranks_validate(struct run *r, int (*validate)(struct run *r, struct validation *v, struct error *err),
                   struct validation *v, struct error *err)
{
    struct rank_note note = { 0 };

    r->state.unvalidated = true; /* should a rank be lost meanwhile */
    if (ranks_first(r)) {
        if ((note.rc = validate(r, v, err)) < 0)
            return -1;
        note.n = v->n;
        note.figure = v->figure;
        note.final = v->final;
    }
    if (alone(r))
        return note.rc;
    if (ranks_meet(r, note, err))
        return -1;
    v->n = r->ranks.notes->n;
    v->figure = r->ranks.notes->figure;
    v->final = r->ranks.notes->final;
    return r->ranks.notes->rc;
}

int ranks_finish(struct run *r, int (*finish)(struct run *r, struct error *err), struct error *err)
{
    struct rank_note note = { 0 };

    if (ranks_first(r) && (note.rc = finish(r, err)) < 0)
        return -1;
    if (alone(r))
        return note.rc;
    return ranks_meet(r, note, err) ? -1 : r->ranks.notes->rc;
}

static void add_parts(struct run *r)
{
    const struct ranks *x = &r->ranks;
    float loss, sum = x->notes[0].loss;

    for (int i = 1; i < x->all.size; i++)
        sum += x->notes[i].loss;
    device_download(&r->device, &loss, r->loss_total);
    loss += sum;
    device_upload(&r->device, r->loss_total, &loss);
    for (int i = 0; i < x->all.size; i++)
        r->state.units += x->notes[i].units;
}

/* Loss and units of the part go into the note; the state is that of the step before again. */
static int compute_part(struct run *r, int (*part)(struct run *r, struct error *err), struct rank_note *note,
                        struct error *err)
{
    int64_t units = r->state.units;
    float loss;

    device_download(&r->device, &loss, r->loss_total);
    device_upload(&r->device, r->loss_total, &note->loss);
    int rc = part(r, err);
    device_download(&r->device, &note->loss, r->loss_total);
    device_upload(&r->device, r->loss_total, &loss);
    note->units = r->state.units - units;
    r->state.units = units;
    return rc;
}

/* The part, the sums and the meeting in which all learn whether all have them.  A rank whose part failed goes through
 * sums that were begun. */
static int sum_parts(struct run *r, int (*part)(struct run *r, struct error *err), struct rank_note *note,
                     struct error *err)
{
    bool overlap = ranks_overlap(r);
    struct error failure;

    if (overlap)
        ranks_sum_begin(r);
    int rc = compute_part(r, part, note, err);
    r->ranks.in_step = true;
    if (overlap && ranks_sum_end(r, rc ? &failure : err))
        return -1;
    if (rc || ranks_meet(r, *note, err))
        return -1;
    return overlap ? 0 : ranks_sum(r, err);
}

/* Until the sums are there the state is that of the step before, so that it may be saved. */
int ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err)
{
    struct ranks *x = &r->ranks;
    struct rank_note note = { 0 };
    double summed = x->summed, exposed = x->exposed;

    if (alone(r))
        return part(r, err);
    int rc = sum_parts(r, part, &note, err);
    x->in_step = false;
    if (rc)
        return -1;
    add_parts(r);
    x->steps++;
    log_debug("step %lld: sums of gradients took %.2f ms, %.2f ms of them behind the backward",
              (long long)r->state.step + 1, 1e3 * (x->summed - summed), 1e3 * (x->exposed - exposed));
    return 0;
}

bool ranks_tell(const struct run *r, char text[RANKS_TEXT])
{
    const struct ranks *x = &r->ranks;
    double steps = x->steps ? (double)x->steps : 1, hidden = x->summed - x->exposed;

    snprintf(text, RANKS_TEXT,
             "%d ranks: %.2f s spent on sums of gradients%s, %.2f ms a step, %.2f ms of them hidden by the backward; "
             "%.2f ms a step on weights; %.1f MiB sent by each, %.1f s in meetings",
             x->all.size, x->summed, x->links ? " on the devices" : "", 1e3 * x->summed / steps,
             hidden > 0 ? 1e3 * hidden / steps : 0, 1e3 * x->gathered / steps, (double)x->bytes / (1 << 20), x->met);
    return !alone(r);
}
