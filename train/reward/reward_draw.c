/* Part of reward_trainer.h: answers by the model under training. */
#include "data/util/stop.h"
#include "train/reward/reward_trainer_impl.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 128 /* of the engine at once, about */ };

static struct engine_settings settings_of(const struct reward_trainer *t, int answers, float temperature)
{
    const struct lm_settings *set = t->lm.set;
    int batch = ROWS / answers;

    return (struct engine_settings){
        .max_new = set->max_new,
        .answers = answers,
        .beams = 1,
        .draw = { .temperature = temperature, .top_p = 1, .typical_p = 1, .seed = t->lm.run.set.seed },
        .batch = batch > 1 ? batch : 1,
        .step_tokens = set->tokens
    };
}

/* Not as part of the tape that a step may be recording. */
static int run_engine(struct reward_trainer *t, struct engine_request *list, int64_t n,
                      const struct engine_settings *set, struct error *err)
{
    struct ctx *c = &t->lm.run.work.ctx;
    bool recording = c->recording, training = c->training;
    struct engine e;

    c->recording = c->training = false;
    engine_init(&e, &t->lm.model, &t->lm.run.work, set);
    int rc = engine_run(&e, list, n, NULL, NULL, err);
    engine_release(&e);
    c->recording = recording;
    c->training = training;
    return rc;
}

static char *text_of(const struct reward_trainer *t, const struct engine_answer *said)
{
    return tokenizer_decode(t->lm.model.tokenizer, said->out.items, said->out.count, TOKENIZER_SKIP_SPECIALS, NULL);
}

static struct engine_request ask(const struct reward_trainer *t, const struct lm_example *e)
{
    return engine_ask(&t->lm.model, e->text.ids.items, lm_text_prompt_length(&e->text));
}

static void keep_answer(struct reward_trainer *t, struct reward_answer *a, const struct lm_example *e,
                        const struct engine_answer *said)
{
    char *text = text_of(t, said);

    reward_answer_init(a, e->text.ids.items, lm_text_prompt_length(&e->text), said->steps);
    memcpy(a->ids + a->prompt, said->out.items, (size_t)said->out.count * sizeof *a->ids);
    if (said->stopped)
        a->ids[a->n - 1] = said->last;
    memcpy(a->drawn, said->step_logp, (size_t)said->steps * sizeof *a->drawn);
    a->reward = reward_of(&t->judge, e->record, text).value;
    free(text);
}

static void add_sums(struct reward_sums *s, const struct reward_group *g, bool differ)
{
    s->groups++;
    s->alike += !differ;
    for (int i = 0; i < g->n; i++) {
        s->answers++;
        s->reward += g->answers[i].reward;
        s->tokens += (double)(g->answers[i].n - g->answers[i].prompt);
    }
}

static void keep_group(struct reward_trainer *t, struct reward_group *g, int example, const struct engine_request *r)
{
    *g = (struct reward_group){ example, xcalloc((size_t)r->n_answers, sizeof *g->answers), r->n_answers };
    for (int i = 0; i < g->n; i++)
        keep_answer(t, &g->answers[i], &t->lm.train.items[example], &r->answers[i]);
    add_sums(&t->sums, g, reward_group_compare(g, t->lm.set->advantage == ADVANTAGE_SCALED));
}

/* The examples of this rank's parts of the batches that learn from one drawing; returns how many.  The caller frees. */
static int collect(struct reward_trainer *t, int **list)
{
    struct run *r = &t->lm.run;
    int64_t first = r->state.batch, end = first + t->lm.set->reuse;
    int n = 0;

    *list = xmalloc((size_t)(t->lm.set->reuse * t->lm.set->batch) * sizeof **list);
    for (; r->state.batch < end && r->state.batch < run_batches(r); r->state.batch++) {
        struct batch_part b = run_batch(r);
        for (int i = b.first; i < b.end; i++)
            (*list)[n++] = b.examples[i];
    }
    r->state.batch = first;
    return n;
}

static void draw_groups(struct reward_trainer *t, const int *examples, int n, const struct engine_request *list)
{
    reward_groups_free(t->groups, t->n_groups);
    t->groups = xcalloc((size_t)n + 1, sizeof *t->groups);
    t->n_groups = n;
    for (int i = 0; i < n; i++)
        keep_group(t, &t->groups[i], examples[i], &list[i]);
}

/* Each epoch draws others to the same record. */
static uint64_t key_of(const struct reward_trainer *t, const struct lm_text *p)
{
    const uint64_t parts[] = { lm_text_key(p), (uint64_t)t->lm.run.state.epoch };
    return hash_bytes(HASH_START, parts, sizeof parts);
}

int reward_draw(struct reward_trainer *t, struct error *err)
{
    struct engine_settings set = settings_of(t, (int)t->lm.set->answers, 1);
    int *examples, n = collect(t, &examples);
    struct engine_request *list = xcalloc((size_t)n + 1, sizeof *list);
    struct engine_answer *answers = xcalloc((size_t)(n * set.answers) + 1, sizeof *answers);

    for (int i = 0; i < n; i++) {
        const struct lm_example *e = &t->lm.train.items[examples[i]];
        list[i] = ask(t, e);
        list[i].key = key_of(t, &e->text);
        list[i].answers = answers + i * set.answers;
    }
    int rc = run_engine(t, list, n, &set, err);
    if (rc == 0)
        draw_groups(t, examples, n, list);
    for (int i = 0; i < n * set.answers; i++)
        engine_answer_release(&answers[i]);
    free(answers);
    free(list);
    free(examples);
    return rc;
}

static void judge_all(struct reward_trainer *t, const struct lm_data *d, const struct engine_answer *answers,
                      struct reward *rewards, char **texts)
{
    for (int i = 0; i < d->n; i++) {
        char *text = text_of(t, &answers[i]);
        rewards[i] = reward_of(&t->judge, d->items[i].record, text);
        if (texts)
            texts[i] = text;
        else
            free(text);
    }
}

int reward_answers(struct reward_trainer *t, const struct lm_data *d, struct reward *rewards, char **texts,
                   struct error *err)
{
    struct engine_settings set = settings_of(t, 1, 0);
    struct engine_request *list = xcalloc((size_t)d->n + 1, sizeof *list);
    struct engine_answer *answers = xcalloc((size_t)d->n + 1, sizeof *answers);

    set.stop = stop_requested;
    for (int i = 0; i < d->n; i++) {
        list[i] = ask(t, &d->items[i]);
        list[i].answers = &answers[i];
    }
    int rc = run_engine(t, list, d->n, &set, err);
    if (rc == 0)
        judge_all(t, d, answers, rewards, texts);
    for (int i = 0; i < d->n; i++)
        engine_answer_release(&answers[i]);
    free(answers);
    free(list);
    return rc;
}
