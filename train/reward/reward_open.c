/* Part of reward_trainer.h: what the request may not ask for, and what is opened beside an lm_trainer's. */
#include "data/util/log.h"
#include "train/reward/reward_trainer_impl.h"

#include <stdlib.h>

int reward_check_request(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (s->kl > 0 && (s->method != METHOD_LORA || s->head == HEAD_FULL))
        return error_set(err, EXIT_CODE_USAGE,
                         "kl: expected --method lora, and --head none or lora: the model to start from is then the one "
                         "without the adapter, and needs no copy");
    return 0;
}

/* The records that validation and test are made of must have been left as they are. */
static int read_test(struct reward_trainer *t, struct error *err)
{
    const struct lm_request *q = t->lm.request;
    int64_t positions = t->lm.model.net.config.max_positions;
    int64_t length = t->lm.set->length < positions ? t->lm.set->length : positions;

    if (!q->test)
        return 0;
    if (lm_data_read(&t->test, q->test, &t->lm.model, length, true, err))
        return -1;
    log_info("%d records to test on", t->test.n);
    return 0;
}

static int open_judge(struct reward_trainer *t, struct error *err)
{
    const struct lm_request *q = t->lm.request;

    if (reward_judge_open(&t->judge, q, err) || reward_judge_check(&t->judge, &t->lm.train, q->data, err) ||
        (q->valid && reward_judge_check(&t->judge, &t->lm.valid, q->valid, err)) ||
        (q->test && reward_judge_check(&t->judge, &t->test, q->test, err)))
        return -1;
    t->lm.run.data_hash = hash_bytes(t->lm.run.data_hash, &t->judge.hash, sizeof t->judge.hash);
    t->lm.run.data_hash = hash_bytes(t->lm.run.data_hash, &t->test.hash, sizeof t->test.hash);
    return 0;
}

/* The base alone beside the adapter. */
static int open_start(struct reward_trainer *t, struct error *err)
{
    t->start = t->lm.set->kl > 0 ? llama_model_adapter(&t->lm.model, NULL, err) : 0;
    return t->start < 0 ? -1 : 0;
}

/* A batch's answers lie in one rank's memory, whose checkpoint is the first rank's. */
static int check_ranks(const struct reward_trainer *t, struct error *err)
{
    if (t->lm.run.ranks.all.size < 2 || t->lm.set->reuse == 1)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "reuse: expected 1 where several ranks share a batch, got %lld",
                     (long long)t->lm.set->reuse);
}

int reward_open(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;

    return check_ranks(t, err) || lm_open(&t->lm, err) || read_test(t, err) || open_judge(t, err) || open_start(t, err)
               ? -1
               : 0;
}

int reward_start(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    return lm_start(&t->lm, err) || open_start(t, err) ? -1 : 0;
}

void reward_close(void *trainer)
{
    struct reward_trainer *t = trainer;

    reward_groups_free(t->groups, t->n_groups);
    reward_judge_release(&t->judge);
    lm_data_release(&t->test);
    free(t->drawn);
    free(t->advantage);
    free(t->weight);
    lm_close(&t->lm);
}
