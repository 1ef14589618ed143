/* Cuts of a batch over ranks, and sums of gradients over buckets, with a simulated transport between equal ranks. */
#include "tests/support/support.h"

#include "train/run/run.h"

#include <stdlib.h>
#include <string.h>

static const int64_t tokens[] = { 7, 1, 1, 30, 2, 2, 5, 9, 1, 12, 3 };

/* The parts are the batch in order, and none has more examples than its share needs. */
static void check_cut(const struct sampler *s, const int *batch, int n, int ranks)
{
    int64_t total = 0, most = 0;

    for (int i = 0; i < n; i++) {
        int64_t t = s->tokens ? s->tokens[batch[i]] : 1;
        total += t;
        most = t > most ? t : most;
    }
    assert_int_equal(sampler_cut(s, batch, n, 0, ranks), 0);
    assert_int_equal(sampler_cut(s, batch, n, ranks, ranks), n);
    for (int k = 0; k < ranks; k++) {
        int from = sampler_cut(s, batch, n, k, ranks), end = sampler_cut(s, batch, n, k + 1, ranks);
        int64_t part = 0;
        assert_true(from <= end);
        for (int i = from; i < end; i++)
            part += s->tokens ? s->tokens[batch[i]] : 1;
        assert_true(part * ranks <= total + most * ranks);
    }
}

static void test_cut(void **state)
{
    const int batch[] = { 3, 0, 10, 1, 2, 9, 4, 5, 6, 8, 7 };
    struct sampler s = { 0 };

    (void)state;
    for (int ranks = 1; ranks < 20; ranks++)
        for (int n = 1; n <= ARRAY_LEN(batch); n++) {
            s.tokens = tokens;
            check_cut(&s, batch, n, ranks);
            s.tokens = NULL;
            check_cut(&s, batch, n, ranks);
        }
    assert_int_equal(sampler_cut(&s, batch, 8, 1, 4), 2);
    s.tokens = tokens;
    assert_int_equal(sampler_cut(&s, batch, 2, 1, 2), 1); /* 30 and 7 */
}

/* Data that all ranks have sent, for the gathered slices. */
static struct {
    float *out;
    int64_t slice;
    int calls;
} sent;

static float in_order(float x, int size)
{
    float sum = x;

    for (int k = 1; k < size; k++)
        sum += x;
    return sum;
}

static int exchange(struct collective *c, void *in, const void *out, size_t bytes, struct error *err)
{
    (void)err;
    sent.slice = (int64_t)(bytes / sizeof(float));
    sent.out = xrealloc(sent.out, bytes * (size_t)c->size);
    memcpy(sent.out, out, bytes * (size_t)c->size);
    for (int k = 0; k < c->size; k++)
        memcpy((char *)in + (size_t)k * bytes, (const char *)out + (size_t)c->rank * bytes, bytes);
    sent.calls++;
    return 0;
}

static int gather(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err)
{
    const float *own = mine;
    float *to = all;

    (void)err;
    assert_int_equal(bytes, (size_t)sent.slice * sizeof(float));
    for (int64_t i = 0; i < sent.slice * c->size; i++)
        to[i] = in_order(sent.out[i], c->size);
    for (int64_t i = 0; i < sent.slice; i++)
        assert_true(own[i] == to[c->rank * sent.slice + i]);
    return 0;
}

static const struct transport equal_ranks = { .exchange = exchange, .gather = gather };

static float number(int param, int64_t i)
{
    return (float)((i * 2654435761 + param * 97) % 1000003) / 997.0f - 300.0f;
}

/* Sizes that end within and beyond a bucket, with a frozen parameter between them. */
static void check_sum(int size, int rank)
{
    const int64_t sizes[] = { 1, 5000001, 33, 127, (1 << 22) + 7 };
    struct tensor t[5], grad[5];
    struct param list[5];
    struct params params = { .list = list, .n = 5 };
    struct run r = { .params = &params };
    struct error err;

    assert_int_equal(device_open(&r.device, "cpu", &err), 0);
    r.ranks.all = (struct collective){ .transport = &equal_ranks, .size = size, .rank = rank };
    sent.calls = 0;
    for (int i = 0; i < 5; i++) {
        grad[i] = (struct tensor){ .dtype = F32, .ndim = 1, .shape = { sizes[i] } };
        t[i] = grad[i];
        grad[i].data = xmalloc((size_t)sizes[i] * sizeof(float));
        t[i].grad = &grad[i];
        t[i].needs_grad = i != 2;
        list[i] = (struct param){ .t = &t[i] };
        for (int64_t k = 0; k < sizes[i]; k++)
            ((float *)grad[i].data)[k] = number(i, k);
    }
    assert_int_equal(ranks_sum(&r, &err), 0);
    assert_true(sent.calls > 3 && sent.calls == r.ranks.buckets.n);
    for (int i = 0; i < 5; i++) {
        for (int64_t k = 0; k < sizes[i]; k++)
            assert_true(((float *)grad[i].data)[k] == (i == 2 ? number(i, k) : in_order(number(i, k), size)));
        free(grad[i].data);
    }
    free(r.ranks.in);
    free(r.ranks.out);
    device_close(&r.device);
}

static void test_sum(void **state)
{
    (void)state;
    check_sum(2, 0);
    check_sum(3, 2);
    check_sum(7, 3);
    free(sent.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cut), cmocka_unit_test(test_sum) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
