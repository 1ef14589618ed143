/* Dialogues: questions, reasons to stop, posteriors, and the end with every strategy. */
#include "tests/support/posteriors.h"
#include "tests/support/support.h"

#include "data/clarify/dialogue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four interpretations of "List employees in sales hired after 2020". */
static const int output[] = { 0, 1, 0, 1 }, date[] = { 0, 0, 1, 1 }, dept[] = { 0, 0, 0, 1 };
static const struct split example[] = { { output, 2, 0, 1, 0 }, { date, 2, 0, 1, 0 }, { dept, 2, 0, 1, 0 } };
static const struct split noisy[] = { { output, 2, 0.1, 1, 0 }, { date, 2, 0.1, 1, 0 }, { dept, 2, 0.1, 1, 0 } };
static double example_p[] = { 0.4, 0.2, 0.2, 0.2 };
static const struct posterior example_prior = { example_p, 4, 0 };

static const struct dialogue_rules patient = { .strategy = STRATEGY_EIG, .confidence = 2, .max_turns = 99 };

static void test_worked_example(void **state)
{
    (void)state;
    struct dialogue d;
    struct question_view view;
    dialogue_init(&d, &patient, example, 3, &example_prior);
    assert_digits(posterior_entropy(&d.now), 1.921928);
    assert_digits(posterior_gain(&d.now, &example[0]), 0.970951);
    assert_digits(posterior_gain(&d.now, &example[1]), 0.970951);
    assert_digits(posterior_gain(&d.now, &example[2]), 0.721928);
    assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
    assert_int_equal(view.attribute, 0); /* the tie goes to the first clause */
    assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, question_view_option(&view, 0) }), 0);
    assert_near(d.now.p[0], 0.6667, 5e-5);
    assert_near(d.now.p[2], 0.3333, 5e-5);
    assert_true(d.now.p[1] == 0 && d.now.p[3] == 0);
    assert_digits(posterior_entropy(&d.now), 0.918296);
    assert_false(dialogue_view(&d, 2, &view));
    assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
    assert_int_equal(view.attribute, 1);
    dialogue_release(&d);
}

static void test_no_repeated_question(void **state)
{
    (void)state;
    static const enum answer_kind kinds[] = { ANSWER_UNKNOWN, ANSWER_EITHER, ANSWER_VALUE };
    for (int k = 0; k < ARRAY_LEN(kinds); k++) {
        bool asked[3] = { false };
        struct dialogue d;
        struct question_view view;
        dialogue_init(&d, &patient, noisy, 3, &example_prior);
        while (dialogue_next(&d, &view) == STOP_NOT) {
            assert_false(asked[view.attribute]);
            asked[view.attribute] = true;
            assert_int_equal(dialogue_answer(&d, &view, (struct answer){ kinds[k], 0 }), 0);
            if (kinds[k] != ANSWER_VALUE)
                assert_memory_equal(d.now.p, example_p, sizeof example_p);
        }
        assert_true(asked[0] && asked[1]);
        assert_int_equal(asked[2], kinds[k] != ANSWER_VALUE); /* an answer to the first two settles it */
        assert_int_equal(d.free_choice, kinds[k] == ANSWER_EITHER);
        dialogue_release(&d);
    }
}

/* After the choice of one of three conditions the other two are not asked about, although a user error is possible.
 * They are asked about if the answer has a low probability. */
static void test_settled_attribute(void **state)
{
    (void)state;
    static const int condition[] = { 0, 1, 2 }, narrowed[] = { 0, 0, 1 };
    static const struct split splits[] = { { condition, 3, 0.1, 1, 0 }, { narrowed, 2, 0.1, 1, 0 } };
    static double even[] = { 0.34, 0.33, 0.33 }, sure[] = { 0.98, 0.01, 0.01 };
    struct dialogue d;
    struct question_view view;

    for (int repeat = 0; repeat < 2; repeat++) {
        struct dialogue_rules rules = patient;
        rules.repeat = repeat;
        dialogue_init(&d, &rules, splits, 2, &(struct posterior){ even, 3, 0 });
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(view.attribute, 0);
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, question_view_option(&view, 1) }),
                         0);
        assert_true(d.now.p[2] > 0.01);
        assert_int_equal(dialogue_next(&d, &view), repeat ? STOP_NOT : STOP_SETTLED);
        dialogue_release(&d);
    }
    dialogue_init(&d, &patient, splits, 2, &(struct posterior){ sure, 3, 0 });
    assert_true(dialogue_view(&d, 0, &view));
    assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, question_view_option(&view, 2) }), 0);
    assert_int_equal(posterior_best(&d.now), 0); /* still the most probable one, against the answer */
    assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
    dialogue_release(&d);
}

