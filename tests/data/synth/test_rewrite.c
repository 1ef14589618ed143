/* Tests interpretations in words: replaced names, and the choice of existing interpretations. */
#include "tests/support/support.h"

#include "data/synth/rewrite.h"

#include <stdlib.h>
#include <string.h>

static void names(void **state)
{
    static const struct {
        const char *question, *element, *name, *wanted;
    } cases[] = {
        { "List the born state of heads.", "born_state", "home_town", "List the home town of heads." },
        { "Which singers are old?", "singer", "artist", "Which artists are old?" },
        { "Singers by age", "singer", "opera_artist", "Opera artists by age" },
        { "How many cities?", "city", "municipality", "How many municipalities?" },
        { "How many days?", "day", "weekday", "How many weekdays?" },
        { "What is the status?", "status", "state", "What is the state?" },
        { "Show the age of the oldest, ordered by AGE", "age", "years",
          "Show the years of the oldest, ordered by Years" },
        { "How old is each head?", "age", "Years_Old", "How old is each head? (age: years old)" },
        { "What is the song name?", "name_song", "title", "What is the song name? (name song: title)" },
        { "A \"singer\"\xe2\x80\x94which?", "singer", "artist", "A \"artist\"\xe2\x80\x94which?" },
        { "What is the first name, and the name?", "name", "title", "What is the first name, and the title?" },
        { "What is the first-name of heads?", "name", "title", "What is the first-name of heads? (name: title)" },
        { "The orders, in alphabetical order?", "order", "purchase", "The purchases, in alphabetical order?" },
        { "Orders in descending order, ordered by order", "order", "purchase",
          "Purchases in descending order, ordered by purchase" },
        { "Count the heads of each country", "count", "tally", "Count the heads of each country (count: tally)" },
        { "What is the count of each country?", "count", "tally", "What is the tally of each country?" },
        { "Number of heads by number", "number", "figure", "Number of heads by figure" },
        { "Heads from Bonn", "from", "origin", "Heads from Bonn (from: origin)" },
        { "", "singer", "artist", " (singer: artist)" },
        { "No name at all", "", "artist", "No name at all (: artist)" },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *text = rewrite_question(cases[i].question, cases[i].element, cases[i].name,
                                      "head : born_state , name , first name | order : count");
        assert_string_equal(text, cases[i].wanted);
        free(text);
    }
}

static void check_golds(const struct ambiqt_record *r, const char *first, const char *second)
{
    char *texts[2];

    rewrite_golds(texts, r);
    assert_string_equal(texts[0], first);
    assert_string_equal(texts[1], second);
    free(texts[0]);
    free(texts[1]);
}

static void kinds(void **state)
{
    struct ambiqt_record r = { .question = "Name the head.",
                               .table = "head",
                               .column = "name",
                               .new_table = "head_name",
                               .names = { "full_name", "title" } };
    (void)state;

    r.type = SIA_COLUMN;
    check_golds(&r, "Full name the head.", "Title the head.");
    r.type = SIA_TABLE;
    check_golds(&r, "Name the full name.", "Name the title.");
    r.type = SIA_JOIN;
    check_golds(&r, "Name the head. (name from head)", "Name the head. (name from head name)");
    r.type = SIA_AGGREGATE;
    check_golds(&r, "Name the head. (computed from head)", "Name the head. (stored in head name)");
}

static json_t *record_of(int n)
{
    json_t *golds = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(
            golds, json_pack("{s:o, s:o}", "text", json_sprintf("text %d", i), "sql", json_sprintf("SELECT %d", i)));
    return json_pack("{s:o}", "golds", golds);
}

/* The readings are distinct golds with their SQL. */
static size_t check_interpretations(const json_t *record)
{
    const json_t *golds = json_object_get(record, "golds"), *interpretations = json_object_get(record, "readings");
    size_t i, k, n = json_array_size(interpretations);
    const json_t *interpretation, *gold;

    json_array_foreach(interpretations, i, interpretation)
    {
        int found = 0;
        json_array_foreach(golds, k, gold)
        {
            found += json_equal(gold, interpretation);
        }
        assert_int_equal(found, 1);
        for (k = 0; k < i; k++)
            assert_false(json_equal(interpretation, json_array_get(interpretations, k)));
    }
    return n;
}

static void shares(void **state)
{
    enum { TRIES = 20000 };
    struct rng rng = { .seed = 1 };
    int counts[4][4] = { 0 };
    (void)state;

    for (int n = 1; n <= 3; n++)
        for (int i = 0; i < TRIES; i++) {
            json_t *record = record_of(n);
            rewrite_interpretations(record, &rng);
            counts[n][check_interpretations(record)]++;
            json_decref(record);
        }
    static const double wanted[4][4] = { { 0 }, { .2, .8 }, { .15, .7, .15 }, { .15, .35, .35, .15 } };
    for (int n = 1; n <= 3; n++)
        for (int k = 0; k <= n; k++) /* five standard deviations */
            assert_true(abs(counts[n][k] - (int)(wanted[n][k] * TRIES)) < 360);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(kinds),
        cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests_name("rewrite", tests, NULL, NULL);
}
