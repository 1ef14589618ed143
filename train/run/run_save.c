#include "train/run/run_save.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/out_file.h"
#include "data/base/whole_file.h"
#include "models/io/checkpoint.h"
#include "train/run/run.h"
#include "train/run/run_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METRICS "metrics.jsonl"

static const int64_t metrics_max_bytes = INT64_C(1) << 32;

/* Compares settings and data in a file's meta data with those of this run. -1 with EXIT_CODE_USAGE. */
static int check_meta(const struct run *r, const json_t *saved, const char *where, struct error *err)
{
    /* these settings do not change the steps of a run */
    static const char *const may_differ[] = { "save-every", "epochs", NULL };
    static const char *const same[] = { "seed", NULL };
    json_t *now = run_make_meta(r);
    int rc = run_meta_check(now, saved, may_differ, same, where, err);

    if (rc == 0)
        rc = run_meta_check_epochs(now, saved, where, err);
    if (rc == 0 && !json_equal(json_object_get(now, "data_hash"), json_object_get(saved, "data_hash")))
        rc = error_set(err, EXIT_CODE_USAGE, "%s: the data of the run to resume were others than those of %s now",
                       where, r->set.data);
    if (rc == 0)
        rc = run_meta_check(now, saved, may_differ, r->trainer->same, where, err);
    json_decref(now);
    return rc;
}

/* Checks that the file belongs to this run, and to the checkpoint's best step or a later step, which the run will
 * reach again. */
static int check_best_meta(const struct run *r, const json_t *meta, const char *path, struct error *err)
{
    json_int_t step = json_integer_value(json_object_get(meta, "step"));

    if (check_meta(r, meta, path, err))
        return -1;
    if (step >= r->saved_best)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected the weights of step %lld, got those of step %lld", path,
                     (long long)r->saved_best, (long long)step);
}

static int tell_best(const struct run *r, struct error *err)
{
    const struct error fault = *err;

    return error_set(err, fault.code, "%s; put %s/best back as the run left it, or begin anew with another --out",
                     fault.text, r->set.out);
}

/* The path of OUT/best followed by `name`. */
static void best_path(const struct run *r, char path[4096], const char *name)
{
    snprintf(path, 4096, "%s/best%s", r->set.out, name);
}

/* -1 with EXIT_CODE_CHECKPOINT unless OUT/best holds the weights that the checkpoint refers to. */
static int check_best(const struct run *r, struct error *err)
{
    char path[4096];
    struct hdf5_reader file;
    int rc = -1;

    if (!r->saved_best)
        return 0;
    best_path(r, path, "/" CHECKPOINT_FILE);
    if (checkpoint_open(&file, path, err) == 0) {
        json_t *meta = checkpoint_meta(&file, err);
        rc = meta ? check_best_meta(r, meta, path, err) : -1;
        json_decref(meta);
        hdf5_close(&file);
    }
    return rc ? tell_best(r, err) : 0;
}

/* A missing file has no bytes, and *text stays NULL. */
static int read_lines(const char *dir, char path[4096], char **text, size_t *n, struct error *err)
{
    snprintf(path, 4096, "%s/" METRICS, dir);
    *text = NULL;
    *n = 0;
    if (access(path, F_OK) != 0)
        return 0;
    *text = whole_file_read(path, metrics_max_bytes, n, err);
    return *text ? 0 : -1;
}

