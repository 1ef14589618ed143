#include "train/gate_save.h"

#include "data/build.h"
#include "data/json.h"
#include "data/log.h"
#include "models/checkpoint/checkpoint.h"

#include <inttypes.h>
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

static json_t *settings_to_json(const struct gate_settings *set)
{
    const size_t base = offsetof(struct gate_request, settings);
    json_t *o = json_object();

    for (const struct option *k = gate_request_table; k->name; k++) {
        if (k->offset < base)
            continue;
        const char *at = (const char *)set + (k->offset - base);
        json_t *v = NULL;
        switch (k->type) {
        case OPTION_FLAG:
            v = json_boolean(*(const bool *)at);
            break;
        case OPTION_INT:
            v = json_integer(*(const int64_t *)(const void *)at);
            break;
        case OPTION_REAL:
            v = json_real(*(const double *)(const void *)at);
            break;
        default:
            v = json_string(*(const char *const *)(const void *)at);
        }
        json_object_set_new(o, k->name, v);
    }
    return o;
}

static json_t *make_meta(const struct trainer *t)
{
    char hash[20];
    json_t *o = json_object();

    snprintf(hash, sizeof hash, "%016" PRIx64, t->data.hash);
    json_object_set_new(o, "kind", json_string("gatekeeper"));
    json_object_set_new(o, "version", json_string(build_version()));
    json_object_set_new(o, "commit", json_string(build_commit()));
    json_object_set_new(o, "seed", json_integer((json_int_t)t->seed));
    json_object_set_new(o, "encoder", json_string(t->encoder ? t->encoder : "from scratch"));
    json_object_set_new(o, "data_hash", json_string(hash));
    json_object_set_new(o, "settings", settings_to_json(t->set));
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

/* Settings that may change between a run and its resumption, which still ends with the same numbers. */
static bool may_differ(const char *name)
{
    return !strcmp(name, "save-every");
}

static int check_settings(const struct trainer *t, const json_t *saved, const char *where, struct error *err)
{
    json_t *now = make_meta(t), *value;
    const char *name;
    int rc = 0;

    /* clang-format off */
    json_object_foreach(json_object_get(now, "settings"), name, value)
        if (rc == 0 && !may_differ(name) &&
            !json_equal(value, json_object_get(json_object_get(saved, "settings"), name)))
            rc = error_set(err, EXIT_CODE_USAGE,
                           "%s: %s differs from the run to resume; give the same configuration, or another --out",
                           where, name);
    /* clang-format on */
    static const char *const same[] = { "seed", "encoder", "data_hash" };
    for (int i = 0; rc == 0 && i < ARRAY_LEN(same); i++)
        if (!json_equal(json_object_get(now, same[i]), json_object_get(saved, same[i])))
            rc = error_set(err, EXIT_CODE_USAGE, "%s: %s differs from the run to resume", where, same[i]);
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

/* The same parameters without moments: what a model to run consists of. */
static struct params without_moments(const struct params *p)
{
    struct params copy = { .n = p->n, .cap = p->n };

    copy.list = xmalloc((size_t)p->n * sizeof *copy.list);
    memcpy(copy.list, p->list, (size_t)p->n * sizeof *copy.list);
    for (int i = 0; i < copy.n; i++)
        copy.list[i].m = copy.list[i].v = NULL;
    return copy;
}

static int save_weights(struct trainer *t, const char *dir, struct error *err)
{
    struct params weights = without_moments(&t->model.params);
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
    struct params weights = without_moments(&t->model.params);
    struct checkpoint c = { .params = &weights, .device = &t->device };
    int rc = checkpoint_load(&r, &c, err);
    params_release(&weights);
    hdf5_close(&r);
    return rc;
}