/* Asks a user without errors who means candidate `gold` at most `limit` questions.  Returns their number. */
static int talk(struct dialogue *d, const struct world *w, enum strategy strategy, int gold, int limit)
{
    struct dialogue_rules rules = { .strategy = strategy, .confidence = 2, .max_turns = limit, .seed = 5 };
    struct question_view view;
    dialogue_init(d, &rules, w->splits, VARIABLES, &w->prior);
    while (dialogue_next(d, &view) == STOP_NOT) {
        int option = question_view_option(&view, w->value[view.attribute][gold]);
        assert_int_equal(dialogue_answer(d, &view, (struct answer){ ANSWER_VALUE, option }), 0);
    }
    return d->n_turns;
}

static bool same_block(const struct world *w, int a, int b)
{
    for (int v = 0; v < VARIABLES; v++)
        if (w->value[v][a] != w->value[v][b])
            return false;
    return true;
}

static void test_end_at_gold(void **state)
{
    (void)state;
    struct rng r = { .seed = 11 };
    for (int round = 0; round < 200; round++) {
        struct world w;
        random_world(&w, &r, 0);
        for (int s = 0; s < STRATEGIES; s++) {
            struct dialogue d;
            int gold = (int)rng_below(&r, CANDIDATES), limit = 1 + (int)rng_below(&r, 7);
            assert_in_range(talk(&d, &w, (enum strategy)s, gold, limit), 0, limit < VARIABLES ? limit : VARIABLES);
            dialogue_release(&d);
            assert_in_range(talk(&d, &w, (enum strategy)s, gold, 99), 0, VARIABLES);
            assert_true(same_block(&w, gold, posterior_best(&d.now)));
            for (int i = 0; i < CANDIDATES; i++)
                assert_int_equal(d.now.p[i] > 0, same_block(&w, gold, i));
            dialogue_release(&d);
        }
    }
}

/* Expected accuracy under the prior. */
static void test_accuracy_rises(void **state)
{
    (void)state;
    for (int s = 0; s < STRATEGIES; s++) {
        struct rng r = { .seed = 13 };
        double accuracy[VARIABLES + 1] = { 0 };
        for (int round = 0; round < 60; round++) {
            struct world w;
            random_world(&w, &r, 0);
            for (int limit = 0; limit <= VARIABLES; limit++)
                for (int gold = 0; gold < CANDIDATES; gold++) {
                    struct dialogue d;
                    talk(&d, &w, (enum strategy)s, gold, limit);
                    accuracy[limit] += w.p[gold] * same_block(&w, gold, posterior_best(&d.now));
                    dialogue_release(&d);
                }
        }
        for (int limit = 0; limit < VARIABLES; limit++)
            if (accuracy[limit + 1] < accuracy[limit] - 1e-9)
                fail_msg("%s: %g after %d questions, %g after one more", strategy_name((enum strategy)s),
                         accuracy[limit], limit, accuracy[limit + 1]);
    }
}

