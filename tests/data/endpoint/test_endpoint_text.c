/* Requests and replies of language-model servers: forms, log-probabilities of a part of a text, hostile replies. */
#include "data/endpoint/endpoint_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int read_reply(struct endpoint_text *texts, int max, const char *body)
{
    struct endpoint_usage usage;
    struct error err;

    return endpoint_reply(texts, max, &usage, body, strlen(body), &err);
}

/* Checks the only text of a reply. */
static void expect(const char *text, bool stopped, const char *body)
{
    struct endpoint_text t = { 0 };

    assert_int_equal(read_reply(&t, 1, body), 1);
    assert_string_equal(t.text, text);
    assert_int_equal(t.stopped, stopped);
    endpoint_text_release(&t);
}

static void test_forms(void **state)
{
    (void)state;
    expect("SELECT 1", true, "{\"choices\":[{\"message\":{\"content\":\"SELECT 1\"},\"finish_reason\":\"stop\"}]}");
    expect("SELECT 1", false, "{\"choices\":[{\"text\":\"SELECT 1\",\"finish_reason\":\"length\"}]}");
    expect(
        "SELECT 1", false,
        "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"SELECT\"},{\"type\":\"image\"},{\"text\":"
        "\" 1\"}]}}]}");
    expect(
        "", false,
        "{\"choices\":[{\"message\":{\"content\":null,\"reasoning_content\":\"hm\"},\"finish_reason\":\"length\"}]}");
    expect("", false, "{\"choices\":[{}]}");
}

static void test_hostile(void **state)
{
    static const char *const bodies[] = { "",
                                          "<html>",
                                          "[]",
                                          "{}",
                                          "{\"choices\":{}}",
                                          "{\"choices\":[]}",
                                          "{\"choices\":[{\"index\":-1,\"text\":\"a\"}]}",
                                          "{\"choices\":[{\"index\":99999999999,\"text\":\"a\"}]}",
                                          "{\"choices\":[{\"text\":\"a\\u0000b\"}]}" };
    struct endpoint_text t[2] = { 0 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(bodies); i++)
        assert_int_equal(read_reply(t, 2, bodies[i]), -1);
    assert_int_equal(
        read_reply(t, 2, "{\"choices\":[{\"index\":1,\"text\":\"b\"},{\"index\":1,\"text\":\"c\"},{\"index\":7}]}"), 1);
    assert_null(t[0].text);
    assert_string_equal(t[1].text, "b");
    endpoint_text_release(&t[1]);
}

#define HALF "-0.693147180559945"

static void test_logprobs(void **state)
{
    struct endpoint_text t = { 0 };

    (void)state;
    assert_int_equal(
        read_reply(
            &t, 1,
            "{\"choices\":[{\"message\":{\"content\":\"a b\\u00e9\"},\"logprobs\":{\"content\":[{\"token\":\"<think>\","
            "\"logprob\":-3},{\"token\":\"a\",\"logprob\":" HALF "},{\"token\":\" b\",\"logprob\":" HALF
            "},{\"token\":\"?\",\"bytes\":[195],\"logprob\":" HALF
            "},{\"token\":\"?\",\"bytes\":[169],\"logprob\":-1},{"
            "\"token\":\"<end>\",\"logprob\":-5}]}}]}"),
        1);
    assert_int_equal(t.n_tokens, 4);
    assert_true(fabs(endpoint_text_logp(&t, 0, strlen(t.text)) + 3 * log(2) + 1) < 1e-9);
    assert_true(fabs(endpoint_text_logp(&t, 1, 3) + log(2)) < 1e-9);
    assert_true(endpoint_text_logp(&t, 5, 5) == 0);
    json_t *o = endpoint_text_to_json(&t);
    struct endpoint_text again;
    assert_int_equal(endpoint_text_from_json(&again, o), 0);
    assert_string_equal(again.text, t.text);
    assert_true(endpoint_text_logp(&again, 0, 5) == endpoint_text_logp(&t, 0, 5));
    json_decref(o);
    endpoint_text_release(&again);
    endpoint_text_release(&t);
}

