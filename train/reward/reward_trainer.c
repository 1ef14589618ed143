#include "train/reward/reward_trainer.h"

#include "data/util/stop.h"
#include "models/checkpoint/checkpoint.h"
#include "train/reward/reward_trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Means over what was drawn since they were last asked for, and the newest step's norm. */
static int metrics(void *trainer, struct metric list[TRAINER_METRICS])
{
    struct reward_trainer *t = trainer;
    const struct reward_sums *s = &t->sums;
    float norm;

    device_download(&t->lm.run.device, &norm, t->lm.run.optim.norm);
    list[0] = (struct metric){ "grad_norm", sqrt((double)norm) };
    if (s->groups == 0)
        return 1;
    list[1] = (struct metric){ "reward", s->reward / s->answers };
    list[2] = (struct metric){ "answer_tokens", s->tokens / s->answers };
    list[3] = (struct metric){ "no_spread", s->alike / s->groups };
    t->sums = (struct reward_sums){ 0 };
    return 4;
}

static void sum_up(struct validation *v, const struct reward *rewards, int n)
{
    double value = 0, recall = 0, wrong = 0;
    int lacking = 0;

    for (int i = 0; i < n; i++) {
        value += rewards[i].value;
        wrong += rewards[i].wrong;
        lacking += rewards[i].missing > 0;
        recall += rewards[i].missing ? rewards[i].recall : 0;
    }
    v->figure = value / n;
    v->list[v->n++] = (struct metric){ "valid_reward", value / n };
    v->list[v->n++] = (struct metric){ "valid_recall", lacking ? recall / lacking : NAN };
    v->list[v->n++] = (struct metric){ "valid_wrong", wrong / n };
    snprintf(v->text, sizeof v->text, "reward %.4f, %.4f of what is missing found, %.3f wrong", value / n,
             lacking ? recall / lacking : 1, wrong / n);
}

static int validate(void *trainer, struct validation *v, struct error *err)
{
    struct reward_trainer *t = trainer;
    const struct lm_data *d = &t->lm.valid;

    if (!d->n)
        return 0;
    struct reward *rewards = xcalloc((size_t)d->n, sizeof *rewards);
    int rc = reward_answers(t, d, rewards, NULL, err);
    if (rc == 0)
        sum_up(v, rewards, d->n);
    v->final = true;
    free(rewards);
    return rc;
}

/* Before the first step: what the start is worth on the test records.  Later: what its predecessor left. */
static int prepare(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    const struct run *r = &t->lm.run;
    char *dir = NULL;

    if (r->state.step) {
        int rc = checkpoint_latest(r->set.out, &dir, err) || (dir && reward_load_state(t, dir, err)) ? -1 : 0;
        free(dir);
        return rc;
    }
    return t->test.n && ranks_first(r) && reward_test(t, REWARD_BEFORE, err) < 0 ? -1 : 0;
}

/* Weights alone, of the best step and of the end, have nothing beside them. */
static int save_beside(void *trainer, const char *dir, struct error *err)
{
    struct reward_trainer *t = trainer;
    const char *out = t->lm.run.set.out, *name = dir + strlen(out);

    return strncmp(name, "/checkpoint-", 12) == 0 ? reward_save_state(t, dir, err) : 0;
}

static int finish(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    int rc = t->test.n ? reward_test(t, REWARD_AFTER, err) : 0;

    if (rc)
        return rc;
    return reward_report(t, err) || lm_write_forms(&t->lm, err) ? -1 : 0;
}

static const char *const same[] = { "base_hash", "chat_template", NULL };

static const struct trainer rewarded = {
    .kind = "reward",
    .part = "micro-batch",
    .unit = "tokens",
    .lowest = -HUGE_VAL,
    .same = same,
    .open = reward_open,
    .start = reward_start,
    .close = reward_close,
    .prepare = prepare,
    .step = reward_step,
    .measure = reward_measure,
    .metrics = metrics,
    .validate = validate,
    .describe = lm_describe,
    .save_beside = save_beside,
    .finish = finish,
};

void reward_trainer_init(struct reward_trainer *t, const struct lm_request *q)
{
    *t = (struct reward_trainer){ 0 };
    lm_trainer_init(&t->lm, q);
    t->lm.keep_records = true;
    t->lm.run.trainer = &rewarded;
    t->lm.run.self = t;
    t->lm.run.set.table = reward_request_table;
}

int reward_train(const struct lm_request *q, struct error *err)
{
    struct reward_trainer t;

    if (reward_check_request(q, err))
        return -1;
    reward_trainer_init(&t, q);
    return run_train(&t.lm.run, err);
}
