/* Part of reward_trainer.h: what a checkpoint must bring back beside weights and counters.
 *
 *   {"sums": [groups, alike, answers, reward, tokens],
 *    "groups": [{"example": 3, "answers": [{"ids": [...], "drawn": [...], "reward": 0.75}, ...]}, ...]}
 *
 * groups: those that steps to come learn from, each answer's own tokens.  Numbers have 17 digits, so that they come
 * back as they were.
 */
#include "data/util/json.h"
#include "train/reward/reward_trainer_impl.h"

#include <stdio.h>
#include <string.h>

enum { SUMS = sizeof(struct reward_sums) / sizeof(double) };

static json_t *answer_json(const struct reward_answer *a)
{
    json_t *ids = json_array(), *drawn = json_array();

    for (int64_t k = a->prompt; k < a->n; k++) {
        json_array_append_new(ids, json_integer(a->ids[k]));
        json_array_append_new(drawn, json_real((double)a->drawn[k - a->prompt]));
    }
    return json_pack("{s:o, s:o, s:f}", "ids", ids, "drawn", drawn, "reward", a->reward);
}

static json_t *group_json(const struct reward_group *g)
{
    json_t *answers = json_array();

    for (int i = 0; i < g->n; i++)
        json_array_append_new(answers, answer_json(&g->answers[i]));
    return json_pack("{s:i, s:o}", "example", g->example, "answers", answers);
}

int reward_save_state(const struct reward_trainer *t, const char *dir, struct error *err)
{
    double sums[SUMS];
    char path[4096];
    json_t *list = json_array(), *groups = json_array(), *all;
    bool drawn = t->lm.run.state.batch % t->lm.set->reuse != 0; /* else the next step draws */

    memcpy(sums, &t->sums, sizeof sums);
    for (int i = 0; i < SUMS; i++)
        json_array_append_new(list, json_real(sums[i]));
    for (int i = 0; i < t->n_groups && drawn; i++)
        json_array_append_new(groups, group_json(&t->groups[i]));
    all = json_pack("{s:o, s:o}", "sums", list, "groups", groups);
    snprintf(path, sizeof path, "%s/" REWARD_STATE, dir);
    int rc = json_write_file_exact(path, all, err);
    json_decref(all);
    return rc;
}

static int read_sums(struct reward_sums *s, const json_t *o, const char *path, struct error *err)
{
    double sums[SUMS];
    const json_t *list = json_get_array(o, "sums", path, err);

    if (!list)
        return -1;
    if (json_array_size(list) != SUMS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: sums: expected %d numbers, got %zu", path, SUMS,
                         json_array_size(list));
    for (size_t i = 0; i < SUMS; i++)
        sums[i] = json_number_value(json_array_get(list, i));
    memcpy(s, sums, sizeof sums);
    return 0;
}

static int read_numbers(struct reward_answer *a, const json_t *ids, const json_t *drawn, int vocab, const char *where,
                        struct error *err)
{
    for (int64_t k = a->prompt; k < a->n; k++) {
        json_int_t id = json_integer_value(json_array_get(ids, (size_t)(k - a->prompt)));
        if (id < 0 || id >= vocab)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: ids: expected 0 to %d, got %lld", where, vocab - 1,
                             (long long)id);
        a->ids[k] = (int32_t)id;
        a->drawn[k - a->prompt] = (float)json_number_value(json_array_get(drawn, (size_t)(k - a->prompt)));
    }
    return 0;
}

static int read_answer(struct reward_trainer *t, struct reward_answer *a, const struct lm_text *p, const json_t *o,
                       const char *where, struct error *err)
{
    const json_t *ids = json_get_array(o, "ids", where, err), *drawn = NULL;
    int64_t n = (int64_t)json_array_size(ids), prompt = lm_text_prompt_length(p);

    if (!ids || !(drawn = json_get_array(o, "drawn", where, err)))
        return -1;
    if (n < 1 || n > t->lm.set->max_new || (int64_t)json_array_size(drawn) != n)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: expected 1 to %lld tokens with a number each, got %lld and %zu", where,
                         (long long)t->lm.set->max_new, (long long)n, json_array_size(drawn));
    reward_answer_init(a, p->ids.items, prompt, n);
    if (read_numbers(a, ids, drawn, t->lm.config.vocab_size, where, err))
        return -1;
    return json_get_real(o, "reward", -HUGE_VAL, HUGE_VAL, &a->reward, where, err);
}

static int read_group(struct reward_trainer *t, struct reward_group *g, const json_t *o, const char *where,
                      struct error *err)
{
    int64_t example;
    const json_t *answers = json_get_array(o, "answers", where, err);

    if (!answers || json_get_int(o, "example", 0, t->lm.train.n - 1, &example, where, err))
        return -1;
    if ((int64_t)json_array_size(answers) != t->lm.set->answers)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: answers: expected %lld, got %zu", where,
                         (long long)t->lm.set->answers, json_array_size(answers));
    *g = (struct reward_group){ (int)example, xcalloc((size_t)t->lm.set->answers, sizeof *g->answers),
                                (int)t->lm.set->answers };
    for (int i = 0; i < g->n; i++)
        if (read_answer(t, &g->answers[i], &t->lm.train.items[example].text, json_array_get(answers, (size_t)i), where,
                        err))
            return -1;
    reward_group_compare(g, t->lm.set->advantage == ADVANTAGE_SCALED);
    return 0;
}

static int read_groups(struct reward_trainer *t, const json_t *o, const char *path, struct error *err)
{
    const json_t *list = json_get_array(o, "groups", path, err);

    if (!list)
        return -1;
    reward_groups_free(t->groups, t->n_groups);
    t->n_groups = (int)json_array_size(list);
    t->groups = xcalloc((size_t)t->n_groups + 1, sizeof *t->groups);
    for (int i = 0; i < t->n_groups; i++)
        if (read_group(t, &t->groups[i], json_array_get(list, (size_t)i), path, err))
            return -1;
    return 0;
}

int reward_load_state(struct reward_trainer *t, const char *dir, struct error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/" REWARD_STATE, dir);
    json_t *o = json_read_file(path, err);
    int rc = o && read_sums(&t->sums, o, path, err) == 0 ? read_groups(t, o, path, err) : -1;
    json_decref(o);
    return rc;
}
