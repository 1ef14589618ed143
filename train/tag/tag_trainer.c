#include "train/tag/tag_trainer.h"

#include "train/tag/tag_trainer_impl.h"

static void describe(const void *trainer, json_t *meta)
{
    const struct tag_trainer *t = trainer;
    const struct tag_training *q = t->request;

    json_object_set_new(meta, "encoder", json_string(q->from ? q->from : q->encoder ? q->encoder : "from scratch"));
    json_object_set_new(meta, "model", dte_spec_to_json(&t->model.spec));
}

static int save_beside(void *trainer, const char *dir, struct error *err)
{
    const struct tag_trainer *t = trainer;
    return tokenizer_save(t->model.tokenizer, dir, err) ? -1 : tag_data_save_replay(&t->data, dir, err);
}

/* Calibrated on validation, judged on the test fold. */
static int finish(void *trainer, struct error *err)
{
    struct tag_trainer *t = trainer;

    for (int i = 0; i < t->model.params.n; i++) { /* rounded from here on as where ambit-infer runs the model */
        t->model.params.list[i].t->needs_grad = false;
        t->model.params.list[i].t->frozen = true;
    }
    int n = tag_validated(t), rc = n ? tag_calibrate(t, n, err) : 0;
    return rc ? rc : tag_report(t, err);
}

static const char *const same[] = { "encoder", NULL };

static const struct trainer tagger = {
    .kind = "tag",
    .part = "step",
    .lowest = -3,
    .same = same,
    .open = tag_open,
    .close = tag_close,
    .enter_stage = tag_enter_stage,
    .step = tag_step,
    .measure = tag_measure,
    .validate = tag_validate,
    .describe = describe,
    .save_beside = save_beside,
    .finish = finish,
};

int tag_train(const struct tag_training *q, struct error *err)
{
    struct tag_trainer t = { .request = q, .set = &q->settings, .stage = { "train", "training", q->settings.epochs } };

    if (q->from && q->encoder)
        return error_set(err, EXIT_CODE_USAGE, "--from brings its own encoder: expected no --encoder beside it");
    t.run = (struct run){ .trainer = &tagger, .self = &t, .stages = &t.stage, .n_stages = 1 };
    t.run.set = RUN_SETTINGS(q, tag_request_table);
    return run_train(&t.run, err);
}
