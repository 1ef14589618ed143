/*
 * reward_trainer.h - one run of `ambit-train reward`: a model that infills learns from what its own answers are worth.
 *
 * After IntentRL (Saparina & Lapata 2025, arXiv 2511.10453), which trains with DAPO (Yu et al. 2025, 2503.14476), a
 * form of GRPO (Shao et al. 2024, 2402.03300).  To each prompt of a step the engine draws `answers` answers with the
 * weights as they are, at temperature 1 and without cuts: what is learnt from is the model itself.  An answer's
 * advantage is its reward (reward_judge.h) less the mean of its prompt's (reward_group.h); its tokens get
 *
 *   loss = 1 / (prompts answers) sum over answers of 1 / tokens sum over tokens of op_policy_loss
 *
 * so that a likely mistake becomes less likely and a find more so.  With `reuse` above 1 that many steps learn from
 * answers drawn at once, and clipping holds them near the weights that drew them.
 *
 * It is an lm_trainer with another step and another validation: what it opens, declares and writes is that one's.
 * Draws follow from seed, record and epoch; answers under way lie in the checkpoint (reward_save.c).
 */
#ifndef TRAIN_REWARD_REWARD_TRAINER_H
#define TRAIN_REWARD_REWARD_TRAINER_H

#include "train/lm/lm_trainer.h"
#include "train/reward/reward_group.h"
#include "train/reward/reward_judge.h"

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
    float *drawn, *advantage, *weight;
    int64_t n_rows, cap_rows;
};

/* As run_train. */
int reward_train(const struct lm_request *q, struct error *err);

/* A zeroed trainer that is ready to be opened. */
void reward_trainer_init(struct reward_trainer *t, const struct lm_request *q);

#endif
