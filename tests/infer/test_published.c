/* A small T5 driven by the published rules, beside transformers with the same rules in a processor of logits
 * (gold/make_published.py): the same statements in the same order, scores to 1e-4. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "infer/parse/published.h"
#include "models/lm/lm_text.h"
#include "tests/support/step.h"

#include <math.h>
#include <string.h>

enum { HOST_BYTES = 16 << 20 };

struct published_world {
    struct device device;
    struct workspace work;
    struct llama_model model;
};

static void world_open(struct published_world *w)
{
    const struct llama_request request = { .dir = "tests/gold/published", .dtype = "f32", .seq2seq = true };
    struct error err;

    test_device_open(&w->device);
    if (workspace_init(&w->work, &w->device, HOST_BYTES, &err) ||
        llama_model_open(&w->model, &w->device, &request, &err))
        fail_msg("%s", err.text);
}

static void world_close(struct published_world *w)
{
    llama_model_release(&w->model);
    workspace_release(&w->work);
    device_close(&w->device);
}

static const char *string_of(const json_t *o, const char *field)
{
    return json_string_value(json_object_get(o, field));
}

static void check_answers(const struct published_answers *got, const json_t *wanted)
{
    for (int i = 0; i < got->n && i < (int)json_array_size(wanted); i++) {
        const json_t *one = json_array_get(wanted, (size_t)i);
        double score = json_number_value(json_object_get(one, "score"));
        assert_string_equal(got->items[i].text, string_of(one, "text"));
        if (fabs(got->items[i].score - score) > 1e-4)
            fail_msg("\"%s\": %.6f, not %.6f", got->items[i].text, got->items[i].score, score);
    }
    assert_int_equal(got->n, json_array_size(wanted));
}

static void check_case(struct published_world *w, const json_t *c)
{
    json_t *record = json_pack("{s:O}", "prompt", json_object_get(c, "source"));
    struct published_answers got;
    struct lm_text prompt;
    struct error err;

    lm_text_read(&prompt, &w->model, record, LM_OPEN, "case");
    const struct published_question q = { .prompt = prompt.ids.items,
                                          .n_prompt = prompt.ids.count,
                                          .schema = string_of(c, "schema"),
                                          .template = string_of(c, "template"),
                                          .begin = string_of(c, "begin") };
    if (published_answer(&got, &w->model, &w->work, &q, &err))
        fail_msg("%s", err.text);
    check_answers(&got, json_object_get(c, "answers"));
    published_answers_release(&got);
    lm_text_release(&prompt);
    json_decref(record);
}

/* simt is slow, so it runs one case of each kind. */
static void test_gold(void **state)
{
    json_t *gold = json_read_file("tests/gold/published.json", NULL);
    size_t n = json_array_size(gold), every = strcmp(test_device_name(), "simt") ? 1 : n - 1;
    struct published_world w;

    (void)state;
    assert_true(n > 1);
    world_open(&w);
    for (size_t i = 0; i < n; i += every)
        check_case(&w, json_array_get(gold, i));
    world_close(&w);
    json_decref(gold);
}

/* An invalid schema string. */
static void test_schema(void **state)
{
    const int32_t prompt[] = { 5, 1 };
    const struct published_question q = { .prompt = prompt, .n_prompt = 2, .schema = "boats", .template = "select" };
    struct published_answers got;
    struct published_world w;
    struct error err;

    (void)state;
    world_open(&w);
    assert_int_equal(published_answer(&got, &w.model, &w.work, &q, &err), -1);
    assert_error(err, "boats", "\":\"");
    published_answers_release(&got);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),
        cmocka_unit_test(test_schema),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
