/* Completions of small T5s equal those of transformers in tokens and scores (gold/make_t5.py), greedy and with
 * beams. They do not depend on the batch, bit for bit. bf16 is tested too. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "models/engine/engine.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPTS = 4, MAX_SOURCE = 512, NEW = 12, BEAMS = 5, HOST_BYTES = 16 << 20 };

/* A model and its prompts. */
struct world {
    json_t *gold;
    const json_t *of; /* the folder's records */
    struct device device;
    struct workspace work;
    struct llama_model model;
    int32_t source[PROMPTS][MAX_SOURCE];
    struct engine_request list[PROMPTS];
    struct engine_completion said[PROMPTS][BEAMS];
};

static int64_t read_ids(int32_t *out, const json_t *list, int64_t most)
{
    int64_t n = (int64_t)json_array_size(list);

    assert_true(n <= most);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    return n;
}

static void world_open(struct world *w, const char *tag, enum dtype dtype)
{
    struct t5_config c;
    struct error err;
    char dir[64];

    *w = (struct world){ .gold = json_read_file("tests/gold/t5.json", &err) };
    snprintf(dir, sizeof dir, "tests/gold/t5/%s", tag);
    w->of = json_object_get(json_object_get(w->gold, "folders"), tag);
    assert_int_equal(json_array_size(w->of), PROMPTS);
    test_device_open(&w->device);
    if (workspace_init(&w->work, &w->device, HOST_BYTES, &err) || t5_config_read(&c, dir, &err) ||
        t5_model_init(&w->model, &w->device, &c, dtype, OPTIMIZER_NONE, 0, &err) ||
        llama_model_load(&w->model, dir, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *source = json_object_get(json_array_get(w->of, (size_t)i), "source");
        w->list[i] = (struct engine_request){ .prompt = &w->model.t5.config.start,
                                              .n_prompt = 1,
                                              .source = w->source[i],
                                              .n_source = read_ids(w->source[i], source, MAX_SOURCE),
                                              .key = (uint64_t)i,
                                              .answers = w->said[i] };
    }
}

static void release_said(struct world *w)
{
    for (int i = 0; i < PROMPTS * BEAMS; i++)
        engine_completion_release(&w->said[i / BEAMS][i % BEAMS]);
}

static void world_close(struct world *w)
{
    release_said(w);
    workspace_release(&w->work);
    llama_model_release(&w->model);
    device_close(&w->device);
    json_decref(w->gold);
}

static void answer(struct world *w, int beams, int64_t batch, int64_t step_tokens)
{
    const struct engine_settings set = { .max_new = NEW,
                                         .answers = beams,
                                         .beams = beams,
                                         .beam = { .length_penalty = 1, .early = EARLY_FALSE },
                                         .draw = { .top_p = 1, .typical_p = 1 },
                                         .batch = batch,
                                         .step_tokens = step_tokens };
    struct engine engine;
    struct error err;

    release_said(w);
    engine_init(&engine, &w->model, &w->work, &set);
    if (engine_run(&engine, w->list, PROMPTS, NULL, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(engine.done, PROMPTS);
    engine_release(&engine);
}

static void check_ids(const struct engine_completion *a, const json_t *want)
{
    int32_t ids[NEW];
    int64_t n = read_ids(ids, want, NEW);

    assert_int_equal(a->out.count, n);
    if (n)
        assert_memory_equal(a->out.items, ids, (size_t)n * sizeof *ids);
}

static void check_answers(const struct world *w, int beams)
{
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *record = json_array_get(w->of, (size_t)i), *list = json_object_get(record, "beams");
        assert_int_equal(w->list[i].n_answers, beams);
        if (beams == 1)
            check_ids(&w->said[i][0], json_object_get(record, "greedy"));
        for (int k = 0; k < beams && beams > 1; k++) {
            const json_t *one = json_array_get(list, (size_t)k);
            check_ids(&w->said[i][k], json_object_get(one, "ids"));
            assert_true(fabs(w->said[i][k].score - json_real_value(json_object_get(one, "score"))) <= 1e-4);
        }
    }
}

/* simt is slow: it runs one of each. */
static bool is_slow(void)
{
    return !strcmp(test_device_name(), "simt");
}

/* All at once, and one and three at a time; sources in one step, and one per step. */
static void check_folder(const char *tag, int beams)
{
    double score[PROMPTS];
    struct world w;

    world_open(&w, tag, F32);
    answer(&w, beams, PROMPTS, 4096);
    check_answers(&w, beams);
    for (int i = 0; i < PROMPTS; i++)
        score[i] = w.said[i][0].score;
    for (int64_t batch = is_slow() ? 3 : 1; batch <= 3; batch += 2) {
        answer(&w, beams, batch, batch);
        check_answers(&w, beams);
        for (int i = 0; i < PROMPTS; i++)
            assert_true(w.said[i][0].score == score[i]);
    }
    world_close(&w);
}

static void test_greedy(void **state)
{
    (void)state;
    check_folder("v1.0", 1);
    if (!is_slow())
        check_folder("flan", 1);
}

static void test_beams(void **state)
{
    (void)state;
    check_folder("flan", BEAMS);
    if (!is_slow())
        check_folder("v1.0", BEAMS);
}

/* In bf16 the best completion has nearly the score of f32. */
static void test_bf16(void **state)
{
    struct world w;

    (void)state;
    test_not_on_simt();
    world_open(&w, "flan", BF16);
    answer(&w, BEAMS, PROMPTS, 4096);
    for (int i = 0; i < PROMPTS; i++) {
        const json_t *best = json_array_get(json_object_get(json_array_get(w.of, (size_t)i), "beams"), 0);
        double want = json_real_value(json_object_get(best, "score"));
        assert_true(fabs(w.said[i][0].score - want) <= -want / 128);
    }
    world_close(&w);
}

/* A run takes the measured memory. */
static void test_measure(void **state)
{
    const struct engine_settings set = { .max_new = NEW,
                                         .answers = 1,
                                         .beams = 1,
                                         .draw = { .top_p = 1, .typical_p = 1 },
                                         .batch = PROMPTS,
                                         .step_tokens = 4096 };
    struct engine engine;
    struct error err;
    struct world w;
    size_t cache, step;

    (void)state;
    world_open(&w, "flan", F32);
    engine_init(&engine, &w.model, &w.work, &set);
    assert_int_equal(engine_measure(&engine, w.list, PROMPTS, &cache, &step, &err), 0);
    assert_int_equal(engine_run(&engine, w.list, PROMPTS, NULL, NULL, &err), 0);
    assert_int_equal(engine.data.peak, cache);
    assert_int_equal(workspace_total(w.work.peak), step);
    engine_release(&engine);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_beams),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_measure),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
