/* Tests the registry of ambiguity types: complete rows, unique names, and indices that convert both ways. */
#include "data/schema/ambiguity_type.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>

static void every_row_is_complete(void **state)
{
    (void)state;
    for (int i = 0; i < AMBIGUITY_TYPES; i++) {
        const struct ambiguity_type *t = &ambiguity_types[i];
        assert_true(t->name && *t->name && t->sentence && *t->sentence);
        assert_int_equal(t->lead[0] && !strchr(t->lead[0], '%') && t->lead[1] && strstr(t->lead[1], "\"%s\""),
                         t->head == AMBIGUITY_HEAD_PAIRS);
        assert_int_equal(t->head, i < SIA_TYPES ? AMBIGUITY_HEAD_PAIRS : AMBIGUITY_HEAD_WORDS);
        assert_int_equal(ambiguity_type_find(t->name), i);
    }
    assert_int_equal(ambiguity_type_find("mood"), -1);
    assert_int_equal(ambiguity_type_find(NULL), -1);
}

static void messages_list_every_name(void **state)
{
    char names[128] = "";
    size_t n = 0;

    (void)state;
    for (int i = 0; i < AMBIGUITY_TYPES; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", ambiguity_types[i].name);
    assert_string_equal(names, AMBIGUITY_TYPE_NAMES);
}

static void indices_convert_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < AMBIGUITY_TYPES; i++) {
        enum sia_type schema = ambiguity_type_schema(i);
        enum linguistic_type linguistic = ambiguity_type_linguistic(i);
        assert_int_equal(schema == SIA_TYPES, linguistic != LINGUISTIC_NONE);
        assert_int_equal(ambiguity_type_of(schema, linguistic), i);
        if (linguistic != LINGUISTIC_NONE)
            assert_string_equal(linguistic_type_name(linguistic), ambiguity_types[i].name);
        else
            assert_string_equal(sia_type_letter(schema), ambiguity_types[i].name);
    }
    assert_int_equal(ambiguity_type_schema(-1), SIA_TYPES);
    assert_int_equal(linguistic_type_find("C"), LINGUISTIC_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(messages_list_every_name),
        cmocka_unit_test(indices_convert_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
