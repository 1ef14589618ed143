/* Choices between elements: the words that fit them, the rewritten question, and records that are not valid. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/clarify/element_choice.h"

#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    return sql_world_set_up(
        state, sizeof(struct sql_world),
        "CREATE TABLE trainer (name TEXT, trainer_fee INT, fee_of_trainer INT);"
        "CREATE TABLE purchase (id INT, billing_address TEXT, shipping_address TEXT, [Order status] TEXT);"
        "CREATE TABLE shipment (id INT, status TEXT); CREATE TABLE booking (id INT, city TEXT);"
        "CREATE TABLE reservation (id INT, city TEXT);");
}

/* Lists the choices of a record and releases it. */
static void take(struct element_choices *c, struct sql_world *w, json_t *record)
{
    struct error err = { 0 };
    struct evidence h;

    assert_non_null(record);
    if (evidence_read(&h, record, w->schemas.schemas, "record", &err))
        fail_msg("%s", err.text);
    element_choices_find(c, &h, w->schemas.schemas, json_string_value(json_object_get(record, "question")));
    evidence_release(&h);
    json_decref(record);
}

#define FEES "trainer.trainer_fee", "trainer.fee_of_trainer"
#define ADDRESSES "purchase.billing_address", "purchase.shipping_address"

static void take_text(struct element_choices *c, struct sql_world *w, const char *text)
{
    take(c, w, json_loads(text, 0, NULL));
}

/* The words of the detector's alternatives, and the question with each of them. */
static void test_words_of_alternatives(void **state)
{
    static const struct {
        const char *question, *a, *b, *words, *first, *second;
    } cases[] = {
        { "What is the fee of trainer?", FEES, "fee of trainer", "What is the trainer.trainer_fee?",
          "What is the trainer.fee_of_trainer?" },
        { "Which trainer has the highest fee?", FEES, "fee", "Which trainer has the highest trainer.trainer_fee?",
          "Which trainer has the highest trainer.fee_of_trainer?" },
        { "Show each trainer's fee.", FEES, "trainer's fee", "Show each trainer.trainer_fee.",
          "Show each trainer.fee_of_trainer." },
        { "Zeig, bitte, Ägyptens addresses!", ADDRESSES, "addresses", "Zeig, bitte, Ägyptens purchase.billing_address!",
          "Zeig, bitte, Ägyptens purchase.shipping_address!" },
        { "Where do we ship, to the address?", ADDRESSES, "address",
          "Where do we ship, to the purchase.billing_address?", "Where do we ship, to the purchase.shipping_address?" },
        { "Is the shipping address there?", ADDRESSES, "shipping address", "Is the purchase.billing_address there?",
          "Is the purchase.shipping_address there?" },
        { "The status?", "purchase.Order status", "shipment.status", "status", "The purchase.\"Order status\"?",
          "The shipment.status?" },
        { "All bookings", "booking", "reservation", "bookings", "All booking", "All reservation" },
        /* words that are unknown, or stand in two places */
        { "What do they cost?", FEES, NULL,
          "What do they cost? (trainer.trainer_fee is meant, not trainer.fee_of_trainer)",
          "What do they cost? (trainer.fee_of_trainer is meant, not trainer.trainer_fee)" },
        { "Is an address like another address?", ADDRESSES, NULL,
          "Is an address like another address? (purchase.billing_address is meant, not purchase.shipping_address)",
          "Is an address like another address? (purchase.shipping_address is meant, not purchase.billing_address)" },
    };
    struct sql_world *w = *state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        const char *own = cases[i].question;
        struct element_choices c;
        json_t *record =
            json_pack("{s:s, s:b, s:[s, s]}", "question", own, "ambiguous", 1, "alternatives", cases[i].a, cases[i].b);
        take(&c, w, record);
        assert_int_equal(c.n, 1);
        assert_true(c.list[0].detected);
        char *words = element_choice_words(&c.list[0], own);
        assert_string_equal(words ? words : "(unknown)", cases[i].words ? cases[i].words : "(unknown)");
        char *before = element_choices_rewrite(&c, w->schemas.schemas, own);
        assert_string_equal(before, own); /* left open */
        for (int k = 0; k < 2; k++) {
            c.list[0].chosen = c.list[0].elements[k];
            char *text = element_choices_rewrite(&c, w->schemas.schemas, own);
            assert_string_equal(text, k ? cases[i].second : cases[i].first);
            free(text);
        }
        free(before);
        free(words);
    }
}

#define SPAN(start, end, a, b, kind)                                                                                   \
    "{\"start\":" #start ",\"end\":" #end ",\"label\":\"AMB\",\"alternatives\":[{\"concept\":\"" a                     \
    "\",\"type\":\"" kind "\"},{\"concept\":\"" b "\",\"type\":\"" kind "\"}]}"

