/* With jump-forward decoding, completions, scores and log p are those of single steps, bit for bit, in fewer steps. */
#include "tests/support/support.h"

#include "kernels/rng.h"
#include "models/engine/engine.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWERS = 3, REQUESTS = 9, PROMPT = 60, KEEP = 2, MOST_NEW = 48 };

/* The emulator is slow. */
static int n_requests(void)
{
    return strcmp(test_device_name(), "simt") ? REQUESTS : 4;
}

/* A fixed sequence and names in turn: the lengths of the sequences, and the number of names after each. */
struct template_form {
    int parts;
    int64_t length[4];
    int names[4];
};

static const struct template_form forms[] = {
    { 3, { 13, 7, 4 }, { 6, 3, 0 } }, /* most tokens are forced */
    { 1, { 40 }, { 0 } },             /* all tokens are forced, more than a step reads */
    { 3, { 1, 1, 1 }, { 20, 20, 1 } } /* few tokens are forced */
};

static void push_tokens(struct token_list *l, struct rng *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ids_push(&l->ids, 5 + (int32_t)(rng_u32(r) % 60));
    token_list_end(l);
}

/* Names of one to five tokens from a small set, so that they share prefixes. */
static void push_names(struct token_list *l, struct rng *r, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = (int)(rng_u32(r) % 5); k >= 0; k--)
            ids_push(&l->ids, 70 + (int32_t)(rng_u32(r) % 3));
        token_list_end(l);
    }
}

static struct automaton_host automaton_of(const struct llama_model *m, const struct template_form *t)
{
    struct token_list lists[8];
    struct rng r = { 7, 0 };
    int32_t stops[ENGINE_MAX_STOPS];
    int n = 0;
    struct automaton_host a;
    struct error err;

    memset(lists, 0, sizeof lists);
    for (int i = 0; i < t->parts; i++) {
        push_tokens(&lists[n++], &r, t->length[i]);
        if (t->names[i])
            push_names(&lists[n++], &r, t->names[i]);
    }
    assert_int_equal(automaton_build(&a, lists, n, stops, engine_stops(m, stops), &err), 0);
    for (int i = 0; i < n; i++)
        token_list_release(&lists[i]);
    return a;
}

struct bound_crowd {
    int32_t ids[REQUESTS][PROMPT];
    struct engine_request list[REQUESTS];
    struct engine_completion said[REQUESTS][ANSWERS];
    int64_t steps;
};

static void count_step(void *arg)
{
    ++*(int64_t *)arg;
}

/* Every fourth request has no constraint. */
static void answer(struct lm_gold *g, struct bound_crowd *w, const struct automaton_host *a,
                   const struct engine_settings *set)
{
    struct rng r = { 11, 0 };
    struct engine engine;
    struct error err;

    *w = (struct bound_crowd){ 0 };
    for (int i = 0; i < n_requests(); i++) {
        for (int k = 0; k < PROMPT; k++)
            w->ids[i][k] = 5 + (int32_t)(rng_u32(&r) % 90);
        w->list[i] = (struct engine_request){ .prompt = w->ids[i],
                                              .n_prompt = 1 + 7 * i,
                                              .key = (uint64_t)i,
                                              .answers = w->said[i],
                                              .constraint = i % 4 == 3 ? NULL : &a[i % 4] };
    }
    engine_init(&engine, &g->model, &g->work, set);
    assert_int_equal(engine_run(&engine, w->list, n_requests(), count_step, &w->steps, &err), 0);
    engine_release(&engine);
}

static void check_same(const struct bound_crowd *a, const struct bound_crowd *b)
{
    for (int i = 0; i < n_requests(); i++) {
        assert_int_equal(a->list[i].n_answers, b->list[i].n_answers);
        for (int k = 0; k < a->list[i].n_answers; k++) {
            const struct engine_completion *x = &a->said[i][k], *y = &b->said[i][k];
            assert_int_equal(x->steps, y->steps);
            assert_int_equal(x->out.count, y->out.count);
            assert_int_equal(x->stopped, y->stopped);
            if (x->out.count)
                assert_memory_equal(x->out.items, y->out.items, (size_t)x->out.count * sizeof *x->out.items);
            assert_memory_equal(x->step_logp, y->step_logp, (size_t)x->steps * sizeof *x->step_logp);
            assert_memory_equal(x->best, y->best, (size_t)(x->steps * KEEP) * sizeof *x->best);
            assert_memory_equal(x->best_logp, y->best_logp, (size_t)(x->steps * KEEP) * sizeof *x->best_logp);
            assert_memory_equal(&x->score, &y->score, sizeof x->score);
        }
    }
}

static void release(struct bound_crowd *w)
{
    for (int i = 0; i < n_requests(); i++)
        for (int k = 0; k < ANSWERS; k++)
            engine_completion_release(&w->said[i][k]);
}

static void check_runs(struct lm_gold *g, const struct automaton_host *a, const struct engine_settings *set)
{
    struct bound_crowd *one = xmalloc(sizeof *one), *runs = xmalloc(sizeof *runs);
    struct engine_settings slow = *set, small = *set;

    slow.one_by_one = true;
    slow.batch = small.batch = 1;
    answer(g, one, a, &slow);
    answer(g, runs, a, set);
    check_same(one, runs);
    release(runs);
    answer(g, runs, a, &small);
    check_same(one, runs);
    assert_true(runs->steps < one->steps);
    release(runs);
    release(one);
    free(one);
    free(runs);
}

static void check_settings(const struct engine_settings *set, enum dtype dtype)
{
    struct automaton_host a[ARRAY_LEN(forms)];
    struct engine_settings cut = *set;
    json_t *gold = lm_gold_read();
    struct lm_gold g;

    lm_gold_open(&g, lm_gold_case(gold, "llama"), LM_FROZEN, dtype);
    g.model.net.config.max_positions = 1024;
    g.model.net.config.stops[0] = 3;
    g.model.net.config.n_stops = 1;
    for (int i = 0; i < ARRAY_LEN(forms); i++)
        a[i] = automaton_of(&g.model, &forms[i]);
    if (strcmp(test_device_name(), "simt"))
        check_runs(&g, a, set);
    cut.max_new = 17; /* ends inside a forced run */
    check_runs(&g, a, &cut);
    for (int i = 0; i < ARRAY_LEN(forms); i++)
        automaton_release(&a[i]);
    lm_gold_close(&g);
    json_decref(gold);
}

static void test_beams(void **state)
{
    struct engine_settings set = { .max_new = MOST_NEW,
                                   .answers = ANSWERS,
                                   .beams = ANSWERS,
                                   .beam.length_penalty = 1,
                                   .keep = KEEP,
                                   .batch = REQUESTS,
                                   .step_tokens = 4096 };
    (void)state;
    check_settings(&set, F32);
    set.normalise = NORMALISE_ALLOWED;
    if (strcmp(test_device_name(), "simt"))
        check_settings(&set, BF16);
}

static void test_draws(void **state)
{
    struct engine_settings set = { .max_new = MOST_NEW,
                                   .answers = ANSWERS,
                                   .beams = 1,
                                   .draw = { .temperature = 1, .top_p = 1, .typical_p = 1, .seed = 3 },
                                   .keep = KEEP,
                                   .batch = REQUESTS,
                                   .step_tokens = 4096 };
    (void)state;
    test_not_on_simt();
    check_settings(&set, strcmp(test_device_name(), "simt") ? F32 : BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_beams), cmocka_unit_test(test_draws) };
    return test_devices(tests, ARRAY_LEN(tests));
}
