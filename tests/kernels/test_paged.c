/* Attention over pages: a query's bits depend on its own keys alone, for any cut into units and any neighbours. */
#include "tests/support/paged_case.h"
#include "tests/support/step.h"

#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The fast sizes, rows of 2 bytes more, all heads in one group, biases. */
static const struct {
    int heads, groups, dim, reach;
} forms[] = { { 3, 1, 64, 0 }, { 2, 2, 80, 40 }, { 8, 1, 9, 0 }, { 1, 1, 136, 0 } };
enum { PREFILL_KEYS = 270, UNIT_QUERIES = 64, SHARED_KEYS = 8 * PAGE_KEYS };

struct bits {
    struct test_step step;
    struct attention_form form;
    struct tensor *q, *k, *v;
};

/* Marks the cache rows of keys that some query sees.  The caller frees. */
static bool *seen_rows(const struct paged_case *k, int64_t cache)
{
    bool *seen = xcalloc((size_t)cache, sizeof *seen);

    for (int64_t t = 0; t < k->queries; t++)
        for (int32_t j = 0; j < k->seen[t]; j++)
            seen[k->table[k->row[t] * k->keys + j]] = true;
    return seen;
}

/* Random numbers; NaN in rows that are not `kept`, unless it is NULL. */
static struct tensor *noise(struct bits *b, struct rng *r, int64_t rows, int64_t cols, float scale, enum dtype dtype,
                            const bool *kept)
{
    float *values = xmalloc((size_t)(rows * cols) * sizeof *values);

    for (int64_t i = 0; i < rows * cols; i++) {
        values[i] = scale * (2 * rng_uniform(r) - 1);
        if (kept && !kept[i / cols])
            values[i] = NAN;
    }
    struct tensor *t = batch_f32(&b->step.ctx, values, rows, cols, dtype);
    free(values);
    return t;
}

/* Queries as far apart as to have all the weight on few keys in some rows, and on all in others.  Cache rows that no
 * query sees are NaN, as memory that was never written may be. */
static void start(struct bits *b, int form, enum dtype dtype, const struct paged_case *k, int64_t cache)
{
    struct rng r = { 5, 0 };
    int64_t dim = forms[form].dim;
    bool *seen = seen_rows(k, cache);

    test_step_open(&b->step);
    b->step.ctx.recording = b->step.ctx.training = false;
    b->form = (struct attention_form){ .heads = forms[form].heads, .groups = forms[form].groups };
    b->q = noise(b, &r, k->queries, b->form.heads * dim, 8, dtype, NULL);
    b->k = noise(b, &r, cache, b->form.groups * dim, 1, dtype, seen);
    b->v = noise(b, &r, cache, b->form.groups * dim, 1, dtype, seen);
    if (forms[form].reach)
        b->form.bias = noise(b, &r, b->form.heads, 2 * forms[form].reach + 1, 2, F32, NULL);
    free(seen);
}

/* y of queries [from, from + n); the caller frees. */
static void *attend(struct bits *b, const struct paged_case *k, int64_t from, int64_t n, enum paged_layout layout,
                    int64_t size, bool loose)
{
    struct ctx *c = &b->step.ctx;
    size_t mark = arena_mark(c->step);
    struct tensor q = tensor_view(b->q, from, n);
    struct paged_case part = { n, k->rows, k->keys, k->seen + from, k->row + from, k->table };
    struct paged p = paged_of(c, &part, layout, size, loose);
    struct tensor *y = op_paged_attention(c, &q, b->k, b->v, &p, &b->form);
    void *bits = xmalloc(tensor_bytes(y));

    device_download(&b->step.device, bits, y);
    arena_reset(c->step, mark);
    return bits;
}

/* y of all queries, which is finite; the caller frees. */
static void *attend_all(struct bits *b, const struct paged_case *k, enum paged_layout layout, int64_t size)
{
    void *bits = attend(b, k, 0, k->queries, layout, size, false);

    for (int64_t i = 0; i < tensor_size(b->q); i++)
        assert_true(isfinite(b->q->dtype == F32 ? ((float *)bits)[i] : f32_from_bf16(((uint16_t *)bits)[i])));
    return bits;
}

/* The same in calls of `piece` queries. */
static void check_pieces(struct bits *b, const struct paged_case *k, const char *want, int64_t piece,
                         enum paged_layout layout, int64_t size)
{
    size_t row = tensor_bytes(b->q) / (size_t)b->q->shape[0];

    for (int64_t from = 0; from < k->queries; from += piece) {
        int64_t n = k->queries - from < piece ? k->queries - from : piece;
        char *got = attend(b, k, from, n, layout, size, false);
        for (int64_t t = 0; t < n; t++)
            if (memcmp(got + (size_t)t * row, want + (size_t)(from + t) * row, row) != 0)
                fail_msg("query %lld of %lld keys, heads of %lld: pieces of %lld in units of %lld, layout %d, give "
                         "other bits",
                         (long long)(from + t), (long long)k->seen[from + t],
                         (long long)(tensor_cols(b->q) / b->form.heads), (long long)piece, (long long)size, layout);
        free(got);
    }
}

