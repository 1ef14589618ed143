/* Statements asked of models elsewhere, and what is read of their answers. */
#include "tests/support/support.h"

#include "data/prompt/query_prompt.h"

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

static void answers_of_every_form_are_read(void **state)
{
    static const struct {
        const char *answer, *wanted;
    } cases[] = {
        { "{\"queries\": [\"select a\", \"select  b\\n from c\", \"select a\", 3, \"\"]}", "select a|select b from c" },
        { "Sure: {here}\n```json\n{\"queries\": [\"select '{'\"]}\n```\nMore.", "select '{'" },
        { "{\"queries\": []}", "" },
        { "{ select name\nfrom singer }\n\nSchema: {x}", "select name from singer" },
        { "{\"other\": 1}", "\"other\": 1" },
        { "{not closed", "" },
        { "```sql\nSELECT 1;\n```", "SELECT 1" },
        { "", "" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct text_items out = { 0 };
        char *wanted = xstrdup(cases[i].wanted), *rest = *wanted ? wanted : NULL;
        query_prompt_read(&out, cases[i].answer);
        for (int k = 0; k < out.n; k++)
            assert_string_equal(out.items[k], strsep(&rest, "|"));
        assert_null(rest);
        free(wanted);
        text_items_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_end_with_the_question),
        cmocka_unit_test(answers_of_every_form_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