static int write_lines(const char *dir, const char *text, size_t n, struct error *err)
{
    char path[4096];
    struct out_file out = { 0 };

    snprintf(path, sizeof path, "%s/" METRICS, dir);
    int rc = out_file_open(&out, path, err);
    if (rc == 0 && fwrite(text, 1, n, out.f) != n)
        rc = error_set(err, EXIT_CODE_FAILURE, "%s: cannot be written", path);
    if (rc == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    return rc;
}

/* keep_metrics copies metrics.jsonl into the checkpoint's folder. restore_metrics replaces OUT/metrics.jsonl by that
 * copy, with a warning, unless the file begins with it. */
static int keep_metrics(const struct run *r, const char *dir, struct error *err)
{
    char path[4096], *text;
    size_t n;

    if (read_lines(r->set.out, path, &text, &n, err))
        return -1;
    int rc = text ? write_lines(dir, text, n, err) : 0;
    free(text);
    return rc;
}

static int restore_metrics(const struct run *r, const char *dir, struct error *err)
{
    char path[4096], kept_path[4096], *own, *kept = NULL;
    size_t n, n_kept = 0;
    int rc = read_lines(r->set.out, path, &own, &n, err) || read_lines(dir, kept_path, &kept, &n_kept, err) ? -1 : 0;

    if (rc == 0 && kept && (n < n_kept || memcmp(own, kept, n_kept) != 0)) {
        log_warn("%s: not what the run wrote up to step %lld, restored from %s", path, (long long)r->state.step,
                 kept_path);
        rc = write_lines(r->set.out, kept, n_kept, err);
    }
    if (rc == 0 && !kept && !own)
        log_warn("%s: not found: the curves begin after step %lld", path, (long long)r->state.step);
    free(own);
    free(kept);
    return rc;
}

/* ---- checkpoints ---- */

enum {
    COUNTERS = 6, /* from epoch to loss_steps; the stage precedes them if the trainer has several */
    MORE = 2,     /* units and unvalidated; omitted if both are 0 */
    MOST = 1 + COUNTERS + MORE
};

/* run_state and the random state, as the file stores them. */
struct saved_state {
    int64_t cursor[MOST];
    float best[1], loss[1], lr[1], norm[1];
    int32_t rng[4];
    struct checkpoint_extra extra[6];
    int n_extra;
};

/* newest: also the learning rate and gradient norm of the newest step, which a later log line needs after an
 * interrupted validation. */
static void describe_state(struct saved_state *s, int counters, bool newest)
{
    s->n_extra = newest ? ARRAY_LEN(s->extra) : ARRAY_LEN(s->extra) - 2;
    s->extra[0] = (struct checkpoint_extra){ { "cursor", HDF5_I64, 1, { counters } }, s->cursor };
    s->extra[1] = (struct checkpoint_extra){ { "best", HDF5_F32, 1, { 1 } }, s->best };
    s->extra[2] = (struct checkpoint_extra){ { "rng", HDF5_I32, 1, { 4 } }, s->rng };
    s->extra[3] = (struct checkpoint_extra){ { "loss", HDF5_F32, 1, { 1 } }, s->loss };
    s->extra[4] = (struct checkpoint_extra){ { "learning_rate", HDF5_F32, 1, { 1 } }, s->lr };
    s->extra[5] = (struct checkpoint_extra){ { "norm", HDF5_F32, 1, { 1 } }, s->norm };
}

static int staged(const struct run *r)
{
    return r->trainer->enter_stage != NULL;
}

static void pack(struct run *r, struct saved_state *s)
{
    const struct run_state *x = &r->state;
    const int64_t all[MOST] = { x->stage, x->epoch,      x->batch, x->step,       x->best_step,
                                x->worse, r->loss_steps, x->units, x->unvalidated };
    int first = !staged(r), end = x->units || x->unvalidated ? MOST : MOST - MORE;

    describe_state(s, end - first, x->unvalidated);
    memcpy(s->cursor, all + first, (size_t)(end - first) * sizeof *all);
    s->best[0] = (float)x->best;
    device_download(&r->device, s->loss, r->loss_total);
    device_download(&r->device, s->lr, r->optim.lr);
    device_download(&r->device, s->norm, r->optim.norm);
    workspace_rng(&r->work, s->rng);
}

static void unpack(struct run *r, const struct saved_state *s)
{
    int64_t all[MOST] = { 0 };
    int first = !staged(r);

    memcpy(all + first, s->cursor, (size_t)(MOST - first) * sizeof *all);
    r->state = (struct run_state){ .stage = (int)all[0],
                                   .epoch = all[1],
                                   .batch = all[2],
                                   .step = all[3],
                                   .best = (double)s->best[0],
                                   .best_step = all[4],
                                   .worse = all[5],
                                   .units = all[7],
                                   .unvalidated = all[8] != 0 };
    r->loss_steps = all[6];
    device_upload(&r->device, r->loss_total, s->loss);
    device_upload(&r->device, r->optim.lr, s->lr);
    device_upload(&r->device, r->optim.norm, s->norm);
    device_upload(&r->device, r->work.ctx.rng, s->rng);
}

json_t *run_make_meta(const struct run *r)
{
    const struct run_settings *s = &r->set;
    json_t *o = run_meta(r->trainer->kind, (int64_t)s->seed, r->data_hash, s->table, s->request, s->from);

    r->trainer->describe(r->self, o);
    return o;
}

/* An additional number in the meta data; NULL: none. */
struct noted {
    const char *name;
    int64_t value;
};

static int save_into(struct run *r, const char *dir, struct params *params, const struct checkpoint_extra *extra,
                     int n_extra, struct noted noted, struct error *err)
{
    struct checkpoint c = {
        .params = params, .device = &r->device, .extra = extra, .n_extra = n_extra, .meta = run_make_meta(r)
    };

    if (noted.name)
        json_object_set_new(c.meta, noted.name, json_integer(noted.value));
    if (ranks_sharded(r)) {
        c.whole = ranks_whole_state;
        c.whole_arg = r;
    }
    int rc = make_dirs(dir, err) || (r->trainer->save_beside && r->trainer->save_beside(r->self, dir, err)) ||
             checkpoint_save(dir, &c, err);

    json_decref(c.meta);
    return rc ? -1 : 0;
}

int run_save_checkpoint(struct run *r, struct error *err)
{
    struct saved_state s;
    char *dir = checkpoint_dir_begin(r->set.out, r->state.step, err);

    if (!dir)
        return -1;
    pack(r, &s);
    int rc = save_into(r, dir, r->params, s.extra, s.n_extra, (struct noted){ RUN_BEST_STEP, r->saved_best }, err);
    if (rc == 0)
        rc = keep_metrics(r, dir, err);
    if (rc == 0)
        rc = checkpoint_dir_commit(r->set.out, r->state.step, 1, err);
    free(dir);
    return rc;
}

/* Number of counters in a file. */
static int counters_of(const struct run *r, const struct hdf5_reader *file)
{
    const struct hdf5_tensor *cursor = hdf5_find(file, "state/cursor");
    int few = staged(r) + COUNTERS;

    return cursor && cursor->ndim == 1 && cursor->shape[0] == few + MORE ? few + MORE : few;
}

static int load_from(struct run *r, const char *dir, struct error *err)
{
    struct saved_state s = { 0 };
    struct hdf5_reader file;

    if (checkpoint_open(&file, dir, err))
        return -1;
    json_t *meta = checkpoint_meta(&file, err);
    int rc = meta ? check_meta(r, meta, dir, err) : -1;
    if (rc == 0) {
        describe_state(&s, counters_of(r, &file), hdf5_find(&file, "state/norm") != NULL);
        struct checkpoint c = { .params = r->params, .device = &r->device, .extra = s.extra, .n_extra = s.n_extra };
        rc = checkpoint_load(&file, &c, err);
    }
    if (rc == 0) {
        unpack(r, &s);
        r->saved_best = json_integer_value(json_object_get(meta, RUN_BEST_STEP));
    }
    json_decref(meta);
    hdf5_close(&file);
    return rc;
}

/* Reopens the last stage of a finished run that now has more epochs, unless patience had ended it. */
static void reopen(struct run *r)
{
    struct run_state *x = &r->state;
    int last = r->n_stages - 1;
    bool patience = r->set.patience && x->worse >= r->set.patience;

    if (x->stage > 0 && x->stage == r->n_stages && x->epoch > 0 && x->epoch < r->stages[last].epochs && !patience)
        x->stage = last;
}

/* Adds advice to the error: no older checkpoint exists. */
static void tell_way_out(const char *dir, struct error *err)
{
    const struct error damage = *err;

    error_set(err, damage.code,
              "%s; no older checkpoint is kept: copy best/ to keep its weights, then remove %s to begin the run "
              "anew in its folder",
              damage.text, dir);
}

int run_load_checkpoint(struct run *r, struct error *err)
{
    char *dir = NULL;

    if (checkpoint_latest(r->set.out, &dir, err))
        return -1;
    if (!dir)
        return 0;
    int rc = load_from(r, dir, err);
    if (rc && err && err->code == EXIT_CODE_CHECKPOINT)
        tell_way_out(dir, err);
    if (rc == 0 && ranks_first(r) && (check_best(r, err) || restore_metrics(r, dir, err)))
        rc = -1;
    free(dir);
    if (rc == 0)
        reopen(r);
    return rc ? -1 : 1;
}

static int save_weights(struct run *r, const char *dir, struct noted noted, struct error *err)
{
    struct params weights = params_without_state(r->params);
    int rc = save_into(r, dir, &weights, NULL, 0, noted, err);

    params_release(&weights);
    return rc;
}

int run_save_best(struct run *r, struct error *err)
{
    char dir[4096];

    best_path(r, dir, "");
    return save_weights(r, dir, (struct noted){ "step", r->state.step }, err);
}

int run_save_result(struct run *r, struct error *err)
{
    return save_weights(r, r->set.out, (struct noted){ NULL, 0 }, err);
}

void run_forget_best(const struct run *r)
{
    char path[4096];

    best_path(r, path, "/" CHECKPOINT_FILE);
    unlink(path); /* a missing file is not an error */
}

int run_load_best(struct run *r, struct error *err)
{
    char path[4096];
    struct hdf5_reader file;

    best_path(r, path, "/" CHECKPOINT_FILE);
    if (access(path, F_OK) != 0 && !r->saved_best)
        return 0;
    if (checkpoint_open(&file, path, err))
        return -1;
    struct params weights = params_without_state(r->params);
    struct checkpoint c = { .params = &weights, .device = &r->device };
    int rc = checkpoint_load(&file, &c, err);
    params_release(&weights);
    hdf5_close(&file);
    return rc;
}