/* A prompt read at once, and in pieces. */
static void check_prefill(int form, enum dtype dtype)
{
    int32_t seen[PREFILL_KEYS], row[PREFILL_KEYS] = { 0 }, table[PREFILL_KEYS];
    struct paged_case k = { PREFILL_KEYS, 1, PREFILL_KEYS, seen, row, table };
    struct bits b;

    for (int32_t t = 0; t < PREFILL_KEYS; t++)
        seen[t] = t + 1;
    paged_shuffle(table, 1, PREFILL_KEYS, 0, PREFILL_KEYS);
    start(&b, form, dtype, &k, PREFILL_KEYS);
    char *want = attend_all(&b, &k, PAGED_TOGETHER, UNIT_QUERIES);
    check_pieces(&b, &k, want, PREFILL_KEYS, PAGED_PAGES, 0);
    check_pieces(&b, &k, want, PREFILL_KEYS, PAGED_TOGETHER, 13);
    check_pieces(&b, &k, want, 37, PAGED_TOGETHER, UNIT_QUERIES);
    check_pieces(&b, &k, want, 101, PAGED_TOGETHER, UNIT_QUERIES);
    /* Units with one row less than a block has; some end where a page of keys ends. */
    check_pieces(&b, &k, want, 49, PAGED_TOGETHER, 5);
    free(want);
    test_step_close(&b.step);
}

/* Queries of rows of their own that share eight pages: each alone, and all with the shared keys in units of all. */
static void check_shared(int form, enum dtype dtype)
{
    static const int32_t seen[] = { 1, 63, 1025, 64, 65, 255, 256, 257, 511, 0, 512, 513, 703 };
    enum { QUERIES = ARRAY_LEN(seen), KEYS_MOST = 1025, CACHE = KEYS_MOST * QUERIES };
    int32_t row[QUERIES], *table = xmalloc((size_t)(KEYS_MOST * QUERIES) * sizeof *table);
    struct paged_case k = { QUERIES, QUERIES, KEYS_MOST, seen, row, table };
    struct bits b;

    for (int32_t t = 0; t < QUERIES; t++)
        row[t] = t;
    paged_shuffle(table, QUERIES, KEYS_MOST, SHARED_KEYS, CACHE);
    start(&b, form, dtype, &k, CACHE);
    char *want = attend_all(&b, &k, PAGED_SHARED, SHARED_KEYS / PAGE_KEYS);
    check_pieces(&b, &k, want, 1, PAGED_WHOLE, 0);
    check_pieces(&b, &k, want, 1, PAGED_PAGES, 0);
    check_pieces(&b, &k, want, 5, PAGED_SHARED, 1);
    char *loose = attend(&b, &k, 0, QUERIES, PAGED_SHARED, 1, true);
    assert_memory_equal(loose, want, tensor_bytes(b.q));
    free(loose);
    free(want);
    free(table);
    test_step_close(&b.step);
}

/* So many queries that no counters are left for them: all share a page, and few see one more. */
static void check_many(int form)
{
    enum { QUERIES = 8300, OTHERS = 512, KEYS = PAGE_KEYS + 6, CACHE = KEYS };
    int32_t *seen = xmalloc((size_t)(2 * QUERIES) * sizeof *seen), *row = seen + QUERIES, table[KEYS];
    struct paged_case k = { QUERIES, 1, KEYS, seen, row, table };
    struct bits b;

    for (int32_t t = 0; t < QUERIES; t++) {
        seen[t] = t % OTHERS == 0 ? KEYS - t / OTHERS % 4 : 1 + t % PAGE_KEYS;
        row[t] = 0;
    }
    paged_shuffle(table, 1, KEYS, 0, CACHE);
    start(&b, form, BF16, &k, CACHE);
    char *want = attend_all(&b, &k, PAGED_SHARED, 1);
    check_pieces(&b, &k, want, QUERIES / 2, PAGED_SHARED, 1);
    free(want);
    free(seen);
    test_step_close(&b.step);
}

/* simt is slow: it runs each form in one type. */
static bool in_turn(int form, enum dtype dtype)
{
    return test_all() || strcmp(test_device_name(), "simt") != 0 || (form % 2 == 1) == (dtype == F32);
}

static void test_pieces(void **state)
{
    (void)state;
    for (int form = 0; form < ARRAY_LEN(forms); form++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            if (in_turn(form, dtype))
                check_prefill(form, dtype);
}

static void test_company(void **state)
{
    (void)state;
    for (int form = 0; form < ARRAY_LEN(forms); form++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            if (in_turn(form, dtype))
                check_shared(form, dtype);
}

static void test_many(void **state)
{
    (void)state;
    check_many(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces), cmocka_unit_test(test_company),
                                        cmocka_unit_test(test_many) };
    return test_devices(tests, ARRAY_LEN(tests));
}
