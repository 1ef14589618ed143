/* Texts with a shared prefix, computed once, have the results and gradients of single texts. */
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>

enum { TEXTS = 7, LENGTH = 40 };

static int32_t ids[TEXTS][LENGTH];
static uint8_t answers[TEXTS][LENGTH];
static struct llama_text texts[TEXTS];

/* Three texts share 20 tokens, two others share 12, one shares 3 with these, and one is a prefix of the first. */
static void make_texts(void)
{
    static const int shared[TEXTS] = { 20, 20, 20, 12, 12, 3, 20 }, family[TEXTS] = { 1, 1, 1, 2, 2, 2, 1 };
    static const int length[TEXTS] = { 40, 33, 29, 31, 17, 24, 22 };

    for (int i = 0; i < TEXTS; i++) {
        for (int k = 0; k < LENGTH; k++) {
            ids[i][k] = k < shared[i] ? 1 + (family[i] * 31 + k * 7) % 60 : 1 + (i * 13 + k * 11) % 60;
            answers[i][k] = k >= length[i] - 3;
        }
        texts[i] = (struct llama_text){ ids[i], answers[i], length[i] };
    }
}

/* Windows reach from a text's own part into the shared prefix. */
static void check_shared(const json_t *file, const char *tag)
{
    struct llama_batch one = { 0 }, shared = { 0 };
    struct lm_gold g;

    make_texts();
    for (int i = 0; i < TEXTS; i++)
        llama_batch_add(&one, texts[i].ids, texts[i].answer, texts[i].n);
    llama_batch_add_shared(&shared, texts, TEXTS, 8);
    assert_int_equal(one.n_rows, shared.n_rows);
    assert_int_equal(shared.n_seqs, TEXTS + 2);
    assert_int_equal(one.n_tokens - shared.n_tokens, 3 * 18 + 12); /* the short text leaves 18 of 20 to share */

    lm_gold_open(&g, lm_gold_case(file, tag), LM_FULL, F32);
    double loss = lm_gold_backward(&g, &one);
    float **before = lm_gold_gradients(&g);
    lm_gold_fill(&g, &g.model.params);
    assert_true(fabs(lm_gold_backward(&g, &shared) - loss) < 1e-5 * loss);
    double difference = lm_gold_gradients_apart(&g, before);
    print_message("%s on %s: gradients differ by %.1e of the largest\n", tag, test_device_name(), difference);
    assert_true(difference < 1e-5);
    for (int i = 0; i < g.model.params.n; i++)
        free(before[i]);
    free(before);
    lm_gold_close(&g);
    llama_batch_release(&one);
    llama_batch_release(&shared);
}

static void shared_is_unshared(void **state)
{
    json_t *file = lm_gold_read();

    (void)state;
    check_shared(file, "llama");
    check_shared(file, "gemma2-open");
    json_decref(file);
}

/* Texts without a common prefix are not split. */
static void strangers_stay_whole(void **state)
{
    (void)state;
    struct llama_batch b = { 0 };

    make_texts();
    llama_batch_add_shared(&b, texts, TEXTS, LENGTH);
    assert_int_equal(b.n_seqs, TEXTS);
    for (int i = 0; i < TEXTS; i++)
        assert_int_equal(b.prefix[i], -1);
    llama_batch_clear(&b);
    llama_batch_add_shared(&b, texts, 0, 1);
    assert_int_equal(b.n_seqs, 0);
    llama_batch_release(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_is_unshared),
        cmocka_unit_test(strangers_stay_whole),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
