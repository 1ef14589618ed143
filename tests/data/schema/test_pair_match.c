/* Words of questions and names, and the match of a question with a pair and its rivals. */
#include "tests/support/support.h"

#include "data/schema/lexicon.h"
#include "data/schema/pair_match.h"
#include "data/schema/schema_build.h"

#include <math.h>
#include <stdio.h>

/* Two texts of one word each. */
struct two_words {
    struct match_word a, b;
};

static struct two_words read_two(const char *a, const char *b)
{
    struct two_words two;

    assert_int_equal(match_words_read(a, &two.a, 1), 1);
    assert_int_equal(match_words_read(b, &two.b, 1), 1);
    return two;
}

static bool same_words(const char *a, const char *b, bool related)
{
    struct two_words two = read_two(a, b);

    return related ? two.a.stem == two.b.stem : two.a.word == two.b.word;
}

static void words_are_compared(void **state)
{
    struct match_word w[QUESTION_WORDS];

    (void)state;
    assert_true(same_words("qty", "Quantities", false));
    assert_true(same_words("addr", "addresses", false));
    assert_false(same_words("ship", "shipping", false));
    assert_true(same_words("ship", "shipping", true));
    assert_true(same_words("billing", "billed", true));
    assert_true(same_words("delivery", "delivered", true));
    assert_true(same_words("price", "prices", true));
    assert_true(same_words("management", "manager", true));
    assert_false(same_words("name", "number", true));
    assert_int_equal(match_words_read("the shipDate of orders", w, QUESTION_WORDS), 5);
    assert_true(w[0].function && !w[1].function && w[3].function);
    assert_int_equal(match_words_read("shipDate", w, 1), 1);
    assert_int_equal(match_words_read("the number of the invoice number", w, QUESTION_WORDS), 6);
    assert_true(w[1].function && !w[5].function);
    assert_int_equal(match_words_read("", w, QUESTION_WORDS), 0);
    assert_int_equal(match_words_read("no", w, 1), 1);
    assert_true(w[0].function && w[0].expanded);
}

static bool mistyped(const char *a, const char *b)
{
    struct two_words two = read_two(a, b);

    assert_int_equal(match_words_mistyped(&two.a, &two.b), match_words_mistyped(&two.b, &two.a));
    return match_words_mistyped(&two.a, &two.b);
}

static void misspellings(void **state)
{
    (void)state;
    assert_true(mistyped("adress", "address"));
    assert_true(mistyped("tennant", "tenant"));
    assert_true(mistyped("recieved", "received"));
    assert_true(mistyped("custamer", "customer"));
    assert_false(mistyped("address", "address"));
    assert_false(mistyped("cat", "cut"));
    assert_false(mistyped("custamre", "customer"));
    assert_false(mistyped("averyveryverylongword", "averyveryverylongwort"));
}

static bool shortened(const char *a, const char *b)
{
    struct two_words two = read_two(a, b);

    return match_words_shortened(&two.a, &two.b);
}

static void abbreviations(void **state)
{
    struct match_word w;

    (void)state;
    assert_true(shortened("depa", "departures"));
    assert_true(shortened("bkg", "booking"));
    assert_true(shortened("incid", "incidents"));
    assert_false(shortened("booking", "bkg"));
    assert_false(shortened("gkb", "booking"));
    assert_false(shortened("bo", "booking"));
    assert_false(shortened("order", "orders"));
    assert_int_equal(match_words_read("2025", &w, 1), 1);
    assert_true(match_word_is_year(&w));
    assert_int_equal(match_words_read("20 25th", &w, 1), 1);
    assert_false(match_word_is_year(&w));
}

static unsigned meaning_of(const char *name)
{
    struct element_name n;

    element_name_read(&n, name);
    return name_meaning(&n);
}

static void meanings(void **state)
{
    (void)state;
    assert_true(meaning_of("list_price") & meaning_of("unit cost") & MEANS_MONEY);
    assert_true(meaning_of("hired_on") & MEANS_TIME);
    assert_true(meaning_of("state") & MEANS_PLACE && meaning_of("state") & MEANS_STATUS);
    assert_int_equal(meaning_of("zebra"), 0);
    assert_int_equal(meaning_of("manager_zebra"), MEANS_PERSON); /* "zebra" has no meaning, so all words count */
    assert_int_equal(asked_meaning(word_hash("who")), MEANS_PERSON);
    assert_int_equal(asked_meaning(word_hash("zebra")), 0);
}

/* customer: customer_id name billing_address shipping_address; orders: status customer_id order_date;
 * shipment: status note */
static void open_shop(struct schema *s)
{
    static const struct {
        int table;
        const char *name;
    } columns[] = { { 0, "customer_id" },      { 0, "name" },   { 0, "billing_address" },
                    { 0, "shipping_address" }, { 1, "status" }, { 1, "customer_id" },
                    { 1, "order_date" },       { 2, "status" }, { 2, "note" } };
    static const char *const tables[] = { "customer", "orders", "shipment" };
    struct schema_build b;

    schema_build_init(&b, "shop");
    for (int i = 0; i < ARRAY_LEN(tables); i++) {
        schema_build_table(&b, tables[i], NULL);
        for (int k = 0; k < ARRAY_LEN(columns); k++)
            if (columns[k].table == i)
                schema_build_column(&b, i, columns[k].name, NULL, COLUMN_TEXT);
    }
    schema_build_primary(&b, 0);
    schema_build_foreign_key(&b, 5, 0);
    schema_build_finish(&b, s);
}

