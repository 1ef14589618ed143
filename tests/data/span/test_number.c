/* Numbers of a question, dates, the index of numbers and its bound, and quoted texts. */
#include "data/span/number_match.h"
#include "data/span/value_match.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

/* "start-end:number" and the signs of what else is known, of each. */
static void check_numbers(const char *question, const char *wanted)
{
    struct said_number n;
    char text[400] = "";
    int at = 0;

    while (number_read_next(&n, question, &at)) {
        size_t used = strlen(text);
        if (n.value.whole)
            snprintf(text + used, sizeof text - used, "%d-%d:%lld", n.start, n.end, (long long)n.value.integer);
        else
            snprintf(text + used, sizeof text - used, "%d-%d:%g", n.start, n.end, n.value.real);
        used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s%s%s%s ", n.ordinal ? "o" : "", n.percent ? "%" : "",
                 n.money ? "$" : "", n.at_least ? "+" : "", n.plain_year ? "y" : "");
    }
    assert_string_equal(text, wanted);
}

static void test_numbers(void **state)
{
    (void)state;
    check_numbers("", "");
    check_numbers("no number", "");
    check_numbers("17", "0-2:17 ");
    check_numbers("in 2023.", "3-7:2023y ");
    check_numbers("0999 and 3000", "0-4:999 9-13:3000 ");
    check_numbers("1,000 and 1,234,567.5", "0-5:1000 10-21:1.23457e+06 ");
    check_numbers("1'000 and 1.000.000 and 1.234,5", "0-5:1000 10-19:1000000 24-31:1234.5 ");
    check_numbers("1,2 and 17,18", "0-1:1 2-3:2 8-10:17 11-13:18 ");
    check_numbers("-3, .5, -.5 and 3-4", "0-2:-3 4-6:0.5 8-11:-0.5 ");
    check_numbers("20 %, 20%, 20 percent", "0-2:20% 6-8:20% 11-13:20% ");
    check_numbers("$20, 20 \xe2\x82\xac and \xe2\x82\xac"
                  "5",
                  "1-3:20$ 5-7:20$ 15-16:5$ ");
    check_numbers("1st 2nd 3RD 4th 5+", "0-1:1o 4-5:2o 8-9:3o 12-13:4o 16-17:5+ ");
    check_numbers("50kg, 3D, b2, 4x4, order_17", "0-2:50 ");
    check_numbers("2023-05-01, 1/2/2023, 10:30, 1.2.3, 10\xe2\x80\x93"
                  "20",
                  "");
    check_numbers("order 17's, (18), \"19\", #20", "6-8:17 13-15:18 19-21:19 25-27:20 ");
    check_numbers("9007199254740993", "0-16:9007199254740993 ");
    check_numbers("gr\xc3\xb6\xc3\x9f"
                  "e 4",
                  "6-7:4 ");
}

static void test_dates(void **state)
{
    (void)state;
    assert_int_equal(date_year("2023-05-01"), 2023);
    assert_int_equal(date_year("2023-05-01 10:30:00"), 2023);
    assert_int_equal(date_year("2023-05-01T10:30:00Z"), 2023);
    assert_int_equal(date_year("2023/5/1"), 2023);
    assert_int_equal(date_year("2023-05"), 2023);
    assert_int_equal(date_year("01.05.2023"), 2023);
    assert_int_equal(date_year("5/1/2023"), 2023);
    assert_int_equal(date_year("1 May 2023"), 2023);
    assert_int_equal(date_year("September 30, 2023"), 2023);
    assert_int_equal(date_year("2023"), 0);
    assert_int_equal(date_year("555-1234"), 0);
    assert_int_equal(date_year("12-34-56"), 0);
    assert_int_equal(date_year("2023-0501"), 0);
    assert_int_equal(date_year("0023-05-01"), 0);
    assert_int_equal(date_year("room 5 of 2023"), 0);
    assert_int_equal(date_year(""), 0);
}

