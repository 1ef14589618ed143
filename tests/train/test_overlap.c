/* Sums over ranks beside the backward: the thread that makes them, and a step whose backward does not go on before the
 * first bucket was sent. */
#include "tests/support/support.h"

#include "data/base/log.h"
#include "kernels/batch.h"
#include "train/run/run.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 100, WAIT_US = 20000000, SIDE = 257, ROWS = 3, BYTES = 1 << 23 };

static void pause_thread(void)
{
    usleep(200);
}

/* ---- the thread ---- */

struct pieces {
    int done[PIECES], n, fail_at;
    int number; /* written by who allows, read by the piece */
};

static int do_piece(void *arg, int piece, struct error *err)
{
    struct pieces *p = arg;

    if (piece == p->fail_at)
        return error_set(err, EXIT_CODE_FAILURE, "piece %d", piece);
    p->done[p->n++] = piece * p->number;
    return 0;
}

static void wait_for(struct sum_thread *t)
{
    while (!sum_thread_wait(t, 1000))
        continue;
}

static void in_order(void **state)
{
    struct pieces p = { .fail_at = -1 };
    struct sum_thread t;
    struct error err;

    (void)state;
    sum_thread_start(&t, do_piece, &p);
    for (int round = 1; round < 4; round++) {
        p.n = 0;
        sum_thread_round(&t, PIECES);
        p.number = round;
        for (int allowed = 0; allowed <= PIECES; allowed += 1 + allowed % 7)
            sum_thread_allow(&t, allowed);
        assert_false(round == 1 && sum_thread_wait(&t, 1000)); /* not all are allowed */
        sum_thread_allow(&t, PIECES);
        wait_for(&t);
        assert_int_equal(sum_thread_result(&t, &err), 0);
        assert_int_equal(p.n, PIECES);
        for (int i = 0; i < PIECES; i++)
            assert_int_equal(p.done[i], i * round);
    }
    sum_thread_end(&t);
    sum_thread_end(&t); /* ended already */
}

static void not_behind_a_failure(void **state)
{
    struct pieces p = { .fail_at = 3, .number = 1 };
    struct sum_thread t;
    struct error err;

    (void)state;
    sum_thread_start(&t, do_piece, &p);
    sum_thread_round(&t, PIECES);
    sum_thread_allow(&t, PIECES);
    wait_for(&t);
    assert_int_equal(sum_thread_result(&t, &err), -1);
    assert_string_equal(err.text, "piece 3");
    assert_int_equal(p.n, 3);
    p.fail_at = -1;
    p.n = 0;
    sum_thread_round(&t, 2);
    sum_thread_allow(&t, 2);
    wait_for(&t);
    assert_int_equal(sum_thread_result(&t, &err), 0);
    assert_int_equal(p.n, 2);
    sum_thread_end(&t);
}

/* ---- a step ---- */

/* Two equal ranks. */
static struct {
    float *out;
    atomic_int calls;
    bool absent; /* the other one tells that it ends */
} sent;

static int exchange(struct collective *c, void *in, const void *out, size_t bytes, struct error *err)
{
    (void)err;
    memcpy(sent.out, out, bytes * (size_t)c->size);
    for (int k = 0; k < c->size; k++)
        memcpy((char *)in + (size_t)k * bytes, out, bytes);
    atomic_fetch_add(&sent.calls, 1);
    return 0;
}

static int gather(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err)
{
    (void)err;
    if (bytes == sizeof(struct rank_status)) {
        struct rank_status *statuses = all;
        statuses[0] = statuses[1] = *(const struct rank_status *)mine;
        if (sent.absent)
            statuses[1] = (struct rank_status){ .code = EXIT_CODE_DATA, .text = "no more data" };
        return 0;
    }
    for (size_t i = 0; i < bytes / sizeof(float) * (size_t)c->size; i++)
        ((float *)all)[i] = 2 * sent.out[i];
    return 0;
}

static int look(struct collective *c, struct error *err)
{
    (void)c, (void)err;
    return 0;
}

static const struct transport two_ranks = { .exchange = exchange, .gather = gather, .look = look };

struct net {
    struct run run;
    struct arena host, data;
    struct params params;
    struct tensor *lower, *upper;
    float x[ROWS * SIDE];
    bool wait, waited; /* the backward of what lies between the matrices waits for a bucket */
};

struct between {
    struct node node;
    struct tensor *x;
    struct net *net;
};

static void between_backward(struct ctx *c, struct node *node)
{
    struct between *b = (struct between *)node;
    struct net *n = b->net;

    for (int us = 0; c->k && n->wait && !n->waited && us < WAIT_US; us += 200) {
        n->waited = atomic_load(&sent.calls) > 0;
        pause_thread();
    }
    tape_move_grad(c, b->x, node->out->grad);
}

