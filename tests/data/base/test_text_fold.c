/* Case folding against Unicode's CaseFolding.txt and normal form C, and shortening to terminal columns. */
#include "data/base/text_fold.h"
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
    check("\xce\xa3\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x82", /* Σίσυφος: the final s has one of three forms */
          "\xcf\x83\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x83");
    check("\xc4\xb0stanbul", "i\xcc\x87stanbul"); /* İ becomes i with a dot, as in all languages but Turkish */
    check("D\xc4\xb1yarbak\xc4\xb1r", "d\xc4\xb1yarbak\xc4\xb1r"); /* ı is not i */
    check("\xd0\x9c\xd0\x9e\xd0\xa1\xd0\x9a\xd0\x92\xd0\x90", "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0");
    check("\xe6\x9d\xb1\xe4\xba\xac", "\xe6\x9d\xb1\xe4\xba\xac");
    check("\xe2\x80\x9cJoe\xe2\x80\x99s\xe2\x80\x9d", " joe s "); /* quotation marks */
}

static void test_lower(void **state)
{
    static const char *const texts[][2] = { { "", "" },
                                            { "Born_State (KG)!", "born_state (kg)!" },
                                            { "GR\xc3\x96\xc3\x9f\x45", "gr\xc3\xb6\xc3\x9f\x65" },
                                            { "\xc8\xba", "\xe2\xb1\xa5" }, /* characters of two and of three bytes */
                                            { "A\xff\xc3", "a\xff\xc3" } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(texts); i++) {
        char *lower = text_lower(texts[i][0]);
        assert_string_equal(lower, texts[i][1]);
        free(lower);
    }
}

static void test_refused(void **state)
{
    (void)state;
    char to[4], big[2 * TEXT_FOLD_CODES], room[4 * TEXT_FOLD_CODES];

    assert_int_equal(text_fold(to, sizeof to, "abc", 3), 3);
    assert_int_equal(text_fold(to, sizeof to, "abcd", 4), -1);
    assert_int_equal(text_fold(to, sizeof to, "\xff", 1), -1);
    assert_int_equal(text_fold(to, sizeof to, "\xc3\xa9", 1), -1); /* cut */
    memset(big, 'A', sizeof big);
    assert_int_equal(text_fold(room, sizeof room, big, TEXT_FOLD_CODES), TEXT_FOLD_CODES);
    assert_int_equal(text_fold(room, sizeof room, big, TEXT_FOLD_CODES + 1), -1);
}

static void check_shortened(const char *text, int places, const char *wanted)
{
    struct strings keep = { 0 };

    assert_string_equal(text_shorten(&keep, text, places), wanted);
    strings_release(&keep);
}

static void a_fitting_text_stays_unchanged(void **state)
{
    struct strings keep = { 0 };
    const char *text = "fee of trainer";

    (void)state;
    assert_ptr_equal(text_shorten(&keep, text, 14), text);
    assert_ptr_equal(text_shorten(&keep, "", 0), "");
    assert_int_equal(keep.n, 0);
    check_shortened(text, 13, "fee of train\xe2\x80\xa6");
    check_shortened(text, 1, "\xe2\x80\xa6");
}

static void places_are_those_of_a_screen(void **state)
{
    (void)state;
    check_shortened("\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd", 6,
                    "\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd"); /* 東京都: two columns each */
    check_shortened("\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd", 5, "\xe6\x9d\xb1\xe4\xba\xac\xe2\x80\xa6");
    check_shortened("\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd", 4, "\xe6\x9d\xb1\xe2\x80\xa6");
    check_shortened("e\xcc\x81te\xcc\x81", 3,
                    "e\xcc\x81te\xcc\x81"); /* an accent takes no column and stays with its letter */
    check_shortened("e\xcc\x81te\xcc\x81", 2, "e\xcc\x81\xe2\x80\xa6");
    check_shortened("\xff\xfe\xc3", 3, "\xff\xfe\xc3");
    check_shortened("\xff\xfe\xc3", 2, "\xff\xe2\x80\xa6");
}

/* A letter with a thousand accents. */
static void accents_are_bounded(void **state)
{
    char text[2002] = "e";
    struct strings keep = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        memcpy(text + 1 + 2 * i, "\xcc\x81", 3);
    const char *cut = text_shorten(&keep, text, 10);
    assert_true(strlen(cut) <= 8 * 10 + 3);
    assert_string_equal(cut + strlen(cut) - 3, "\xe2\x80\xa6");
    strings_release(&keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_letters),
                                        cmocka_unit_test(test_lower),
                                        cmocka_unit_test(test_refused),
                                        cmocka_unit_test(a_fitting_text_stays_unchanged),
                                        cmocka_unit_test(places_are_those_of_a_screen),
                                        cmocka_unit_test(accents_are_bounded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
