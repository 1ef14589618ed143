/*
 * reward_trainer_impl.h - the parts of reward_trainer.h: the functions of its struct trainer, t being a reward_trainer.
 */
#ifndef TRAIN_REWARD_REWARD_TRAINER_IMPL_H
#define TRAIN_REWARD_REWARD_TRAINER_IMPL_H

#include "models/engine/engine.h"
#include "train/lm/lm_trainer_impl.h"
#include "train/reward/reward_trainer.h"

/* reward_open.c */
int reward_check_request(const struct lm_request *q, struct error *err);
int reward_open(void *t, struct error *err);
int reward_start(void *t, struct error *err);
void reward_close(void *t);

/* reward_draw.c: groups for the batch at the cursor and those that learn from them too, with rewards and advantages. */
int reward_draw(struct reward_trainer *t, struct error *err);
/* Greedy answers to all of d, judged: rewards[i], and what was said where texts is not NULL (the caller frees).  1 when
 * a signal asked to stop. */
int reward_answers(struct reward_trainer *t, const struct lm_data *d, struct reward *rewards, char **texts,
                   struct error *err);

/* reward_step.c */
int reward_step(void *t, struct error *err);
void reward_measure(void *t, struct measurement *m);

/* reward_save.c: groups that later steps learn from, and sums, in a checkpoint and back; what a run that goes on reads
 * before its first step. */
#define REWARD_STATE "reward.json"
int reward_save_state(const struct reward_trainer *t, const char *dir, struct error *err);
int reward_load_state(struct reward_trainer *t, const char *dir, struct error *err);

/* reward_test.c: greedy answers to the test records as lines of OUT/NAME; 1 as reward_answers. */
#define REWARD_BEFORE "start.jsonl"
#define REWARD_AFTER "test.jsonl"
int reward_test(struct reward_trainer *t, const char *name, struct error *err);

/* reward_report.c: OUT/report.html, and the reward of the test records before and after. */
int reward_report(const struct reward_trainer *t, struct error *err);

#endif