static void run_step_of(struct ctx *c, void *arg)
{
    struct net *n = arg;
    struct tensor *h = op_linear(c, batch_f32(c, n->x, ROWS, SIDE, F32), n->lower, NULL, ACT_NONE);
    struct tensor *y = op_scale(c, h, 1);

    TAPE_PUSH(c, between, y, between_backward, .x = h, .net = n);
    c->tape->prev = c->tape->prev->prev; /* in the place of scale's own */
    y = op_linear(c, y, n->upper, NULL, ACT_GELU);
    tape_backward(c, op_sum(c, y, batch_f32(c, &(float){ 1 }, 1, 1, F32)));
}

static void open_net(struct net *n)
{
    struct run *r = &n->run;
    const int64_t shape[] = { SIDE, SIDE };
    struct error err;

    memset(n, 0, sizeof *n);
    assert_int_equal(device_open(&r->device, "cpu", &err), 0);
    assert_int_equal(workspace_init(&r->work, &r->device, BYTES, &err), 0);
    assert_int_equal(arena_init(&n->host, BYTES, &err) || arena_init(&n->data, BYTES, &err), 0);
    struct param_arenas a = { &n->host, &n->data, OPTIMIZER_ADAMW };
    n->lower = param_new(&n->params, &a, F32, 2, shape, 0.1f, 0, "lower");
    n->upper = param_new(&n->params, &a, F32, 2, shape, 0.1f, 0, "upper");
    params_init(&n->params, &r->device, 3);
    for (int i = 0; i < ROWS * SIDE; i++)
        n->x[i] = (float)(i % 29) / 29 - 0.5f;
    r->params = &n->params;
    r->work.ctx.recording = true;
    r->ranks.all = (struct collective){ .transport = &two_ranks, .size = 2, .lost = -1 };
    r->ranks.own_statuses = xcalloc(2, sizeof *r->ranks.own_statuses);
    sent.out = xmalloc(BYTES);
    sent.absent = false;
    assert_int_equal(ranks_link(r, &err), 0);
    assert_true(ranks_overlap(r));
}

static void close_net(struct net *n)
{
    struct run *r = &n->run;

    r->ranks.all.transport = NULL;
    ranks_close(r);
    params_release(&n->params);
    workspace_release(&r->work);
    arena_release(&n->host);
    arena_release(&n->data);
    device_close(&r->device);
    free(sent.out);
}

static void step(struct net *n)
{
    struct error err;

    atomic_store(&sent.calls, 0);
    memset(n->lower->grad->data, 0, tensor_bytes(n->lower));
    memset(n->upper->grad->data, 0, tensor_bytes(n->upper));
    assert_int_equal(workspace_step(&n->run.work, run_step_of, n, &err), 0);
}

/* Twice what one rank has, bit for bit. */
static void assert_doubled(const struct tensor *t, const float *one)
{
    const float *both = t->grad->data;

    for (int64_t i = 0; i < SIDE * SIDE; i++)
        assert_true(both[i] == one[i] + one[i]);
}

static float *copy_of(const struct tensor *t)
{
    float *x = xmalloc(tensor_bytes(t));
    return memcpy(x, t->data, tensor_bytes(t));
}

static void beside_the_backward(void **state)
{
    struct net n;
    struct error err;

    (void)state;
    open_net(&n);
    step(&n);
    float *lower = copy_of(n.lower->grad), *upper = copy_of(n.upper->grad);
    n.wait = true;
    ranks_sum_begin(&n.run);
    ranks_last(&n.run);
    step(&n);
    assert_true(n.waited);
    assert_int_equal(ranks_sum_end(&n.run, &err), 0);
    assert_int_equal(atomic_load(&sent.calls), n.run.ranks.buckets.n);
    assert_true(n.run.ranks.buckets.n >= 3);
    assert_doubled(n.lower, lower);
    assert_doubled(n.upper, upper);
    free(lower);
    free(upper);
    close_net(&n);
}

/* A part of no examples, or one that failed, has no backward. */
static void without_a_backward(void **state)
{
    struct net n;
    struct error err;

    (void)state;
    open_net(&n);
    step(&n);
    float *lower = copy_of(n.lower->grad);
    ranks_sum_begin(&n.run);
    assert_int_equal(ranks_sum_end(&n.run, &err), 0);
    assert_doubled(n.lower, lower);
    free(lower);
    close_net(&n);
}

static void who_ends_is_heard_before_the_sums(void **state)
{
    struct net n;
    struct error err;

    (void)state;
    open_net(&n);
    sent.absent = true;
    ranks_sum_begin(&n.run);
    ranks_last(&n.run);
    step(&n);
    assert_int_equal(ranks_sum_end(&n.run, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_string_equal(err.text, "rank 1: no more data");
    assert_true(n.run.ranks.told);
    assert_int_equal(atomic_load(&sent.calls), 0);
    close_net(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_order), cmocka_unit_test(not_behind_a_failure),
                                        cmocka_unit_test(beside_the_backward), cmocka_unit_test(without_a_backward),
                                        cmocka_unit_test(who_ends_is_heard_before_the_sums) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
