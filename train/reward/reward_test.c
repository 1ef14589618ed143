/* Part of reward_trainer.h: what records that nothing is chosen by are worth. */
#include "data/util/json.h"
#include "train/reward/reward_trainer_impl.h"

#include <stdio.h>
#include <stdlib.h>

static json_t *line_of(const struct lm_example *e, const struct reward *r, const char *text)
{
    return json_pack("{s:O, s:O, s:o, s:i, s:f, s:i, s:f}", "id", e->text.id, "db_id",
                     json_object_get(e->record, "db_id"), "text", json_message(text), "missing", r->missing, "recall",
                     r->recall, "wrong", r->wrong, "reward", r->value);
}

static int write_lines(const struct reward_trainer *t, const char *name, const struct reward *rewards,
                       char *const *texts, struct error *err)
{
    char path[4096];
    struct out_file out;
    int rc = 0;

    snprintf(path, sizeof path, "%s/%s", t->lm.run.set.out, name);
    if (out_file_open(&out, path, err))
        return -1;
    for (int i = 0; i < t->test.n && rc == 0; i++) {
        json_t *line = line_of(&t->test.items[i], &rewards[i], texts[i]);
        rc = json_write_line(&out, line, err);
        json_decref(line);
    }
    if (rc == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    return rc;
}

int reward_test(struct reward_trainer *t, const char *name, struct error *err)
{
    struct reward *rewards = xcalloc((size_t)t->test.n + 1, sizeof *rewards);
    char **texts = xcalloc((size_t)t->test.n + 1, sizeof *texts);
    int rc = reward_answers(t, &t->test, rewards, texts, err);

    if (rc == 0)
        rc = write_lines(t, name, rewards, texts, err);
    for (int i = 0; i < t->test.n; i++)
        free(texts[i]);
    free(texts);
    free(rewards);
    return rc;
}
