/*
 * Signs of a question's class in its words, and the classes by keywords.
 */
#include "data/schema/schema_build.h"
#include "data/span/triage_words.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static struct triage_names names;

static int set_up(void **state)
{
    struct schema_build b;
    struct schema s;

    (void)state;
    schema_build_init(&b, "shop");
    int product = schema_build_table(&b, "product", NULL), buyer = schema_build_table(&b, "buyer", NULL);
    schema_build_column(&b, product, "list_price", NULL, COLUMN_NUMBER);
    schema_build_column(&b, product, "sale_price", NULL, COLUMN_NUMBER);
    schema_build_column(&b, product, "plot", NULL, COLUMN_TEXT);
    schema_build_column(&b, buyer, "shipping_date", NULL, COLUMN_TIME);
    schema_build_column(&b, buyer, "city", NULL, COLUMN_TEXT);
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    triage_names_init(&names, &s);
    schema_release(&s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    triage_names_release(&names);
    return 0;
}

static struct triage_reading read_question(const char *question)
{
    const struct triage_question q = { .text = question };
    struct triage_reading r;

    triage_read(&r, &q, &names);
    return r;
}

static void test_classes(void **state)
{
    static const struct {
        const char *question;
        enum triage_kind kind;
        enum triage_reason reason;
    } cases[] = {
        { "What is the list price of each product?", KIND_ANSWERABLE, REASON_NONE },
        { "How many buyers are there?", KIND_ANSWERABLE, REASON_NONE },
        { "Show the price of each product.", KIND_SCHEMA, REASON_SHARED },
        { "What is the warranty?", KIND_TABLE, REASON_COLUMN },
        { "Which buyers have a warranty certificate plus insurance?", KIND_COLUMN, REASON_COLUMN },
        { "Show the recent products.", KIND_TIME, REASON_TIME },
        { "Which buyers were there last season?", KIND_TIME, REASON_TIME },
        { "Show the top products.", KIND_AGGREGATE, REASON_AGGREGATE },
        { "Which cities are large?", KIND_AGGREGATE, REASON_AGGREGATE },
        /* A number or a measure makes vague words exact. */
        { "Show the buyers of 3 weeks ago.", KIND_ANSWERABLE, REASON_NONE },
        { "Show the top three products.", KIND_ANSWERABLE, REASON_NONE },
        { "How high is the list price?", KIND_ANSWERABLE, REASON_NONE },
        { "Forecast the list price of each product.", KIND_REQUEST, REASON_REQUEST },
        { "List the city and draw a chart.", KIND_REQUEST, REASON_REQUEST },
        { "Which city does the buyer play for?", KIND_ANSWERABLE, REASON_NONE }, /* an ordinary verb */
        { "Why is the list price so low?", KIND_KNOWLEDGE, REASON_KNOWLEDGE },
        { "Thanks a lot!", KIND_IMPROPER, REASON_TALK },
        { "Hi!", KIND_IMPROPER, REASON_TALK },
        { "I went swimming", KIND_IMPROPER, REASON_NONE },
        { "", KIND_IMPROPER, REASON_NONE },
        /* "plot" is a column here, and no request. */
        { "What is the plot of each product?", KIND_ANSWERABLE, REASON_NONE },
        /* Forms of one word are the same word. */
        { "When was it shipped, by city?", KIND_ANSWERABLE, REASON_NONE },
    };
    double confidence;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct triage_reading r = read_question(cases[i].question);
        enum triage_kind kind = triage_by_keywords(&r, &confidence);
        if (kind != cases[i].kind || triage_main_reason(&r, kind) != cases[i].reason)
            fail_msg("\"%s\": %s, %s for reason %d", cases[i].question, triage_class_name(triage_kind_class(kind)),
                     triage_kind_name(kind), triage_main_reason(&r, kind));
        assert_true(confidence >= 0 && confidence <= 1);
    }
}

