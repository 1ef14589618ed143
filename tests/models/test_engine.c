/* Completions of small language models equal those of transformers (gold/make_llama.py), for any batch and any end. */
#include "tests/support/support.h"

#include "models/engine/engine.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <stdlib.h>
#include <string.h>

enum { PROMPTS = 3, MAX_PROMPT = 64, NEW = 50 };

struct asked {
    int32_t prompt[PROMPTS][MAX_PROMPT], answer[PROMPTS][NEW];
    struct engine_request list[PROMPTS];
    struct engine_completion said[PROMPTS];
};

/* Greedy, three at once. */
static const struct engine_settings greedy = { .max_new = NEW,
                                               .answers = 1,
                                               .beams = 1,
                                               .draw = { .top_p = 1, .typical_p = 1 },
                                               .batch = PROMPTS,
                                               .step_tokens = 4096 };

static int64_t read_ids(int32_t *out, const json_t *list, int64_t most)
{
    int64_t n = (int64_t)json_array_size(list);

    assert_true(n <= most);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    return n;
}

static void read_asked(struct asked *a, const json_t *record, const char *field)
{
    const json_t *list = json_object_get(record, field);

    *a = (struct asked){ 0 };
    assert_int_equal(json_array_size(list), PROMPTS);
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        int64_t n = read_ids(a->prompt[i], json_object_get(one, "prompt"), MAX_PROMPT);
        assert_int_equal(read_ids(a->answer[i], json_object_get(one, "answer"), NEW), NEW);
        a->list[i] = (struct engine_request){
            .prompt = a->prompt[i], .n_prompt = n, .key = (uint64_t)i, .answers = &a->said[i]
        };
    }
}

static void release(struct asked *a)
{
    for (int i = 0; i < PROMPTS; i++)
        engine_completion_release(&a->said[i]);
}

static void answer(struct lm_gold *g, struct asked *a, const struct engine_settings *set)
{
    struct engine engine;
    struct error err;

    release(a);
    engine_init(&engine, &g->model, &g->work, set);
    assert_int_equal(engine_run(&engine, a->list, PROMPTS, NULL, NULL, &err), 0);
    assert_int_equal(engine.done, PROMPTS);
    engine_release(&engine);
}

static void check(const struct asked *a, int i, int64_t n, bool stopped)
{
    assert_int_equal(a->list[i].n_answers, 1);
    assert_int_equal(a->said[i].out.count, n);
    assert_int_equal(a->said[i].stopped, stopped);
    if (n)
        assert_memory_equal(a->said[i].out.items, a->answer[i], (size_t)n * sizeof(int32_t));
}

/* All at once, one after another, and two at a time, where the third joins when one has ended. */
static void check_greedy(const json_t *record, enum lm_part part)
{
    static const int64_t sizes[][2] = { { 3, 4096 }, { 2, 8 }, { 1, 1 } }; /* batch, tokens of a step */
    struct engine_settings set = greedy;
    struct lm_gold g;
    struct asked a;

    lm_gold_open(&g, record, part, F32);
    read_asked(&a, record, part == LM_ADAPTER ? "adapter_greedy" : "greedy");
    for (int s = 0; s < ARRAY_LEN(sizes); s++) {
        if (!strcmp(test_device_name(), "simt") && (s == 1) != (part == LM_ADAPTER))
            continue; /* simt is slow: one size with adapters, the others without */
        set.batch = sizes[s][0];
        set.step_tokens = sizes[s][1];
        answer(&g, &a, &set);
        for (int i = 0; i < PROMPTS; i++)
            check(&a, i, NEW, false);
    }
    release(&a);
    lm_gold_close(&g);
}

static void test_greedy(void **state)
{
    json_t *gold = lm_gold_read();
    const char *tag;

    (void)state;
    for (int i = 0; (tag = lm_gold_tag(gold, i)) && (i == 0 || strcmp(test_device_name(), "simt")); i++) {
        check_greedy(lm_gold_case(gold, tag), LM_FROZEN);
        check_greedy(lm_gold_case(gold, tag), LM_ADAPTER);
    }
    json_decref(gold);
}