/* Spans of the tagger are choices in their order, beside the detector's, which takes the words of a span. */
static void test_spans(void **state)
{
    struct sql_world *w = *state;
    struct element_choices c;
    const char *question = "In Oslo, which status and which address?";

    take_text(&c, w,
              "{\"question\":\"In Oslo, which status and which address?\",\"ambiguous\":true,"
              "\"alternatives\":[\"purchase.billing_address\",\"purchase.shipping_address\"],\"score\":0.12345678,"
              "\"spans\":[" SPAN(15, 21, "purchase.Order status", "shipment.status", "column") "," SPAN(
                  3, 7, "booking.city::Oslo", "reservation.city::Oslo",
                  "value") "," SPAN(26, 39, "purchase.shipping_address", "purchase.billing_address",
                                    "column") "," SPAN(32, 39, "booking.id", "shipment.id", "column") "]}");
    assert_int_equal(c.n, 3);
    assert_true(c.list[0].is_value && !c.list[0].detected && c.list[2].detected);
    assert_int_equal(c.list[2].start, 26);
    assert_float_equal(c.list[0].probability, 1, 0);
    assert_float_equal(c.list[2].probability, 0.123457, 0);
    for (int i = 0; i < 3; i++)
        c.list[i].chosen = c.list[i].elements[i % 2];
    char *text = element_choices_rewrite(&c, w->schemas.schemas, question);
    assert_string_equal(text, "In Oslo (booking.city), which shipment.status and purchase.shipping_address?");
    free(text);

    json_t *record =
        json_pack("{s:s, s:o}", "question", question, "element_choices", element_choices_json(&c, w->schemas.schemas));
    struct element_choices again;
    struct error err = { 0 };
    assert_int_equal(element_choices_read(&again, record, w->schemas.schemas, "record", &err), 0);
    assert_int_equal(again.n, 3);
    for (int i = 0; i < 3; i++)
        assert_float_equal(again.list[i].probability, c.list[i].probability, 0);
    char *same = element_choices_rewrite(&again, w->schemas.schemas, question);
    assert_string_equal(same, "In Oslo (booking.city), which shipment.status and purchase.shipping_address?");
    free(same);
    json_decref(record);
}

static void test_no_choices(void **state)
{
    struct sql_world *w = *state;
    struct element_choices c;

    take_text(&c, w, "{\"question\":\"Which status?\"}");
    assert_int_equal(c.n, 0);
    take_text(&c, w, "{\"question\":\"Which status?\",\"ambiguous\":false,\"alternatives\":[]}");
    assert_int_equal(c.n, 0);
    take_text(&c, w,
              "{\"question\":\"Which status?\",\"spans\":[{\"start\":6,\"end\":12,\"label\":\"COL\",\"alternatives\":"
              "[{\"concept\":\"shipment.status\",\"type\":\"column\"}]}]}");
    assert_int_equal(c.n, 0);
}

#define CHOICE(start, end, list, element)                                                                              \
    "{\"start\":" #start ",\"end\":" #end ",\"alternatives\":" list                                                    \
    ",\"value\":false,\"detected\":true,\"probability\":0.5,\"element\":" element "}"
#define TWO "[\"booking\",\"reservation\"]"

static void test_bad_records(void **state)
{
    static const char *const bad[][2] = {
        { "7", "field \"element_choices\": expected an array" },
        { "[7]", "element_choices[0]" },
        { "[" CHOICE(-1, 3, TWO, "null") "]", "\"start\": expected 0 to 12, got -1" },
        { "[" CHOICE(3, 13, TWO, "null") "]", "\"end\": expected 3 to 12, got 13" },
        { "[" CHOICE(5, 3, TWO, "null") "]", "\"end\": expected 5 to 12, got 3" },
        { "[" CHOICE(0, 3, "[\"booking\"]", "null") "]", "alternatives: expected 2 to 16, got 1" },
        { "[" CHOICE(0, 3, "[\"booking\",7]", "null") "]",
          "expected the name of a table or of a table.column, got an integer" },
        { "[" CHOICE(0, 3, TWO, "\"nothing\"") "]", "table.column, got nothing" },
        { "[" CHOICE(0, 3, TWO, "null") "," CHOICE(2, 5, TWO, "null") "]",
          "element_choices[1]: expected words of its own" },
    };
    struct sql_world *w = *state;

    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct element_choices c;
        struct error err = { 0 };
        json_t *record = json_pack("{s:s, s:o}", "question", "All bookings", "element_choices",
                                   json_loads(bad[i][0], JSON_DECODE_ANY, NULL));
        assert_non_null(record);
        if (element_choices_read(&c, record, w->schemas.schemas, "record", &err) == 0)
            fail_msg("%s was taken", bad[i][0]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, "record", bad[i][1]);
        json_decref(record);
    }
}

static void test_statements(void **state)
{
    struct sql_world *w = *state;
    const struct schema *s = w->schemas.schemas;
    int table = schema_table_find(s, "purchase"), column = schema_column_find(s, table, "Order status");
    char *all = element_statement(s, table), *one = element_statement(s, s->n_tables + column);

    assert_string_equal(all, "SELECT * FROM purchase");
    assert_string_equal(one, "SELECT \"Order status\" FROM purchase");
    free(all);
    free(one);
}

/* Choices with more alternatives and of more certain ambiguity come first, equal ones in the order of the question. */
static void test_order(void **state)
{
    static const struct {
        double probability;
        int n;
        double entropy;
    } cases[] = {
        { 0.5, 2, 0.811278124459 },  { 1, 2, 1 }, { 0, 16, 0 }, { 1, 4, 2 }, { 0.5, 2, 0.811278124459 },
        { 0.75, 4, 1.880240814944 }, { 1, 2, 1 },
    };
    static const int expected[] = { 3, 5, 1, 6, 0, 4, 2 };
    struct element_choices c = { .n = ARRAY_LEN(cases) };
    int order[ELEMENT_CHOICES_MAX];

    (void)state;
    for (int i = 0; i < c.n; i++) {
        c.list[i] = (struct element_choice){ .probability = cases[i].probability, .n = cases[i].n };
        assert_float_equal(element_choice_entropy(&c.list[i]), cases[i].entropy, 1e-9);
    }
    element_choices_order(order, &c);
    assert_memory_equal(order, expected, sizeof expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_alternatives),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_no_choices),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
