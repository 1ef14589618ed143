/*
 * Signs of the words of a question, and the similarity of words and names.
 */
#include "data/schema/schema_build.h"
#include "data/span/word_signs.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { PRODUCT, BUYER, NORMAL_PRICE, SALE_PRICE, NAME, CITY, BUYER_NAME, ELEMENTS };

static struct word_names names;

static int set_up(void **state)
{
    struct schema_build b;
    struct schema s;

    (void)state;
    schema_build_init(&b, "shop");
    int product = schema_build_table(&b, "product", NULL), buyer = schema_build_table(&b, "buyer", NULL);
    schema_build_column(&b, product, "normal_price", NULL, COLUMN_NUMBER);
    schema_build_column(&b, product, "sale_price", NULL, COLUMN_NUMBER);
    schema_build_column(&b, product, "name", NULL, COLUMN_TEXT);
    schema_build_column(&b, buyer, "city", NULL, COLUMN_TEXT);
    schema_build_column(&b, buyer, "name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, &s);
    word_names_init(&names, &s);
    schema_release(&s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    word_names_release(&names);
    return 0;
}

/* The names outlive their schema. */
static void test_names(void **state)
{
    (void)state;
    assert_int_equal(names.n, ELEMENTS);
    assert_int_equal(names.n_tables, NORMAL_PRICE);
    assert_int_equal(names.start[SALE_PRICE] - names.start[NORMAL_PRICE], 2);
    assert_int_equal(names.start[ELEMENTS] - names.start[CITY], 2);
}

static void check_word(const char *question, int word, const float wanted[WORD_SIGNS], const struct tag_value *values,
                       int n, bool known)
{
    struct word_signs w;

    word_signs_read(&w, question, &names, values, n, known);
    assert_true(word < w.words.n);
    for (int k = 0; k < WORD_SIGNS; k++)
        if (w.signs[word][k] != wanted[k])
            fail_msg("%s: word %d: sign %d is %g, expected %g", question, word, k, (double)w.signs[word][k],
                     (double)wanted[k]);
}

static void test_signs_of_names(void **state)
{
    static const struct {
        const char *question;
        int word;
        float wanted[WORD_SIGNS];
    } cases[] = {
        { "the price", 1, { [WORD_COLUMN] = 1, [WORD_COLUMNS] = 1, [WORD_COUNT] = .5F, [WORD_SHARE] = .5F } },
        { "the prices if normal",
          1,
          { [WORD_COLUMN] = 1, [WORD_COLUMNS] = 1, [WORD_COUNT] = .5F, [WORD_WHOLE] = 1, [WORD_SHARE] = 1 } },
        { "the names",
          1,
          { [WORD_COLUMN] = 1,
            [WORD_COLUMNS] = 1,
            [WORD_COUNT] = .5F,
            [WORD_WHOLE] = 1,
            [WORD_WHOLES] = 1,
            [WORD_SHARE] = 1 } },
        { "the city", 1, { [WORD_COLUMN] = 1, [WORD_COUNT] = .25F, [WORD_WHOLE] = 1, [WORD_SHARE] = 1 } },
        { "two buyers", 1, { [WORD_TABLE] = 1 } },
        { "the warranty", 1, { 0 } },
        { "Show 30 items", 1, { [WORD_NUMBER] = 1 } },
        { "Show Paris", 1, { [WORD_CAPITAL] = 1 } },
        { "Of it", 0, { [WORD_FILLER] = 1, [WORD_FIRST] = 1 } },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        check_word(cases[i].question, cases[i].word, cases[i].wanted, NULL, 0, false);
}

/* A value has all words that it covers.  Offsets of values are code points. */
static void test_signs_of_values(void **state)
{
    const struct tag_value values[] = { { .column = 2, .text = "Café Crème", .start = 5, .end = 15 },
                                        { .column = 2, .text = "Café Cremè", .start = 5, .end = 15 },
                                        { .column = 3, .text = "Crème", .start = 10, .end = 15 } };
    const float first[WORD_SIGNS] = { [WORD_VALUE] = 1, [WORD_CAPITAL] = 1, [WORD_LOOKED] = 1 },
                second[WORD_SIGNS] = { [WORD_VALUE] = 1, [WORD_VALUES] = 1, [WORD_CAPITAL] = 1, [WORD_LOOKED] = 1 },
                unknown[WORD_SIGNS] = { [WORD_CAPITAL] = 1 }, behind[WORD_SIGNS] = { [WORD_LOOKED] = 1 };

    (void)state;
    check_word("Séll Café Crème today", 1, first, values, 2, true);
    check_word("Séll Café Crème today", 2, first, values, 2, true);
    check_word("Séll Café Crème today", 2, second, values, 3, true);
    check_word("Séll Café Crème today", 3, behind, values, 3, true);
    check_word("Séll Café Crème today", 2, unknown, values, 3, false);
}

static void test_likeness(void **state)
{
    static const struct {
        const char *question;
        int first, end, element;
        double wanted;
    } cases[] = {
        { "normal price", 0, 2, NORMAL_PRICE, 1 },
        { "normal price", 0, 2, SALE_PRICE, 1. / 3 },
        { "normal price", 1, 2, SALE_PRICE, .5 },
        { "the normal price", 0, 3, NORMAL_PRICE, 1 },
        { "huge normal price", 0, 3, NORMAL_PRICE, 2. / 3 },
        { "warranty", 0, 1, NAME, 0 },
        { "the", 0, 1, PRODUCT, 0 },
    };
    struct word_signs w;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        word_signs_read(&w, cases[i].question, &names, NULL, 0, false);
        double got = word_likeness(&w, cases[i].first, cases[i].end, &names, cases[i].element);
        if (fabs(got - cases[i].wanted) > 1e-12)
            fail_msg("%s [%d, %d): likeness %g, expected %g", cases[i].question, cases[i].first, cases[i].end, got,
                     cases[i].wanted);
    }
}

/* Neither an empty question nor a schema without names nor more words than are read does harm. */
static void test_extremes(void **state)
{
    struct word_names none = { .start = (int[]){ 0 } };
    struct word_signs w;
    char text[4 * (SPOKEN_WORDS + 10) + 1] = "";

    (void)state;
    word_signs_read(&w, "", &names, NULL, 0, true);
    assert_int_equal(w.words.n, 0);
    word_signs_read(&w, "price", &none, NULL, 0, false);
    assert_true(w.signs[0][WORD_COLUMN] == 0 && w.signs[0][WORD_FIRST] == 1);
    for (int i = 0; i < SPOKEN_WORDS + 10; i++)
        memcpy(text + 4 * i, "abc ", 4);
    word_signs_read(&w, text, &names, NULL, 0, false);
    assert_int_equal(w.words.n, SPOKEN_WORDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_names), cmocka_unit_test(test_signs_of_names),
                                        cmocka_unit_test(test_signs_of_values), cmocka_unit_test(test_likeness),
                                        cmocka_unit_test(test_extremes) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
