#include "kernels/batch.h"
#include "kernels/workspace.h"
#include "tests/support/support.h"

#include <string.h>

static void assert_ints(const struct ctx *c, const struct tensor *t, int64_t n, const int32_t *want)
{
    assert_int_equal(t->dtype, I32);
    assert_int_equal(tensor_size(t), n);
    if (c->k)
        assert_memory_equal(t->data, want, (size_t)n * sizeof *want);
}
#define INTS(...)                                                                                                      \
    ARRAY_LEN(((int32_t[]){ __VA_ARGS__ })), (int32_t[])                                                               \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void seqs_step(struct ctx *c, void *arg)
{
    (void)arg;
    struct seqs s = batch_seqs(c, (int32_t[]){ 3, 0, 5, 1 }, 4), none = batch_seqs(c, NULL, 0);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.max_len, 5);
    assert_ints(c, s.offsets, INTS(0, 3, 3, 8, 9));
    assert_int_equal(none.max_len, 0);
    assert_int_equal(batch_segments(c, (int32_t[]){ 3, 0, 5, 1 }, 4).max_len, 9);
    assert_ints(c, none.offsets, INTS(0));
}

static void index_step(struct ctx *c, void *arg)
{
    (void)arg;
    struct index forward = batch_index(c, (int32_t[]){ 4, 0 }, 2, 6);
    assert_null(forward.uniq);
    c->recording = true;
    struct index i = batch_index(c, (int32_t[]){ 4, 0, 4, 2, 4 }, 5, 6), none = batch_index(c, NULL, 0, 3);
    assert_int_equal(i.n, 5);
    assert_ints(c, i.ids, INTS(4, 0, 4, 2, 4));
    assert_ints(c, i.uniq, INTS(0, 2, 4, -1, -1));
    assert_ints(c, i.start, INTS(0, 1, 2, 5, 5, 5));
    assert_ints(c, i.order, INTS(1, 3, 0, 2, 4));
    assert_int_equal(none.n, 0);
    assert_ints(c, none.start, INTS(0));
}

/* Two edges into node 0 (one of them twice), one into 3; node 2 is alone. */
static void graph_step(struct ctx *c, void *arg)
{
    static const struct edge edges[] = { { 1, 3, 7 }, { 3, 0, 5 }, { 1, 0, 6 }, { 3, 0, 4 } };
    (void)arg;
    struct graph g = batch_graph(c, edges, 4, 4), none = batch_graph(c, NULL, 0, 2);
    assert_int_equal(g.nodes, 4);
    assert_int_equal(g.edges, 4);
    assert_ints(c, g.offsets, INTS(0, 3, 3, 3, 4));
    assert_ints(c, g.sources, INTS(3, 1, 3, 1));
    assert_ints(c, g.types, INTS(5, 6, 4, 7));
    assert_ints(c, g.targets, INTS(0, 0, 0, 3));
    assert_ints(c, g.out_offsets, INTS(0, 0, 2, 2, 4));
    assert_ints(c, g.out_edges, INTS(1, 3, 0, 2));
    assert_ints(c, none.offsets, INTS(0, 0, 0));
}

static void float_step(struct ctx *c, void *arg)
{
    static const float x[] = { 1, 1.00390625f, -3, 1e30f };
    static const uint16_t halves[] = { 0x3f80, 0x3f80, 0xc040, 0x714a };
    (void)arg;
    struct tensor *full = batch_f32(c, x, 2, 2, F32), *half = batch_f32(c, x, 4, 1, BF16);
    assert_int_equal(tensor_rows(full), 2);
    assert_int_equal(tensor_rows(half), 4);
    if (c->k) {
        assert_memory_equal(full->data, x, sizeof x);
        assert_memory_equal(half->data, halves, sizeof halves);
    }
}

/* At most an eighth more, of few sizes; on a device that captures, bounds are powers of two. */
static void bucket_step(struct ctx *c, void *arg)
{
    int64_t last = 0, sizes = 0;

    (void)arg;
    for (int64_t n = 0; n <= 1 << 16; n++) {
        int64_t size = batch_bucket(n, 8);
        assert_true(size >= n && size >= last && 8 * size <= 9 * n + 8);
        sizes += size != last;
        last = size;
    }
    assert_int_equal(sizes, 16 + 8 * 12);
    assert_int_equal(batch_bound(c, 37, 1), 37);
    c->buckets = true;
    assert_int_equal(batch_seqs(c, (int32_t[]){ 3, 0, 5, 1 }, 4).max_len, 8);
    c->buckets = false;
}

/* Each step asserts in the dry run (sizes) and in the real one (contents). */
static void run_step(void **state)
{
    struct device d;
    struct workspace w;
    struct error err;

    assert_int_equal(device_open(&d, "cpu", &err), 0);
    assert_int_equal(workspace_init(&w, &d, 1 << 16, &err), 0);
    assert_int_equal(workspace_run(&w, *(step_fn **)*state, NULL, &err), 0);
    workspace_release(&w);
    device_close(&d);
}

int main(void)
{
    static step_fn *steps[] = { seqs_step, index_step, graph_step, float_step, bucket_step };
    const struct CMUnitTest tests[] = {
        { "seqs", run_step, NULL, NULL, &steps[0] },    { "index", run_step, NULL, NULL, &steps[1] },
        { "graph", run_step, NULL, NULL, &steps[2] },   { "floats", run_step, NULL, NULL, &steps[3] },
        { "buckets", run_step, NULL, NULL, &steps[4] },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
