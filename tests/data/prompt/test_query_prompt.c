/* Prompts that ask models elsewhere for statements. */
#include "tests/support/support.h"

#include "data/prompt/prompt.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

/* boat(id, name), crew(age) */
static void build(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "harbour");
    schema_build_table(&b, "Boat", NULL);
    schema_build_table(&b, "crew", NULL);
    schema_build_column(&b, 0, "ID", NULL, COLUMN_NUMBER);
    schema_build_column(&b, 0, "name", NULL, COLUMN_TEXT);
    schema_build_column(&b, 1, "age", NULL, COLUMN_NUMBER);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

/* The text of message i of the prompt, which `list` keeps. */
static const char *content(json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "content"));
}

static void ends_with(const char *text, const char *end)
{
    assert_true(strlen(text) >= strlen(end));
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

static void prompts_end_with_the_question(void **state)
{
    struct schema s;
    const struct query_question q = { "harbour", "100% of {x}?", "a : b (1, 2)", &s };

    (void)state;
    build(&s);
    json_t *list = query_prompt_messages(query_prompt_of("list"), &q);
    assert_int_equal(json_array_size(list), 4);
    assert_non_null(strstr(content(list, 0), "converts provided English questions to SQL"));
    assert_non_null(strstr(content(list, 2), "{\n    \"queries\": [\n        \"select t2.name"));
    assert_non_null(strstr(content(list, 3), "Database ID harbour is:\na : b (1, 2)\n\nConvert"));
    ends_with(content(list, 3), "\n\nQuestion: 100% of {x}?");
    json_decref(list);

    list = query_prompt_messages(query_prompt_of("one"), &q);
    assert_int_equal(json_array_size(list), 1);
    assert_non_null(strstr(content(list, 0), "{select"));
    ends_with(content(list, 0), "Schema: a : b (1, 2)\nQuestion: 100% of {x}?\n");
    json_decref(list);

    list = query_prompt_messages(query_prompt_of("zero-shot"), &q);
    assert_string_equal(content(list, 0), "### Complete sqlite SQL query only and with no explanation\n"
                                          "### Sqlite SQL tables, with their properties:\n"
                                          "#\n# Boat(ID,name)\n# crew(age)\n#\n### 100% of {x}?\nSELECT");
    json_decref(list);
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_end_with_the_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
