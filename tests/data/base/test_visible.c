/* Control characters of untrusted text are printed as escapes; all other text is unchanged. */
#include "tests/support/support.h"

#include "data/base/visible.h"

#include <stdlib.h>
#include <string.h>

static const char *value_of(const char *text)
{
    static char shown[256];
    FILE *f = fmemopen(shown, sizeof shown, "w");

    visible_put(f, text, strlen(text));
    fclose(f);
    return shown;
}

static const char *line_of(const char *text)
{
    static char shown[256];
    FILE *f = fmemopen(shown, sizeof shown, "w");

    visible_printf(f, "%s;\n", text);
    fclose(f);
    return shown;
}

static void values_are_one_line(void **state)
{
    (void)state;
    assert_string_equal(value_of("Sm\xc3\xb8rrebr\xc3\xb8"
                                 "d \xe5\xaf\xbf\xe5\x8f\xb8 \xf0\x9f\x8d\xa3"),
                        "Sm\xc3\xb8rrebr\xc3\xb8"
                        "d \xe5\xaf\xbf\xe5\x8f\xb8 \xf0\x9f\x8d\xa3");
    assert_string_equal(value_of("a\x1b]0;X\x07"
                                 "b\x7f"),
                        "a\\u001b]0;X\\u0007b\\u007f");
    assert_string_equal(value_of("a\tb\r\nc"), "a b  c");
    assert_string_equal(value_of("\xc2\x9b"
                                 "31m\xc2\xa0"),
                        "\\u009b31m\xc2\xa0");
    assert_string_equal(value_of("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8"), "\\u202e\\u2066\\u061c\\u2028");
    assert_string_equal(value_of("\xe2\x80\x8d"), "\xe2\x80\x8d"); /* joins letters and emoji */
}

/* Includes overlong encodings of control characters, which a careless decoder accepts. */
static void bytes_that_are_no_text(void **state)
{
    (void)state;
    assert_string_equal(value_of("caf\xe9"), "caf\\xe9");
    assert_string_equal(value_of("\x9b"
                                 "31m"),
                        "\\x9b31m");
    assert_string_equal(value_of("\xc0\x9b"), "\\xc0\\x9b");
    assert_string_equal(value_of("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
    assert_string_equal(value_of("\xed\xa0\x80\xff"), "\\xed\\xa0\\x80\\xff");
    assert_string_equal(value_of("\xe2\x80"), "\\xe2\\x80");
}

static void messages_keep_their_lines(void **state)
{
    (void)state;
    assert_string_equal(line_of("a\tb\nc"), "a\tb\nc;\n");
    assert_string_equal(line_of("a\rb\x1b"), "a\\u000db\\u001b;\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_one_line),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(messages_keep_their_lines),
    };
    return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