static void test_index(void **state)
{
    (void)state;
    struct number_index x;

    number_index_init(&x, 2, 1 << 20);
    for (int i = 1000; i-- > 0;)
        number_index_add(&x, 0, plain_integer(i % 300));
    number_index_add(&x, 0, plain_real(0.1));
    number_index_add(&x, 0, plain_real(7e17));
    number_index_add(&x, 0, plain_integer(INT64_C(9007199254740993)));
    number_index_add_text(&x, 1, "565.2");
    number_index_add_text(&x, 1, "17 items");
    number_index_add_text(&x, 1, "2023-05-01");
    number_index_finish(&x);
    assert_int_equal(x.columns[0].integers.n, 301);
    assert_true(number_index_has(&x, 0, plain_integer(299)));
    assert_false(number_index_has(&x, 0, plain_integer(300)));
    assert_false(number_index_has(&x, 1, plain_integer(17)));
    assert_false(number_index_has(&x, 0, plain_integer(INT64_C(9007199254740992))));
    assert_true(number_index_has(&x, 0, plain_real(0.1)));
    assert_true(number_index_has(&x, 0, plain_real(7e17)));
    assert_true(number_index_has(&x, 1, plain_real(565.2)));
    assert_true(number_index_has_year(&x, 1, 2023));
    assert_false(number_index_has_year(&x, 1, 2022));
    assert_false(number_index_has_year(&x, 0, 2023));
    assert_false(x.cut);
    number_index_release(&x);
}

/* Nothing is found beyond the bound; everything before it is. */
static void test_bound(void **state)
{
    (void)state;
    struct number_index x;

    number_index_init(&x, 1, 8000);
    for (int i = 0; i < 100000; i++)
        number_index_add(&x, 0, plain_integer(i));
    number_index_finish(&x);
    assert_true(x.cut);
    assert_true(x.bytes <= 8000);
    assert_true(number_index_has(&x, 0, plain_integer(500)));
    assert_false(number_index_has(&x, 0, plain_integer(99999)));
    number_index_release(&x);
}

/* Quoted texts, separated by |. */
static void check_quoted(const char *text, const char *wanted)
{
    struct quoted q;
    char found[200] = "";

    quoted_read(&q, text);
    for (int i = 0; i < q.n; i++) {
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%.*s|", q.items[i].to - q.items[i].from, text + q.items[i].from);
    }
    assert_string_equal(found, wanted);
}

static void test_quoted(void **state)
{
    (void)state;
    check_quoted("", "");
    check_quoted("the \"New York\" of \"", "New York|");
    check_quoted("'a b', `c` and \xe2\x80\x9c"
                 "d e\xe2\x80\x9d",
                 "a b|c|d e|");
    check_quoted("\xe2\x80\x9e"
                 "f\xe2\x80\x9c and \xc2\xab"
                 "g\xc2\xbb",
                 "f|g|");
    check_quoted("O'Brien's orders, the customers' orders", "");
    check_quoted("screens of 5\" and 7\"", "");
    check_quoted("the '90s and 'O'Brien'", "90s and 'O'Brien|");
    struct quoted q;
    const char *text = "in \"New York, \" now";
    quoted_read(&q, text);
    assert_int_equal(q.n, 0); /* a blank before the mark */
    text = "in \"New York\" now";
    quoted_read(&q, text);
    assert_true(quoted_is(&q, text, 4, 12));
    assert_false(quoted_is(&q, text, 4, 7));
    assert_true(quoted_cuts(&q, text, 4, 7));
    assert_true(quoted_cuts(&q, text, 0, 7));
    assert_false(quoted_cuts(&q, text, 0, 13));
    assert_false(quoted_cuts(&q, text, 14, 17));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_dates),  cmocka_unit_test(test_index),
        cmocka_unit_test(test_bound),   cmocka_unit_test(test_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
