/* Statements without a parser: questions that ask for columns of one table, and those that ask for more. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/clarify/plain_query.h"

#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    return sql_world_set_up(
        state, sizeof(struct sql_world),
        "CREATE TABLE customer (id INT, full_name TEXT, email TEXT, city TEXT, date_of_birth TEXT, [order] TEXT);"
        "CREATE TABLE purchase (id INT, billing_address TEXT, shipping_address TEXT, customer TEXT, [from] TEXT);"
        "CREATE TABLE order_line (id INT, quantity INT, price REAL); CREATE TABLE supplier (id INT, city TEXT);"
        "CREATE TABLE booking (id INT); CREATE TABLE reservation (id INT);");
}

static void expect(struct sql_world *w, const char *question, const struct element_choices *c, const char *sql)
{
    char *got = plain_query(w->schemas.schemas, question, c);

    if (strcmp(got ? got : "(none)", sql ? sql : "(none)") != 0)
        fail_msg("\"%s\": expected %s, got %s", question, sql ? sql : "none", got ? got : "none");
    free(got);
}

static void test_plain_questions(void **state)
{
    static const char *const cases[][2] = {
        { "Show the email of each customer.", "SELECT email FROM customer" },
        { "What are the emails of all customers?", "SELECT email FROM customer" },
        { "List the full name, the email and the date of birth of customers!",
          "SELECT full_name, email, date_of_birth FROM customer" },
        { "full names, emails, and cities from the customers", "SELECT full_name, email, city FROM customer" },
        { "Could you tell me the e\xc2\xadmail", NULL },
        { "billing addresses", NULL }, /* perhaps each once */
        { "billing addresses of the purchases", "SELECT billing_address FROM purchase" },
        { "Give me the quantity and price for every order line", "SELECT quantity, price FROM order_line" },
        { "What is the order of each customer?", "SELECT \"order\" FROM customer" },
        { "Show all order lines.", "SELECT * FROM order_line" },
        { "How many order lines are there?", "SELECT count(*) FROM order_line" },
        { "how many suppliers do we have", "SELECT count(*) FROM supplier" },
        { "cities of suppliers", "SELECT city FROM supplier" },
    };
    const struct element_choices none = { .n = 0 };
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        expect(*state, cases[i][0], &none, cases[i][1]);
}

static void test_other_questions(void **state)
{
    static const char *const cases[] = {
        "",
        "?",
        "Show the cities.",                                /* of two tables */
        "Show the name of each customer.",                 /* a part of a name */
        "Show the email of Ida.",                          /* a condition */
        "Show the email of each customer without a city.", /* more words */
        "Show the email of each customer, sorted by city.",
        "Show the first email of each customer.",
        "Show the different emails.",
        "Show the email of purchase.",   /* another table's column */
        "Show the email and the price.", /* two tables */
        "Show the email or the city of customers.",
        "Show the email (without spam) of customers.",
        "Show the email of customers > 3",
        "Show the \"email\" of customers",
        "Show the email, of customers",
        "Show all customers.", /* a table, and a column of purchase */
        "Show the from of purchases",
        "How many emails of customers are there?",
        "How many customers and suppliers are there?",
        "Which email has each customer?",
        "email email email of",
    };
    const struct element_choices none = { .n = 0 };
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        expect(*state, cases[i], &none, NULL);
}

static struct element_choices choice_of(const struct schema *s, int start, int end, const char *table,
                                        const char *column)
{
    int t = schema_table_find(s, table);
    int element = column ? s->n_tables + schema_column_find(s, t, column) : t;
    struct element_choices c = { .n = 1 };

    c.list[0] =
        (struct element_choice){ .start = start, .end = end, .elements = { element, 0 }, .n = 2, .chosen = element };
    return c;
}

static void test_choices(void **state)
{
    struct sql_world *w = *state;
    const struct schema *s = w->schemas.schemas;
    const char *question = "Show the address of each purchase.";
    struct element_choices c = choice_of(s, 9, 16, "purchase", "shipping_address");

    expect(w, question, &c, "SELECT shipping_address FROM purchase");
    expect(w, "Show the address, the city", &c, NULL);
    expect(w, "Show the address and id of all purchases", &c, "SELECT shipping_address, id FROM purchase");
    c.list[0].is_value = true;
    expect(w, question, &c, NULL);
    c.list[0].is_value = false;
    c.list[0].chosen = -1;
    expect(w, question, &c, NULL);
    c = choice_of(s, 0, 0, "purchase", "shipping_address");
    expect(w, question, &c, NULL);
    c = choice_of(s, 9, 13, "customer", "city"); /* of the other table with a city */
    expect(w, "Show the city.", &c, "SELECT city FROM customer");
    expect(w, "Show the city of suppliers.", &c, NULL);
    c = choice_of(s, 9, 14, "reservation", NULL);
    expect(w, "Show all trips.", &c, "SELECT * FROM reservation");
    expect(w, "How many trips are there", &c, "SELECT count(*) FROM reservation");
    expect(w, "Show all trips with two beds.", &c, NULL);
    c = choice_of(s, 12, 17, "reservation", NULL);
    expect(w, "The id of trips", &(struct element_choices){ .n = 0 }, NULL);
    c.list[0].start = 10;
    c.list[0].end = 15;
    expect(w, "The id of trips", &c, "SELECT id FROM reservation");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_questions),
        cmocka_unit_test(test_other_questions),
        cmocka_unit_test(test_choices),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
