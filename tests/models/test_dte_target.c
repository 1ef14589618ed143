/* Compares the effect of erasing words with its closed form, and tests the labels of marked spans. */
#include "models/tagger/dte_target.h"
#include "tests/support/dte_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As entities: city, its value Paris, home team, score. */
enum { CITY = DTE_KEYWORDS, PARIS, HOME_TEAM, SCORE, CONCEPTS };

static const struct span_column columns[] = { { .name = "score", .type = COLUMN_NUMBER },
                                              { .name = "home team of the year" },
                                              { .name = "city" } };
static const struct tag_value value = { 2, "Paris", 10, 15, 1 };
static const char question[] = "home team paris of the score?";
enum { WORDS = 7 };

static void check_erasures(const struct dte_item *item, const int (*wanted)[2], int n)
{
    struct dte_sequences list = { 0 };

    dte_erasures(&list, item, 0);
    assert_int_equal(list.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(list.items[i].from, wanted[i][0]);
        assert_int_equal(list.items[i].to, wanted[i][1]);
        assert_ptr_equal(list.items[i].item, item);
    }
    free(list.items);
}

/* Runs of names, longest first, none inside another; then every word. */
static void test_erasures(void **state)
{
    static const struct span_column overlapping[] = { { .name = "home team" },
                                                      { .name = "the home team of x" },
                                                      { .name = "score of the year" } };
    struct dte_world w;
    struct dte_asked a;
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, question, columns, 3, NULL, 0);
    check_erasures(
        &a.item, (const int[][2]){ { 0, 2 }, { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 }, { 4, 5 }, { 5, 6 }, { 6, 7 } }, 8);
    dte_asked_release(&a);
    dte_asked_init(&a, &w, "the home team of the x of the", overlapping, 3, NULL, 0);
    check_erasures(
        &a.item,
        (const int[][2]){
            { 0, 4 }, { 3, 5 }, { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 }, { 4, 5 }, { 5, 6 }, { 6, 7 }, { 7, 8 } },
        10);
    dte_asked_release(&a);
    dte_world_close(&w);
}

/* A concept model in closed form: the sigmoid of the sum of the remaining words' weights. */
static const double weights[CONCEPTS][WORDS] = {
    [CITY] = { .1, 0, 2, 0, .3, -1, 0 },
    [PARIS] = { 0, .4, 3, 0, 0, 0, 0 },
    [HOME_TEAM] = { 1.5, 1, 0, 0, 0, -.2, 0 },
    [SCORE] = { 0, 0, 0, .1, 0, 2.5, .2 },
};

static double concept_without(int k, int from, int to)
{
    double sum = 0;

    for (int q = 0; q < WORDS; q++)
        sum += q >= from && q < to ? 0 : weights[k][q];
    return 1 / (1 + exp(-sum));
}

/* awake[k, q] of the question. Words 0 and 1 are in two erasures, the others in one. */
static void awaken(float *awake, const struct dte_item *item)
{
    struct dte_sequences list = { 0 };
    float base[CONCEPTS], *erased;

    dte_erasures(&list, item, 0);
    erased = xmalloc((size_t)list.n * CONCEPTS * sizeof *erased);
    for (int k = 0; k < CONCEPTS; k++) {
        base[k] = (float)concept_without(k, 0, 0);
        for (int i = 0; i < list.n; i++)
            erased[i * CONCEPTS + k] = (float)concept_without(k, list.items[i].from, list.items[i].to);
    }
    dte_awake(awake, item, CONCEPTS, base, list.items, list.n, erased);
    free(erased);
    free(list.items);
}

static double drop(int k, int from, int to)
{
    return fmax(0, concept_without(k, 0, 0) - concept_without(k, from, to));
}

static void test_awake(void **state)
{
    struct dte_world w;
    struct dte_asked a;
    float awake[CONCEPTS * WORDS];
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, question, columns, 3, &value, 1);
    awaken(awake, &a.item);
    for (int k = 0; k < CONCEPTS; k++)
        for (int q = 0; q < WORDS; q++) {
            double wanted = q < 2 ? (drop(k, q, q + 1) + drop(k, 0, 2)) / 2 : drop(k, q, q + 1);
            assert_near((double)awake[k * WORDS + q], wanted, 1e-6);
        }
    assert_near((double)awake[CITY * WORDS + 5], 0, 0); /* without "score", city would be more probable */
    dte_asked_release(&a);
    dte_world_close(&w);
}

/* A column has no weight at a word of its value, a value has none elsewhere, concepts that are not meant have a
 * constant, and [SEP] has none. */
