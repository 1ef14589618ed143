/* Causal attention against itself: caches against whole sequences, shared prefixes against copies, and the smallest. */
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES_MAX = 8 };

/* One way of packing, and a form. */
struct packing {
    int heads, groups, dim;
    int64_t n, max_keys;
    int32_t queries[SEQUENCES_MAX], key_start[SEQUENCES_MAX], key_len[SEQUENCES_MAX];
    int32_t prefix_start[SEQUENCES_MAX], prefix_len[SEQUENCES_MAX], last[SEQUENCES_MAX];
    bool prefixes;
};

static struct causal causal_of(struct ctx *c, const struct packing *p)
{
    struct causal s = { .qs = batch_seqs(c, p->queries, p->n), .max_keys = p->max_keys };

    s.key_start = batch_i32(c, p->key_start, p->n);
    s.key_len = batch_i32(c, p->key_len, p->n);
    if (p->prefixes) {
        s.prefix_start = batch_i32(c, p->prefix_start, p->n);
        s.prefix_len = batch_i32(c, p->prefix_len, p->n);
        s.last = batch_i32(c, p->last, p->n);
    }
    return s;
}

enum { LONG = 1 << 20, LONG_SEED = 3 }; /* a row whose numbers are 4096 times as large, if they are v */

/* Rows, that of t taken from row[t] of a matrix of noise: the same row number gives the same numbers. */
static float *noise_rows(const int32_t *row, int64_t rows, int64_t cols, unsigned seed)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t t = 0; t < rows; t++) {
        float size = row[t] == LONG && seed == LONG_SEED ? 0x1p-19f : 0x1p-31f;
        for (int64_t j = 0; j < cols; j++) {
            uint32_t h = ((uint32_t)row[t] * 7919u + (uint32_t)j) * 2654435761u + seed * 40503u;
            x[t * cols + j] = f32_from_bf16(bf16_from_f32((float)(int32_t)(h ^ h >> 15) * size));
        }
    }
    return x;
}

/* q, k, v and dy of the rows, and the results on the host. */
struct run {
    int64_t q_rows, k_rows;
    float *y, *dq, *dk, *dv; /* d*: NULL without backward */
};

static struct tensor *input(struct ctx *c, const int32_t *row, int64_t rows, int64_t cols, unsigned seed,
                            enum dtype dtype)
{
    float *x = noise_rows(row, rows, cols, seed);
    struct tensor *t = batch_f32(c, x, rows, cols, dtype);

    free(x);
    return t;
}

static float *values(struct test_step *s, struct tensor *t)
{
    struct ctx *c = &s->ctx;
    struct tensor *wide = t->dtype == F32 ? t : tensor_new2(c, F32, t->shape[0], t->shape[1]);

    if (wide != t)
        RUN(c, cast, wide, t);
    s->device.driver->sync(&s->device);
    return test_values(s, wide);
}

/* dy_rows NULL: no backward; a negative row there is a gradient of zero. */
static struct run run(struct test_step *s, const struct packing *p, const int32_t *q_row, int64_t q_rows,
                      const int32_t *k_row, int64_t k_rows, const int32_t *dy_row, enum dtype dtype)
{
    struct ctx *c = &s->ctx;
    struct causal a = causal_of(c, p);
    int64_t width = (int64_t)p->heads * p->dim, narrow = (int64_t)p->groups * p->dim;
    struct tensor *q = input(c, q_row, q_rows, width, 1, dtype), *k = input(c, k_row, k_rows, narrow, 2, dtype);
    struct tensor *v = input(c, k_row, k_rows, narrow, 3, dtype);
    struct run out = { .q_rows = q_rows, .k_rows = k_rows };

    q->needs_grad = k->needs_grad = v->needs_grad = dy_row != NULL;
    struct attention_form form = { .heads = p->heads, .groups = p->groups };
    struct tensor *y = op_causal_attention(c, q, k, v, &a, &form);
    assert_int_equal(c->tape != NULL, dy_row != NULL);
    if (dy_row) {
        float *dy = noise_rows(dy_row, q_rows, width, 4);
        for (int64_t t = 0; t < q_rows; t++)
            if (dy_row[t] < 0)
                memset(dy + t * width, 0, (size_t)width * sizeof *dy);
        tape_backward_from(c, y, batch_f32(c, dy, q_rows, width, dtype));
        free(dy);
        out.dq = values(s, q->grad);
        out.dk = values(s, k->grad);
        out.dv = values(s, v->grad);
    }
    out.y = values(s, y);
    c->tape = NULL;
    return out;
}