static void test_none_of_these_escalates(void **state)
{
    (void)state;
    static const double noises[] = { 0, 0.05, 0.2 }, reserves[] = { 0, 0.1 };
    for (int k = 0; k < 6; k++) {
        double p[4];
        struct split splits[3];
        struct dialogue d;
        struct question_view view;
        for (int i = 0; i < 4; i++)
            p[i] = example_p[i] * (1 - reserves[k % 2]);
        for (int i = 0; i < 3; i++)
            splits[i] = (struct split){ example[i].value, 2, noises[k / 2], 1, 0 };
        dialogue_init(&d, &patient, splits, 3, &(struct posterior){ p, 4, reserves[k % 2] });
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        double before = d.now.p_none;
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ .kind = ANSWER_NONE }), 0);
        assert_true(d.now.p_none > before && d.now.p_none > d.now.p[posterior_best(&d.now)]);
        assert_int_equal(dialogue_next(&d, &view), STOP_ESCALATE);
        dialogue_release(&d);
    }
}

static void test_contradiction_and_undo(void **state)
{
    (void)state;
    struct dialogue d;
    struct question_view first, second;
    double before[4];
    dialogue_init(&d, &patient, example, 3, &example_prior);
    assert_false(dialogue_undo(&d));
    dialogue_next(&d, &first);
    dialogue_answer(&d, &first, (struct answer){ ANSWER_VALUE, 0 });
    memcpy(before, d.now.p, sizeof before);
    /* only the fourth reading has the second value of dept, and that one is out */
    struct question_view bad = { .attribute = 2, .n_shown = 2, .split = example[2] };
    assert_int_equal(dialogue_answer(&d, &bad, (struct answer){ ANSWER_VALUE, 1 }), -1);
    assert_memory_equal(d.now.p, before, sizeof before);
    assert_int_equal(d.n_turns, 1);
    dialogue_next(&d, &second);
    dialogue_answer(&d, &second, (struct answer){ .kind = ANSWER_NONE });
    assert_true(dialogue_undo(&d));
    assert_memory_equal(d.now.p, before, sizeof before);
    assert_true(dialogue_undo(&d));
    assert_memory_equal(d.now.p, example_p, sizeof before);
    assert_int_equal(dialogue_next(&d, &second), STOP_NOT);
    assert_int_equal(second.attribute, first.attribute);
    dialogue_release(&d);
}

static enum stop_reason stops(struct dialogue_rules rules, double p_none)
{
    double p[4];
    struct dialogue d;
    struct question_view view;
    for (int i = 0; i < 4; i++)
        p[i] = example_p[i] * (1 - p_none);
    dialogue_init(&d, &rules, example, 3, &(struct posterior){ p, 4, p_none });
    enum stop_reason why = dialogue_next(&d, &view);
    dialogue_release(&d);
    return why;
}

/* The first question has a gain of .970951 bit, raises the best candidate by .2 and costs a second. */
static void test_stop_rules(void **state)
{
    (void)state;
    struct dialogue_rules rules = patient;
    assert_int_equal(stops(rules, 0), STOP_NOT);
    rules.confidence = 0.4;
    assert_int_equal(stops(rules, 0), STOP_CONFIDENT);
    rules.confidence = 0.41;
    rules.min_gain = 0.97;
    assert_int_equal(stops(rules, 0), STOP_NOT);
    rules.min_gain = 0.98;
    assert_int_equal(stops(rules, 0), STOP_GAIN);
    rules = patient;
    rules.worth = 1;
    rules.second = 0.19;
    assert_int_equal(stops(rules, 0), STOP_NOT);
    rules.second = 0.21;
    assert_int_equal(stops(rules, 0), STOP_UTILITY);
    rules.max_turns = 0;
    assert_int_equal(stops(rules, 0), STOP_TURNS);
    assert_int_equal(stops(patient, 0.3), STOP_NOT); /* nobody said so yet */
    assert_int_equal(stops(patient, 0.6), STOP_ESCALATE);
    struct dialogue d;
    struct question_view view;
    dialogue_init(&d, &patient, example, 0, &example_prior);
    assert_int_equal(dialogue_next(&d, &view), STOP_SETTLED);
    dialogue_release(&d);
}

