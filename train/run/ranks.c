#include "train/run/ranks.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "train/run/run_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAVING_SECONDS = 600 }; /* that a rank waits for another to save */
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

    if (!x->in_step || !stop_requested() || !ranks_first(r) || !r->state.step)
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
    all->waiting = save_early;
    all->waiting_arg = r;
    return 0;
}

void ranks_close(struct run *r)
{
    collective_close(&r->ranks.all);
    free(r->ranks.notes);
    free(r->ranks.in);
    free(r->ranks.out);
    r->ranks = (struct ranks){ 0 };
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
    for (const char *at = visible; at && (at = strchr(at, ',')); at++)
        n++;
    snprintf(own, 32, "cuda:%d", visible ? r->ranks.all.local_rank % n : r->ranks.all.local_rank);
    return own;
}

static const struct rank_note *first_failure(const struct ranks *x)
{
    for (int i = 0; i < x->all.size; i++)
        if (x->notes[i].code != EXIT_CODE_OK)
            return &x->notes[i];
    return NULL;
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
    const struct rank_note *failed = first_failure(x);
    if (!failed)
        return 0;
    x->told = true;
    error_set(err, failed->code, "%s", failed->text);
    return failed == x->notes ? -1 : error_prefix(err, "rank %d", (int)(failed - x->notes));
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

int ranks_validate(struct run *r, struct validation *v, struct error *err)
{
    struct rank_note note = { 0 };

    r->state.unvalidated = true; /* should a rank be lost meanwhile */
    if (ranks_first(r)) {
        if ((note.rc = r->trainer->validate(r->self, v, err)) < 0)
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

static void add_parts(struct run *r, float loss)
{
    const struct ranks *x = &r->ranks;
    float sum = x->notes[0].loss;

    for (int i = 1; i < x->all.size; i++)
        sum += x->notes[i].loss;
    loss += sum;
    device_upload(&r->device, r->loss_total, &loss);
    for (int i = 0; i < x->all.size; i++)
        r->state.units += x->notes[i].units;
}

/* Until the sums are there the state is that of the step before, so that it may be saved. */
int ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err)
{
    struct rank_note note = { 0 };
    int64_t units = r->state.units;
    float loss;

    if (alone(r))
        return part(r, err);
    device_download(&r->device, &loss, r->loss_total);
    device_upload(&r->device, r->loss_total, &note.loss);
    if (part(r, err))
        return -1;
    device_download(&r->device, &note.loss, r->loss_total);
    device_upload(&r->device, r->loss_total, &loss);
    note.units = r->state.units - units;
    r->state.units = units;
    r->ranks.in_step = true;
    int rc = ranks_meet(r, note, err) ? -1 : ranks_sum(r, err);
    r->ranks.in_step = false;
    if (rc == 0)
        add_parts(r, loss);
    return rc;
}

bool ranks_tell(const struct run *r, char text[RANKS_TEXT])
{
    const struct ranks *x = &r->ranks;

    snprintf(text, RANKS_TEXT,
             "%d ranks: %.1f s spent on sums of gradients%s, %.1f MiB sent by each, %.1f s in meetings", x->all.size,
             x->summed, x->links ? " on the devices" : "", (double)x->bytes / (1 << 20), x->met);
    return !alone(r);
}
