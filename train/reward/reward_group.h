/*
 * reward_group.h - the answers that were drawn to one prompt, and how each compares with the others.
 */
#ifndef TRAIN_REWARD_REWARD_GROUP_H
#define TRAIN_REWARD_REWARD_GROUP_H

#include "kernels/base.h"

#include <stdbool.h>

/* Prompt and answer as one text. */
struct reward_answer {
    int32_t *ids;  /* [n] */
    uint8_t *said; /* [n] 1 for the answer's tokens */
    float *drawn;  /* [n - prompt] log p of each of those when it was drawn */
    int64_t prompt, n;
    double reward, advantage;
};

struct reward_group {
    int example; /* of the training data */
    struct reward_answer *answers;
    int n;
};

/* Room for an answer of n tokens behind a prompt, which is copied; all else is the caller's to fill. */
void reward_answer_init(struct reward_answer *a, const int32_t *prompt, int64_t n_prompt, int64_t n);
void reward_group_release(struct reward_group *g);
void reward_groups_free(struct reward_group *groups, int n);

/*
 * advantage = (reward - mean) / (s + REWARD_LEAST), s the deviation with n - 1 (Shao et al. 2024, section 4.1.2; the
 * small number as TRL has it), or where not scaled reward - mean (Liu et al. 2025, arXiv 2503.20783, section 3.2); 0
 * for all, and false, where all rewards are the same.
 */
#define REWARD_LEAST 1e-4
bool reward_advantages(double *advantage, const double *reward, int n, bool scaled);
/* The same of a group's answers. */
bool reward_group_compare(struct reward_group *g, bool scaled);

#endif
