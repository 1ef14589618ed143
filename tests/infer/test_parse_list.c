/* Lists of statements with probabilities, and the log-probability of a part of a server's text. */
#include "infer/lm/completer.h"
#include "infer/parse/parse_case.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_item(const struct parse_list *l, int i, const char *sql, double p)
{
    assert_true(i < l->n);
    assert_string_equal(l->items[i].sql, sql);
    if (!(fabs(exp(l->items[i].logp) - p) <= 1e-12))
        fail_msg("%s: probability %.15g, expected %.15g", sql, exp(l->items[i].logp), p);
}

/* The shares of one statement add up; of a statement that is added twice the first probability stays. */
static void test_shares(void **state)
{
    struct parse_list l = { 0 };

    (void)state;
    parse_list_add_share(&l, "select a from t", 0.25);
    parse_list_add_share(&l, "select b from t", 0.5);
    parse_list_add_share(&l, "select a from t", 0.25);
    parse_list_add_share(&l, "select c from t", 0.125);
    parse_list_add_share(&l, "select a from t", 0.125);
    parse_list_add_exact(&l, "select c from t", log(0.9));
    assert_int_equal(l.n, 3);
    parse_list_sort(&l);
    check_item(&l, 0, "select a from t", 0.625);
    check_item(&l, 1, "select b from t", 0.5);
    check_item(&l, 2, "select c from t", 0.125);
    parse_list_release(&l);
}

/* Statements of equal probability stand in the order of their texts, whatever the order of their arrival. */
static void test_order(void **state)
{
    static const char *const texts[] = { "select d", "select b", "select c", "select a" };
    struct parse_list l = { 0 };

    (void)state;
    parse_list_sort(&l);
    for (int i = 0; i < ARRAY_LEN(texts); i++)
        parse_list_add_exact(&l, texts[i], i == 2 ? log(0.3) : log(0.2));
    parse_list_sort(&l);
    check_item(&l, 0, "select c", 0.3);
    check_item(&l, 1, "select a", 0.2);
    check_item(&l, 2, "select b", 0.2);
    check_item(&l, 3, "select d", 0.2);
    parse_list_release(&l);
}

/* A model may repeat the name of the database before a bar; a column of that name is no such repetition. */
static void test_behind_name(void **state)
{
    const struct parse_case c = { .db_id = "gym" };

    (void)state;
    assert_string_equal(parse_case_behind_name(&c, "gym | select 1"), "select 1");
    assert_string_equal(parse_case_behind_name(&c, "gym|select 1"), "select 1");
    assert_string_equal(parse_case_behind_name(&c, "gym   |   select 1"), "select 1");
    assert_string_equal(parse_case_behind_name(&c, "gym select 1"), "gym select 1");
    assert_string_equal(parse_case_behind_name(&c, "gyms | select 1"), "gyms | select 1");
    assert_string_equal(parse_case_behind_name(&c, "select gym | 1"), "select gym | 1");
    assert_string_equal(parse_case_behind_name(&c, "gym"), "gym");
    assert_string_equal(parse_case_behind_name(&c, ""), "");
}

/* In normal form, without the plan and the name before it; the same statement in other words is one. */
static void test_normal(void **state)
{
    const struct parse_case c = { .db_id = "gym" };
    struct parse_list l = { 0 };

    (void)state;
    parse_list_add(&l, &c, "gym | SELECT name  FROM t;", log(0.4));
    parse_list_add(&l, &c, "1 joins @ 1 selects @ select name from t", log(0.3));
    parse_list_add(&l, &c, "select n FROM t WHERE x = 'A  b'", log(0.2));
    parse_list_add(&l, &c, "   ", log(0.1));
    assert_int_equal(l.n, 2);
    check_item(&l, 0, "select name from t", 0.4);
    check_item(&l, 1, "select n from t where x = 'A  b'", 0.2);
    parse_list_add_as_is(&l, &c, "gym | select  'x'", log(0.1));
    check_item(&l, 2, "select  'x'", 0.1);
    parse_list_release(&l);
}

/* The sum over the tokens with a byte of the part; unknown if the text does not contain it, or there are no tokens. */
static void test_part(void **state)
{
    char text[] = "select name from t";
    struct endpoint_token tokens[] = { { 7, -1 }, { 10, -2 }, { 12, -4 }, { 17, -8 }, { 18, -16 } };
    struct asked_text t = { .text = text };

    (void)state;
    assert_true(isnan(asked_text_logp(&t, "name")));
    t.own = (struct endpoint_text){ .text = text, .tokens = tokens, .n_tokens = ARRAY_LEN(tokens) };
    assert_true(asked_text_logp(&t, text) == -31);
    assert_true(asked_text_logp(&t, "select") == -1);
    assert_true(asked_text_logp(&t, "name") == -6);
    assert_true(asked_text_logp(&t, "nam") == -2);
    assert_true(asked_text_logp(&t, "me fr") == -14);
    assert_true(asked_text_logp(&t, "t") == -1); /* the first one */
    assert_true(isnan(asked_text_logp(&t, "names")));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_shares), cmocka_unit_test(test_order),
                                        cmocka_unit_test(test_behind_name), cmocka_unit_test(test_normal),
                                        cmocka_unit_test(test_part) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