/* With user errors, a repeated answer has information; only rules without memory ask again. */
static void test_repeated_questions(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 2; repeat++) {
        static const int value[] = { 0, 1 };
        double p[] = { 0.5, 0.5 };
        struct split one = { value, 2, 0.2, 1, 0 };
        struct dialogue_rules rules = patient;
        struct dialogue d;
        struct question_view view;
        rules.repeat = repeat;
        dialogue_init(&d, &rules, &one, 1, &(struct posterior){ p, 2, 0 });
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, 0 }), 0);
        assert_int_equal(dialogue_next(&d, &view), repeat ? STOP_NOT : STOP_SETTLED);
        if (repeat) {
            assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, 0 }), 0);
            assert_true(fabs(d.now.p[0] - 0.64 / 0.68) < 1e-12);
        }
        dialogue_release(&d);
    }
}

/* Independent of memory and of the numbering of values. */
static void test_unknown_is_not_repeated(void **state)
{
    (void)state;
    static const int same[] = { 1, 0, 0 }, halves[] = { 0, 1, 1 }, other[] = { 0, 0, 1 };
    static const enum answer_kind kinds[] = { ANSWER_UNKNOWN, ANSWER_EITHER };
    for (int k = 0; k < 4; k++) {
        double p[] = { 0.5, 0.3, 0.2 };
        struct split splits[] = { { halves, 2, 0.1, 1, 0 }, { same, 2, 0.1, 1, 0 }, { other, 2, 0.1, 1, 0 } };
        struct dialogue_rules rules = patient;
        struct dialogue d;
        struct question_view view;
        rules.repeat = k / 2;
        dialogue_init(&d, &rules, splits, 3, &(struct posterior){ p, 3, 0 });
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(view.attribute, 0);
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ kinds[k % 2], 0 }), 0);
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(view.attribute, 2);
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ kinds[k % 2], 0 }), 0);
        assert_int_equal(dialogue_next(&d, &view), STOP_SETTLED);
        assert_true(dialogue_undo(&d));
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(view.attribute, 2);
        dialogue_release(&d);
    }
}

/* User errors keep all candidates possible, but a question that was answered or not understood is not repeated. */
static void test_fallback_repeats_nothing(void **state)
{
    (void)state;
    static const int halves[] = { 0, 0, 1 }, each[] = { 0, 1, 2 }, again[] = { 2, 0, 1 };
    const struct {
        const int *first;
        enum answer_kind kind;
        enum stop_reason then;
    } rows[] = { { again, ANSWER_VALUE, STOP_SETTLED },
                 { again, ANSWER_EITHER, STOP_SETTLED },
                 { again, ANSWER_UNKNOWN, STOP_SETTLED },
                 { halves, ANSWER_UNKNOWN, STOP_NOT },
                 { halves, ANSWER_VALUE, STOP_NOT } };
    for (int i = 0; i < ARRAY_LEN(rows); i++) {
        double p[] = { 0.4, 0.3, 0.3 };
        struct split splits[] = { { rows[i].first, 3, 0.1, 1, 0 }, { each, 3, 0.1, 1, 0 } };
        struct dialogue_rules rules = patient;
        struct dialogue d;
        struct question_view view;
        rules.fallback = true;
        dialogue_init(&d, &rules, splits, 2, &(struct posterior){ p, 3, 0 });
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(view.attribute, 0);
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ rows[i].kind, 0 }), 0);
        assert_int_equal(dialogue_next(&d, &view), rows[i].then);
        dialogue_release(&d);
    }
}

/* Two answers settle the fallback question, unless the best candidate contradicts them. */
static void test_fallback_after_answers(void **state)
{
    (void)state;
    static const int first[] = { 0, 0, 1, 1 }, second[] = { 0, 1, 0, 1 }, each[] = { 0, 1, 2, 3 };
    const struct {
        double meant; /* the chance of what both answers say */
        enum stop_reason then;
    } rows[] = { { 0.3, STOP_SETTLED }, { 1e-3, STOP_NOT } };
    for (int i = 0; i < ARRAY_LEN(rows); i++) {
        double rest = 1 - rows[i].meant, p[] = { rest * 0.2, rest * 0.4, rest * 0.4, rows[i].meant };
        struct split splits[] = { { first, 2, 0.1, 1, 0 }, { second, 2, 0.1, 1, 0 }, { each, 4, 0.1, 1, 0 } };
        struct dialogue_rules rules = patient;
        struct dialogue d;
        struct question_view view;
        rules.fallback = true;
        dialogue_init(&d, &rules, splits, 3, &(struct posterior){ p, 4, 0 });
        for (int k = 0; k < 2; k++) {
            assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
            assert_true(view.attribute < 2);
            assert_int_equal(
                dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, question_view_option(&view, 1) }), 0);
        }
        assert_int_equal(dialogue_next(&d, &view), rows[i].then);
        dialogue_release(&d);
    }
}

