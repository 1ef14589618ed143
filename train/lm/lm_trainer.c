#include "train/lm/lm_trainer.h"

#include "data/util/json.h"
#include "models/lm/hf_folder.h"
#include "train/lm/lm_report.h"
#include "train/lm/lm_trainer_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int metrics(void *trainer, struct metric list[TRAINER_METRICS])
{
    struct lm_trainer *t = trainer;
    float norm;

    device_download(&t->run.device, &norm, t->run.optim.norm);
    list[0] = (struct metric){ "grad_norm", sqrt((double)norm) };
    list[1] = (struct metric){ "tokens", (double)t->run.state.units };
    list[2] = (struct metric){ "prefix_gain", t->prefix_gain };
    return t->set->share_prefix ? 3 : 2;
}

#define TIE 1e-5 /* of equal shares the lower loss is better; a difference of one text in 1,000 is far more */

const char *const lm_figures[] = {
    [SELECT_LOSS] = NULL,
    [SELECT_RECALL] = "valid_recall",
    [SELECT_TEMPLATE] = "valid_template_match",
    [SELECT_EXACT] = "valid_exact_match",
    [SELECT_EXECUTION] = "valid_execution_match",
};

static int validate(void *trainer, struct validation *v, struct error *err)
{
    struct lm_trainer *t = trainer;
    const char *name = lm_figures[t->set->select];
    double loss, share = NAN;

    if (!t->valid.n)
        return 0;
    int rc = lm_valid_loss(t, &loss, err);
    if (rc == 0 && name)
        rc = lm_valid_answers(t, &share, err);
    if (rc)
        return rc;
    v->final = true;
    v->list[v->n++] = (struct metric){ "valid_loss", loss };
    v->figure = name ? share - TIE * loss : -loss;
    int n = snprintf(v->text, sizeof v->text, "loss %.4f", loss);
    if (name) {
        v->list[v->n++] = (struct metric){ name, share };
        snprintf(v->text + n, sizeof v->text - (size_t)n, ", %s %.4f", name + strlen("valid_"), share);
    }
    return 0;
}

void lm_describe(const void *trainer, json_t *meta)
{
    const struct lm_trainer *t = trainer;
    char hash[20];

    snprintf(hash, sizeof hash, "%016" PRIx64, t->base_hash);
    json_object_set_new(meta, "base", json_string(t->request->base ? t->request->base : "from scratch"));
    json_object_set_new(meta, "base_hash", json_string(hash));
    json_object_set_new(meta, "chat_template",
                        json_string(t->model.chat.template ? chat_name(&t->model.chat) : "none"));
}

/* Weights in the type that was computed with. */
int lm_write_forms(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;

    if (t->run.params == &t->model.adapters)
        return lora_save(t->run.params, &t->run.device, &t->model.lora, q->out, t->model.dtype, err);
    return llama_folder_save(&t->model, q->base ? q->base : q->tokenizer, q->base != NULL, q->out, err);
}

static int finish(void *trainer, struct error *err)
{
    return lm_report(trainer, err) ? -1 : lm_write_forms(trainer, err);
}

static const char *const same[] = { "base_hash", "chat_template", NULL };

/* clang-format off */
#define LANGUAGE_MODEL(kind_) \
    { .kind = (kind_), .part = "micro-batch", .unit = "tokens", .lowest = -HUGE_VAL, .same = same, .open = lm_open, \
      .start = lm_start, .close = lm_close, .step = lm_step, .measure = lm_measure, .metrics = metrics, \
      .validate = validate, .describe = lm_describe, .finish = finish }
/* clang-format on */

static const struct trainer decoder = LANGUAGE_MODEL("infill"), encoder_decoder = LANGUAGE_MODEL("seq2seq");

void lm_trainer_init(struct lm_trainer *t, const struct lm_request *q)
{
    *t = (struct lm_trainer){ .request = q, .set = &q->settings };
    t->stage = (struct stage){ "train", "training", q->settings.epochs };
    t->run = (struct run){
        .trainer = q->seq2seq ? &encoder_decoder : &decoder, .self = t, .stages = &t->stage, .n_stages = 1
    };
    t->run.set = RUN_SETTINGS(q, q->seq2seq ? seq2seq_request_table : lm_request_table);
}

int lm_train(const struct lm_request *q, struct error *err)
{
    struct lm_trainer t;

    if (lm_check_request(q, err))
        return -1;
    lm_trainer_init(&t, q);
    return run_train(&t.run, err);
}