static void test_signs(void **state)
{
    struct triage_reading r = read_question("Which wheels does the city of Oslo have in 2020?");

    (void)state;
    assert_float_equal(r.signs[SIGN_LENGTH], 2.302585, 1e-5);
    assert_float_equal(r.signs[SIGN_CONTENT], .3, 1e-6); /* wheels, city, Oslo */
    assert_float_equal(r.signs[SIGN_KNOWN], 1. / 3, 1e-6);
    assert_float_equal(r.signs[SIGN_KNOWN_SMALL], .5, 1e-6);
    assert_float_equal(r.signs[SIGN_UNKNOWN], 1, 0);
    assert_float_equal(r.signs[SIGN_NUMBER] + r.signs[SIGN_MARK] + r.signs[SIGN_CAPITAL] + r.signs[SIGN_ASKS], 4, 0);
    assert_float_equal(r.signs[SIGN_EMPTY] + r.signs[SIGN_TALK] + r.signs[SIGN_SHARED], 0, 0);
}

/* Capitalised words are responsible only if values are known, and not if one of them matches. */
static void test_values(void **state)
{
    const char *question = "Which buyers are in Oslo or Turku?";
    struct tag_value oslo = { .column = 0, .text = "Oslo", .start = 20, .end = 24, .score = 1 };
    const struct triage_question q = { .text = question, .values = &oslo, .n_values = 1, .has_values = true };
    struct triage_reading r = read_question(question);

    (void)state;
    assert_int_equal(triage_main_reason(&r, KIND_MISSING_VALUE), REASON_NONE);
    assert_float_equal(r.signs[SIGN_VALUES] + r.signs[SIGN_VALUE] + r.signs[SIGN_STRANGE], 0, 0);
    assert_float_equal(r.signs[SIGN_KNOWN], 1. / 3, 1e-6);
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_VALUES], 1, 0);
    assert_float_equal(r.signs[SIGN_VALUE], 1, 0);   /* Oslo */
    assert_float_equal(r.signs[SIGN_STRANGE], 1, 0); /* Turku */
    assert_float_equal(r.signs[SIGN_KNOWN], 2. / 3, 1e-6);
    json_t *words = triage_words_json(&r, KIND_MISSING_VALUE, question);
    char *text = json_dumps(words, JSON_COMPACT);
    assert_string_equal(text, "[{\"text\":\"Turku\",\"start\":28,\"end\":33,\"reason\":\"value\"}]");
    free(text);
    json_decref(words);
}

/* A quoted word may be a value in small letters. */
static void test_quotes(void **state)
{
    struct triage_reading plain = read_question("Which products are called kettle?"),
                          quoted = read_question("Which products are called 'kettle'?");

    (void)state;
    assert_float_equal(plain.signs[SIGN_UNKNOWN] - quoted.signs[SIGN_UNKNOWN], 1, 0);
    assert_float_equal(plain.signs[SIGN_KNOWN], quoted.signs[SIGN_KNOWN], 0);
}

/* The latest earlier question that has a known word counts; "they" refers to it. */
static void test_context(void **state)
{
    json_t *record = json_pack("{s:[s, s]}", "context", "Show the city of each buyer.", "Thanks!"),
           *bad = json_pack("{s:[s, i]}", "context", "Hi", 7), *none = json_object();
    struct triage_question q = { .text = "Where do they live?" };
    struct triage_reading r;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(triage_context(&q.context, record, "line 1", &err), 0);
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_FOLLOWS] + r.signs[SIGN_REFERS], 2, 0);
    assert_float_equal(r.signs[SIGN_CONTINUES], 0, 0); /* "live" is unknown */
    assert_float_equal(r.signs[SIGN_BEFORE], 2, 0);
    q.text = "And the cities?";
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_CONTINUES], 1, 0);
    q.text = "Thanks for the cities!";
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_CONTINUES], 0, 0);
    assert_int_equal(triage_context(&q.context, none, "line 1", &err), 0);
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_FOLLOWS] + r.signs[SIGN_REFERS] + r.signs[SIGN_BEFORE], 0, 0);
    assert_int_equal(triage_context(&q.context, bad, "line 1", &err), -1);
    assert_string_equal(err.text, "line 1: field \"context\": expected a list of earlier questions");
    json_decref(record);
    json_decref(bad);
    json_decref(none);
}