static void run_free(struct run *r)
{
    free(r->y);
    free(r->dq);
    free(r->dk);
    free(r->dv);
}

/* Rows of a and b are the same numbers, as far as the type goes. */
static void assert_rows(const float *a, int64_t a_row, const float *b, int64_t b_row, int64_t rows, int64_t cols,
                        enum dtype dtype)
{
    float allowed = dtype == F32 ? 2e-5f : 0x1p-5f;

    for (int64_t i = 0; i < rows * cols; i++) {
        float x = a[a_row * cols + i], want = b[b_row * cols + i];
        if (!(fabsf(x - want) <= allowed * (fabsf(want) + 0.3f)))
            fail_msg("%s: row %lld, column %lld is %.8g, expected %.8g", dtype_name(dtype),
                     (long long)(a_row + i / cols), (long long)(i % cols), (double)x, (double)want);
    }
}

static void count(int32_t *row, int64_t n, int32_t from)
{
    for (int64_t i = 0; i < n; i++)
        row[i] = from + (int32_t)i;
}

static const struct packing forms[] = { { .heads = 8, .groups = 2, .dim = 64 },
                                        { .heads = 4, .groups = 4, .dim = 128 },
                                        { .heads = 7, .groups = 1, .dim = 40 } };

typedef void form_fn(struct test_step *s, struct packing p, enum dtype dtype);

/* simt is slow: it runs a form in the type whose kernels are made for it, which for heads of 40 are those of F32. */
static bool in_turn(int form, enum dtype dtype)
{
    return test_all() || strcmp(test_device_name(), "simt") != 0 || (forms[form].dim == 40) == (dtype == F32);
}

static void every_form(form_fn *fn)
{
    for (enum dtype dtype = F32; dtype <= BF16; dtype++)
        for (int i = 0; i < ARRAY_LEN(forms); i++) {
            struct test_step s;
            if (!in_turn(i, dtype))
                continue;
            test_step_open(&s);
            fn(&s, forms[i], dtype);
            test_step_close(&s);
        }
}

/* A prompt of 140 tokens at once, then one by one, and in between three at once: rows as in the whole, whatever else
 * the cache holds. */
static void decode(struct test_step *s, struct packing p, enum dtype dtype)
{
    enum { TOKENS = 150, BEFORE = 9, STEPS = 8 };
    static const int32_t upto[STEPS] = { 1, 64, 140, 141, 142, 145, 146, 150 };
    int32_t rows[BEFORE + TOKENS + 5];
    int64_t width = (int64_t)p.heads * p.dim;

    count(rows, ARRAY_LEN(rows), 0);
    p.n = 1;
    p.max_keys = p.queries[0] = p.key_len[0] = TOKENS;
    struct run whole = run(s, &p, rows + BEFORE, TOKENS, rows + BEFORE, TOKENS, NULL, dtype);
    p.key_start[0] = BEFORE;
    for (int32_t i = 0, seen = 0; i < STEPS; seen = upto[i++]) {
        p.queries[0] = upto[i] - seen;
        p.key_len[0] = upto[i];
        struct run part = run(s, &p, rows + BEFORE + seen, p.queries[0], rows, ARRAY_LEN(rows), NULL, dtype);
        assert_rows(part.y, 0, whole.y, seen, p.queries[0], width, dtype);
        run_free(&part);
    }
    run_free(&whole);
}

static void test_decode(void **state)
{
    (void)state;
    every_form(decode);
}

/* Two families: a prefix of 70 rows with three that share it, one of them a single token, and one of 5 with one. */
enum { PREFIX = 70, SMALL = 5, FIRST = 20, SECOND = 1, THIRD = 66, FOURTH = 9 };
enum { SHARED_ROWS = PREFIX + FIRST + SECOND + THIRD + SMALL + FOURTH };
enum { COPIED_ROWS = 3 * PREFIX + FIRST + SECOND + THIRD + SMALL + FOURTH };

static const struct packing shared_packing = { .n = 6,
                                               .max_keys = PREFIX + THIRD,
                                               .queries = { PREFIX, FIRST, SECOND, THIRD, SMALL, FOURTH },
                                               .key_len = { PREFIX, FIRST, SECOND, THIRD, SMALL, FOURTH },
                                               .prefix_len = { 0, PREFIX, PREFIX, PREFIX, 0, SMALL },
                                               .prefix_start = { 0, 0, 0, 0, 0, SHARED_ROWS - SMALL - FOURTH },
                                               .last = { 3, 1, 2, 3, 5, 5 },
                                               .prefixes = true };

