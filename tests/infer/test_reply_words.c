/* Replies of a person: numbers, the shortest words of an option, and errors. */
#include "infer/clarify/reply_words.h"
#include "tests/support/support.h"

#include <string.h>

static const struct question cities = { .names = { "office city of employees", "home city of employees",
                                                   "office city of employees, home city of employees" },
                                        .n = 3 };
static const struct question records = { .names = { "orders", "shipments", "order items", "something else" }, .n = 4 };
static const struct question charges = { .names = { "billing address", "tax" }, .n = 2 };
static const struct question outputs = { .names = { "name of band", "name of band, price of concert" }, .n = 2 };
static const struct question conditions = { .names = { "no such condition", "only where status is 'paid'" }, .n = 2 };

static void chosen(const struct question *q, const char *text, int option)
{
    struct reply r = reply_read(text, q, NULL);

    if (r.kind != REPLY_ANSWER || r.answer.kind != ANSWER_VALUE || r.answer.value != option - 1)
        print_error("\"%s\": expected option %d, got kind %d, option %d, \"%s\"\n", text, option, (int)r.kind,
                    r.answer.value + 1, r.why);
    assert_int_equal(r.kind, REPLY_ANSWER);
    assert_int_equal(r.answer.kind, ANSWER_VALUE);
    assert_int_equal(r.answer.value, option - 1);
}

static void unclear(const struct question *q, const char *text, const char *why)
{
    struct reply r = reply_read(text, q, NULL);

    assert_int_equal(r.kind, REPLY_UNCLEAR);
    assert_non_null(strstr(r.why, why));
}

static void test_words(void **state)
{
    (void)state;
    chosen(&cities, "home", 2);
    chosen(&charges, "the addresses", 1);
    chosen(&charges, "taxes", 2);
    chosen(&cities, "Office.", 1);
    chosen(&cities, "the home city", 2);
    chosen(&cities, "home city of employees", 2);
    chosen(&cities, "office and home", 3);
    chosen(&cities, "home, office", 3);
    chosen(&records, "shipments", 2);
    chosen(&records, "the shipment one", 2);
    chosen(&records, "I mean the shipments, please", 2);
    chosen(&records, "order", 1);
    chosen(&records, "items", 3);
    chosen(&records, "the second one", 2);
    chosen(&outputs, "price", 2);
    chosen(&outputs, "name of band", 1);
    chosen(&conditions, "no", 1);
    chosen(&conditions, "paid", 2);
}

static void test_unclear(void **state)
{
    (void)state;
    unclear(&cities, "city", "Please type 1, 2 or 3.");
    unclear(&cities, "employees", "Please type 1, 2 or 3.");
    unclear(&outputs, "band", "Please type 1 or 2.");
    unclear(&cities, "salary", "I did not understand that.");
    unclear(&cities, "home salary", "I did not understand that.");
    unclear(&records, "the one", "I did not understand that.");
    unclear(&records, "7", "There is no option 7");
}

/* Words that begin like those of one option alone. */
static void test_words_alike(void **state)
{
    (void)state;
    static const struct question addresses = {
        .names = { "billing address of purchase", "shipping address of purchase" }, .n = 2
    };
    static const struct question courses = { .names = { "studio", "student", "teacher" }, .n = 3 };

    chosen(&addresses, "the shipment one", 2);
    chosen(&addresses, "Shipped", 2);
    chosen(&addresses, "I mean the bill", 1);
    chosen(&courses, "students", 2); /* the word itself counts more than one alike */
    chosen(&courses, "teaching", 3);
    unclear(&courses, "study", "More than one option has these words. Please type 1 or 2.");
    unclear(&addresses, "shop", "I did not understand that");         /* three letters */
    unclear(&addresses, "shipwreckers", "I did not understand that"); /* less than half */
    unclear(&addresses, "the shipment tax", "I did not understand that");
}

static void group(const struct question *q, const char *text, enum answer_kind kind)
{
    struct reply r = reply_read(text, q, NULL);

    if (r.kind != REPLY_ANSWER || r.answer.kind != kind)
        print_error("\"%s\": expected an answer of kind %d, got %d, %d, \"%s\"\n", text, (int)kind, (int)r.kind,
                    (int)r.answer.kind, r.why);
    assert_int_equal(r.kind, REPLY_ANSWER);
    assert_int_equal(r.answer.kind, kind);
}

static const struct question names = { .names = { "last name", "first name", "middle name" }, .n = 3 };
static const struct question prices = { .names = { "list price", "cost price" }, .n = 2 };

static void test_negations(void **state)
{
    (void)state;
    chosen(&prices, "not the list price", 2);
    chosen(&prices, "anything but cost", 1);
    chosen(&prices, "list, not cost", 1);
    chosen(&prices, "not list but cost", 2);
    chosen(&prices, "cost rather than list", 2);
    chosen(&prices, "No, the cost", 2);
    chosen(&prices, "I don\xe2\x80\x99t mean the list price", 2);
    chosen(&cities, "not home", 1);
    chosen(&records, "neither orders, nor shipments, nor something else", 3);
    group(&prices, "neither list nor cost", ANSWER_NONE);
    unclear(&names, "not the middle name", "Please type 1 or 2.");
    unclear(&prices, "not list, cost", "I did not understand that."); /* may mean neither of them */
    unclear(&prices, "not the sale price", "I did not understand that.");
    unclear(&prices, "not the price", "I did not understand that.");
    unclear(&prices, "I want no price", "I did not understand that.");
}

static void test_groups(void **state)
{
    (void)state;
    chosen(&cities, "both", 3);
    chosen(&cities, "both of the cities", 3);
    group(&prices, "both", ANSWER_EITHER);
    group(&prices, "either of the prices is fine", ANSWER_EITHER);
    group(&prices, "any of them", ANSWER_EITHER);
    group(&prices, "Neither of these.", ANSWER_NONE);
    group(&prices, "none of the above", ANSWER_NONE);
    group(&prices, "both, I don't mind", ANSWER_EITHER);
    unclear(&prices, "I don't want either of them", "I did not understand that.");
    unclear(&prices, "not both", "I did not understand that.");
    group(&prices, "I really don't know", ANSWER_UNKNOWN);
    group(&prices, "I am not sure", ANSWER_UNKNOWN);
    unclear(&prices, "not sure about the cost", "I did not understand that.");
}

static void test_places(void **state)
{
    (void)state;
    chosen(&prices, "the latter", 2);
    chosen(&prices, "one", 1);
    chosen(&prices, "the top one", 1);
    chosen(&records, "last", 4);
    chosen(&records, "3rd option, please", 3);
    chosen(&records, "number four", 4);
    chosen(&cities, "the middle one", 2);
    unclear(&prices, "the third one", "There is no option 3");
    unclear(&records, "the latter", "I did not understand that.");
    unclear(&names, "first", "More than one option may be meant. Please type 1 or 2.");
    unclear(&names, "last", "More than one option may be meant. Please type 1 or 3.");
    chosen(&names, "first name", 2);
}

static void test_misspelt(void **state)
{
    (void)state;
    chosen(&prices, "lsit price", 1);
    chosen(&prices, "csot", 2);
    chosen(&records, "shippments", 2);
    unclear(&prices, "most", "I did not understand that."); /* another first letter */
    unclear(&prices, "lost cause", "I did not understand that.");
    unclear(&charges, "tx", "I did not understand that.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_alike), cmocka_unit_test(test_negations), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_misspelt),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_unclear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