/* Checks that a text of "a b" has no log-probabilities. */
static void expect_none(const char *logprobs)
{
    struct endpoint_text t = { 0 };
    char body[1024];

    snprintf(body, sizeof body, "{\"choices\":[{\"text\":\"a b\",\"logprobs\":%s}]}", logprobs);
    assert_int_equal(read_reply(&t, 1, body), 1);
    assert_true(isnan(endpoint_text_logp(&t, 0, 3)));
    endpoint_text_release(&t);
}

static void test_missing_logprobs(void **state)
{
    struct endpoint_text t = { 0 };

    (void)state;
    expect_none("null");
    expect_none("{}");
    expect_none("{\"content\":[]}");
    expect_none("{\"content\":[{\"token\":\"a b\"}]}");
    expect_none("{\"content\":[{\"token\":\"a b\",\"logprob\":2}]}");
    expect_none("{\"content\":[{\"token\":\"other\",\"logprob\":-1}]}");
    expect_none("{\"tokens\":[\"a\",\" b\"],\"token_logprobs\":[-1]}");
    expect_none("{\"tokens\":[\"a\",\" b\"],\"token_logprobs\":[null,-1]}");
    assert_int_equal(
        read_reply(&t, 1,
                   "{\"choices\":[{\"text\":\"a b\",\"logprobs\":{\"tokens\":[\"a\",\" b\"],\"token_logprobs\":[-1,"
                   "-99999]}}]}"),
        1);
    assert_true(endpoint_text_logp(&t, 0, 3) == -10001);
    endpoint_text_release(&t);
}

static void test_request(void **state)
{
    json_t *chat = json_pack("{s:s, s:[{s:s, s:s}]}", "id", "q", "messages", "role", "user", "content", "?");
    json_t *plain = json_pack("{s:s}", "prompt", "?");
    struct endpoint_sampling s = {
        .samples = 4, .max_new = 9, .temperature = 0.5, .top_p = 1, .typical_p = 1, .seed = 3
    };
    struct endpoint_dialect d = { 0 };

    (void)state;
    s.logprobs = true;
    json_t *o = endpoint_request(chat, "m", &s, &d, 2, 2);
    char *text = json_dumps(o, JSON_COMPACT);
    assert_string_equal(text, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"?\"}],\"max_tokens\":9,"
                              "\"temperature\":0.5,\"n\":2,\"seed\":5,\"logprobs\":true,\"top_logprobs\":1}");
    free(text);
    json_decref(o);
    d = (struct endpoint_dialect){ .no_logprobs = true, .max_completion_tokens = true };
    s.temperature = 0;
    s.top_k = 7;
    s.stop = ";";
    text = json_dumps(o = endpoint_request(plain, NULL, &s, &d, 0, 1), JSON_COMPACT);
    assert_string_equal(
        text, "{\"prompt\":\"?\",\"max_completion_tokens\":9,\"temperature\":0.0,\"top_k\":7,\"stop\":\";\"}");
    free(text);
    json_decref(o);
    json_decref(chat);
    json_decref(plain);
}

static void expect_message(const char *message, const char *body)
{
    char text[ENDPOINT_MAX_MESSAGE];

    endpoint_message(text, body, strlen(body));
    assert_string_equal(text, message);
}

static void test_message(void **state)
{
    (void)state;
    expect_message("no", "{\"error\":{\"message\":\"no\"}}");
    expect_message("no", "{\"error\":\"no\"}");
    expect_message("no", "{\"detail\":\"no\"}");
    expect_message("<html>  no", "<html>\n\x1bno");
    expect_message("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms),    cmocka_unit_test(test_hostile),
                                        cmocka_unit_test(test_logprobs), cmocka_unit_test(test_missing_logprobs),
                                        cmocka_unit_test(test_request),  cmocka_unit_test(test_message) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
