#include "train/reward/reward_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void reward_answer_init(struct reward_answer *a, const int32_t *prompt, int64_t n_prompt, int64_t n)
{
    *a = (struct reward_answer){ .prompt = n_prompt, .n = n_prompt + n };
    a->ids = xcalloc((size_t)a->n, sizeof *a->ids);
    a->said = xcalloc((size_t)a->n, 1);
    a->drawn = xcalloc((size_t)n + 1, sizeof *a->drawn);
    memcpy(a->ids, prompt, (size_t)n_prompt * sizeof *prompt);
    memset(a->said + n_prompt, 1, (size_t)n);
}

void reward_group_release(struct reward_group *g)
{
    for (int i = 0; i < g->n; i++) {
        free(g->answers[i].ids);
        free(g->answers[i].said);
        free(g->answers[i].drawn);
    }
    free(g->answers);
    *g = (struct reward_group){ 0 };
}

void reward_groups_free(struct reward_group *groups, int n)
{
    for (int i = 0; i < n; i++)
        reward_group_release(&groups[i]);
    free(groups);
}

bool reward_advantages(double *advantage, const double *reward, int n, bool scaled)
{
    double mean = 0, squares = 0;
    bool alike = true;

    for (int i = 0; i < n; i++) {
        mean += reward[i] / n;
        alike = alike && reward[i] == reward[0];
    }
    for (int i = 0; i < n; i++)
        squares += (reward[i] - mean) * (reward[i] - mean);
    double scale = scaled ? sqrt(squares / (n - 1)) + REWARD_LEAST : 1;
    for (int i = 0; i < n; i++)
        advantage[i] = alike ? 0 : (reward[i] - mean) / scale;
    return !alike;
}

bool reward_group_compare(struct reward_group *g, bool scaled)
{
    double *numbers = xmalloc(2 * (size_t)g->n * sizeof *numbers), *advantage = numbers + g->n;

    for (int i = 0; i < g->n; i++)
        numbers[i] = g->answers[i].reward;
    bool differ = reward_advantages(advantage, numbers, g->n, scaled);
    for (int i = 0; i < g->n; i++)
        g->answers[i].advantage = advantage[i];
    free(numbers);
    return differ;
}
