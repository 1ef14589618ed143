/* State that is cut over ranks: who updates what, and that all of them together do what one does, bit for bit. */
#include "tests/support/optim_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VECTORS = 5, MATRIX = VECTORS, PARAMS = 7, STEPS = 3, RANKS_MOST = 7, LARGEST = 12289 };

static const int64_t sizes[VECTORS] = { 1, 4096, 5000, 0, LARGEST };

/* Vectors that end within a chunk and with one, matrices, and one without a gradient among them. */
static void open_rank(struct optim_model *m, enum optimizer optimizer, enum dtype dtype, int rank, int ranks)
{
    struct error err;

    optim_model_open(m, ranks > 1 ? optimizer | OPTIMIZER_SHARDED : optimizer);
    for (int i = 0; i < VECTORS; i++)
        param_new(&m->params, &m->arenas, dtype, 1, &sizes[i], 0.1f, i == 2 ? 0 : PARAM_DECAY, "vector.%d", i);
    param_new(&m->params, &m->arenas, dtype, 2, (int64_t[]){ 127, 65 }, 0.1f, PARAM_DECAY, "matrix");
    param_new(&m->params, &m->arenas, F32, 2, (int64_t[]){ 3, 65 }, 0.1f, PARAM_FROZEN, "frozen");
    m->optim = (struct optim){ .rank = rank,
                               .ranks = ranks > 1 ? ranks : 0,
                               .schedule = { .lr = 0.01f, .form = SCHEDULE_CONSTANT },
                               .adamw = { .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .decay = 0.1f, .clip = 1 } };
    m->optim.adafactor =
        (struct adafactor){ .decay_rate = 0.8f, .eps = 1e-30f, .threshold = 1, .decay = 0.1f, .clip = 1 };
    assert_int_equal(optim_init(&m->optim, &m->step.device, &m->params, &err), 0);
    params_init(&m->params, &m->step.device, 5);
}

static void set_gradients(struct optim_model *m, int step)
{
    float g[LARGEST];

    for (int i = 0; i < PARAMS - 1; i++) {
        const struct tensor *t = m->params.list[i].t;
        for (int64_t k = 0; k < tensor_size(t); k++)
            g[k] = sinf((float)(k * (i + 1) + step)) / 16;
        device_upload(&m->step.device, t->grad, g);
    }
}

static void step(struct optim_model *m, int number)
{
    float g[LARGEST];

    set_gradients(m, number);
    optim_step(&m->step.ctx, &m->optim, &m->params);
    for (int i = 0; i < PARAMS - 1; i++) {
        const struct tensor *t = m->params.list[i].t;
        device_download(&m->step.device, g, t->grad);
        for (int64_t k = 0; k < tensor_size(t); k++)
            assert_true(g[k] == 0);
    }
}

/* Each rank's updated shard goes to all. */
static void exchange(struct optim_model *ranks, int n)
{
    float w[LARGEST];

    for (int k = 0; k < n; k++)
        for (int i = 0; i < PARAMS - 1; i++) {
            struct update_share s = optim_share(&ranks->optim, &ranks->params, i, k);
            param_download(&ranks[k].params.list[i], &ranks[k].step.device, w);
            for (int j = 0; j < n; j++)
                param_upload_part(&ranks[j].params.list[i], &ranks[j].step.device, w + s.first, s.first,
                                  s.end - s.first);
        }
}

static void assert_same_numbers(struct optim_model *a, const struct tensor *x, struct optim_model *b,
                                const struct tensor *y)
{
    char *p = xmalloc(tensor_bytes(x) + 1), *q = xmalloc(tensor_bytes(x) + 1);

    assert_int_equal(tensor_bytes(x), tensor_bytes(y));
    device_download(&a->step.device, p, x);
    device_download(&b->step.device, q, y);
    assert_memory_equal(p, q, tensor_bytes(x));
    free(p);
    free(q);
}

