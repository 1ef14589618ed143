/* Compares beam search of whole models with transformers (gold/make_engine.py), free and constrained to lists of
 * sequences. Tokens are equal and scores agree to 1e-4, with and without jump-forward decoding. */
#include "tests/support/support.h"

#include "models/engine/engine.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ANSWERS = 8, MOST_LISTS = 8, MOST_PROMPT = 64 };

struct search_case {
    const json_t *gold;
    int32_t prompt[MOST_PROMPT];
    struct automaton_host bound;
    struct engine_completion said[MOST_ANSWERS];
};

static int64_t int_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static struct automaton_host automaton_of(const json_t *lists, int32_t stop)
{
    struct token_list l[MOST_LISTS];
    struct automaton_host a;
    struct error err;
    int n = (int)json_array_size(lists);

    memset(l, 0, sizeof l);
    assert_true(n <= MOST_LISTS);
    for (int i = 0; i < n; i++) {
        size_t k, m;
        json_t *one, *id;
        json_array_foreach(json_array_get(lists, (size_t)i), k, one)
        {
            json_array_foreach(one, m, id) ids_push(&l[i].ids, (int32_t)json_integer_value(id));
            token_list_end(&l[i]);
        }
    }
    assert_int_equal(automaton_build(&a, l, n, &stop, 1, &err), 0);
    for (int i = 0; i < n; i++)
        token_list_release(&l[i]);
    return a;
}

static struct engine_settings settings_of(const json_t *gold, bool one_by_one)
{
    return (
        struct engine_settings){ .max_new = int_of(gold, "new"),
                                 .answers = (int)int_of(gold, "n"),
                                 .beams = (int)int_of(gold, "beams"),
                                 .beam = { .length_penalty = (float)json_number_value(json_object_get(gold, "penalty")),
                                           .early = (enum early_stopping)int_of(gold, "early") },
                                 .batch = 1,
                                 .step_tokens = 4096,
                                 .one_by_one = one_by_one };
}

static void check_answer(const struct engine_completion *a, const json_t *gold, const char *what, size_t i)
{
    const json_t *ids = json_object_get(gold, "tokens");
    double score = json_number_value(json_object_get(gold, "score"));

    if (a->out.count != (int64_t)json_array_size(ids) || a->stopped != json_is_true(json_object_get(gold, "stopped")) ||
        !(fabs(a->score - score) <= 1e-4 * fabs(score)))
        fail_msg("%s, answer %zu: %lld tokens of score %.9g, wanted %zu of %.9g", what, i, (long long)a->out.count,
                 a->score, json_array_size(ids), score);
    for (int64_t k = 0; k < a->out.count; k++)
        assert_int_equal(a->out.items[k], json_integer_value(json_array_get(ids, (size_t)k)));
}

static void run_case(struct lm_gold *g, struct search_case *s, bool one_by_one, const char *what)
{
    const json_t *prompt = json_object_get(s->gold, "prompt"), *answers = json_object_get(s->gold, "answers");
    struct engine_settings set = settings_of(s->gold, one_by_one);
    struct engine_request r = { .prompt = s->prompt,
                                .n_prompt = (int64_t)json_array_size(prompt),
                                .constraint = s->bound.n_states ? &s->bound : NULL,
                                .answers = s->said };
    struct engine engine;
    struct error err;

    assert_true(r.n_prompt <= MOST_PROMPT && set.answers <= MOST_ANSWERS);
    for (int64_t i = 0; i < r.n_prompt; i++)
        s->prompt[i] = (int32_t)json_integer_value(json_array_get(prompt, (size_t)i));
    engine_init(&engine, &g->model, &g->work, &set);
    assert_int_equal(engine_run(&engine, &r, 1, NULL, NULL, &err), 0);
    assert_int_equal(r.n_answers, json_array_size(answers));
    for (size_t i = 0; i < json_array_size(answers); i++)
        check_answer(&s->said[i], json_array_get(answers, i), what, i);
    for (int i = 0; i < set.answers; i++)
        engine_completion_release(&s->said[i]);
    engine_release(&engine);
}

static void check_model(const json_t *models, const json_t *gold, int32_t stop)
{
    const char *tag = json_string_value(json_object_get(gold, "tag"));
    const json_t *cases = json_object_get(gold, "cases");
    struct lm_gold g;

    lm_gold_open(&g, lm_gold_case(models, tag), LM_FROZEN, F32);
    g.model.net.config.stops[0] = stop;
    g.model.net.config.n_stops = 1;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        struct search_case s = { .gold = json_array_get(cases, i) };
        const json_t *lists = json_object_get(s.gold, "lists");
        char what[64];
        snprintf(what, sizeof what, "%s, case %zu", tag, i);
        if (json_array_size(lists))
            s.bound = automaton_of(lists, stop);
        if (strcmp(test_device_name(), "simt") || test_all())
            run_case(&g, &s, true, what);
        run_case(&g, &s, false, what);
        automaton_release(&s.bound);
    }
    lm_gold_close(&g);
}

static void test_beams(void **state)
{
    json_t *models = lm_gold_read(), *gold = json_load_file("tests/gold/engine.json", 0, NULL);

    (void)state;
    assert_non_null(gold);
    size_t n = strcmp(test_device_name(), "simt") ? json_array_size(json_object_get(gold, "models")) : 1;
    for (size_t i = 0; i < n; i++)
        check_model(models, json_array_get(json_object_get(gold, "models"), i), (int32_t)int_of(gold, "stop"));
    json_decref(gold);
    json_decref(models);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_beams) };
    return test_devices(tests, ARRAY_LEN(tests));
}
