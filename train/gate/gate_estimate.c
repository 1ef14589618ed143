#include "train/gate/gate_estimate.h"

#include "data/util/log.h"
#include "train/gate/gate_trainer.h"
#include "train/run/run.h"

#include <stdlib.h>

enum { WARM_STEPS = 1, TIMED_STEPS = 4, ENCODED = 32 };

/* Of the current stage. */
static int time_steps(struct gate_trainer *t, double *seconds, struct error *err)
{
    struct run *r = &t->run;
    int64_t batches = run_batches(r);
    double start = now_seconds();

    for (int i = 0; i < WARM_STEPS + TIMED_STEPS; i++) {
        if (i == WARM_STEPS)
            start = now_seconds();
        r->state.batch = i % batches;
        if (run_step(r, err))
            return -1;
    }
    *seconds += (now_seconds() - start) / TIMED_STEPS * (double)run_stage_steps(r);
    return 0;
}

static int time_stages(struct gate_trainer *t, double *seconds, struct error *err)
{
    struct run *r = &t->run;

    for (r->state.stage = 0; r->state.stage < r->n_stages; r->state.stage++)
        if (!gate_in_stage(t, STAGE_FROZEN) && (r->trainer->enter_stage(t, true, err) || time_steps(t, seconds, err)))
            return -1;
    return 0;
}

static int time_encoding(struct gate_trainer *t, double *seconds, struct error *err)
{
    const struct gate_fold *valid = &t->data.folds[FOLD_VALID];
    int n = valid->n < ENCODED ? valid->n : ENCODED;
    struct gate_item items[ENCODED];

    for (int i = 0; i < n; i++)
        items[i] = valid->list[(int64_t)i * valid->n / n].item;
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)t->model.net.config.bert.hidden_size;
    float *relevance = xmalloc(nodes * sizeof *relevance), *states = xmalloc(nodes * width * sizeof *states);
    double start = now_seconds();
    int rc = gate_encode(&t->scorer, items, n, states, relevance, err);
    *seconds = (now_seconds() - start) / n;
    free(relevance);
    free(states);
    return rc;
}

/* Elements that a training question with cached states is read on, beside those of its own schema. */
static double wider(const struct gate_trainer *t)
{
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN];
    double own = 0, all = 0;

    for (int i = 0; i < train->n; i++) {
        own += train->list[i].item.schema->n_nodes;
        all += gate_appended_nodes(&t->appender, &train->list[i]);
    }
    return own > 0 ? all / own : 1;
}

/* Questions that are encoded outside of steps: to train on cached states, by validations, by the test. */
static double encoded_questions(const struct gate_trainer *t)
{
    const struct gate_fold *folds = t->data.folds;
    const struct gate_settings *set = t->set;
    bool frozen = t->run.n_stages && t->kinds[t->run.n_stages - 1] == STAGE_FROZEN;
    int64_t train = set->max_train && set->max_train < folds[FOLD_TRAIN].n ? set->max_train : folds[FOLD_TRAIN].n;
    double epochs = (double)set->epochs, validations = epochs;

    if (set->eval_every)
        validations = epochs * (double)train / (double)(set->batch * set->eval_every);
    double valid = (double)folds[FOLD_VALID].n * (frozen ? 1 : validations + 1);
    return (frozen ? (double)train * wider(t) : 0) + valid + (set->epochs ? (double)folds[FOLD_TEST].n : 0);
}

int gate_estimate(const struct gate_request *q, struct gate_seconds *seconds, struct error *err)
{
    struct gate_trainer t;
    double each = 0;

    *seconds = (struct gate_seconds){ 0 };
    gate_trainer_init(&t, q);
    int rc = run_open(&t.run, err);
    if (rc == 0)
        rc = time_encoding(&t, &each, err) || time_stages(&t, &seconds->steps, err) ? -1 : 0;
    seconds->encoding = each * encoded_questions(&t);
    run_close(&t.run);
    return rc;
}
