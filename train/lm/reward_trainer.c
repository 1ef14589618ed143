#include "train/lm/reward_report.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "kernels/batch.h"
#include "models/io/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

/* Allocates a completion of n tokens and copies its prompt. The caller fills the rest. */
static void init_completion(struct reward_completion *a, const int32_t *prompt, int64_t n_prompt, int64_t n)
{
    *a = (struct reward_completion){ .prompt = n_prompt, .n = n_prompt + n };
    a->ids = xcalloc((size_t)a->n, sizeof *a->ids);
    a->mask = xcalloc((size_t)a->n, 1);
    a->logp = xcalloc((size_t)n + 1, sizeof *a->logp);
    memcpy(a->ids, prompt, (size_t)n_prompt * sizeof *prompt);
    memset(a->mask + n_prompt, 1, (size_t)n);
}

static void release_group(struct reward_group *g)
{
    for (int i = 0; i < g->n; i++) {
        free(g->answers[i].ids);
        free(g->answers[i].mask);
        free(g->answers[i].logp);
    }
    free(g->answers);
    *g = (struct reward_group){ 0 };
}

static void free_groups(struct reward_group *groups, int n)
{
    for (int i = 0; i < n; i++)
        release_group(&groups[i]);
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
    double scale = scaled ? sqrt(squares / (n - 1)) + REWARD_MIN_DEVIATION : 1;
    for (int i = 0; i < n; i++)
        advantage[i] = alike ? 0 : (reward[i] - mean) / scale;
    return !alike;
}

bool reward_group_compare(struct reward_group *g, bool scaled)
{
    double *numbers = xmalloc(2 * (size_t)g->n * sizeof *numbers), *advantage = numbers + g->n;

    int64_t tokens = 0;

    for (int i = 0; i < g->n; i++) {
        numbers[i] = g->answers[i].reward;
        tokens += g->answers[i].n - g->answers[i].prompt;
    }
    bool differ = reward_advantages(advantage, numbers, g->n, scaled);
    for (int i = 0; i < g->n; i++) {
        g->answers[i].advantage = advantage[i];
        g->answers[i].token_share = 1 / (double)tokens;
    }
    free(numbers);
    return differ;
}

/* ---- sampling ---- */

enum { ROWS = 128 /* rows of the engine, approximately */ };

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
        .step_tokens = set->train.tokens
    };
}

/* Recording is off: generation is no part of a step's tape. */
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

static char *text_of(const struct reward_trainer *t, const struct engine_completion *output)
{
    return tokenizer_decode(t->lm.model.tokenizer, output->out.items, output->out.count, TOKENIZER_SKIP_SPECIALS, NULL);
}

static struct engine_request ask(const struct reward_trainer *t, const struct lm_example *e)
{
    return engine_ask(&t->lm.model, e->text.ids.items, lm_text_prompt_length(&e->text));
}