static void set_form(struct packing *p, const struct packing *form)
{
    int32_t row = 0;

    p->heads = form->heads;
    p->groups = form->groups;
    p->dim = form->dim;
    for (int64_t i = 0; i < p->n; row += p->key_len[i++])
        p->key_start[i] = row;
}

/* dk or dv of a shared prefix against the sum over its copies. */
static void assert_sum(const float *shared, const float *copied, const int64_t *copy, int64_t rows, int64_t cols,
                       enum dtype dtype)
{
    float *sum = xcalloc((size_t)(rows * cols), sizeof *sum);

    for (int64_t i = 0; i < rows * cols; i++)
        for (int k = 0; k < 3; k++)
            sum[i] += copied[copy[k] * cols + i];
    assert_rows(shared, 0, sum, 0, rows, cols, dtype);
    free(sum);
}

static void shared_prefix(struct test_step *s, struct packing form, enum dtype dtype)
{
    struct packing shared = shared_packing, copied = { .n = 4, .max_keys = PREFIX + THIRD };
    static const int32_t lengths[4] = { PREFIX + FIRST, PREFIX + SECOND, PREFIX + THIRD, SMALL + FOURTH };
    static const int64_t own[4] = { PREFIX, PREFIX + FIRST, PREFIX + FIRST + SECOND, PREFIX + FIRST + SECOND + THIRD };
    int32_t rows[SHARED_ROWS], copies[COPIED_ROWS], dy[COPIED_ROWS];
    int64_t at[4], width = (int64_t)form.heads * form.dim, narrow = (int64_t)form.groups * form.dim, t = 0;

    count(rows, SHARED_ROWS, 0);
    for (int i = 0; i < 4; t += lengths[i++]) {
        int64_t before = i < 3 ? PREFIX : 0;
        at[i] = t;
        copied.queries[i] = copied.key_len[i] = lengths[i];
        count(copies + t, before, 0);
        count(copies + t + before, lengths[i] - before, (int32_t)own[i]);
    }
    memcpy(dy, copies, sizeof dy);
    for (int i = 1; i < 3; i++)
        count(dy + at[i], PREFIX, -PREFIX); /* a prefix's own outputs count once */
    set_form(&shared, &form);
    set_form(&copied, &form);
    struct run a = run(s, &shared, rows, SHARED_ROWS, rows, SHARED_ROWS, rows, dtype);
    struct run b = run(s, &copied, copies, COPIED_ROWS, copies, COPIED_ROWS, dy, dtype);
    for (int i = 0; i < 4; i++) {
        int64_t before = i < 3 ? PREFIX : 0, n = lengths[i] - before;
        assert_rows(a.y, own[i], b.y, at[i] + before, n, width, dtype);
        assert_rows(a.dq, own[i], b.dq, at[i] + before, n, width, dtype);
        assert_rows(a.dk, own[i], b.dk, at[i] + before, n, narrow, dtype);
        assert_rows(a.dv, own[i], b.dv, at[i] + before, n, narrow, dtype);
    }
    assert_rows(a.y, 0, b.y, 0, PREFIX, width, dtype);
    assert_rows(a.dq, 0, b.dq, 0, PREFIX, width, dtype);
    assert_sum(a.dk, b.dk, at, PREFIX, narrow, dtype);
    assert_sum(a.dv, b.dv, at, PREFIX, narrow, dtype);
    run_free(&a);
    run_free(&b);
}

static void test_shared_prefix(void **state)
{
    (void)state;
    every_form(shared_prefix);
}

/* dv of tokens that form a sequence each: the sum of dy over the heads of a group. */
static float *lone_dv(const struct packing *p, const int32_t *row, int64_t rows)
{
    int64_t width = (int64_t)p->heads * p->dim, narrow = (int64_t)p->groups * p->dim;
    float *dy = noise_rows(row, rows, width, 4), *dv = xcalloc((size_t)(rows * narrow), sizeof *dv);

    for (int64_t i = 0; i < rows * width; i++) {
        int64_t group = i % width / p->dim / (p->heads / p->groups);
        dv[i / width * narrow + group * p->dim + i % p->dim] += dy[i];
    }
    free(dy);
    return dv;
}