/* Words of which several columns have a value; those that a column's name has are clear. */
static void test_shared_values(void **state)
{
    const char *question = "Who is in Oslo?";
    const struct tag_value oslo[] = { { .column = 0, .start = 10, .end = 14 },
                                      { .column = 4, .start = 10, .end = 14 } };
    struct triage_question q = { .text = question, .values = oslo, .n_values = 2, .has_values = true };
    struct triage_reading r;

    (void)state;
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_SHARED_VALUE], 1, 0);
    assert_int_equal(triage_main_reason(&r, KIND_AMBIGUOUS_VALUE), REASON_SHARED_VALUE);
    q.n_values = 1;
    triage_read(&r, &q, &names);
    assert_float_equal(r.signs[SIGN_SHARED_VALUE], 0, 0);
    assert_int_equal(triage_main_reason(&r, KIND_AMBIGUOUS_VALUE), REASON_NONE);
}

/* Each kind has a class, and its name leads back to it. */
static void test_kind_names(void **state)
{
    enum triage_kind read;
    struct error err;

    (void)state;
    for (int k = 0; k < TRIAGE_KINDS; k++) {
        enum triage_class class = triage_kind_class((enum triage_kind)k);
        json_t *record = json_pack("{s:s}", "kind", triage_kind_name((enum triage_kind)k));
        assert_int_equal(triage_kind_of(class, triage_kind_name((enum triage_kind)k)), k);
        assert_int_equal(triage_kind_read(&read, class, record, "line 1", &err), 0);
        assert_int_equal(read, k);
        json_decref(record);
    }
    assert_int_equal(triage_kind_of(TRIAGE_IMPROPER, "value"), TRIAGE_KINDS);
    json_t *bad = json_pack("{s:s}", "kind", "column");
    assert_int_equal(triage_kind_read(&read, TRIAGE_AMBIGUOUS, bad, "line 1", &err), -1);
    assert_string_equal(err.text,
                        "line 1: field \"kind\": expected schema, wording, value, time, aggregate for the class "
                        "ambiguous, got \"column\"");
    json_object_del(bad, "kind");
    assert_int_equal(triage_kind_read(&read, TRIAGE_AMBIGUOUS, bad, "line 1", &err), 0);
    assert_int_equal(read, TRIAGE_KINDS);
    json_decref(bad);
}

static void check_sentence(const char *question, enum triage_kind kind, const char *wanted)
{
    struct triage_reading r = read_question(question);
    char *sentence = triage_sentence(&r, kind, question);

    assert_string_equal(sentence, wanted);
    free(sentence);
}

/* Without a word that explains the kind there is a sentence of the kind, and another reason of the class. */
static void test_sentences(void **state)
{
    (void)state;
    check_sentence("What is the d\xc3\xa9"
                   "cor and the warranty?",
                   KIND_COLUMN,
                   "The database seems to have no answer to this question. No table or column is called \"d\xc3\xa9"
                   "cor\", \"warranty\".");
    check_sentence("What is the warranty?", KIND_TABLE,
                   "The database seems to have no answer to this question. No table is about this. No table or column "
                   "is called \"warranty\".");
    check_sentence("Show the price.", KIND_SCHEMA,
                   "This question seems to have several interpretations. Several columns have names with \"price\".");
    check_sentence("Show the city.", KIND_WORDING,
                   "This question seems to have several interpretations. Its words can be read in several ways.");
    check_sentence("Show recent prices of large cities.", KIND_TIME,
                   "This question seems to have several interpretations. A time is not given exactly: \"recent\".");
    check_sentence("Show recent prices of large cities.", KIND_AGGREGATE,
                   "This question seems to have several interpretations. It depends on the meaning of \"large\".");
    check_sentence("City?", KIND_IMPROPER, "This seems to be no question about the database.");
}

/* More words and spans than are kept. */
static void test_long(void **state)
{
    static const char pair[] = "warranty why ";
    enum { PAIRS = 250, BYTES = sizeof pair - 1 };
    struct triage_reading r;
    char text[PAIRS * BYTES + 1];

    (void)state;
    for (int i = 0; i < PAIRS; i++)
        memcpy(text + i * BYTES, pair, sizeof pair);
    r = read_question(text);
    assert_int_equal(r.n_spans, TRIAGE_SPANS);
    r = read_question("\xff\xfe 'price");
    assert_float_equal(r.signs[SIGN_SHARED], 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),   cmocka_unit_test(test_signs),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_long),          cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_context),   cmocka_unit_test(test_shared_values), cmocka_unit_test(test_kind_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