/* Moves the last tokens of prompt i to the forced start of its completion. */
static void move_to_opening(struct asked *a, int i, int n, struct automaton_host *opening)
{
    struct ids ids = { 0 };

    assert_true(a->list[i].n_prompt > n);
    a->list[i].n_prompt -= n;
    for (int k = 0; k < n; k++)
        ids_push(&ids, a->prompt[i][a->list[i].n_prompt + k]);
    memmove(a->answer[i] + n, a->answer[i], (size_t)(NEW - n) * sizeof(int32_t));
    memcpy(a->answer[i], ids.items, (size_t)n * sizeof(int32_t));
    automaton_opening(opening, &ids);
    a->list[i].constraint = opening;
    ids_release(&ids);
}

/* After a forced start, the completion is free and equals that of the longer prompt. */
static void test_openings(void **state)
{
    struct automaton_host opening[PROMPTS];
    struct engine_settings set = greedy;

    test_not_on_simt();
    json_t *gold = lm_gold_read();
    struct lm_gold g;
    struct asked a;

    (void)state;
    lm_gold_open(&g, lm_gold_case(gold, lm_gold_tag(gold, 0)), LM_FROZEN, F32);
    read_asked(&a, lm_gold_case(gold, lm_gold_tag(gold, 0)), "greedy");
    for (int i = 0; i < PROMPTS; i++)
        move_to_opening(&a, i, i + 1, &opening[i]);
    for (int i = 0; i < 2; i++, set.one_by_one = true) {
        answer(&g, &a, &set);
        for (int k = 0; k < PROMPTS; k++)
            check(&a, k, NEW, false);
    }
    release(&a);
    for (int i = 0; i < PROMPTS; i++)
        automaton_release(&opening[i]);
    lm_gold_close(&g);
    json_decref(gold);
}

/* A stop token ends only its own sequence, and is not part of the completion. */
static void test_stops(void **state)
{
    struct engine_settings set = greedy;
    json_t *gold = lm_gold_read();
    const json_t *record = lm_gold_case(gold, "llama");
    struct lm_gold g;
    struct asked a;

    (void)state;
    lm_gold_open(&g, record, LM_FROZEN, F32);
    read_asked(&a, record, "greedy");
    g.model.net.config.stops[0] = a.answer[0][0];
    g.model.net.config.stops[1] = a.answer[1][7];
    g.model.net.config.n_stops = 2;
    answer(&g, &a, &set);
    for (int i = 0; i < PROMPTS; i++) {
        int n = 0;
        while (n < NEW && a.answer[i][n] != a.answer[0][0] && a.answer[i][n] != a.answer[1][7])
            n++;
        check(&a, i, n, n < NEW);
    }
    release(&a);
    lm_gold_close(&g);
    json_decref(gold);
}

/* Limits by max_new and by the model's positions. */
static void test_room(void **state)
{
    struct engine_settings set = greedy;

    test_not_on_simt();
    json_t *gold = lm_gold_read();
    const json_t *record = lm_gold_case(gold, "qwen3");
    struct lm_gold g;
    struct asked a;

    (void)state;
    lm_gold_open(&g, record, LM_FROZEN, F32);
    read_asked(&a, record, "greedy");
    set.max_new = 3;
    answer(&g, &a, &set);
    for (int i = 0; i < PROMPTS; i++)
        check(&a, i, 3, false);
    g.model.net.config.max_positions = (int)a.list[2].n_prompt + 1;
    set.max_new = NEW;
    answer(&g, &a, &set);
    for (int i = 0; i < PROMPTS; i++)
        check(&a, i, a.list[2].n_prompt + 1 - a.list[i].n_prompt, false);
    release(&a);
    lm_gold_close(&g);
    json_decref(gold);
}

