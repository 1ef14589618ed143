/* When gradients are told to be final: behind the last of all writes, in blocks that are computed twice too, for
 * matrices that are parts of another, and at once where nobody writes. */
#include "kernels/batch.h"
#include "kernels/grad_watch.h"
#include "kernels/workspace.h"
#include "tests/support/support.h"

#include <string.h>

enum { SIDE = 33, ROWS = 5, PARAMS = 5, HOST = 1 << 20 };

enum { FIRST, TWICE, UPPER, LOWER, UNUSED };

struct net {
    struct device device;
    struct workspace work;
    struct arena host, data;
    struct params params;
    struct param_stack stack;
    struct tensor *w[PARAMS];
    struct grad_watch watch;
    bool checkpointed;
    float x[ROWS * SIDE];
    int told[PARAMS], n_told;
    float kept[PARAMS][SIDE * SIDE]; /* gradients as they were when they were told */
};

static void note(void *arg, int param)
{
    struct net *n = arg;

    n->told[n->n_told++] = param;
    memcpy(n->kept[param], n->params.list[param].t->grad->data, sizeof n->kept[param]);
}

static struct tensor *middle(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct net *n = arg;

    return op_linear(c, op_linear(c, in[0], n->w[TWICE], NULL, ACT_GELU), n->w[TWICE], NULL, ACT_NONE);
}

/* first, twice (two times), a slice of the stack's upper rows, all of the stack */
static void run(struct ctx *c, void *arg)
{
    struct net *n = arg;
    struct tensor *h = op_linear(c, batch_f32(c, n->x, ROWS, SIDE, F32), n->w[FIRST], NULL, ACT_GELU);

    h = n->checkpointed ? tape_checkpoint(c, middle, n, &h, 1) : tape_block(c, middle, n, &h, 1);
    h = op_linear(c, h, n->w[UPPER], NULL, ACT_NONE);
    struct tensor *y = op_linear(c, h, n->stack.whole.t, NULL, ACT_NONE);
    tape_backward(c, op_sum(c, y, batch_f32(c, &(float){ 1 }, 1, 1, F32)));
}

static void open_net(struct net *n, bool checkpointed)
{
    struct error err;

    memset(n, 0, sizeof *n);
    n->checkpointed = checkpointed;
    assert_int_equal(device_open(&n->device, "cpu", &err), 0);
    assert_int_equal(workspace_init(&n->work, &n->device, HOST, &err), 0);
    assert_int_equal(arena_init(&n->host, HOST, &err) || arena_init(&n->data, HOST, &err), 0);
    struct param_arenas a = { &n->host, &n->data, OPTIMIZER_ADAMW };
    const int64_t square[] = { SIDE, SIDE };
    n->w[FIRST] = param_new(&n->params, &a, F32, 2, square, 0.3f, 0, "first");
    n->w[TWICE] = param_new(&n->params, &a, F32, 2, square, 0.3f, 0, "twice");
    n->stack = param_stack_new(&a, F32, 2 * SIDE, SIDE, 0);
    n->w[UPPER] = param_new_stacked(&n->params, &a, &n->stack, SIDE, "upper");
    n->w[LOWER] = param_new_stacked(&n->params, &a, &n->stack, SIDE, "lower");
    n->w[UNUSED] = param_new(&n->params, &a, F32, 2, square, 0.3f, 0, "unused");
    params_init(&n->params, &n->device, 7);
    for (int i = 0; i < ROWS * SIDE; i++)
        n->x[i] = (float)(i % 17) / 17 - 0.4f;
    n->work.ctx.recording = true;
}

static void close_net(struct net *n)
{
    grad_watch_release(&n->watch);
    params_release(&n->params);
    workspace_release(&n->work);
    arena_release(&n->host);
    arena_release(&n->data);
    device_close(&n->device);
}

static void check_order(bool checkpointed)
{
    static const int order[] = { UNUSED, LOWER, UPPER, TWICE, FIRST };
    struct net n;
    struct error err;

    open_net(&n, checkpointed);
    grad_watch_init(&n.watch, &n.params, note, &n);
    n.work.ctx.watch = &n.watch;
    for (int step = 0; step < 2; step++) {
        n.n_told = 0;
        assert_int_equal(workspace_step(&n.work, run, &n, &err), 0);
        assert_int_equal(n.n_told, PARAMS);
        for (int i = 0; i < PARAMS; i++)
            assert_int_equal(n.told[i], order[i]);
        for (int i = 0; i < PARAMS; i++)
            assert_memory_equal(n.kept[i], n.w[i]->grad->data, sizeof n.kept[i]);
    }
    close_net(&n);
}

static void order_of_the_tape(void **state)
{
    (void)state;
    check_order(false);
    check_order(true);
}

/* A parameter that needs no gradient now is nobody's to wait for. */
static void frozen_for_now(void **state)
{
    struct net n;
    struct error err;

    (void)state;
    open_net(&n, false);
    n.w[TWICE]->needs_grad = n.w[UNUSED]->needs_grad = false;
    grad_watch_init(&n.watch, &n.params, note, &n);
    n.work.ctx.watch = &n.watch;
    assert_int_equal(workspace_step(&n.work, run, &n, &err), 0);
    assert_int_equal(n.n_told, 3);
    assert_int_equal(n.told[2], FIRST);
    close_net(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(order_of_the_tape), cmocka_unit_test(frozen_for_now) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