static void test_weights_of_grounding(void **state)
{
    const struct dte_config config = { .published = false };
    struct span_concept paris = { 2, "paris" }, score = { 0, NULL };
    const struct marked_span spans[] = { { 10, 15, SPAN_VAL, &paris, 1 }, { 23, 28, SPAN_COL, &score, 1 } };
    const struct dte_supervision by = { spans, 2, NULL, false };
    const float share = 1.f / (4 * WORDS);
    struct dte_world w;
    struct dte_asked a;
    struct dte_target t;
    float awake[CONCEPTS * WORDS];
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, question, columns, 3, &value, 1);
    awaken(awake, &a.item);
    dte_target_init(&t, &a.item, 0, &by, &config);
    for (int k = 0; k < CONCEPTS; k++)
        assert_near((double)t.concept[k], k == CITY || k == PARIS || k == SCORE, 0);
    dte_target_ground(&t, &a.item, 0, &by, awake);
    for (int k = 0; k < CONCEPTS; k++)
        for (int q = 0; q <= WORDS; q++) {
            float wanted = 0;
            if (q < WORDS && k == HOME_TEAM)
                wanted = .05f;
            else if (q < WORDS && k >= DTE_KEYWORDS && (k == SCORE || (k == PARIS) == (q == 2)))
                wanted = awake[k * WORDS + q];
            assert_near((double)t.grounding_weight[k * (WORDS + 1) + q], (double)(wanted * share), 1e-8);
            if (q < WORDS && k >= DTE_KEYWORDS)
                assert_near((double)t.grounding[k * (WORDS + 1) + q], k != HOME_TEAM, 0);
        }
    dte_target_ground(&t, &a.item, 0, &by, NULL); /* at the marked words */
    assert_near((double)t.grounding_weight[SCORE * (WORDS + 1) + 5], (double)share, 1e-8);
    assert_near((double)t.grounding_weight[SCORE * (WORDS + 1) + 4], 0, 0);
    dte_target_release(&t);
    dte_asked_release(&a);
    dte_world_close(&w);
}

static double sum_of(const float *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)x[i];
    return sum;
}

/* Tags and links of spans. A word without a concept in the table has no link. */
static void test_labels(void **state)
{
    const int A = DTE_SPAN + 2 * SPAN_AMB, U = DTE_SPAN + 2 * SPAN_UNK, O = DTE_OTHER;
    const struct dte_config config = { .published = false }, published = { .published = true };
    struct span_concept both[] = { { 1, NULL }, { 0, NULL } };
    const struct marked_span spans[] = { { 0, 9, SPAN_AMB, both, 2 }, { 10, 15, SPAN_UNK, NULL, 0 } };
    const struct dte_supervision by = { spans, 2, NULL, false };
    const int wanted[WORDS] = { A, A + 1, U, O, O, O, O };
    struct dte_world w;
    struct dte_asked a;
    struct dte_target t;
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, question, columns, 3, &value, 1);
    dte_target_init(&t, &a.item, 0, &by, &config);
    for (int q = 0; q < WORDS; q++)
        assert_int_equal(t.tags[q], 1 << wanted[q]);
    assert_near(t.links, 1, 0);
    assert_near(sum_of(t.meaning_weight, WORDS * 4), 1, 1e-6);
    for (int q = 0; q < 2; q++) {
        assert_near((double)t.meaning_weight[q * 4 + HOME_TEAM - DTE_KEYWORDS], .25, 0);
        assert_near((double)t.meaning_weight[q * 4 + SCORE - DTE_KEYWORDS], .25, 0);
    }
    dte_target_release(&t);
    dte_target_init(&t, &a.item, 0, &by, &published);
    assert_int_equal(t.tags[0], 1 << (DTE_PUBLISHED_SPAN + SPAN_AMB));
    assert_int_equal(t.tags[1], 1 << (DTE_PUBLISHED_SPAN + SPAN_AMB));
    assert_int_equal(t.tags[2], 1 << (DTE_PUBLISHED_SPAN + SPAN_UNK));
    dte_target_release(&t);
    dte_asked_release(&a);
    dte_world_close(&w);
}

/* A value of the table is linked; if the window does not show it, its column is. */
static void test_values_not_shown(void **state)
{
    const struct dte_config config = { .published = false };
    struct span_concept paris = { 2, "PARIS" };
    const struct marked_span span = { 10, 15, SPAN_VAL, &paris, 1 };
    const struct dte_supervision by = { &span, 1, NULL, false };
    struct dte_world w;
    struct dte_asked a;
    struct dte_target t;
    (void)state;

    dte_world_open(&w);
    for (int shown = 0; shown < 2; shown++) {
        dte_asked_init(&a, &w, question, columns, 3, &value, shown);
        dte_target_init(&t, &a.item, 0, &by, &config);
        int entities = a.item.windows[0].n_entities;
        for (int k = 0; k < entities; k++)
            assert_near((double)t.meaning_weight[2 * entities + k], k == shown, 0);
        assert_near(sum_of(t.meaning_weight, WORDS * entities), 1, 0);
        dte_target_release(&t);
        dte_asked_release(&a);
    }
    dte_world_close(&w);
}

