/* A plain beam search over row_scores finds the results of transformers (gold/make_t5.py, gold/make_engine.py), with
 * an encoder-decoder and with a decoder. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/prompt/restricted_infilling.h"
#include "models/lm/row_scores.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEW = 12, BEAMS = 5, MOST_PROMPT = 512, HOST_BYTES = 16 << 20 };

static int64_t read_ids(int32_t out[MOST_PROMPT], const json_t *list)
{
    int64_t n = (int64_t)json_array_size(list);

    assert_true(n <= MOST_PROMPT);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    return n;
}

static int next_scores(void *user, double *rows, const int32_t *const *beams, int n, int length)
{
    struct error err;
    if (row_scores_next(user, rows, beams, n, length, &err))
        fail_msg("%s", err.text);
    return 0;
}

static char *no_text(void *user, const int32_t *ids, int n)
{
    (void)user, (void)ids, (void)n;
    return xstrdup("");
}

/* The search has no constraint, and no completion ends early. Lengths include the start token here, but not in the
 * gold file. */
static void check_search(struct row_scores *s, int beams, int n_new, int32_t end, const json_t *wanted,
                         const char *tokens)
{
    const struct infilling_rules free_rules = { .template = "", .unrestricted_from = 0 };
    const struct infilling_search search = { .rules = &free_rules,
                                             .beams = beams,
                                             .max_length = n_new + 1,
                                             .n_vocabulary = (int)s->n_vocabulary,
                                             .start = s->start,
                                             .end = end,
                                             .user = s,
                                             .scores = next_scores,
                                             .decode = no_text };
    struct infilling_answer *answers;
    int n = infilling_run(&answers, &search);

    assert_int_equal(n, beams);
    for (int i = 0; i < n; i++) {
        const json_t *one = json_array_get(wanted, (size_t)i);
        int32_t ids[MOST_PROMPT];
        double score = json_number_value(json_object_get(one, "score"));
        assert_int_equal(read_ids(ids, json_object_get(one, tokens)), n_new);
        assert_memory_equal(answers[i].ids, ids, (size_t)n_new * sizeof *ids);
        assert_true(fabs(answers[i].score * (n_new + 1) / n_new - score) <= 1e-4 * fabs(score));
        free(answers[i].ids);
    }
    free(answers);
}

