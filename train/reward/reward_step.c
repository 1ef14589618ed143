/* Part of reward_trainer.h: micro-batches of drawn answers and their loss. */
#include "kernels/batch.h"
#include "train/reward/reward_trainer_impl.h"

#include <stdlib.h>
#include <string.h>

enum { SITES = 1 << 12 /* random ops of a micro-batch, so that each draws numbers of its own */ };

/* A step_fn's argument: one micro-batch. */
struct answers_micro {
    struct reward_trainer *t;
    int number;
};

/* The answers of this step that give a gradient. */
struct answer_list {
    const struct reward_answer **items;
    int n, cap;
};

static struct policy policy_of(struct ctx *c, const struct reward_trainer *t)
{
    const struct lm_settings *set = t->lm.set;
    int64_t rows = lm_batch_rows(&t->lm.batch);

    return (struct policy){ .drawn = batch_f32(c, t->drawn, rows, 1, F32),
                            .advantage = batch_f32(c, t->advantage, rows, 1, F32),
                            .weight = batch_f32(c, t->weight, rows, 1, F32),
                            .low = (float)set->clip_low,
                            .high = (float)set->clip_high,
                            .divergence = (float)set->kl };
}

static void run_micro(struct ctx *c, void *arg)
{
    struct answers_micro *m = arg;
    struct reward_trainer *t = m->t;
    int32_t first = m->number * SITES;
    struct tensor *site = batch_i32(c, &first, 1);

    RUN(c, set_site, c->rng, site);
    struct policy policy = policy_of(c, t);
    if (t->lm.set->kl > 0)
        policy.start = lm_batch_nll(c, &t->lm.model, t->start, &t->lm.batch);
    struct tensor *terms = op_policy_loss(c, lm_batch_nll(c, &t->lm.model, 0, &t->lm.batch), &policy);
    struct tensor *loss = op_sum(c, terms, batch_f32(c, &(float){ 1 }, 1, 1, F32));
    tape_backward(c, loss);
    RUN(c, accumulate, ((struct destination){ t->lm.run.loss_total, true }), loss);
}

/* Numbers for that many rows; those that are new are 0. */
static void take_rows(struct reward_trainer *t, int64_t rows)
{
    size_t room = (size_t)(rows > t->cap_rows ? 2 * rows : t->cap_rows);

    if (rows > t->cap_rows) {
        t->drawn = xrealloc(t->drawn, room * sizeof *t->drawn);
        t->advantage = xrealloc(t->advantage, room * sizeof *t->advantage);
        t->weight = xrealloc(t->weight, room * sizeof *t->weight);
        t->cap_rows = (int64_t)room;
    }
    for (; t->n_rows < rows; t->n_rows++)
        t->drawn[t->n_rows] = t->advantage[t->n_rows] = t->weight[t->n_rows] = 0;
}

static const struct reward_answer *answer_of(const struct answer_list *l, int from, int end, const int32_t *ids)
{
    int i = from;

    while (i < end && l->items[i]->ids != ids)
        i++;
    CHECK(i < end, "a text of the batch is none of its answers");
    return l->items[i];
}

/* The numbers of an answer's rows, which stand in the batch from `row` on. */
static void fill_rows(struct reward_trainer *t, const struct reward_answer *a, int64_t row, float share)
{
    int64_t said = a->n - a->prompt;

    for (int64_t k = 0; k < said; k++) {
        CHECK(t->lm.batch.texts.targets[row + k] == a->ids[a->prompt + k], "row %lld is not the answer's",
              (long long)(row + k));
        t->drawn[row + k] = a->drawn[k];
        t->advantage[row + k] = (float)a->advantage;
        t->weight[row + k] = share / (float)said;
    }
}

static bool same_prompt(const struct reward_answer *a, const struct reward_answer *b)
{
    return a->prompt == b->prompt && !memcmp(a->ids, b->ids, (size_t)a->prompt * sizeof *a->ids);
}

/* Where the micro-batch that begins with answer `from` ends: a prompt of answers side by side counts once. */
static int end_of_micro(const struct reward_trainer *t, const struct answer_list *l, int from)
{
    int64_t tokens = 0;
    int i = from;

    for (; i < l->n; i++) {
        const struct reward_answer *a = l->items[i];
        bool shared = i > from && same_prompt(l->items[i - 1], a);
        tokens += shared ? a->n - a->prompt : a->n;
        if (i > from && tokens > t->lm.set->tokens)
            break;
    }
    return i;
}

/* Answers to one prompt, which is computed once, and the numbers of their rows.  share: of each answer in the loss.
 * Each prompt is added by itself, so that rows come in the order of its texts. */
