/* Completions with a clarifying question in other words: forms that are read, and options that are not the same. */
#include "tests/support/support.h"

#include "infer/clarify/wordings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const options[] = { "name of band", "price of \"concert\", in euro" };

#define SAME "\"options\": [\"name of band\", \"price of \\\"concert\\\", in euro\"]}"

/* expected: the question, or a part of the message if refused is set */
static const struct {
    const char *completion, *expected;
    bool refused;
} cases[] = {
    { "{\"question\": \"Names only?\", " SAME, "Names only?", false },
    { "<think>{\"question\": \"no\"}</think>\nSure:\n```json\n{\"question\": \"Names only?\", " SAME "\n```",
      "Names only?", false },
    { "Here {it} is: {\"note\": 1} {\"question\": \"Names only?\", " SAME " Thanks.", "Names only?", false },
    { "{\"question\": \"Names\xc3\xa9?\", \"options\": [\" name  of band\", \"price of \\\"concert\\\", in euro \"]}",
      "Names\xc3\xa9?", false },
    { "", "expected an object with \"question\"", true },
    { "Which names?", "expected an object with \"question\"", true },
    { "{\"question\": 7, " SAME, "expected an object with \"question\"", true },
    { "{\"question\": \" \", " SAME, "question: expected words", true },
    { "{\"question\": \"a\\nb\", " SAME, "question: expected one line", true },
    { "{\"question\": \"Names only?\"}", "options: expected 2, got 0", true },
    { "{\"question\": \"Names only?\", \"options\": \"name of band\"}", "options: expected 2, got 0", true },
    { "{\"question\": \"Names only?\", \"options\": [\"name of band\"]}", "options: expected 2, got 1", true },
    { "{\"question\": \"Names only?\", \"options\": [\"name of band\", \"price\"]}",
      "options[1]: expected \"price of \"concert\", in euro\", got \"price\"", true },
    { "{\"question\": \"Names only?\", \"options\": [\"price of \\\"concert\\\", in euro\", \"name of band\"]}",
      "options[0]: expected \"name of band\"", true },
    { "{\"question\": \"Names only?\", \"options\": [\"name of band\", 3]}", "options[1]", true },
    { "{\"question\": \"Names only?\", \"options\": [\"name ofband\", \"price of \\\"concert\\\", in euro\"]}",
      "options[0]: expected \"name of band\", got \"name ofband\"", true },
    { "{\"question\": \"Names only?\", \"options\": [\"name of\", \"price of \\\"concert\\\", in euro\"]}",
      "options[0]", true },
    { "{\"question\": \"Names only?\", \"options\": [\"name of bands\", \"price of \\\"concert\\\", in euro\"]}",
      "options[0]", true },
};

static void test_completions(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        char *text = wording_read(cases[i].completion, options, ARRAY_LEN(options), &err);
        if (cases[i].refused ? text || !strstr(err.text, cases[i].expected)
                             : !text || strcmp(text, cases[i].expected) != 0)
            fail_msg("%s: expected %s, got %s", cases[i].completion, cases[i].expected, text ? text : err.text);
        free(text);
    }
}

static void test_long_question(void **state)
{
    static char completion[2000];
    struct error err = { 0 };

    (void)state;
    snprintf(completion, sizeof completion, "{\"question\": \"%0501d\", " SAME, 1);
    assert_null(wording_read(completion, options, ARRAY_LEN(options), &err));
    assert_string_equal(err.text, "question: expected at most 500 bytes, got 501");
    snprintf(completion, sizeof completion, "{\"question\": \"%0500d\", " SAME, 1);
    char *text = wording_read(completion, options, ARRAY_LEN(options), &err);
    assert_non_null(text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_completions), cmocka_unit_test(test_long_question) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
