/* A foreign program on the installed kernels library, for tests/cli/cli_install.sh.  It prints the sum of x w^T and its
 * gradient for w, computed on the device that its argument names. */
#include "kernels/batch.h"
#include "kernels/workspace.h"

#include <stdio.h>

enum { ROWS = 2, COLS = 3 };

struct sums {
    struct tensor *loss, *grad;
};

static void sum_of_product(struct ctx *c, void *arg)
{
    static const float x[ROWS * COLS] = { 1, 2, 3, 4, 5, 6 }, w[COLS] = { 1, 0, -1 }, one = 1;
    struct sums *s = arg;
    struct tensor *weight = batch_f32(c, w, 1, COLS, F32), *input = batch_f32(c, x, ROWS, COLS, F32);

    weight->needs_grad = true;
    s->loss = op_sum(c, op_linear(c, input, weight, NULL, ACT_NONE), batch_f32(c, &one, 1, 1, F32));
    tape_backward(c, s->loss);
    s->grad = weight->grad;
}

static int print_sums(struct device *device, struct error *err)
{
    struct workspace w;
    struct sums s;
    float loss, grad[COLS];

    if (workspace_init(&w, device, 1 << 16, err))
        return -1;
    w.ctx.recording = true;
    int bad = workspace_run(&w, sum_of_product, &s, err);
    if (!bad) {
        device_download(device, &loss, s.loss);
        device_download(device, grad, s.grad);
        printf("%s: %g, %g %g %g\n", device->driver->name, (double)loss, (double)grad[0], (double)grad[1],
               (double)grad[2]);
    }
    workspace_release(&w);
    return bad;
}

int main(int argc, char **argv)
{
    struct device device;
    struct error err;

    if (device_open(&device, argc > 1 ? argv[1] : "cpu", &err)) {
        fprintf(stderr, "%s\n", err.text);
        return (int)err.code;
    }
    int bad = print_sums(&device, &err);
    if (bad)
        fprintf(stderr, "%s\n", err.text);
    device_close(&device);
    return bad ? (int)err.code : 0;
}
