/* The statement in a completion: of a chat model the first one, in the published form the text. */
#include "infer/parse/parser.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static void check(enum parser_form form, bool published, const char *text, const char *wanted)
{
    struct parse_stage s = { .form = form };
    struct parse_case c = { .db_id = "gym", .errors = json_array(), .published = published };
    const struct asked_text said = { .text = (char *)(uintptr_t)text };
    struct parse_list found = { 0 };

    parse_stage_take(&s, &found, &c, &said, -1);
    assert_int_equal(found.n, wanted != NULL);
    assert_int_equal(json_array_size(c.errors), wanted == NULL);
    if (wanted)
        assert_string_equal(found.items[0].sql, wanted);
    else
        assert_string_equal(json_string_value(json_object_get(json_array_get(c.errors, 0), "completion")), text);
    parse_list_release(&found);
    json_decref(c.errors);
}

static void test_chat(void **state)
{
    static const char wanted[] = "select name from t where n = 'A  B'";

    (void)state;
    check(PARSER_CHAT, false, "SELECT name FROM t WHERE n = 'A  B';", wanted);
    check(PARSER_CHAT, false, "<think>SELECT 1</think>\n```sql\nSELECT name -- all\nFROM t WHERE n = 'A  B'\n```",
          wanted);
    check(PARSER_CHAT, false, "1 joins @ 1 selects @ select name from t where n = 'A  B'", wanted);
    check(PARSER_CHAT, false, "gym | select name from t where n = 'A  B'", wanted);
    check(PARSER_CHAT, false, "<think>SELECT name FROM t", NULL);
    check(PARSER_CHAT, false, "I do not know.", NULL);
}

static void test_seq2seq(void **state)
{
    (void)state;
    check(PARSER_SEQ2SEQ, false, "gym | SELECT  name FROM t WHERE n = 'A  ( B'",
          "select name from t where n = 'A  ( B'");
    check(PARSER_SEQ2SEQ, false, "gym | 1 joins @ 1 selects @ select count ( * ) from t", "select count(*) from t");
    check(PARSER_SEQ2SEQ, true, "gym | select name from t where n = 'A  ( B'", "select name from t where n = 'A (B'");
    check(PARSER_SEQ2SEQ, false, "gym | select nam frm", "select nam frm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_seq2seq),
    };
    return cmocka_run_group_tests_name("parse_take", tests, NULL, NULL);
}