/* Thirteen values of one candidate each: five are shown, then five others, then the rest.  Values that only a user
 * error would keep are not shown again. */
static void assert_pieces(double noise)
{
    double p[13];
    int value[13];
    struct split one = { value, 13, noise, 1, 0 };
    struct dialogue d;
    struct question_view view;
    for (int i = 0; i < 13; i++) {
        p[i] = (20 - i) / 182.0;
        value[i] = i;
    }
    dialogue_init(&d, &patient, &one, 1, &(struct posterior){ p, 13, 0 });
    for (int piece = 0; piece < 2; piece++) {
        assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
        assert_int_equal(view.n_shown, 5);
        assert_true(view.other);
        assert_int_equal(view.shown[0], 5 * piece);
        assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, 5 }), 0);
    }
    assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
    assert_int_equal(view.n_shown, 3);
    assert_int_equal(view.other, noise > 0);
    assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, question_view_option(&view, 12) }), 0);
    assert_int_equal(dialogue_next(&d, &view), STOP_SETTLED);
    assert_near(d.now.p[12], 1, 2 * noise);
    dialogue_release(&d);
}

static void test_long_lists(void **state)
{
    (void)state;
    assert_pieces(0);
    assert_pieces(0.05);
}

/* An answer from memory settles its attribute, costs no question, and leaves nothing behind when it is taken back. */
static void test_recalled_answer(void **state)
{
    (void)state;
    struct dialogue_rules rules = patient;
    struct dialogue d;
    struct question_view view;

    rules.max_turns = 1;
    dialogue_init(&d, &rules, noisy, 3, &example_prior);
    assert_true(dialogue_view(&d, 0, &view));
    int option = question_view_option(&view, 1);
    assert_true(dialogue_recall(&d, &view, option, 0.98));
    assert_near(d.now.p[1] + d.now.p[3], 0.98, 1e-12);
    assert_near(d.now.p[1] / d.now.p[3], 1, 1e-12); /* as before */
    assert_near(d.now.p[0] / d.now.p[2], 2, 1e-12);
    assert_true(dialogue_view(&d, 0, &view));
    assert_false(dialogue_recall(&d, &view, 0, 0.98)); /* closed */
    assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
    assert_int_not_equal(view.attribute, 0);
    assert_int_equal(dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, 0 }), 0);
    assert_int_equal(dialogue_next(&d, &view), STOP_TURNS);
    assert_true(dialogue_undo(&d));
    assert_int_equal(d.n_recalled, 1);
    assert_near(d.now.p[1] + d.now.p[3], 0.98, 1e-12);
    assert_true(dialogue_undo(&d));
    assert_int_equal(d.n_recalled, 0);
    assert_memory_equal(d.now.p, example_p, sizeof example_p);
    assert_int_equal(dialogue_next(&d, &view), STOP_NOT);
    assert_int_equal(view.attribute, 0);
    dialogue_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_no_repeated_question),
        cmocka_unit_test(test_settled_attribute),
        cmocka_unit_test(test_end_at_gold),
        cmocka_unit_test(test_accuracy_rises),
        cmocka_unit_test(test_none_of_these_escalates),
        cmocka_unit_test(test_contradiction_and_undo),
        cmocka_unit_test(test_stop_rules),
        cmocka_unit_test(test_repeated_questions),
        cmocka_unit_test(test_unknown_is_not_repeated),
        cmocka_unit_test(test_fallback_repeats_nothing),
        cmocka_unit_test(test_fallback_after_answers),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_recalled_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