enum { CUSTOMER, ORDERS, SHIPMENT, KEY, NAME, BILLING, SHIPPING, ORDER_STATUS, ORDER_KEY, DATE, SHIP_STATUS, NOTE };

static void match(float *out, const struct schema *s, const char *question, int u, int v)
{
    struct match_names *m = match_names_new(s);
    const struct schema_pair pair = { .u = u, .v = v };

    match_features(m, question, &pair, 1, out, MATCH_FEATURES);
    match_names_free(m);
}

#define NEAR(got, wanted) assert_true(fabs((double)(got) - (double)(wanted)) < 1e-6)

static void a_tie_is_broken_by_words(void **state)
{
    struct schema s;
    float x[MATCH_FEATURES];

    (void)state;
    open_shop(&s);
    match(x, &s, "What is the address of Miller?", BILLING, SHIPPING);
    NEAR(x[MATCH_ANCHOR] * x[MATCH_ANCHOR_HEAD] * x[MATCH_TIE] * x[MATCH_TOP] * x[MATCH_BEST], 1);
    NEAR(x[MATCH_HITS], 1.0 / 5);
    NEAR(x[MATCH_TIED], 1.0 / 4);
    NEAR(x[MATCH_AFTER_FREE], 1); /* Miller */
    NEAR(x[MATCH_FREE], 1.0 / 6);
    NEAR(x[MATCH_OTHER], -1);
    NEAR(x[MATCH_MISSED_LESS], 1.0 / 3);
    match(x, &s, "What is the billing address?", BILLING, SHIPPING);
    NEAR(x[MATCH_TIE], 0);
    NEAR(x[MATCH_BEFORE_ONE], 1);
    NEAR(x[MATCH_GAP_MORE], 1.3 / 3);
    NEAR(x[MATCH_GAP_LESS], 0);
    NEAR(x[MATCH_OWN_MORE], 0.5);
    match(x, &s, "Where was it shipped, to which addr?", BILLING, SHIPPING); /* related, abbreviated */
    NEAR(x[MATCH_OWN_MORE], 0.5);
    NEAR(x[MATCH_COVER_MORE], 0.85);
    NEAR(x[MATCH_ASKED_LESS], 1);
    schema_release(&s);
}

static void a_table_decides(void **state)
{
    struct schema s;
    float x[MATCH_FEATURES];

    (void)state;
    open_shop(&s);
    match(x, &s, "show the status", ORDER_STATUS, SHIP_STATUS);
    NEAR(x[MATCH_TIE], 1);
    match(x, &s, "show the status of all shipments", ORDER_STATUS, SHIP_STATUS);
    NEAR(x[MATCH_TIE], 0);
    NEAR(x[MATCH_TABLE_MORE], 1);
    NEAR(x[MATCH_TABLE_LESS], 0);
    NEAR(x[MATCH_NEAR_MORE], 1.0 / 3);
    NEAR(x[MATCH_DIFFERENCE], 2.0 / 3);
    match(x, &s, "shipmnts and their status, with notes", ORDER_STATUS, SHIP_STATUS);
    NEAR(x[MATCH_TABLE_MORE], 1);
    NEAR(x[MATCH_CONTEXT_MORE], 1.0 / 3); /* note */
    NEAR(x[MATCH_CONTEXT_LESS], 0);
    match(x, &s, "how is the progress", ORDER_STATUS, SHIP_STATUS);
    NEAR(x[MATCH_MEANT], 1);
    NEAR(x[MATCH_MEANT_RIVALS], 1.0 / 4);
    match(x, &s, "orders per customer", KEY, ORDER_KEY); /* keys add nothing to the name of the table */
    NEAR(x[MATCH_ANCHOR], 0);
    match(x, &s, "", NAME, NOTE);
    NEAR(x[MATCH_ANCHOR] + x[MATCH_CONTENT] + x[MATCH_COVER_MORE], 0);
    schema_release(&s);
}

/* Questions longer than the limit, and words without ASCII letters. */
static void long_questions(void **state)
{
    struct schema s;
    float x[MATCH_FEATURES];
    char question[8 * 150 + 1];

    (void)state;
    open_shop(&s);
    for (int i = 0; i < 150; i++)
        snprintf(question + 8 * i, 9, "%s", i % 2 ? "address " : "\xc3\xa4 \xc3\xb6 \xe9 ");
    match(x, &s, question, BILLING, SHIPPING);
    for (int i = 0; i < MATCH_FEATURES; i++)
        assert_true(isfinite(x[i]) && x[i] >= -1 && x[i] <= 1);
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_compared),
        cmocka_unit_test(misspellings),
        cmocka_unit_test(abbreviations),
        cmocka_unit_test(meanings),
        cmocka_unit_test(a_tie_is_broken_by_words),
        cmocka_unit_test(a_table_decides),
        cmocka_unit_test(long_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