static void keep_completion(struct reward_completion *a, const struct lm_example *e,
                            const struct engine_completion *output, double reward)
{
    init_completion(a, e->text.ids.items, lm_text_prompt_length(&e->text), output->steps);
    memcpy(a->ids + a->prompt, output->out.items, (size_t)output->out.count * sizeof *a->ids);
    if (output->stopped)
        a->ids[a->n - 1] = output->last;
    memcpy(a->logp, output->step_logp, (size_t)output->steps * sizeof *a->logp);
    a->reward = reward;
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

static void keep_group(struct reward_trainer *t, struct reward_group *g, int example, const struct engine_request *r,
                       const struct reward *rewards)
{
    *g = (struct reward_group){ example, xcalloc((size_t)r->n_answers, sizeof *g->answers), r->n_answers };
    for (int i = 0; i < g->n; i++)
        keep_completion(&g->answers[i], &t->lm.train.items[example], &r->answers[i], rewards[i].value);
    add_sums(&t->sums, g, reward_group_compare(g, t->lm.set->advantage == ADVANTAGE_SCALED));
}

/* Lists the examples of this rank in all batches of one sampling round. Returns their number. The caller frees the
 * list. */
static int collect(struct reward_trainer *t, int **list)
{
    struct run *r = &t->lm.run;
    int64_t first = r->state.batch, end = first + t->lm.set->reuse;
    int n = 0;

    *list = xmalloc((size_t)(t->lm.set->reuse * t->lm.set->train.batch) * sizeof **list);
    for (; r->state.batch < end && r->state.batch < run_batches(r); r->state.batch++) {
        struct batch_partition b = run_batch(r);
        for (int i = b.first; i < b.end; i++)
            (*list)[n++] = b.examples[i];
    }
    r->state.batch = first;
    return n;
}

/* Scores the completions of records: `each` adjacent ones belong to one record. texts (NULL: not wanted) gets the
 * completions, which the caller frees. */
static int judge_completions(struct reward_trainer *t, struct reward *rewards, const struct lm_example *const *examples,
                             const struct engine_completion *answers, int n, int each, char **texts, struct error *err)
{
    struct reward_input *list = xcalloc((size_t)n + 1, sizeof *list);
    char **own = xcalloc((size_t)n + 1, sizeof *own);

    for (int i = 0; i < n; i++) {
        own[i] = text_of(t, &answers[i]);
        list[i] = (struct reward_input){ examples[i / each]->record, own[i] };
    }
    int rc = reward_judge(&t->judge, rewards, list, n, err);
    for (int i = 0; i < n; i++) {
        if (texts)
            texts[i] = own[i];
        else
            free(own[i]);
    }
    free(own);
    free(list);
    return rc;
}

/* Keeps the completions of n examples in place of those of the last round. */
static int keep_groups(struct reward_trainer *t, const int *examples, int n, const struct engine_request *list,
                       struct error *err)
{
    int each = (int)t->lm.set->answers;
    const struct lm_example **of = xcalloc((size_t)n + 1, sizeof *of);
    struct reward *rewards = xcalloc((size_t)(n * each) + 1, sizeof *rewards);

    for (int i = 0; i < n; i++)
        of[i] = &t->lm.train.items[examples[i]];
    int rc = judge_completions(t, rewards, of, n ? list[0].answers : NULL, n * each, each, NULL, err);
    free_groups(t->groups, t->n_groups);
    t->n_groups = rc ? 0 : n;
    t->groups = xcalloc((size_t)n + 1, sizeof *t->groups);
    for (int i = 0; i < t->n_groups; i++)
        keep_group(t, &t->groups[i], examples[i], &list[i], rewards + i * each);
    free(rewards);
    free(of);
    return rc;
}

/* The seed of a record differs between epochs. */
static uint64_t key_of(const struct reward_trainer *t, const struct lm_text *p)
{
    const uint64_t parts[] = { lm_text_key(p), (uint64_t)t->lm.run.state.epoch };
    return hash_bytes(HASH_START, parts, sizeof parts);
}

int reward_sample(struct reward_trainer *t, struct error *err)
{
    struct engine_settings set = settings_of(t, (int)t->lm.set->answers, 1);
    int *examples, n = collect(t, &examples);
    struct engine_request *list = xcalloc((size_t)n + 1, sizeof *list);
    struct engine_completion *answers = xcalloc((size_t)(n * set.answers) + 1, sizeof *answers);

    for (int i = 0; i < n; i++) {
        const struct lm_example *e = &t->lm.train.items[examples[i]];
        list[i] = ask(t, e);
        list[i].key = key_of(t, &e->text);
        list[i].answers = answers + i * set.answers;
    }
    int rc = run_engine(t, list, n, &set, err);
    if (rc == 0)
        rc = keep_groups(t, examples, n, list, err);
    if (rc > 0)
        rc = error_set(err, stop_exit_code(),
                       "a signal ended the requests to --lm: --resume continues from the last checkpoint");
    for (int i = 0; i < n * set.answers; i++)
        engine_completion_release(&answers[i]);
    free(answers);
    free(list);
    free(examples);
    return rc;
}

/* Generates greedy completions of all records and scores them. texts (NULL: not wanted) gets the completions, which
 * the caller frees. 1 when a signal asked to stop. */
static int greedy_completions(struct reward_trainer *t, const struct lm_data *d, struct reward *rewards, char **texts,
                              struct error *err)
{
    struct engine_settings set = settings_of(t, 1, 0);
    struct engine_request *list = xcalloc((size_t)d->n + 1, sizeof *list);
    struct engine_completion *answers = xcalloc((size_t)d->n + 1, sizeof *answers);
    const struct lm_example **of = xcalloc((size_t)d->n + 1, sizeof *of);

    set.stop = stop_requested;
    for (int i = 0; i < d->n; i++) {
        of[i] = &d->items[i];
        list[i] = ask(t, &d->items[i]);
        list[i].answers = &answers[i];
    }
    int rc = run_engine(t, list, d->n, &set, err);
    if (rc == 0)
        rc = judge_completions(t, rewards, of, answers, d->n, 1, texts, err);
    for (int i = 0; i < d->n; i++)
        engine_completion_release(&answers[i]);
    free(of);
    free(answers);
    free(list);
    return rc;
}

/* ---- a step ---- */

enum { SITES = 1 << 12 /* random ops of a micro-batch, so that each has random numbers of its own */ };

/* Argument of a step_fn: one micro-batch. */
struct completions_micro {
    struct reward_trainer *t;
    int number;
};

/* Completions of this step that have a gradient. */
struct completion_list {
    const struct reward_completion **items;
    int n, cap;
};

static struct policy policy_of(struct ctx *c, const struct reward_trainer *t)
{
    const struct lm_settings *set = t->lm.set;
    int64_t rows = lm_batch_rows(&t->lm.batch);

    return (struct policy){ .drawn = batch_f32(c, t->logp, rows, 1, F32),
                            .advantage = batch_f32(c, t->advantage, rows, 1, F32),
                            .weight = batch_f32(c, t->weight, rows, 1, F32),
                            .low = (float)set->clip_low,
                            .high = (float)set->clip_high,
                            .divergence = (float)set->kl };
}

static void run_micro(struct ctx *c, void *arg)
{
    struct completions_micro *m = arg;
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

/* Grows the arrays to that many rows; new ones are 0. */
static void take_rows(struct reward_trainer *t, int64_t rows)
{
    size_t room = (size_t)(rows > t->cap_rows ? 2 * rows : t->cap_rows);

    if (rows > t->cap_rows) {
        t->logp = xrealloc(t->logp, room * sizeof *t->logp);
        t->advantage = xrealloc(t->advantage, room * sizeof *t->advantage);
        t->weight = xrealloc(t->weight, room * sizeof *t->weight);
        t->cap_rows = (int64_t)room;
    }
    for (; t->n_rows < rows; t->n_rows++)
        t->logp[t->n_rows] = t->advantage[t->n_rows] = t->weight[t->n_rows] = 0;
}

static const struct reward_completion *completion_of(const struct completion_list *l, int from, int end,
                                                     const int32_t *ids)
{
    int i = from;

    while (i < end && l->items[i]->ids != ids)
        i++;
    CHECK(i < end, "a text of the batch is none of its answers");
    return l->items[i];
}

/* Fills the rows of a completion, from `row` on. share: weight of a prompt in the loss. */
static void fill_rows(struct reward_trainer *t, const struct reward_completion *a, int64_t row, float share)
{
    int64_t n = a->n - a->prompt;

    for (int64_t k = 0; k < n; k++) {
        CHECK(t->lm.batch.texts.targets[row + k] == a->ids[a->prompt + k], "row %lld is not the answer's",
              (long long)(row + k));
        t->logp[row + k] = a->logp[k];
        t->advantage[row + k] = (float)a->advantage;
        t->weight[row + k] = share * (float)a->token_share;
    }
}

static bool same_prompt(const struct reward_completion *a, const struct reward_completion *b)
{
    return a->prompt == b->prompt && !memcmp(a->ids, b->ids, (size_t)a->prompt * sizeof *a->ids);
}

/* End of the micro-batch that starts with completion `from`. The prompt of adjacent completions counts once. */
static int end_of_micro(const struct reward_trainer *t, const struct completion_list *l, int from)
{
    int64_t tokens = 0;
    int i = from;

    for (; i < l->n; i++) {
        const struct reward_completion *a = l->items[i];
        bool shared = i > from && same_prompt(l->items[i - 1], a);
        tokens += shared ? a->n - a->prompt : a->n;
        if (i > from && tokens > t->lm.set->train.tokens)
            break;
    }
    return i;
}

/* Adds the completions of one prompt, which is computed once, and their rows. share: weight of a prompt in the
 * loss. Each prompt is added separately, so that rows keep the order of its texts. */
static void add_group(struct reward_trainer *t, const struct completion_list *l, int from, int end, float share)
{
    struct llama_text *texts = xmalloc((size_t)(end - from) * sizeof *texts);
    int64_t row = lm_batch_rows(&t->lm.batch);

    for (int i = from; i < end; i++)
        texts[i - from] = (struct llama_text){ l->items[i]->ids, l->items[i]->mask, l->items[i]->n };
    lm_batch_add(&t->lm.batch, &t->lm.model, texts, end - from, true);
    take_rows(t, lm_batch_rows(&t->lm.batch));
    for (int i = 0; i < end - from; i++) {
        const struct reward_completion *a = completion_of(l, from, end, texts[i].ids);
        fill_rows(t, a, row, share);
        row += a->n - a->prompt;
    }
    free(texts);
}

static int fill_micro(struct reward_trainer *t, const struct completion_list *l, int from, float share)
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

/* Without a KL term, a completion of average reward has no gradient. */
static void list_completions(const struct reward_trainer *t, struct completion_list *l, const struct batch_partition *b)
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

    if (r->state.batch % t->lm.set->reuse == 0 && reward_sample(t, err))
        return -1;
    struct batch_partition b = run_batch(r);
    struct completion_list l = { 0 };
    struct completions_micro m = { .t = t };
    float share = 1.0f / (float)b.n;
    int rc = 0;

    list_completions(t, &l, &b);
    for (int at = 0; at < l.n && rc == 0; m.number++) {
        at = fill_micro(t, &l, at, share);
        rc = workspace_step(&r->work, run_micro, &m, err);
        r->state.units += t->lm.micro_tokens;
    }
    free(l.items);
    return rc;
}

/* For memory estimates: completions of maximum length. */
static void longest_completions(struct reward_trainer *t, struct completion_list *l, struct reward_group *g,
                                int example)
{
    const struct lm_text *p = &t->lm.train.items[example].text;
    int64_t prompt = lm_text_prompt_length(p), room = t->lm.model.net.config.max_positions - prompt;
    int64_t n = t->lm.set->max_new < room ? t->lm.set->max_new : room;

    *g = (struct reward_group){ example, xcalloc((size_t)t->lm.set->answers, sizeof *g->answers),
                                (int)t->lm.set->answers };
    for (int k = 0; k < g->n; k++) {
        init_completion(&g->answers[k], p->ids.items, prompt, n);
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

static void measure_batch(void *trainer, struct measurement *measured)
{
    struct reward_trainer *t = trainer;
    struct batch_partition b = run_batch(&t->lm.run);
    struct reward_group *groups = xcalloc((size_t)b.n + 1, sizeof *groups);
    struct completion_list l = { 0 };
    struct completions_micro m = { .t = t };

    for (int i = b.first; i < b.end; i++)
        longest_completions(t, &l, &groups[i], b.examples[i]);
    for (int at = 0; at < l.n;) {
        at = fill_micro(t, &l, at, 0);
        struct extent e = extent_of(&t->lm.batch);
        measurement_add(measured, &e, run_micro, &m);
    }
    free_groups(groups, b.n);
    free(l.items);
}

/* ---- checkpoints ---- */

enum { SUMS = sizeof(struct reward_sums) / sizeof(double) };

static json_t *completion_json(const struct reward_completion *a)
{
    json_t *ids = json_array(), *logp = json_array();

    for (int64_t k = a->prompt; k < a->n; k++) {
        json_array_append_new(ids, json_integer(a->ids[k]));
        json_array_append_new(logp, json_real((double)a->logp[k - a->prompt]));
    }
    return json_pack("{s:o, s:o, s:f}", "ids", ids, "drawn", logp, "reward", a->reward);
}

static json_t *group_json(const struct reward_group *g)
{
    json_t *answers = json_array();

    for (int i = 0; i < g->n; i++)
        json_array_append_new(answers, completion_json(&g->answers[i]));
    return json_pack("{s:i, s:o}", "example", g->example, "answers", answers);
}

int reward_save_state(const struct reward_trainer *t, const char *dir, struct error *err)
{
    double sums[SUMS];
    char path[4096];
    json_t *list = json_array(), *groups = json_array(), *all;
    bool drawn = t->lm.run.state.batch % t->lm.set->reuse != 0; /* otherwise the next step samples new ones */

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

static int read_numbers(struct reward_completion *a, const json_t *ids, const json_t *logp, int vocab,
                        const char *where, struct error *err)
{
    for (int64_t k = a->prompt; k < a->n; k++) {
        json_int_t id = json_integer_value(json_array_get(ids, (size_t)(k - a->prompt)));
        if (id < 0 || id >= vocab)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: ids: expected 0 to %d, got %lld", where, vocab - 1,
                             (long long)id);
        a->ids[k] = (int32_t)id;
        a->logp[k - a->prompt] = (float)json_number_value(json_array_get(logp, (size_t)(k - a->prompt)));
    }
    return 0;
}

static int read_completion(struct reward_trainer *t, struct reward_completion *a, const struct lm_text *p,
                           const json_t *o, const char *where, struct error *err)
{
    const json_t *ids = json_get_array(o, "ids", where, err), *logp = NULL;
    int64_t n = (int64_t)json_array_size(ids), prompt = lm_text_prompt_length(p);

    if (!ids || !(logp = json_get_array(o, "drawn", where, err)))
        return -1;
    if (n < 1 || n > t->lm.set->max_new || (int64_t)json_array_size(logp) != n)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: expected 1 to %lld tokens with a number each, got %lld and %zu", where,
                         (long long)t->lm.set->max_new, (long long)n, json_array_size(logp));
    init_completion(a, p->ids.items, prompt, n);
    if (read_numbers(a, ids, logp, t->lm.config.vocab_size, where, err))
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
        if (read_completion(t, &g->answers[i], &t->lm.train.items[example].text, json_array_get(answers, (size_t)i),
                            where, err))
            return -1;
    reward_group_compare(g, t->lm.set->advantage == ADVANTAGE_SCALED);
    return 0;
}

static int read_groups(struct reward_trainer *t, const json_t *o, const char *path, struct error *err)
{
    const json_t *list = json_get_array(o, "groups", path, err);

    if (!list)
        return -1;
    free_groups(t->groups, t->n_groups);
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

/* ---- test records ---- */

static json_t *line_of(const struct lm_example *e, const struct reward *r, const char *text)
{
    json_t *line = json_pack("{s:O, s:O*, s:o, s:f}", "id", e->text.id, "db_id", json_object_get(e->record, "db_id"),
                             "text", json_message(text), "reward", r->value);

    if (isnan(r->recall)) /* a program's */
        return line;
    json_object_set_new(line, "golds", json_integer(r->golds));
    json_object_set_new(line, "recall", json_real(r->recall));
    json_object_set_new(line, "precision", json_real(r->precision));
    json_object_set_new(line, "wrong", json_integer(r->wrong));
    return line;
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

/* Means over the test records, for TensorBoard. */
static int log_test(struct reward_trainer *t, const struct reward *rewards, struct error *err)
{
    double value = 0, wrong = 0, n = t->test.n;

    for (int i = 0; i < t->test.n; i++) {
        value += rewards[i].value;
        wrong += rewards[i].wrong;
    }
    json_t *metrics = json_pack("{s:f, s:f}", "reward", value / n, "wrong", wrong / n);
    int rc = run_log_test(&t->lm.run, metrics, err);
    json_decref(metrics);
    return rc;
}

static int test_records(struct reward_trainer *t, const char *name, struct error *err)
{
    struct reward *rewards = xcalloc((size_t)t->test.n + 1, sizeof *rewards);
    char **texts = xcalloc((size_t)t->test.n + 1, sizeof *texts);
    int rc = greedy_completions(t, &t->test, rewards, texts, err);

    if (rc == 0)
        rc = write_lines(t, name, rewards, texts, err);
    if (rc == 0 && strcmp(name, REWARD_AFTER) == 0)
        rc = log_test(t, rewards, err);
    for (int i = 0; i < t->test.n; i++)
        free(texts[i]);
    free(texts);
    free(rewards);
    return rc;
}

/* ---- opening ---- */

static int check_request(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (!q->db && !s->program)
        return error_set(err, EXIT_CODE_USAGE, "expected --db, or --reward-program, which needs no databases");
    if (s->program && (q->sqls || sql_writer_wanted(q)))
        return error_set(err, EXIT_CODE_USAGE, "--%s and --reward-program cannot be used together",
                         q->sqls        ? "sqls"
                         : q->sql_model ? "sql-model"
                                        : "lm");
    if (q->sql_model && q->server.url)
        return error_set(err, EXIT_CODE_USAGE, "--sql-model and --lm cannot be used together");
    if (endpoint_check(&q->server, err))
        return -1;

    if (s->kl > 0 && (s->method != METHOD_LORA || s->head == HEAD_FULL))
        return error_set(err, EXIT_CODE_USAGE,
                         "kl: expected --method lora, and --head none or lora: the model to start from is then the one "
                         "without the adapter, and needs no copy");
    return 0;
}

/* The judge needs the records themselves. */
static int read_test(struct reward_trainer *t, struct error *err)
{
    const struct lm_request *q = t->lm.request;
    int64_t positions = t->lm.model.net.config.max_positions;
    int64_t length = t->lm.set->length < positions ? t->lm.set->length : positions;

    if (!q->test)
        return 0;
    if (lm_data_read(&t->test, q->test, &t->lm.model, length, true, err))
        return -1;
    log_info("%d records to test on", t->test.n);
    return 0;
}

static int open_judge(struct reward_trainer *t, struct error *err)
{
    const struct lm_request *q = t->lm.request;

    if (reward_judge_open(&t->judge, q, &t->lm.run.device, err) ||
        reward_judge_check(&t->judge, &t->lm.train, q->data, err) ||
        (q->valid && reward_judge_check(&t->judge, &t->lm.valid, q->valid, err)) ||
        (q->test && reward_judge_check(&t->judge, &t->test, q->test, err)))
        return -1;
    t->lm.run.data_hash = hash_bytes(t->lm.run.data_hash, &t->judge.hash, sizeof t->judge.hash);
    t->lm.run.data_hash = hash_bytes(t->lm.run.data_hash, &t->test.hash, sizeof t->test.hash);
    t->lm.run.model_bytes += t->judge.writer.model_bytes;
    return 0;
}

/* Numbers the base without an adapter, for the KL term. */
static int open_start(struct reward_trainer *t, struct error *err)
{
    t->start = t->lm.set->kl > 0 ? llama_model_adapter(&t->lm.model, NULL, err) : 0;
    return t->start < 0 ? -1 : 0;
}

/* With reuse, completions lie in each rank's memory, but the checkpoint has only rank 0's. */
static int check_ranks(const struct reward_trainer *t, struct error *err)
{
    if (t->lm.run.ranks.all.size < 2 || t->lm.set->reuse == 1)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "reuse: expected 1 where several ranks share a batch, got %lld",
                     (long long)t->lm.set->reuse);
}

static int open_trainer(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;

    return check_ranks(t, err) || lm_open(&t->lm, err) || read_test(t, err) || open_judge(t, err) || open_start(t, err)
               ? -1
               : 0;
}

static int start_trainer(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    return lm_start(&t->lm, err) || open_start(t, err) || reward_judge_start(&t->judge, &t->lm.run.device, err) ? -1
                                                                                                                : 0;
}

static void close_trainer(void *trainer)
{
    struct reward_trainer *t = trainer;

    free_groups(t->groups, t->n_groups);
    reward_judge_release(&t->judge);
    lm_data_release(&t->test);
    free(t->logp);
    free(t->advantage);
    free(t->weight);
    lm_close(&t->lm);
}

/* ---- the trainer ---- */

/* Means over all completions since the last call, and the newest step's gradient norm. */
static int step_metrics(void *trainer, struct metric list[TRAINER_METRICS])
{
    struct reward_trainer *t = trainer;
    const struct reward_sums *s = &t->sums;
    float norm;

    device_download(&t->lm.run.device, &norm, t->lm.run.optim.norm);
    list[0] = (struct metric){ "grad_norm", sqrt((double)norm) };
    if (s->groups == 0)
        return 1;
    list[1] = (struct metric){ "reward", s->reward / s->answers };
    list[2] = (struct metric){ "completion_tokens", s->tokens / s->answers };
    list[3] = (struct metric){ "equal_rewards", s->alike / s->groups };
    t->sums = (struct reward_sums){ 0 };
    return 4;
}

/* Recall is the mean over records that are rewarded by it, precision over all. */
static void sum_up(struct validation *v, const struct lm_data *d, const struct reward *rewards)
{
    struct reward sum = { 0 };
    int n = d->n, several = 0;
    double wrong = 0;

    for (int i = 0; i < n; i++) {
        bool counts = reward_by_recall(d->items[i].record);
        sum.value += rewards[i].value / n;
        sum.precision += rewards[i].precision / n;
        wrong += (double)rewards[i].wrong / n;
        several += counts;
        sum.recall += counts ? rewards[i].recall : 0;
    }
    sum.recall = several ? sum.recall / several : (double)NAN;
    v->score = sum.value;
    v->list[v->n++] = (struct metric){ "valid_reward", sum.value };
    snprintf(v->text, sizeof v->text, "reward %.4f", sum.value);
    if (isnan(sum.precision)) /* a program's */
        return;
    v->list[v->n++] = (struct metric){ "valid_recall", sum.recall };
    v->list[v->n++] = (struct metric){ "valid_precision", sum.precision };
    v->list[v->n++] = (struct metric){ "valid_wrong", wrong };
    snprintf(v->text, sizeof v->text, "reward %.4f, recall %.4f of %d records, precision %.4f, %.3f wrong", sum.value,
             sum.recall, several, sum.precision, wrong);
}

static int validate(void *trainer, struct validation *v, struct error *err)
{
    struct reward_trainer *t = trainer;
    const struct lm_data *d = &t->lm.valid;

    if (!d->n)
        return 0;
    struct reward *rewards = xcalloc((size_t)d->n, sizeof *rewards);
    int rc = greedy_completions(t, d, rewards, NULL, err);
    if (rc == 0)
        sum_up(v, d, rewards);
    v->final = true;
    free(rewards);
    return rc;
}

/* Before the first step: scores the initial model on the test records. After a resume: restores the sampled groups. */
static int prepare(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    const struct run *r = &t->lm.run;
    char *dir = NULL;

    if (r->state.step) {
        int rc = checkpoint_latest(r->set.out, &dir, err) || (dir && reward_load_state(t, dir, err)) ? -1 : 0;
        free(dir);
        return rc;
    }
    return t->test.n && ranks_first(r) && test_records(t, REWARD_BEFORE, err) < 0 ? -1 : 0;
}

/* Only checkpoints need the sampled groups. */
static int save_beside(void *trainer, const char *dir, struct error *err)
{
    struct reward_trainer *t = trainer;
    const char *out = t->lm.run.set.out, *name = dir + strlen(out);

    return strncmp(name, "/checkpoint-", 12) == 0 ? reward_save_state(t, dir, err) : 0;
}

static int finish(void *trainer, struct error *err)
{
    struct reward_trainer *t = trainer;
    int rc = t->test.n ? test_records(t, REWARD_AFTER, err) : 0;

    if (rc)
        return rc;
    return reward_report(t, err) || lm_write_forms(&t->lm, err) ? -1 : 0;
}

static const char *const same[] = { "base_hash", "chat_template", NULL };

static const struct trainer rewarded = {
    .kind = "reward",
    .part = "micro-batch",
    .unit = "tokens",
    .lowest = -HUGE_VAL,
    .same = same,
    .open = open_trainer,
    .start = start_trainer,
    .close = close_trainer,
    .prepare = prepare,
    .step = reward_step,
    .measure = measure_batch,
    .metrics = step_metrics,
    .validate = validate,
    .describe = lm_describe,
    .save_beside = save_beside,
    .finish = finish,
};

void reward_trainer_init(struct reward_trainer *t, const struct lm_request *q)
{
    *t = (struct reward_trainer){ 0 };
    lm_trainer_init(&t->lm, q);
    t->lm.keep_records = true;
    t->lm.run.trainer = &rewarded;
    t->lm.run.self = t;
    t->lm.run.set.table = reward_request_table;
}

int reward_train(const struct lm_request *q, struct error *err)
{
    struct reward_trainer t;

    if (check_request(q, err))
        return -1;
    reward_trainer_init(&t, q);
    return run_train(&t.lm.run, err);
}
