/*
 * reward_trainer.h - one run of `ambit-train reward`: a model that infills learns from what its own answers are worth.
 *
 * After IntentRL (Saparina & Lapata 2025, arXiv 2511.10453), which trains with DAPO (Yu et al. 2025, 2503.14476), a
 * form of GRPO (Shao et al. 2024, 2402.03300).  To each prompt of a step the engine draws `answers` answers with the
 * weights as they are, at temperature 1 and without cuts: what is learnt from is the model itself.  An answer's
 * advantage is its reward (reward_judge.h) less the mean of its prompt's; its tokens get
 *
 *   loss = 1 / (prompts answers) sum over answers of 1 / tokens sum over tokens of op_policy_loss
 *
 * so that a likely mistake becomes less likely and a find more so.  With `reuse` above 1 that many steps learn from
 * answers drawn at once, and clipping holds them near the weights that drew them.
 *
 * It is an lm_trainer with another step and another validation: what it opens, declares and writes is that one's.
 * Draws follow from seed, record and epoch; answers under way lie in the checkpoint.
 */
#ifndef TRAIN_REWARD_REWARD_TRAINER_H
#define TRAIN_REWARD_REWARD_TRAINER_H

#include "kernels/base.h"
#include "models/engine/engine.h"
#include "train/lm/lm_trainer.h"
#include "train/reward/reward_judge.h"

#include <stdbool.h>

/* The answers that were drawn to one prompt, and how each compares with the others. */

/* Prompt and answer as one text. */
struct reward_completion {
    int32_t *ids;  /* [n] */
    uint8_t *mask; /* [n] 1 for the answer's tokens */
    float *logp;   /* [n - prompt] log p of each of those when it was drawn */
    int64_t prompt, n;
    double reward, advantage;
};

struct reward_group {
    int example; /* of the training data */
    struct reward_completion *answers;
    int n;
};

/*
 * advantage = (reward - mean) / (s + REWARD_MIN_DEVIATION), s the deviation with n - 1 (Shao et al. 2024,
 * section 4.1.2; the small number as TRL has it), or where not scaled reward - mean (Liu et al. 2025, arXiv 2503.20783,
 * section 3.2); 0 for all, and false, where all rewards are the same.
 */
#define REWARD_MIN_DEVIATION 1e-4
bool reward_advantages(double *advantage, const double *reward, int n, bool scaled);
/* The same of a group's answers. */
bool reward_group_compare(struct reward_group *g, bool scaled);

/* Sums over groups since they were last logged. */
struct reward_sums {
    double groups, alike, answers, reward, tokens; /* alike: groups whose answers are all worth the same */
};

struct reward_trainer {
    struct lm_trainer lm; /* first: its functions take it for this */
    struct lm_data test;
    struct reward_judge judge;
    struct reward_group *groups; /* drawn for this step and those that learn from them too */
    int n_groups;
    struct reward_sums sums;
    int start; /* the base alone, as llama_model_adapter numbers it, where the divergence from it counts */
    /* of the micro-batch under way, a number for each row */
    float *logp, *advantage, *weight;
    int64_t n_rows, cap_rows;
};

/* As run_train. */
int reward_train(const struct lm_request *q, struct error *err);

/* A zeroed trainer that is ready to be opened. */
void reward_trainer_init(struct reward_trainer *t, const struct lm_request *q);

/* The parts of reward_trainer.h: the functions of its struct trainer, t being a reward_trainer. */

/* groups for the batch at the cursor and those that learn from them too, with rewards and advantages. */
int reward_sample(struct reward_trainer *t, struct error *err);

int reward_step(void *t, struct error *err);

/* groups that later steps learn from, and sums, in a checkpoint and back; what a run that goes on reads
 * before its first step. */
#define REWARD_STATE "reward.json"
int reward_save_state(const struct reward_trainer *t, const char *dir, struct error *err);
int reward_load_state(struct reward_trainer *t, const char *dir, struct error *err);

/* greedy answers to the test records as lines of OUT/NAME; 1 as greedy_completions. */
#define REWARD_BEFORE "start.jsonl"
#define REWARD_AFTER "test.jsonl"

#endif
