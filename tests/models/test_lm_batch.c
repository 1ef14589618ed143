/* Texts with shared prefixes, each prefix computed once, have the results and gradients of single texts. */
#include "kernels/batch.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>

enum { TEXTS = 7, LENGTH = 40 };

static int32_t ids[TEXTS][LENGTH];
static uint8_t answers[TEXTS][LENGTH];
static struct llama_text texts[TEXTS];

static void add_one_by_one(struct llama_batch *b)
{
    for (int i = 0; i < TEXTS; i++)
        llama_batch_add(b, texts[i].ids, texts[i].answer, texts[i].n);
}

/* Loss and gradients of a model of the gold file, one by one and shared. */
static void compare(const char *tag, bool checkpointed, const struct llama_batch *one, const struct llama_batch *shared)
{
    json_t *file = lm_gold_read();
    struct lm_gold g;

    lm_gold_open(&g, lm_gold_case(file, tag), LM_FULL, F32);
    g.model.net.checkpointed = checkpointed;
    double loss = lm_gold_backward(&g, one);
    float **before = lm_gold_gradients(&g);
    lm_gold_fill(&g, &g.model.params);
    double error = fabs(lm_gold_backward(&g, shared) / loss - 1), difference = lm_gold_gradients_apart(&g, before);
    print_message("%s, %s: losses differ by %.1e, gradients by %.1e of the largest\n", test_device_name(), tag, error,
                  difference);
    assert_true(error < 1e-5 && difference < 1e-5);
    for (int i = 0; i < g.model.params.n; i++)
        free(before[i]);
    free(before);
    lm_gold_close(&g);
    json_decref(file);
}

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
static void shared_is_unshared(void **state)
{
    struct llama_batch one = { 0 }, shared = { 0 };

    (void)state;
    make_texts();
    add_one_by_one(&one);
    llama_batch_add_shared(&shared, texts, TEXTS, 8);
    assert_int_equal(one.n_rows, shared.n_rows);
    assert_int_equal(shared.n_seqs, TEXTS + 2);
    assert_int_equal(one.n_tokens - shared.n_tokens, 3 * 18 + 12); /* the short text leaves 18 of 20 to share */
    compare("llama", false, &one, &shared);
    compare("gemma2-open", false, &one, &shared);
    llama_batch_release(&one);
    llama_batch_release(&shared);
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

/* All texts share 6 tokens; four of them share 16, of these two share 22 and two share 28; two others share 12. */
static void make_tree(void)
{
    static const int nodes[TEXTS][3] = { { 1, 2, 3 }, { 1, 4, 5 }, { 1, 2, 3 }, { 6, 6, 6 },
                                         { 1, 4, 5 }, { 7, 8, 9 }, { 6, 6, 7 } };
    static const int length[TEXTS] = { 40, 33, 27, 31, 38, 24, 29 };

    for (int i = 0; i < TEXTS; i++) {
        const int *node = nodes[i];
        for (int k = 0; k < LENGTH; k++) {
            int level = k < 6 ? 0 : k < (node[0] == 6 ? 12 : 16) ? node[0] : k < 22 ? node[1] : k < 28 ? node[2] : -1;
            bool own = level < 0 || (node[0] == 6 && k >= 12) || (node[1] == 2 && k >= 22) || node[0] == 7;
            ids[i][k] = own && k >= 6 ? 1 + (i * 13 + k * 11) % 60 : 1 + (level * 31 + k * 7) % 60;
            answers[i][k] = k >= length[i] - 3;
        }
        texts[i] = (struct llama_text){ ids[i], answers[i], length[i] };
    }
}

static void tree_is_unshared(void **state)
{
    static const char *const tags[] = { "llama", "qwen2", "qwen3" };
    struct llama_batch one = { 0 }, shared = { 0 };

    (void)state;
    make_tree();
    add_one_by_one(&one);
    llama_batch_add_shared(&shared, texts, TEXTS, 4);
    assert_int_equal(one.n_rows, shared.n_rows);
    assert_int_equal(shared.n_seqs, TEXTS + 5 + 4); /* nodes, and copies below the root */
    assert_int_equal(one.n_tokens - shared.n_tokens, 6 * 6 + 3 * 10 + 6 + 12 + 6); /* saved in each of the five */
    assert_int_equal(shared.n_copies, 16 + 22 + 28 + 12);
    for (int i = 0; i < ARRAY_LEN(tags); i++)
        compare(tags[i], i == 1, &one, &shared);
    llama_batch_pad(&shared);
    assert_int_equal(shared.n_copies, batch_bucket(78, 4));
    shared.n_rows = one.n_rows; /* padding would count in the mean */
    compare("llama", true, &one, &shared);
    llama_batch_release(&one);
    llama_batch_release(&shared);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_is_unshared),
        cmocka_unit_test(strangers_stay_whole),
        cmocka_unit_test(tree_is_unshared),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