/* The share of each state lies in the whole where param_state_first says. */
static void assert_same_state(struct optim_model *whole, struct optim_model *rank)
{
    float all[LARGEST], part[LARGEST];

    for (int i = 0; i < PARAMS - 1; i++)
        for (int k = 0; k < PARAM_STATES; k++) {
            const struct param *p = &whole->params.list[i], *q = &rank->params.list[i];
            assert_int_equal(!p->state[k], !q->state[k]);
            if (!p->state[k])
                continue;
            device_download(&whole->step.device, all, p->state[k]);
            device_download(&rank->step.device, part, q->state[k]);
            assert_memory_equal(part, all + param_state_first(q), tensor_bytes(q->state[k]));
        }
}

static void check_ranks(enum optimizer optimizer, enum dtype dtype, int n)
{
    struct optim_model whole, ranks[RANKS_MOST];

    open_rank(&whole, optimizer, dtype, 0, 1);
    for (int k = 0; k < n; k++)
        open_rank(&ranks[k], optimizer, dtype, k, n);
    for (int s = 0; s < STEPS; s++) {
        step(&whole, s);
        for (int k = 0; k < n; k++)
            step(&ranks[k], s);
        exchange(ranks, n);
    }
    for (int k = 0; k < n; k++) {
        assert_same_numbers(&whole, whole.optim.norm, &ranks[k], ranks[k].optim.norm);
        for (int i = 0; i < PARAMS; i++)
            assert_same_numbers(&whole, whole.params.list[i].t, &ranks[k], ranks[k].params.list[i].t);
        assert_same_state(&whole, &ranks[k]);
        optim_model_close(&ranks[k]);
    }
    optim_model_close(&whole);
}

static void the_bits_of_one(void **state)
{
    (void)state;
    for (int n = 2; n <= RANKS_MOST; n += n == 2 ? 1 : 4) {
        check_ranks(OPTIMIZER_ADAMW, F32, n);
        check_ranks(OPTIMIZER_ADAMW, BF16, n);
        check_ranks(OPTIMIZER_ADAFACTOR, F32, n);
    }
}

/* Shares follow one another without a gap, in whole chunks, and none is larger than two chunks more than its part. */
static void check_shares(enum optimizer optimizer, int n)
{
    struct optim_model m;
    size_t bytes = 0;

    open_rank(&m, optimizer, F32, n - 1, n);
    for (int i = 0; i < PARAMS - 1; i++) {
        int64_t at = 0;
        for (int k = 0; k < n; k++) {
            struct update_share s = optim_share(&m.optim, &m.params, i, k);
            if (s.first == s.end)
                continue;
            assert_true(s.first == at && s.first % UPDATE_CHUNK == 0);
            at = s.end;
        }
        assert_int_equal(at, tensor_size(m.params.list[i].t));
    }
    for (int i = 0; i < PARAMS - 1; i++)
        for (int k = 0; k < PARAM_STATES; k++)
            bytes += m.params.list[i].state[k] ? tensor_bytes(m.params.list[i].state[k]) : 0;
    if (optimizer == OPTIMIZER_ADAMW)
        assert_true(bytes <= 2 * sizeof(float) * (size_t)(11 / n + 1) * UPDATE_CHUNK); /* there are 11 chunks */
    optim_model_close(&m);
}

static void shares(void **state)
{
    (void)state;
    for (int n = 2; n < 20; n++) {
        check_shares(OPTIMIZER_ADAMW, n);
        check_shares(OPTIMIZER_ADAFACTOR, n);
    }
}

/* The estimate before allocation equals the memory taken, apart from the rounding of each block. */
static void bytes_before(void **state)
{
    struct optim_model m;
    size_t taken = 0;

    (void)state;
    open_rank(&m, OPTIMIZER_ADAMW, F32, 1, 3);
    for (int i = 0; i < PARAMS; i++)
        for (int k = 0; k < PARAM_STATES; k++) {
            struct tensor **s = &m.params.list[i].state[k];
            taken += *s ? (tensor_bytes(*s) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : 0;
            *s = NULL;
        }
    assert_int_equal(optim_share_bytes(&m.params, 1, 3), taken);
    assert_int_equal(optim_share_bytes(&m.params, 0, 1), 0);
    optim_model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_bits_of_one), cmocka_unit_test(shares),
                                        cmocka_unit_test(bytes_before) };
    return test_devices(tests, ARRAY_LEN(tests));
}
