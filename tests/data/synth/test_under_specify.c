/* Tests the removal of words from questions, rival columns, and schemas with a dropped or renamed column. */
#include "data/schema/schema_build.h"
#include "data/synth/natural.h"
#include "data/synth/rivals.h"
#include "tests/support/support.h"

#include <stdlib.h>

static void lose(struct cut_question *q, const char *text, const char *word)
{
    assert_true(question_words_read(q, text));
    for (int i = 0; i < q->n; i++)
        q->list[i].out = q->list[i].hash == word_hash(word);
}

static void check_loss(const char *text, const char *word, const char *expected)
{
    struct cut_question q;

    lose(&q, text, word);
    char *short_text = question_without(&q);
    assert_string_equal(short_text, expected);
    free(short_text);
}

static void a_question_loses_words(void **state)
{
    (void)state;
    check_loss("What is the start date?", "start", "What is the date?");
    check_loss("Give an end date.", "end", "Give a date.");
    check_loss("Is it a late order?", "late", "Is it an order?");
    check_loss("Home airports of all trips", "home", "Airports of all trips");
    check_loss("List the names, please.", "names", "List the, please.");
    check_loss("Which name has the product?", "product", "Which name has the?");
}

/* trip: id, start date, end date, end; product: name, trade name; customer: name */
static void make_schema(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "trips");
    int trip = schema_build_table(&b, "trip", NULL), product = schema_build_table(&b, "product", NULL),
        customer = schema_build_table(&b, "customer", NULL);
    schema_build_primary(&b, schema_build_column(&b, trip, "id", NULL, COLUMN_NUMBER));
    schema_build_column(&b, trip, "start_date", NULL, COLUMN_TIME);
    schema_build_column(&b, trip, "end_date", NULL, COLUMN_TIME);
    schema_build_column(&b, trip, "start_rate", NULL, COLUMN_TIME);
    schema_build_column(&b, product, "name", NULL, COLUMN_TEXT);
    schema_build_column(&b, product, "trade_name", NULL, COLUMN_TEXT);
    schema_build_column(&b, customer, "customer_name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, s);
}

enum { ID, START_DATE, END_DATE, START_RATE, NAME, TRADE_NAME, CUSTOMER_NAME, COLUMNS };

static void rivals_share_the_head_word(void **state)
{
    struct rival_pair r;
    struct schema s;

    (void)state;
    make_schema(&s);
    assert_true(rivals_read(&r, &s, START_DATE, END_DATE));
    assert_false(r.apart);
    assert_true(word_list_has(&r.shared, word_hash("date")));
    assert_true(word_list_has(&r.own[0], word_hash("start")));
    assert_true(word_list_has(&r.own[1], word_hash("end")));
    assert_false(rivals_read(&r, &s, START_DATE, START_RATE)); /* different head words */
    assert_false(rivals_read(&r, &s, NAME, TRADE_NAME));       /* the whole name of one column */
    assert_true(rivals_read(&r, &s, NAME, CUSTOMER_NAME));     /* only their tables distinguish them */
    assert_true(r.apart);
    assert_true(word_list_has(&r.own[0], word_hash("product")));
    assert_true(word_list_has(&r.own[1], word_hash("customer")));
    schema_release(&s);
}

static void a_column_is_dropped_or_renamed(void **state)
{
    const bool dropped[COLUMNS] = { [END_DATE] = true, [CUSTOMER_NAME] = true };
    struct schema s, less, renamed;

    (void)state;
    make_schema(&s);
    schema_without(&less, &s, dropped, "less");
    assert_int_equal(less.n_columns, COLUMNS - 2);
    assert_int_equal(less.n_tables, 2); /* the customer has no column left */
    assert_int_equal(schema_column_find(&less, 0, "end_date"), -1);
    assert_true(less.columns[schema_column_find(&less, 0, "id")].primary);
    schema_with_name(&renamed, &s, END_DATE, "date", "renamed");
    assert_int_equal(renamed.n_columns, COLUMNS);
    assert_int_equal(schema_column_find(&renamed, 0, "date"), END_DATE);
    assert_string_equal(renamed.columns[END_DATE].text, "date");
    schema_release(&renamed);
    schema_release(&less);
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_loses_words),
        cmocka_unit_test(rivals_share_the_head_word),
        cmocka_unit_test(a_column_is_dropped_or_renamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
