/* Orders of texts with common prefixes: each text once, branches of the prefix tree together, another walk for
 * another seed. */
#include "tests/support/support.h"

#include "train/run/sampler.h"

#include <stdlib.h>
#include <string.h>

enum { DATABASES = 9, QUESTIONS = 5, RECORDS = 3, TEXTS = DATABASES * QUESTIONS * RECORDS };

/* Texts of one database share at least 320 tokens, texts of one question more than 400, and texts of two databases
 * 90. */
static void make(struct prefix_order *p, int *sorted, int64_t *common)
{
    for (int i = 0; i < TEXTS; i++) {
        sorted[i] = (i * 38) % TEXTS; /* 38 and 135 are coprime */
        common[i] = i % (QUESTIONS * RECORDS) == 0 ? 90 : i % RECORDS == 0 ? 320 + i % 16 : 400 + i % 40;
    }
    common[0] = 0;
    *p = (struct prefix_order){ sorted, common, TEXTS };
}

static int place_of(const struct prefix_order *p, int example)
{
    for (int i = 0; i < p->n; i++)
        if (p->sorted[i] == example)
            return i;
    fail_msg("text %d", example);
    return -1;
}

/* Number of texts whose group (place / size) differs from that of the text before. */
static int changes(const struct prefix_order *p, const int *order, int size)
{
    int n = 0;

    for (int i = 1; i < TEXTS; i++)
        n += place_of(p, order[i]) / size != place_of(p, order[i - 1]) / size;
    return n;
}

static void check_whole(const int *order)
{
    bool seen[TEXTS] = { false };

    for (int i = 0; i < TEXTS; i++) {
        assert_in_range(order[i], 0, TEXTS - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
}

static void branches_lie_together(void **state)
{
    int sorted[TEXTS], order[TEXTS], again[TEXTS], moved = 0;
    int64_t common[TEXTS];
    struct prefix_order p;

    (void)state;
    make(&p, sorted, common);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng rng = { .seed = seed }, same = { .seed = seed };
        prefix_order_walk(&p, &rng, order);
        prefix_order_walk(&p, &same, again);
        assert_memory_equal(order, again, sizeof order);
        check_whole(order);
        assert_int_equal(changes(&p, order, QUESTIONS * RECORDS), DATABASES - 1);
        assert_int_equal(changes(&p, order, RECORDS), DATABASES * QUESTIONS - 1);
        moved += place_of(&p, order[0]) / (QUESTIONS * RECORDS) != 0;
    }
    assert_true(moved > 10); /* of 20 walks, about 18 do not begin with the first database */
}

/* Orders of one text, of none, and of equal texts. */
static void small_orders(void **state)
{
    int sorted[TEXTS], order[TEXTS] = { 7 };
    int64_t common[TEXTS];
    struct prefix_order p;
    struct rng rng = { .seed = 3 };

    (void)state;
    make(&p, sorted, common);
    p.n = 0;
    prefix_order_walk(&p, &rng, order);
    assert_int_equal(order[0], 7);
    p.n = 1;
    prefix_order_walk(&p, &rng, order);
    assert_int_equal(order[0], sorted[0]);
    for (int i = 0; i < TEXTS; i++)
        common[i] = 500;
    p.n = TEXTS;
    prefix_order_walk(&p, &rng, order);
    check_whole(order);
    assert_true(memcmp(order, sorted, sizeof order) != 0);
}

/* The batches of an epoch depend only on its number and the seed. Each text is in one batch. */
static void batches(void **state)
{
    enum { BATCH = 8 };
    int sorted[TEXTS], pool[TEXTS], first[TEXTS], n = 0;
    int64_t common[TEXTS], count = (TEXTS + BATCH - 1) / BATCH;
    struct prefix_order p;
    struct sampler s;
    const int *batch;

    (void)state;
    make(&p, sorted, common);
    for (int i = 0; i < TEXTS; i++)
        pool[i] = i;
    sampler_init(&s, 11, pool, TEXTS, BATCH);
    s.prefixes = &p;
    for (int64_t b = 0; b < count; b++) {
        int k = sampler_batch(&s, 2, b, &batch);
        memcpy(first + n, batch, (size_t)k * sizeof *batch);
        n += k;
    }
    assert_int_equal(n, TEXTS);
    check_whole(first);
    sampler_batch(&s, 0, 3, &batch);
    assert_true(memcmp(batch, first + 3 * BATCH, BATCH * sizeof *batch) != 0);
    sampler_batch(&s, 2, 3, &batch);
    assert_memory_equal(batch, first + 3 * BATCH, BATCH * sizeof *batch);
    sampler_release(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_lie_together),
        cmocka_unit_test(small_orders),
        cmocka_unit_test(batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
