/*
 * reward_trainer.h - one run of `ambit-train reward`: policy optimisation of an infilling model.
 *
 * It follows IntentRL (Saparina and Lapata 2025, arXiv 2511.10453), which trains with DAPO (Yu et al. 2025, arXiv
 * 2503.14476), a variant of GRPO (Shao et al. 2024, arXiv 2402.03300). For each prompt of a step the engine samples
 * `answers` completions at temperature 1, without truncation of the distribution. The advantage of a completion is
 * its reward (reward_judge.h) relative to the mean of its prompt. The loss is that of DAPO (its equation 8), in which
 * every token of a prompt's completions has the same weight:
 *
 *   loss = 1 / prompts * sum over prompts of 1 / (tokens of its completions) * sum over these tokens of op_policy_loss
 *
 * op_policy_loss clips the ratio of probabilities between 1 - clip_low and 1 + clip_high. A prompt whose completions
 * have equal rewards has no gradient and is skipped.
 *
 * With `reuse` above 1, that many steps train on one round of samples, and clipping keeps the weights near those
 * that sampled. The trainer is an lm_trainer with another step and another validation. Samples depend on seed,
 * record and epoch only. A checkpoint stores the samples of a round that has not ended.
 */
#ifndef TRAIN_LM_REWARD_TRAINER_H
#define TRAIN_LM_REWARD_TRAINER_H

#include "kernels/base.h"
#include "models/engine/engine.h"
#include "train/lm/lm_trainer.h"
#include "train/lm/reward_judge.h"

#include <stdbool.h>

/* The completions of one prompt and their comparison. */

/* Prompt and completion as one text. */
struct reward_completion {
    int32_t *ids;  /* [n] */
    uint8_t *mask; /* [n] 1: a token of the completion */
    float *logp;   /* [n - prompt] log p of these tokens when they were sampled */
    int64_t prompt, n;
    double reward, advantage, token_share; /* token_share: 1 / tokens of all completions of the prompt */
};

struct reward_group {
    int example; /* of the training data */
    struct reward_completion *answers;
    int n;
};

/* Sets advantage = (reward - mean) / (s + REWARD_MIN_DEVIATION), where s is the standard deviation with n - 1 (Shao et
 * al. 2024, section 4.1.2). The constant is TRL's. Without `scaled`, advantage = reward - mean (Liu et al. 2025, arXiv
 * 2503.20783, section 3.2). If all rewards are equal, sets 0 and returns false. */
#define REWARD_MIN_DEVIATION 1e-4
bool reward_advantages(double *advantage, const double *reward, int n, bool scaled);
/* The same for the completions of a group. Sets token_share too. */
bool reward_group_compare(struct reward_group *g, bool scaled);

/* Sums over groups since the last log line. */
struct reward_sums {
    double groups, alike, answers, reward, tokens; /* alike: groups whose rewards are all equal */
};

struct reward_trainer {
    struct lm_trainer lm; /* first: functions of lm_trainer cast to it */
    struct lm_data test;
    struct reward_judge judge;
    struct reward_group *groups; /* samples of the current round */
    int n_groups;
    struct reward_sums sums;
    int start; /* number of the base without an adapter (llama_model_adapter), for the KL term */
    /* of the current micro-batch, one float for each row */
    float *logp, *advantage, *weight;
    int64_t n_rows, cap_rows;
};

/* As run_train. */
int reward_train(const struct lm_request *q, struct error *err);

/* Fills a trainer that is ready to be opened. */
void reward_trainer_init(struct reward_trainer *t, const struct lm_request *q);

/* Functions of struct trainer; t is a reward_trainer. */

/* Samples completions for all batches of the round, with rewards and advantages. */
int reward_sample(struct reward_trainer *t, struct error *err);

int reward_step(void *t, struct error *err);

/* Stores the samples of the round and the sums in a checkpoint, and restores them after a resume. */
#define REWARD_STATE "reward.json"
int reward_save_state(const struct reward_trainer *t, const char *dir, struct error *err);
int reward_load_state(struct reward_trainer *t, const char *dir, struct error *err);

/* Greedy completions of the test records, written to OUT/NAME. */
#define REWARD_BEFORE "start.jsonl"
#define REWARD_AFTER "test.jsonl"

#endif