static void check_t5(const char *tag, int prompts)
{
    json_t *gold = json_read_file("tests/gold/t5.json", NULL);
    const json_t *records = json_object_get(json_object_get(gold, "folders"), tag);
    struct llama_model model;
    struct workspace work;
    struct device device;
    struct t5_config c;
    struct error err;
    char dir[64];

    snprintf(dir, sizeof dir, "tests/gold/t5/%s", tag);
    test_device_open(&device);
    if (workspace_init(&work, &device, HOST_BYTES, &err) || t5_config_read(&c, dir, &err) ||
        t5_model_init(&model, &device, &c, F32, false, 0, &err) || llama_model_load(&model, dir, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < prompts; i++) {
        const json_t *record = json_array_get(records, (size_t)i);
        int32_t source[MOST_PROMPT];
        int64_t n = read_ids(source, json_object_get(record, "source"));
        struct row_scores s;
        if (row_scores_open(&s, &model, &work, source, n, BEAMS, NEW + 1, &err))
            fail_msg("%s", err.text);
        check_search(&s, BEAMS, NEW, -1, json_object_get(record, "beams"), "ids");
        row_scores_release(&s);
    }
    workspace_release(&work);
    llama_model_release(&model);
    device_close(&device);
    json_decref(gold);
}

static void encoder_decoders_search_as_transformers(void **state)
{
    bool slow = strcmp(test_device_name(), "simt") == 0;

    (void)state;
    check_t5("flan", slow ? 1 : 4);
    if (!slow)
        check_t5("v1.0", 4);
}

/* Whether no beam of the case ends early. */
static bool is_plain(const json_t *c)
{
    const json_t *a, *answers = json_object_get(c, "answers");
    size_t i;

    if (json_array_size(json_object_get(c, "lists")) || json_number_value(json_object_get(c, "penalty")) != 1.0)
        return false;
    json_array_foreach(answers, i, a) if (json_is_true(json_object_get(a, "stopped"))) return false;
    return json_array_size(answers) > 1;
}

static void decoders_search_as_transformers(void **state)
{
    json_t *gold = json_read_file("tests/gold/engine.json", NULL), *file = lm_gold_read();
    int32_t end = (int32_t)json_integer_value(json_object_get(gold, "stop"));
    const json_t *record, *c;
    int searched = 0;
    size_t i, k;

    (void)state;
    json_array_foreach(json_object_get(gold, "models"), i, record)
    {
        struct lm_gold g;
        struct error err;
        lm_gold_open(&g, lm_gold_case(file, json_string_value(json_object_get(record, "tag"))), LM_FROZEN, F32);
        json_array_foreach(json_object_get(record, "cases"), k, c)
        {
            int32_t prompt[MOST_PROMPT];
            struct row_scores s;
            if (!is_plain(c))
                continue;
            int beams = (int)json_array_size(json_object_get(c, "answers"));
            int n_new = (int)json_integer_value(json_object_get(c, "new"));
            if (row_scores_open(&s, &g.model, &g.work, prompt, read_ids(prompt, json_object_get(c, "prompt")), beams,
                                n_new + 1, &err))
                fail_msg("%s", err.text);
            check_search(&s, beams, n_new, end, json_object_get(c, "answers"), "tokens");
            row_scores_release(&s);
            searched++;
        }
        lm_gold_close(&g);
    }
    assert_true(searched > 0);
    json_decref(gold);
    json_decref(file);
}

/* Moving the last tokens of a long prompt to a text, beside another text, does not change the scores. */
static void prompts_may_end_anywhere(void **state)
{
    enum { LONG = 515, SAID = 5 };
    json_t *file = lm_gold_read();
    const json_t *record = lm_gold_case(file, "llama");
    int32_t prompt[LONG + SAID], other[SAID + 1];
    struct row_scores s;
    struct lm_gold g;
    struct error err;

    (void)state;
    lm_gold_open(&g, record, LM_FROZEN, F32);
    g.model.net.config.max_positions = LONG + SAID;
    for (int i = 0; i < LONG + SAID; i++)
        prompt[i] = (int32_t)(i * 37 % g.model.net.config.vocab_size);
    size_t row = (size_t)g.model.net.config.vocab_size;
    double *whole = xmalloc(3 * row * sizeof *whole), *rows = whole + row;
    if (row_scores_open(&s, &g.model, &g.work, prompt, LONG + SAID, 1, 8, &err) ||
        row_scores_next(&s, whole, (const int32_t *[]){ prompt + LONG + SAID - 1 }, 1, 1, &err))
        fail_msg("%s", err.text);
    assert_int_equal(row_scores_limit(&s), 1);
    row_scores_release(&s);

    if (row_scores_open(&s, &g.model, &g.work, prompt, LONG, 2, SAID + 1, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i <= SAID; i++)
        other[i] = i ? 3 : s.start;
    assert_int_equal(s.start, prompt[LONG - 1]);
    for (int n = 1; n <= SAID + 1; n++) { /* the two texts swap places in each step */
        const int32_t *texts[] = { n % 2 ? other : prompt + LONG - 1, n % 2 ? prompt + LONG - 1 : other };
        if (row_scores_next(&s, rows, texts, 2, n, &err))
            fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < row; i++)
        assert_true(fabs(rows[i] - whole[i]) <= 1e-4);
    row_scores_release(&s);
    free(whole);
    lm_gold_close(&g);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoder_decoders_search_as_transformers),
        cmocka_unit_test(decoders_search_as_transformers),
        cmocka_unit_test(prompts_may_end_anywhere),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
