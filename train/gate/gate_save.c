#include "train/gate/gate_save.h"

#include "data/util/json.h"
#include "data/util/log.h"
#include "models/checkpoint/checkpoint.h"
#include "train/run/run_meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counters and cursor in the form the file keeps them. */
struct saved_state {
    int64_t cursor[7];
    float best[1], loss[1];
    int32_t rng[4];
    struct checkpoint_extra extra[4];
};

static void describe(struct saved_state *s)
{
    s->extra[0] = (struct checkpoint_extra){ { "cursor", HDF5_I64, 1, { ARRAY_LEN(s->cursor) } }, s->cursor };
    s->extra[1] = (struct checkpoint_extra){ { "best", HDF5_F32, 1, { 1 } }, s->best };
    s->extra[2] = (struct checkpoint_extra){ { "rng", HDF5_I32, 1, { 4 } }, s->rng };
    s->extra[3] = (struct checkpoint_extra){ { "loss", HDF5_F32, 1, { 1 } }, s->loss };
}

static void pack(struct trainer *t, struct saved_state *s)
{
    const struct train_state *x = &t->state;
    const int64_t cursor[] = { x->stage, x->epoch, x->batch, x->step, x->best_step, x->worse, t->loss_steps };

    describe(s);
    memcpy(s->cursor, cursor, sizeof cursor);
    s->best[0] = (float)x->best;
    device_download(&t->device, s->loss, t->loss_total);
    workspace_rng(&t->work, s->rng);
}

static void unpack(struct trainer *t, const struct saved_state *s)
{
    t->state = (struct train_state){ .stage = (int)s->cursor[0],
                                     .epoch = s->cursor[1],
                                     .batch = s->cursor[2],
                                     .step = s->cursor[3],
                                     .best = (double)s->best[0],
                                     .best_step = s->cursor[4],
                                     .worse = s->cursor[5] };
    t->loss_steps = s->cursor[6];
    device_upload(&t->device, t->loss_total, s->loss);
    device_upload(&t->device, t->work.ctx.rng, s->rng);
}

static json_t *make_meta(const struct trainer *t)
{
    const char *request = (const char *)t->set - offsetof(struct gate_request, settings);
    json_t *o = run_meta("gatekeeper", (int64_t)t->seed, t->data.hash, gate_request_table, request,
                         offsetof(struct gate_request, settings));

    json_object_set_new(o, "encoder", json_string(t->encoder ? t->encoder : "from scratch"));
    json_object_set_new(o, "model", gate_model_to_json(&t->model));
    return o;
}

static int save_into(struct trainer *t, const char *dir, const struct params *params,
                     const struct checkpoint_extra *extra, int n_extra, struct error *err)
{
    struct checkpoint c = { .params = (struct params *)(uintptr_t)params,
                            .device = &t->device,
                            .extra = extra,
                            .n_extra = n_extra,
                            .meta = make_meta(t) };
    int rc = make_dirs(dir, err) || tokenizer_save(t->model.tokenizer, dir, err) || checkpoint_save(dir, &c, err);

    json_decref(c.meta);
    return rc ? -1 : 0;
}

int gate_save_checkpoint(struct trainer *t, struct error *err)
{
    struct saved_state s;
    char *dir = checkpoint_dir_begin(t->out, t->state.step, err);

    if (!dir)
        return -1;
    pack(t, &s);
    int rc = save_into(t, dir, &t->model.params, s.extra, ARRAY_LEN(s.extra), err);
    if (rc == 0)
        rc = checkpoint_dir_commit(t->out, t->state.step, 1, err);
    free(dir);
    return rc;
}

static int check_settings(const struct trainer *t, const json_t *saved, const char *where, struct error *err)
{
    /* a run may be resumed with another one of these and still ends with the same numbers */
    static const char *const may_differ[] = { "save-every", NULL };
    static const char *const same[] = { "seed", "encoder", "data_hash", NULL };
    json_t *now = make_meta(t);
    int rc = run_meta_check(now, saved, may_differ, same, where, err);

    json_decref(now);
    return rc;
}

static int load_from(struct trainer *t, const char *dir, struct error *err)
{
    struct saved_state s;
    struct hdf5_reader r;

    if (checkpoint_open(&r, dir, err))
        return -1;
    json_t *meta = checkpoint_meta(&r, err);
    int rc = meta ? check_settings(t, meta, dir, err) : -1;
    if (rc == 0) {
        describe(&s);
        struct checkpoint c = {
            .params = &t->model.params, .device = &t->device, .extra = s.extra, .n_extra = ARRAY_LEN(s.extra)
        };
        rc = checkpoint_load(&r, &c, err);
    }
    if (rc == 0)
        unpack(t, &s);
    json_decref(meta);
    hdf5_close(&r);
    return rc;
}

int gate_load_checkpoint(struct trainer *t, struct error *err)
{
    char *dir = NULL;

    if (checkpoint_latest(t->out, &dir, err))
        return -1;
    if (!dir)
        return 0;
    int rc = load_from(t, dir, err);
    free(dir);
    return rc ? -1 : 1;
}

static int save_weights(struct trainer *t, const char *dir, struct error *err)
{
    struct params weights = params_without_moments(&t->model.params);
    int rc = save_into(t, dir, &weights, NULL, 0, err);

    params_release(&weights);
    return rc;
}

int gate_save_best(struct trainer *t, struct error *err)
{
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/best", t->out);
    return save_weights(t, dir, err);
}

int gate_save_model(struct trainer *t, struct error *err)
{
    return save_weights(t, t->out, err);
}

void gate_forget_best(const struct trainer *t)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/best/" CHECKPOINT_FILE, t->out);
    unlink(path); /* one that is not there is fine */
}

int gate_load_best(struct trainer *t, struct error *err)
{
    char path[4096];
    struct hdf5_reader r;

    snprintf(path, sizeof path, "%s/best/" CHECKPOINT_FILE, t->out);
    if (access(path, F_OK) != 0)
        return 0;
    if (checkpoint_open(&r, path, err))
        return -1;
    struct params weights = params_without_moments(&t->model.params);
    struct checkpoint c = { .params = &weights, .device = &t->device };
    int rc = checkpoint_load(&r, &c, err);
    params_release(&weights);
    hdf5_close(&r);
    return rc;
}
