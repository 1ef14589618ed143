/* A completion does not depend on the rest of the batch, bit for bit. The tests vary batch, order, shared prefixes,
 * other adapters, the cuts of prompts into steps, and replay of graphs. */
#include "tests/support/support.h"

#include "kernels/rng.h"
#include "models/engine/engine.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24, LONGEST = 400, ANSWERS = 3, FAMILIES = 3 };

/* Prompts of three families with common prefixes, some with only a few tokens of their own. */
struct crowd {
    int32_t ids[MOST][LONGEST];
    struct engine_request list[MOST];
    struct engine_completion said[MOST][ANSWERS];
    int n;
};

static void draw_prompts(struct crowd *w, int n, int adapters)
{
    static const int64_t prefix[FAMILIES] = { 70, 300, 129 };
    struct rng family[FAMILIES] = { { 1, 0 }, { 2, 0 }, { 3, 0 } }, own = { 4, 0 };

    *w = (struct crowd){ .n = n };
    for (int i = 0; i < n; i++) {
        int64_t shared = i % 4 < FAMILIES ? prefix[i % 4] : 0, more = 1 + rng_u32(&own) % (i % 2 ? 3 : 60);
        for (int f = 0; f < FAMILIES; f++)
            family[f].count = 0;
        for (int64_t k = 0; k < shared + more; k++)
            w->ids[i][k] = 5 + (int32_t)(rng_u32(k < shared ? &family[i % 4] : &own) % 90);
        w->list[i] = (struct engine_request){
            .prompt = w->ids[i],
            .n_prompt = shared + more,
            .key = (uint64_t)i,
            .adapter = i / 2 % adapters,
            .answers = w->said[i],
        };
    }
}

static void release(struct crowd *w)
{
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < ANSWERS; k++)
            engine_completion_release(&w->said[i][k]);
}

/* Completes n prompts of the crowd, from `from` on. */
static void answer(struct lm_gold *g, struct crowd *w, int from, int n, const struct engine_settings *set)
{
    struct engine engine;
    struct error err;

    engine_init(&engine, &g->model, &g->work, set);
    assert_int_equal(engine_run(&engine, w->list + from, n, NULL, NULL, &err), 0);
    assert_int_equal(engine.done, n);
    engine_release(&engine);
}

static void turn_round(struct crowd *w)
{
    for (int i = 0; i < w->n / 2; i++) {
        struct engine_request one = w->list[i];
        w->list[i] = w->list[w->n - 1 - i];
        w->list[w->n - 1 - i] = one;
    }
}

static void check_same(const struct crowd *a, const struct crowd *b)
{
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < ANSWERS; k++) {
            const struct engine_completion *x = &a->said[i][k], *y = &b->said[i][k];
            assert_int_equal(x->steps, y->steps);
            assert_int_equal(x->out.count, y->out.count);
            if (x->out.count)
                assert_memory_equal(x->out.items, y->out.items, (size_t)x->out.count * sizeof *x->out.items);
            assert_memory_equal(x->step_logp, y->step_logp, (size_t)x->steps * sizeof *x->step_logp);
            assert_memory_equal(&x->score, &y->score, sizeof x->score);
        }
}

/* Runs the same crowd twice: all at once, and in other ways. */
static void check_company(struct lm_gold *g, const struct engine_settings *all, int n)
{
    struct crowd *a = xmalloc(sizeof *a), *b = xmalloc(sizeof *b);
    struct engine_settings few = *all;

    draw_prompts(a, n, 1 + g->model.n_others);
    answer(g, a, 0, n, all);
    few.batch = 3;
    few.step_tokens = 33;
    for (int way = 0; way < 4; way++) {
        g->work.eager = way == 2;
        draw_prompts(b, n, 1 + g->model.n_others);
        if (way == 0)
            turn_round(b);
        for (int i = 0; i < n && way == 3; i++)
            answer(g, b, i, 1, all);
        if (way < 3)
            answer(g, b, 0, n, way == 1 ? &few : all);
        check_same(a, b);
        release(b);
    }
    g->work.eager = false;
    release(a);
    free(a);
    free(b);
}

/* Lets texts have the model's adapter or none. */
static void give_none(struct llama_model *m)
{
    struct error err;

    m->adapter = xstrdup("its own");
    assert_int_equal(llama_model_adapter(m, NULL, &err), 1);
}

static void check_model(const struct engine_settings *set, enum lm_part part, enum dtype dtype)
{
    bool simt = strcmp(test_device_name(), "simt") == 0;
    json_t *gold = lm_gold_read();
    struct lm_gold g;

    lm_gold_open(&g, lm_gold_case(gold, "llama"), part, dtype);
    g.model.net.config.max_positions = 1024;
    if (part == LM_ADAPTER)
        give_none(&g.model);
    check_company(&g, set, simt ? 4 : MOST);
    lm_gold_close(&g);
    json_decref(gold);
}

static void test_beams(void **state)
{
    const struct engine_settings set = {
        .max_new = 5, .answers = ANSWERS, .beams = ANSWERS, .beam.length_penalty = 1, .batch = MOST, .step_tokens = 4096
    };
    (void)state;
    check_model(&set, LM_FROZEN, F32);
    if (strcmp(test_device_name(), "simt"))
        check_model(&set, LM_ADAPTER, BF16);
}

static void test_draws(void **state)
{
    const struct engine_settings set = { .max_new = 5,
                                         .answers = ANSWERS,
                                         .beams = 1,
                                         .draw = { .temperature = 1, .top_p = 0.9f, .typical_p = 1, .seed = 3 },
                                         .batch = MOST,
                                         .step_tokens = 4096 };
    (void)state;
    test_not_on_simt();
    if (strcmp(test_device_name(), "simt"))
        check_model(&set, LM_ADAPTER, F32);
    check_model(&set, LM_FROZEN, BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_beams), cmocka_unit_test(test_draws) };
    return test_devices(tests, ARRAY_LEN(tests));
}