/* A token alone gets its group's v and moves neither q nor k, exactly; empty prefixes change nothing, bit for bit. */
static void one_token(struct test_step *s, struct packing p, enum dtype dtype)
{
    int32_t row[3] = { 5, 6, 7 };
    int64_t width = (int64_t)p.heads * p.dim, narrow = (int64_t)p.groups * p.dim;
    struct packing with = { .n = 5,
                            .max_keys = 1,
                            .queries = { 0, 1, 1, 0, 1 },
                            .key_len = { 0, 1, 1, 0, 1 },
                            .last = { 2, 1, 2, 4, 4 },
                            .prefixes = true };
    struct packing without = with;

    without.prefixes = false;
    set_form(&with, &p);
    set_form(&without, &p);
    struct run a = run(s, &with, row, 3, row, 3, row, dtype), b = run(s, &without, row, 3, row, 3, row, dtype);
    float *v = noise_rows(row, 3, narrow, 3), *dv = lone_dv(&p, row, 3);
    for (int64_t i = 0; i < 3 * width; i++) {
        int64_t head = i % width / p.dim;
        assert_true(a.y[i] == v[i / width * narrow + head / (p.heads / p.groups) * p.dim + i % p.dim]);
        assert_true(a.dq[i] == 0);
    }
    for (int64_t i = 0; i < 3 * narrow; i++)
        assert_true(a.dk[i] == 0);
    assert_rows(a.dv, 0, dv, 0, 3, narrow, dtype);
    assert_memory_equal(a.y, b.y, (size_t)(3 * width) * sizeof *a.y);
    assert_memory_equal(a.dv, b.dv, (size_t)(3 * narrow) * sizeof *a.dv);
    run_free(&a);
    run_free(&b);
    free(v);
    free(dv);
}

static void test_one_token(void **state)
{
    (void)state;
    every_form(one_token);
}

/* Sequences together and each alone: what a row gets has the same bits, whatever stands beside it. */
static void company(struct test_step *s, struct packing form, const int32_t queries[SEQUENCES_MAX],
                    const int32_t keys[SEQUENCES_MAX], enum dtype dtype)
{
    struct packing all = { .n = SEQUENCES_MAX };
    int64_t width = (int64_t)form.heads * form.dim, narrow = (int64_t)form.groups * form.dim, q_rows = 0, k_rows = 0;
    bool training = queries == keys;

    for (int i = 0; i < SEQUENCES_MAX; i++) {
        all.queries[i] = queries[i];
        all.key_len[i] = keys[i];
        all.max_keys = keys[i] > all.max_keys ? keys[i] : all.max_keys;
        q_rows += queries[i];
        k_rows += keys[i];
    }
    set_form(&all, &form);
    int32_t *row = xmalloc((size_t)k_rows * sizeof *row);
    count(row, k_rows, 0);
    struct run a = run(s, &all, row, q_rows, row, k_rows, training ? row : NULL, dtype);
    for (int64_t i = 0, q = 0, k = 0; i < SEQUENCES_MAX; q += queries[i], k += keys[i++]) {
        struct packing one = { .n = 1, .queries = { queries[i] }, .key_len = { keys[i] }, .max_keys = keys[i] };
        set_form(&one, &form);
        struct run b = run(s, &one, row + q, queries[i], row + k, keys[i], training ? row + q : NULL, dtype);
        assert_memory_equal(b.y, a.y + q * width, (size_t)(queries[i] * width) * sizeof *b.y);
        if (training) {
            assert_memory_equal(b.dq, a.dq + q * width, (size_t)(queries[i] * width) * sizeof *b.dq);
            assert_memory_equal(b.dk, a.dk + k * narrow, (size_t)(keys[i] * narrow) * sizeof *b.dk);
            assert_memory_equal(b.dv, a.dv + k * narrow, (size_t)(keys[i] * narrow) * sizeof *b.dv);
        }
        run_free(&b);
    }
    run_free(&a);
    free(row);
}