/* A table is meant with its column. */
static void test_tables(void **state)
{
    static const struct span_column two[] = { { .table = "city", .name = "name" },
                                              { .table = "team", .name = "name" } };
    const struct dte_config config = { .published = false };
    struct span_concept column = { 1, NULL };
    const struct marked_span span = { 0, 4, SPAN_COL, &column, 1 };
    const struct dte_supervision by = { &span, 1, NULL, false };
    const float wanted[] = { 0, 0, 1, 1 }; /* city, its name, team, its name */
    struct dte_world w;
    struct dte_asked a;
    struct dte_target t;
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, "home x", two, 2, NULL, 0);
    dte_target_init(&t, &a.item, 0, &by, &config);
    assert_memory_equal(t.concept + DTE_KEYWORDS, wanted, sizeof wanted);
    dte_target_release(&t);
    dte_asked_release(&a);
    dte_world_close(&w);
}

/* Concepts and keywords of the SQL are labels; the marks COL and VAL are not. */
static void test_labels_of_sql(void **state)
{
    const int A = DTE_SPAN + 2 * SPAN_AMB, O = DTE_OTHER;
    const struct dte_config config = { .published = false };
    struct span_concept concepts[] = { { 2, NULL }, { 2, "PARIS" }, { 0, NULL } }, home = { 1, NULL };
    struct span_concept both[] = { { 1, NULL }, { 0, NULL } };
    const struct marked_span spans[] = { { 0, 9, SPAN_COL, &home, 1 }, { 23, 28, SPAN_AMB, both, 2 } };
    const struct sql_concepts sql = { concepts, 3, 1u << SQL_KEYWORD_MAX | 1u << SQL_KEYWORD_EQUAL };
    const struct dte_supervision by = { spans, 2, &sql, true };
    const int wanted[WORDS] = { O, O, O, O, O, A, O };
    struct dte_world w;
    struct dte_asked a;
    struct dte_target t;
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, question, columns, 3, &value, 1);
    dte_target_init(&t, &a.item, 0, &by, &config);
    for (int k = 0; k < CONCEPTS; k++) {
        bool meant = k == SQL_KEYWORD_MAX || k == SQL_KEYWORD_EQUAL || k == CITY || k == PARIS || k == SCORE;
        assert_near((double)t.concept[k], meant, 0);
        assert_near((double)t.concept_weight[k], 1. / CONCEPTS, 1e-8);
    }
    for (int q = 0; q < WORDS; q++)
        assert_int_equal(t.tags[q], 1 << wanted[q]);
    assert_near(sum_of(t.meaning_weight, WORDS * 4), 1, 1e-6);
    assert_near((double)t.meaning_weight[5 * 4 + HOME_TEAM - DTE_KEYWORDS], .5, 0);
    dte_target_release(&t);
    dte_asked_release(&a);
    dte_world_close(&w);
}

/* Without marks, a column has no weight at a match of its value, a value has none outside its match, and a keyword is
 * grounded where erasing lowers it. */
static void test_grounding_of_sql(void **state)
{
    const struct dte_config config = { .published = false };
    struct span_concept concepts[] = { { 2, NULL }, { 2, "paris" } };
    const struct sql_concepts sql = { concepts, 2, 1u << SQL_KEYWORD_COUNT };
    const struct dte_supervision by = { NULL, 0, &sql, true };
    const double share = 1. / (CONCEPTS * WORDS);
    struct dte_world w;
    struct dte_asked a;
    struct dte_target t;
    float awake[CONCEPTS * WORDS];
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&a, &w, question, columns, 3, &value, 1);
    awaken(awake, &a.item);
    for (int q = 0; q < WORDS; q++)
        awake[SQL_KEYWORD_COUNT * WORDS + q] = (float)q / 8;
    dte_target_init(&t, &a.item, 0, &by, &config);
    dte_target_ground(&t, &a.item, 0, &by, awake);
    for (int k = 0; k < CONCEPTS; k++)
        for (int q = 0; q <= WORDS; q++) {
            bool meant = k == SQL_KEYWORD_COUNT || k == CITY || k == PARIS;
            double wanted = meant ? (double)awake[k * WORDS + (q < WORDS ? q : 0)] : .05;
            if (q == WORDS || (k == CITY && q == 2) || (k == PARIS && q != 2))
                wanted = 0;
            assert_near((double)t.grounding_weight[k * (WORDS + 1) + q], wanted * share, 1e-8);
        }
    dte_target_release(&t);
    dte_asked_release(&a);
    dte_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_erasures),
                                        cmocka_unit_test(test_awake),
                                        cmocka_unit_test(test_weights_of_grounding),
                                        cmocka_unit_test(test_labels),
                                        cmocka_unit_test(test_values_not_shown),
                                        cmocka_unit_test(test_tables),
                                        cmocka_unit_test(test_labels_of_sql),
                                        cmocka_unit_test(test_grounding_of_sql) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