/* Samples depend on the seed and the record's key, not on the batch. */
static void test_drawn(void **state)
{
    struct engine_settings set = greedy;
    json_t *gold = lm_gold_read();
    const json_t *record = lm_gold_case(gold, "llama");
    struct lm_gold g;
    struct asked a, alone;
    int differ = 0;

    (void)state;
    set.max_new = 20;
    set.draw = (struct draw_settings){ .temperature = 0.8f, .top_p = 0.9f, .typical_p = 1, .seed = 5 };
    lm_gold_open(&g, record, LM_FROZEN, F32);
    read_asked(&a, record, "greedy");
    read_asked(&alone, record, "greedy");
    answer(&g, &a, &set);
    set.batch = 1;
    answer(&g, &alone, &set);
    for (int i = 0; i < PROMPTS; i++) {
        assert_int_equal(a.said[i].out.count, alone.said[i].out.count);
        assert_memory_equal(a.said[i].out.items, alone.said[i].out.items, 20 * sizeof(int32_t));
        differ += memcmp(a.said[i].out.items, a.answer[i], 20 * sizeof(int32_t)) != 0;
    }
    assert_int_equal(differ, PROMPTS);
    set.draw.seed = 6;
    answer(&g, &alone, &set);
    assert_true(memcmp(a.said[0].out.items, alone.said[0].out.items, 20 * sizeof(int32_t)) != 0);
    release(&a);
    release(&alone);
    lm_gold_close(&g);
    json_decref(gold);
}

/* Free memory has no effect as long as the cache fits. Then the batch is halved, and completions stay the same. */
static void test_free_memory(void **state)
{
    const struct engine_settings set = greedy;
    json_t *gold = lm_gold_read();
    struct engine engine;
    struct error err;
    struct lm_gold g;
    struct asked a;
    size_t bytes = 0, none;

    (void)state;
    test_not_on_simt();
    lm_gold_open(&g, lm_gold_case(gold, "llama"), LM_FROZEN, F32);
    read_asked(&a, lm_gold_case(gold, "llama"), "greedy");
    engine_init(&engine, &g.model, &g.work, &set);
    g.device.free_memory = 0; /* unknown */
    assert_int_equal(engine_measure(&engine, a.list, PROMPTS, &bytes, &none, &err), 0);
    for (int less = 0; less < 2; less++) {
        size_t cache = 0;
        g.device.free_memory = 2 * bytes - (size_t)less;
        assert_int_equal(engine_measure(&engine, a.list, PROMPTS, &cache, &none, &err), 0);
        assert_int_equal(engine.set.batch, less ? 1 : 3);
        assert_int_equal(cache < bytes, less);
    }
    assert_int_equal(engine_run(&engine, a.list, PROMPTS, NULL, NULL, &err), 0);
    for (int i = 0; i < PROMPTS; i++)
        check(&a, i, NEW, false);
    engine_release(&engine);
    release(&a);
    lm_gold_close(&g);
    json_decref(gold);
}

static int steps_left;

static int no_steps_left(void)
{
    return --steps_left == 0;
}

/* A stopped run ends without the unfinished completions. */
static void test_stopped(void **state)
{
    struct engine_settings set = greedy;

    test_not_on_simt();
    json_t *gold = lm_gold_read();
    struct engine engine;
    struct error err;
    struct lm_gold g;
    struct asked a;

    (void)state;
    set.stop = no_steps_left;
    lm_gold_open(&g, lm_gold_case(gold, "llama"), LM_FROZEN, F32);
    read_asked(&a, lm_gold_case(gold, "llama"), "greedy");
    engine_init(&engine, &g.model, &g.work, &set);
    steps_left = 5;
    assert_int_equal(engine_run(&engine, a.list, PROMPTS, NULL, NULL, &err), 1);
    for (int i = 0; i < PROMPTS; i++)
        assert_int_equal(a.list[i].n_answers, 0);
    engine_release(&engine);
    release(&a);
    lm_gold_close(&g);
    json_decref(gold);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_greedy),      cmocka_unit_test(test_stops),
                                        cmocka_unit_test(test_room),        cmocka_unit_test(test_drawn),
                                        cmocka_unit_test(test_free_memory), cmocka_unit_test(test_stopped),
                                        cmocka_unit_test(test_openings) };
    return test_devices(tests, ARRAY_LEN(tests));
}
