/* Folded texts, beside Unicode's CaseFolding.txt and normal form C. */
#include "data/util/text_fold.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static void check(const char *text, const char *wanted)
{
    char to[64];

    assert_int_equal(text_fold(to, sizeof to, text, strlen(text)), strlen(wanted));
    assert_string_equal(to, wanted);
}

static void test_letters(void **state)
{
    (void)state;
    check("", "");
    check("Joe's Bar", "joe s bar");
    check("\xc3\x89t\xc3\xa9", "\xc3\xa9t\xc3\xa9");                  /* É, é */
    check("E\xcc\x81te\xcc\x81", "\xc3\xa9t\xc3\xa9");                /* E and an acute accent */
    check("Stra\xc3\x9f\x65", "strasse");                             /* ß */
    check("\xe1\xba\x9e", "ss");                                      /* capital ß */
    check("\xce\xa3\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x82", /* Σίσυφος: its last s is one of three */
          "\xcf\x83\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x83");
    check("\xc4\xb0stanbul", "i\xcc\x87stanbul"); /* İ is i and a dot, as in every language but Turkish */
    check("D\xc4\xb1yarbak\xc4\xb1r", "d\xc4\xb1yarbak\xc4\xb1r"); /* ı is no i */
    check("\xd0\x9c\xd0\x9e\xd0\xa1\xd0\x9a\xd0\x92\xd0\x90", "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0");
    check("\xe6\x9d\xb1\xe4\xba\xac", "\xe6\x9d\xb1\xe4\xba\xac");
    check("\xe2\x80\x9cJoe\xe2\x80\x99s\xe2\x80\x9d", " joe s "); /* quotation marks */
}

static void test_refused(void **state)
{
    (void)state;
    char to[4], big[2 * TEXT_FOLD_LETTERS], room[4 * TEXT_FOLD_LETTERS];

    assert_int_equal(text_fold(to, sizeof to, "abc", 3), 3);
    assert_int_equal(text_fold(to, sizeof to, "abcd", 4), -1);
    assert_int_equal(text_fold(to, sizeof to, "\xff", 1), -1);
    assert_int_equal(text_fold(to, sizeof to, "\xc3\xa9", 1), -1); /* cut */
    memset(big, 'A', sizeof big);
    assert_int_equal(text_fold(room, sizeof room, big, TEXT_FOLD_LETTERS), TEXT_FOLD_LETTERS);
    assert_int_equal(text_fold(room, sizeof room, big, TEXT_FOLD_LETTERS + 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_letters), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
