/* Pairing against the optimum on small graphs, and at scale. */
#include "tests/support/support.h"

#include "data/base/pairing.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 11 };

struct graph {
    bool edge[SMALL][SMALL];
};

static bool graph_fits(const void *context, int i, int j)
{
    return ((const struct graph *)context)->edge[i][j];
}

static bool all_fit(const void *context, int i, int j)
{
    (void)context;
    return i != j;
}

static bool none_fit(const void *context, int i, int j)
{
    (void)context, (void)i, (void)j;
    return false;
}

/* The maximum number of pairs among the items of mask, by trying all. */
static int best_matching(const struct graph *g, unsigned mask)
{
    int i = 0, best;

    if (!mask)
        return 0;
    while (!(mask >> i & 1))
        i++;
    mask &= ~(1u << i);
    best = best_matching(g, mask);
    for (int j = i + 1; j < SMALL; j++)
        if (mask >> j & 1 && g->edge[i][j]) {
            int n = 1 + best_matching(g, mask & ~(1u << j));
            best = n > best ? n : best;
        }
    return best;
}

/* Never fewer than two thirds of the optimum, which the absence of augmenting paths of three edges guarantees; nearly
 * always the optimum. */
static void small_graphs(void **state)
{
    struct rng rng = { .seed = 5 };
    int exact = 0, rounds = 200;

    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct graph g = { 0 };
        struct pair pairs[SMALL / 2];
        bool used[SMALL] = { false };
        float density = rng_uniform(&rng);
        for (int i = 0; i < SMALL; i++)
            for (int j = 0; j < i; j++)
                g.edge[i][j] = g.edge[j][i] = rng_uniform(&rng) < density;
        int n = pairing_match(pairs, SMALL, graph_fits, &g, &rng), best = best_matching(&g, (1u << SMALL) - 1);
        for (int i = 0; i < n; i++) {
            assert_true(g.edge[pairs[i].a][pairs[i].b]);
            assert_false(used[pairs[i].a] || used[pairs[i].b]);
            used[pairs[i].a] = used[pairs[i].b] = true;
        }
        assert_true(n <= best && 3 * n >= 2 * best);
        exact += n == best;
    }
    assert_true(exact > rounds * 95 / 100);
}

static void windows_and_empty_sets(void **state)
{
    int n = 2 * PAIRING_WINDOW + 500;
    struct pair *a = xcalloc((size_t)n, sizeof *a), *b = xcalloc((size_t)n, sizeof *b);
    struct rng rng = { .seed = 3 };

    (void)state;
    assert_int_equal(pairing_match(a, n, all_fit, NULL, &rng), n / 2);
    rng = (struct rng){ .seed = 3 };
    assert_int_equal(pairing_match(b, n, all_fit, NULL, &rng), n / 2);
    assert_memory_equal(a, b, (size_t)n / 2 * sizeof *a);
    rng = (struct rng){ .seed = 4 };
    pairing_match(b, n, all_fit, NULL, &rng);
    assert_memory_not_equal(a, b, (size_t)n / 2 * sizeof *a);
    assert_int_equal(pairing_match(a, n, none_fit, NULL, &rng), 0);
    assert_int_equal(pairing_match(a, 1, all_fit, NULL, &rng), 0);
    assert_int_equal(pairing_match(a, 0, all_fit, NULL, &rng), 0);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small_graphs), cmocka_unit_test(windows_and_empty_sets) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
