/*
 * The head for words: its calibration on validation words.
 */
#include "tests/support/support.h"
#include "train/detector/words_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1, QUESTIONS = 200, WORDS = 3, N = QUESTIONS * WORDS };

/* A head without hidden channels that matter: the logits are its biases, but for AMB and UNK, which follow the first
 * two inputs. */
static void make_head(struct gate_words *h)
{
    gate_words_init(h, WIDTH, 1, 2);
    h->dense_w[0 * 2 + 0] = h->dense_w[1 * 2 + 1] = 1;
    h->score_w[0 * WORD_LABELS + 1 + SPAN_AMB] = h->score_w[1 * WORD_LABELS + 1 + SPAN_UNK] = 1;
    h->score_b[WORD_OTHER] = 3;
}

/* Words with random inputs, whose labels follow the probabilities at the given temperature. */
static void make_words(struct word_examples *e, struct gate_words *h, double temperature)
{
    struct rng rng = { .seed = 3 };
    int inputs = gate_words_inputs(h);

    *e = (struct word_examples){ .n = N, .n_questions = QUESTIONS };
    e->features = xcalloc((size_t)(N * inputs), sizeof *e->features);
    e->labels = xcalloc(N, 1);
    e->question = xcalloc(N, sizeof *e->question);
    h->temperature = temperature;
    for (int k = 0; k < N; k++) {
        float x[128] = { 0 };
        double p[WORD_LABELS], u = (double)rng_uniform(&rng);
        for (int i = 0; i < 2; i++)
            x[i] = f32_from_bf16(e->features[k * inputs + i] = bf16_from_f32(2 * rng_uniform(&rng)));
        gate_words_predict(h, x, p);
        for (int l = 0; l < WORD_LABELS - 1 && (u -= p[l]) > 0; l++)
            e->labels[k]++;
        e->question[k] = k / WORDS;
    }
}

static void release(struct word_examples *e, struct gate_words *h)
{
    free(e->features);
    free(e->labels);
    free(e->question);
    gate_words_release(h);
}

static void test_temperature(void **state)
{
    struct gate_words h;
    struct word_examples e;

    (void)state;
    make_head(&h);
    make_words(&e, &h, 2);
    words_calibrate(&h, &e, .1);
    assert_float_equal(log(h.temperature), log(2), .3); /* 600 words */
    release(&e, &h);
}

/* The share of the questions without a problem that have a word of the label. */
static double alarms(const struct gate_words *h, const struct word_examples *e, enum span_label label)
{
    int inputs = gate_words_inputs(h), clear = 0, n = 0;

    for (int i = 0; i < N; i += WORDS) {
        bool problem = false, alarm = false;
        for (int k = i; k < i + WORDS; k++) {
            float x[128] = { 0 };
            double p[WORD_LABELS];
            x[0] = f32_from_bf16(e->features[k * inputs]);
            x[1] = f32_from_bf16(e->features[k * inputs + 1]);
            gate_words_predict(h, x, p);
            problem |= e->labels[k] > 1 + SPAN_VAL;
            alarm |= p[1 + label] >= h->threshold[label];
        }
        clear += !problem;
        n += !problem && alarm;
    }
    return (double)n / clear;
}

static void test_thresholds(void **state)
{
    static const double shares[] = { 0, .1, .5 };
    struct gate_words h;
    struct word_examples e;

    (void)state;
    make_head(&h);
    make_words(&e, &h, 1);
    for (int i = 0; i < ARRAY_LEN(shares); i++) {
        words_calibrate(&h, &e, shares[i]);
        for (enum span_label l = SPAN_AMB; l <= SPAN_UNK; l++) {
            double found = alarms(&h, &e, l);
            assert_true(found <= shares[i] / 2);
            assert_true(found >= shares[i] / 2 - .05); /* one question of some 20 */
        }
        assert_float_equal(h.threshold[SPAN_COL], 0, 0);
    }
    release(&e, &h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temperature),
        cmocka_unit_test(test_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
