/* Prompts that ask models elsewhere for statements. */
#include "tests/support/support.h"

#include "data/prompt/prompt.h"

#include <stdlib.h>
#include <string.h>

static void prompts_end_with_the_question(void **state)
{
    (void)state;
    for (int p = QUERY_PROMPT_LIST; p <= QUERY_PROMPT_ONE; p++) {
        char *text = query_prompt_text((enum query_prompt)p, "100% of {x}?", "a : b (1, 2)");
        const char *end = strstr(text, "Schema: a : b (1, 2)\nQuestion: 100% of {x}?\n");
        assert_non_null(end);
        assert_null(strchr(strchr(end, '?'), 'S'));
        assert_non_null(strstr(text, p == QUERY_PROMPT_LIST ? "{\"queries\": [\"select" : "{select"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_end_with_the_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