static void add_group(struct reward_trainer *t, const struct answer_list *l, int from, int end, float share)
{
    struct llama_text *texts = xmalloc((size_t)(end - from) * sizeof *texts);
    int64_t row = lm_batch_rows(&t->lm.batch);

    for (int i = from; i < end; i++)
        texts[i - from] = (struct llama_text){ l->items[i]->ids, l->items[i]->said, l->items[i]->n };
    lm_batch_add(&t->lm.batch, &t->lm.model, texts, end - from, true);
    take_rows(t, lm_batch_rows(&t->lm.batch));
    for (int i = 0; i < end - from; i++) {
        const struct reward_answer *a = answer_of(l, from, end, texts[i].ids);
        fill_rows(t, a, row, share);
        row += a->n - a->prompt;
    }
    free(texts);
}

static int fill_micro(struct reward_trainer *t, const struct answer_list *l, int from, float share)
{
    int end = end_of_micro(t, l, from);

    lm_batch_clear(&t->lm.batch);
    t->n_rows = 0;
    for (int at = from, next; at < end; at = next) {
        for (next = at + 1; next < end && same_prompt(l->items[at], l->items[next]);)
            next++;
        add_group(t, l, at, next, share);
    }
    t->lm.micro_tokens = lm_batch_tokens(&t->lm.batch);
    if (t->lm.run.work.ctx.buckets)
        lm_batch_pad(&t->lm.batch, &t->lm.model);
    take_rows(t, lm_batch_rows(&t->lm.batch));
    return end;
}

static const struct reward_group *group_of(const struct reward_trainer *t, int example)
{
    int i = 0;

    while (i < t->n_groups && t->groups[i].example != example)
        i++;
    CHECK(i < t->n_groups, "nothing was drawn for example %d", example);
    return &t->groups[i];
}

/* Without a divergence an answer that is as good as the others of its group teaches nothing. */
static void list_answers(const struct reward_trainer *t, struct answer_list *l, const struct batch_part *b)
{
    for (int i = b->first; i < b->end; i++) {
        const struct reward_group *g = group_of(t, b->examples[i]);
        for (int k = 0; k < g->n; k++) {
            if (g->answers[k].advantage == 0 && t->lm.set->kl == 0)
                continue;
            GROW(l->items, l->n, l->cap);
            l->items[l->n++] = &g->answers[k];
        }
    }
}

int reward_step(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    struct run *r = &t->lm.run;

    if (r->state.batch % t->lm.set->reuse == 0 && reward_draw(t, err))
        return -1;
    struct batch_part b = run_batch(r);
    struct answer_list l = { 0 };
    struct answers_micro m = { .t = t };
    float share = 1.0f / (float)(b.n * t->lm.set->answers);
    int rc = 0;

    list_answers(t, &l, &b);
    for (int at = 0; at < l.n && rc == 0; m.number++) {
        at = fill_micro(t, &l, at, share);
        if (at == l.n)
            ranks_last(r);
        rc = workspace_step(&r->work, run_micro, &m, err);
        r->state.units += t->lm.micro_tokens;
    }
    free(l.items);
    return rc;
}

/* Answers as long as they may be. */
static void longest_answers(struct reward_trainer *t, struct answer_list *l, struct reward_group *g, int example)
{
    const struct lm_text *p = &t->lm.train.items[example].text;
    int64_t prompt = lm_text_prompt_length(p), room = t->lm.model.net.config.max_positions - prompt;
    int64_t n = t->lm.set->max_new < room ? t->lm.set->max_new : room;

    *g = (struct reward_group){ example, xcalloc((size_t)t->lm.set->answers, sizeof *g->answers),
                                (int)t->lm.set->answers };
    for (int k = 0; k < g->n; k++) {
        reward_answer_init(&g->answers[k], p->ids.items, prompt, n);
        GROW(l->items, l->n, l->cap);
        l->items[l->n++] = &g->answers[k];
    }
}

static struct extent extent_of(const struct lm_batch *b)
{
    struct extent e = { { b->texts.n_tokens, b->texts.n_rows, b->texts.n_seqs } };

    for (int64_t i = 0; i < b->texts.n_seqs; i++)
        e.size[3] += b->texts.prefix[i] >= 0;
    return e;
}

void reward_measure(void *trainer, struct measurement *measured)
{
    struct reward_trainer *t = trainer;
    struct batch_part b = run_batch(&t->lm.run);
    struct reward_group *groups = xcalloc((size_t)b.n + 1, sizeof *groups);
    struct answer_list l = { 0 };
    struct answers_micro m = { .t = t };

    for (int i = b.first; i < b.end; i++)
        longest_answers(t, &l, &groups[i], b.examples[i]);
    for (int at = 0; at < l.n;) {
        at = fill_micro(t, &l, at, 0);
        struct extent e = extent_of(&t->lm.batch);
        measurement_add(measured, &e, run_micro, &m);
    }
    reward_groups_free(groups, b.n);
    free(l.items);
}
