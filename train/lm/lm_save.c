#include "train/lm/lm_save.h"

#include "data/util/json.h"
#include "models/checkpoint/checkpoint.h"
#include "models/lm/hf_folder.h"
#include "train/run/run_meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counters and cursor in the form the file keeps them. */
struct saved_state {
    int64_t cursor[8];
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

static void pack(struct lm_trainer *t, struct saved_state *s)
{
    const struct lm_state *x = &t->state;
    const int64_t cursor[] = { x->epoch, x->batch,      x->step,   x->best_step,
                               x->worse, t->loss_steps, x->tokens, x->unvalidated };

    describe(s);
    memcpy(s->cursor, cursor, sizeof cursor);
    s->best[0] = (float)x->best;
    device_download(&t->device, s->loss, t->loss_total);
    workspace_rng(&t->work, s->rng);
}

static void unpack(struct lm_trainer *t, const struct saved_state *s)
{
    t->state = (struct lm_state){ .epoch = s->cursor[0],
                                  .batch = s->cursor[1],
                                  .step = s->cursor[2],
                                  .best = (double)s->best[0],
                                  .best_step = s->cursor[3],
                                  .worse = s->cursor[4],
                                  .tokens = s->cursor[6],
                                  .unvalidated = s->cursor[7] != 0 };
    t->loss_steps = s->cursor[5];
    t->tokens_before = t->state.tokens;
    device_upload(&t->device, t->loss_total, s->loss);
    device_upload(&t->device, t->work.ctx.rng, s->rng);
}

static json_t *make_meta(const struct lm_trainer *t)
{
    const struct lm_request *q = t->request;
    const uint64_t hashes[] = { t->train.hash, t->valid.hash };
    char hash[20];
    json_t *o = run_meta("infill", q->seed, hash_bytes(HASH_START, hashes, sizeof hashes), lm_request_table, q,
                         offsetof(struct lm_request, settings));

    snprintf(hash, sizeof hash, "%016" PRIx64, t->base_hash);
    json_object_set_new(o, "base", json_string(q->base ? q->base : "from scratch"));
    json_object_set_new(o, "base_hash", json_string(hash));
    json_object_set_new(o, "chat_template", json_string(t->model.chat.template ? chat_name(&t->model.chat) : "none"));
    return o;
}

static int save_into(struct lm_trainer *t, const char *dir, const struct params *params,
                     const struct checkpoint_extra *extra, int n_extra, struct error *err)
{
    struct checkpoint c = { .params = (struct params *)(uintptr_t)params,
                            .device = &t->device,
                            .extra = extra,
                            .n_extra = n_extra,
                            .meta = make_meta(t) };
    int rc = make_dirs(dir, err) || checkpoint_save(dir, &c, err);

    json_decref(c.meta);
    return rc ? -1 : 0;
}

int lm_save_checkpoint(struct lm_trainer *t, struct error *err)
{
    struct saved_state s;
    char *dir = checkpoint_dir_begin(t->request->out, t->state.step, err);

    if (!dir)
        return -1;
    pack(t, &s);
    int rc = save_into(t, dir, t->trained, s.extra, ARRAY_LEN(s.extra), err);
    if (rc == 0)
        rc = checkpoint_dir_commit(t->request->out, t->state.step, 1, err);
    free(dir);
    return rc;
}

static int check_meta(const struct lm_trainer *t, const json_t *saved, const char *where, struct error *err)
{
    /* a run may be resumed with another one of these and still ends with the same numbers */
    static const char *const may_differ[] = { "save-every", NULL };
    static const char *const same[] = { "seed", "data_hash", "base_hash", "chat_template", NULL };
    json_t *now = make_meta(t);
    int rc = run_meta_check(now, saved, may_differ, same, where, err);

    json_decref(now);
    return rc;
}

static int load_from(struct lm_trainer *t, const char *dir, struct error *err)
{
    struct saved_state s;
    struct hdf5_reader r;

    if (checkpoint_open(&r, dir, err))
        return -1;
    json_t *meta = checkpoint_meta(&r, err);
    int rc = meta ? check_meta(t, meta, dir, err) : -1;
    if (rc == 0) {
        describe(&s);
        struct checkpoint c = {
            .params = t->trained, .device = &t->device, .extra = s.extra, .n_extra = ARRAY_LEN(s.extra)
        };
        rc = checkpoint_load(&r, &c, err);
    }
    if (rc == 0)
        unpack(t, &s);
    json_decref(meta);
    hdf5_close(&r);
    return rc;
}

int lm_load_checkpoint(struct lm_trainer *t, struct error *err)
{
    char *dir = NULL;

    if (checkpoint_latest(t->request->out, &dir, err))
        return -1;
    if (!dir)
        return 0;
    int rc = load_from(t, dir, err);
    free(dir);
    return rc ? -1 : 1;
}

static int save_weights(struct lm_trainer *t, const char *dir, struct error *err)
{
    struct params weights = params_without_moments(t->trained);
    int rc = save_into(t, dir, &weights, NULL, 0, err);

    params_release(&weights);
    return rc;
}

static void best_path(const struct lm_trainer *t, char path[4096], const char *name)
{
    snprintf(path, 4096, "%s/best%s", t->request->out, name);
}

int lm_save_best(struct lm_trainer *t, struct error *err)
{
    char dir[4096];

    best_path(t, dir, "");
    return save_weights(t, dir, err);
}

void lm_forget_best(const struct lm_trainer *t)
{
    char path[4096];

    best_path(t, path, "/" CHECKPOINT_FILE);
    unlink(path); /* one that is not there is fine */
}

int lm_load_best(struct lm_trainer *t, struct error *err)
{
    char path[4096];
    struct hdf5_reader r;

    best_path(t, path, "/" CHECKPOINT_FILE);
    if (access(path, F_OK) != 0)
        return 0;
    if (checkpoint_open(&r, path, err))
        return -1;
    struct params weights = params_without_moments(t->trained);
    struct checkpoint c = { .params = &weights, .device = &t->device };
    int rc = checkpoint_load(&r, &c, err);
    params_release(&weights);
    hdf5_close(&r);
    return rc;
}

/* The form that other tools load: weights in the type that was computed with. */
static int save_folder(struct lm_trainer *t, const char *out, struct error *err)
{
    const struct lm_request *q = t->request;

    if (t->trained == &t->model.adapters)
        return lora_save(t->trained, &t->device, &t->model.lora, out, t->model.dtype, err);
    return llama_folder_save(&t->model, q->base ? q->base : q->tokenizer, q->base != NULL, out, err);
}

int lm_save_result(struct lm_trainer *t, struct error *err)
{
    const char *out = t->request->out;
    return save_folder(t, out, err) || save_weights(t, out, err) ? -1 : 0;
}
