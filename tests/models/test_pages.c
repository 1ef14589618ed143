/* Pages of a cache: with any order of taking, holding and dropping, no page is lost or has two owners. */
#include "tests/support/support.h"

#include "kernels/rng.h"
#include "models/engine/pages.h"

#include <string.h>

enum { PAGES = 97, HOLDERS = 24, MOST = 12, ROUNDS = 10000 };

/* The test's own count of holders. */
struct holder {
    int32_t list[MOST];
    int64_t n;
};

static void check(const struct pages *p, const struct holder *h)
{
    int holders[PAGES] = { 0 };
    int64_t held = 0;

    for (int i = 0; i < HOLDERS; i++)
        for (int64_t k = 0; k < h[i].n; k++)
            held += holders[h[i].list[k]]++ == 0;
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(p->holders[i], holders[i]);
    assert_int_equal(p->n_free, PAGES - held);
    for (int64_t i = 0; i < p->n_free; i++)
        assert_int_equal(holders[p->free[i]]++, 0);
}

/* Takes some pages of its own after those that it shares with another. */
static void fork_pages(struct pages *p, struct holder *h, const struct holder *of, struct rng *rng)
{
    int64_t shared = of->n ? rng_u32(rng) % (uint32_t)(of->n + 1) : 0;
    int64_t own = rng_u32(rng) % (uint32_t)(MOST + 1 - shared), before = p->n_free;
    int32_t list[MOST];

    memcpy(list, of->list, (size_t)shared * sizeof *list);
    if (!pages_take(p, list + shared, own)) {
        assert_true(own > before);
        assert_int_equal(p->n_free, before);
        return;
    }
    pages_hold(p, list, shared);
    memcpy(h->list, list, sizeof list);
    h->n = shared + own;
}

static void test_random(void **state)
{
    struct holder h[HOLDERS] = { 0 };
    struct rng rng = { 7, 0 };
    struct pages p;

    (void)state;
    pages_init(&p, PAGES);
    for (int round = 0; round < ROUNDS; round++) {
        struct holder *one = &h[rng_u32(&rng) % HOLDERS], *other = &h[rng_u32(&rng) % HOLDERS];
        if (one->n) {
            pages_drop(&p, one->list, one->n);
            one->n = 0;
        } else {
            fork_pages(&p, one, other, &rng);
        }
        check(&p, h);
    }
    for (int i = 0; i < HOLDERS; i++) {
        pages_drop(&p, h[i].list, h[i].n);
        h[i].n = 0;
    }
    check(&p, h);
    assert_int_equal(p.n_free, PAGES);
    pages_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