static void alone(struct test_step *s, struct packing form, enum dtype dtype)
{
    static const int32_t one[SEQUENCES_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const int32_t few[SEQUENCES_MAX] = { 1, 31, 33, 63, 64, 65, 127, 2 };
    static const int32_t many[SEQUENCES_MAX] = { 1, 31, 33, 63, 64, 65, 127, 1025 };

    company(s, form, one, many, dtype);
    company(s, form, few, few, dtype);
}

static void test_alone(void **state)
{
    (void)state;
    every_form(alone);
}

/* No sequences, and sequences without rows. */
static void empty_batch(struct test_step *s, struct packing p, enum dtype dtype)
{
    struct packing none = p, empty = p;

    empty.n = 3;
    struct run a = run(s, &none, NULL, 0, NULL, 0, NULL, dtype), b = run(s, &empty, NULL, 0, NULL, 0, NULL, dtype);
    run_free(&a);
    run_free(&b);
    a = run(s, &empty, (int32_t[]){ 0 }, 0, (int32_t[]){ 0 }, 0, (int32_t[]){ 0 }, dtype);
    assert_non_null(a.dq);
    run_free(&a);
}

static void test_empty_batch(void **state)
{
    (void)state;
    every_form(empty_batch);
}

static double dot(const float *a, const float *b, int n)
{
    double sum = 0;

    for (int d = 0; d < n; d++)
        sum += (double)(a[d] * b[d]);
    return sum;
}

static void add_times(float *to, double by, const float *x, int n)
{
    for (int d = 0; d < n; d++)
        to[d] += (float)by * x[d];
}

/* The output of one head from x's q, k, v and (as y) the incoming gradient, row by row.  out starts as zeros. */
static void reference(struct run *out, const struct run *x, int64_t rows, int dim)
{
    double *p = xmalloc((size_t)rows * sizeof *p), scale = 1 / sqrt(dim);

    for (int64_t i = 0; i < rows; i++) {
        const float *q = x->dq + i * dim, *dy = x->y + i * dim;
        double sum = 0, expected = 0;
        for (int64_t j = 0; j <= i; j++)
            sum += p[j] = exp(scale * dot(q, x->dk + j * dim, dim));
        for (int64_t j = 0; j <= i; j++) {
            p[j] /= sum;
            add_times(out->y + i * dim, p[j], x->dv + j * dim, dim);
            add_times(out->dv + j * dim, p[j], dy, dim);
            expected += p[j] * dot(dy, x->dv + j * dim, dim);
        }
        for (int64_t j = 0; j <= i; j++) {
            double ds = scale * p[j] * (dot(dy, x->dv + j * dim, dim) - expected);
            add_times(out->dq + i * dim, ds, x->dk + j * dim, dim);
            add_times(out->dk + j * dim, ds, q, dim);
        }
    }
    free(p);
}

/* The difference of n numbers is a small share of their own length: gradients of long rows are far smaller than the
 * bound of assert_rows. */
static void assert_length(const float *got, const float *want, int64_t n, enum dtype dtype)
{
    double difference = 0, length = 0, allowed = dtype == F32 ? 1e-4 : 0x1p-6;

    for (int64_t i = 0; i < n; i++) {
        difference += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        length += (double)want[i] * want[i];
    }
    if (!(difference <= allowed * allowed * length))
        fail_msg("%s: off by %.3g of the length, allowed %.3g", dtype_name(dtype), sqrt(difference / length), allowed);
}

static void whole_sequence(struct test_step *s, int dim, int32_t rows, int32_t last, enum dtype dtype)
{
    enum { ROWS = 1025 };
    struct packing p = {
        .heads = 1, .groups = 1, .dim = dim, .n = 1, .max_keys = rows, .queries = { rows }, .key_len = { rows }
    };
    int32_t row[ROWS];
    size_t n = (size_t)rows * (size_t)dim;

    count(row, rows, 0);
    row[rows - 1] = last;
    struct run got = run(s, &p, row, rows, row, rows, row, dtype), x, want;
    float **of_x[] = { &x.dq, &x.dk, &x.dv, &x.y }, **of_want[] = { &want.dq, &want.dk, &want.dv, &want.y };
    for (unsigned i = 0; i < 4; i++) {
        *of_x[i] = noise_rows(row, rows, dim, i + 1);
        *of_want[i] = xcalloc(n, sizeof(float));
    }
    reference(&want, &x, rows, dim);
    assert_rows(got.y, 0, want.y, 0, rows, dim, dtype);
    assert_rows(got.dq, 0, want.dq, 0, rows, dim, dtype);
    assert_length(got.dq, want.dq, (int64_t)n, dtype);
    assert_rows(got.dk, 0, want.dk, 0, rows, dim, dtype);
    assert_length(got.dk, want.dk, (int64_t)n, dtype);
    assert_rows(got.dv, 0, want.dv, 0, rows, dim, dtype);
    assert_length(got.dv, want.dv, (int64_t)n, dtype);
    run_free(&got);
    run_free(&x);
    run_free(&want);
}

/* Forward and backward of many tiles against a formula.  In bf16 the last v is so long that sums of dq exceed the bound
 * from the other values. */
static void test_whole_sequence(void **state)
{
    static const int32_t rows[4] = { 1025, 1025, 65, 450 }, last[4] = { 1024, 1024, LONG, 449 };
    static const int dims[4] = { 16, 16, 16, 128 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct test_step s;
        test_step_open(&s);
        whole_sequence(&s, dims[i], rows[i], last[i], i ? BF16 : F32);
        test_step_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode), cmocka_unit_test(test_shared_prefix), cmocka_unit_test(test_one_token),
        cmocka_unit_test(test_alone),  cmocka_unit_test(test_empty_batch),   cmocka_unit_test(test_whole_sequence),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
