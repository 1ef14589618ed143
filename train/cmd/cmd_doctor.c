/* Part of commands.h: ambit-train doctor. */
#include "data/base/build.h"
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "kernels/batch.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"
#include "train/cmd/commands.h"

#include <math.h>
#include <stdio.h>

struct doctor_options {
    const char *device;
};

static const struct doctor_options defaults = { .device = "auto" };

#define AT(field) offsetof(struct doctor_options, field)

static const struct option table[] = {
    DEVICE_OPTION(AT(device)),
    { 0 },
};

enum { ROWS = 33, COLS = 65, SEED = 7 };

/* Compares a matrix product on the device with a sum in double on the host. */
struct self_test {
    float x[ROWS * COLS], w[COLS * COLS];
    struct tensor *y;
};

static void run_test(struct ctx *c, void *arg)
{
    struct self_test *s = arg;
    struct tensor *x = batch_f32(c, s->x, ROWS, COLS, F32), *w = batch_f32(c, s->w, COLS, COLS, F32);
    s->y = op_linear(c, x, w, NULL, ACT_NONE);
}

static double worst_error(const struct self_test *s, const float *y)
{
    double worst = 0;

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < COLS; k++) {
                double term = (double)s->x[i * COLS + k] * (double)s->w[j * COLS + k];
                sum += term;
                size += fabs(term);
            }
            worst = fmax(worst, fabs((double)y[i * COLS + j] - sum) / size);
        }
    return worst;
}

static int test_device(struct device *d, struct error *err)
{
    static struct self_test s;
    static float y[ROWS * COLS];
    struct rng rng = { .seed = SEED };
    struct workspace w;

    for (int i = 0; i < ROWS * COLS; i++)
        s.x[i] = rng_uniform(&rng) - 0.5f;
    for (int i = 0; i < COLS * COLS; i++)
        s.w[i] = rng_uniform(&rng) - 0.5f;
    if (workspace_init(&w, d, 1 << 20, err))
        return -1;
    int rc = workspace_run(&w, run_test, &s, err);
    if (rc == 0) {
        device_download(d, y, s.y);
        double error = worst_error(&s, y);
        if (!(error < COLS * 0x1p-23))
            rc = error_set(err, EXIT_CODE_DEVICE, "%s computes wrongly: relative error %g", d->description, error);
    }
    workspace_release(&w);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct doctor_options *o = call->options;
    struct device d;

    printf("ambit %s (%s)\n%s\n", build_version(), build_commit(), build_summary());
    if (device_open(&d, o->device, err))
        return err->code;
    int rc = test_device(&d, err);
    if (rc == 0)
        printf("ready: %s (%s)\n", d.driver->name, d.description);
    device_close(&d);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "print the build and the devices, and test a device",
    OPTIONS(table, defaults),
    .examples = { "ambit-train doctor", "ambit-train doctor --device cuda:0" },
    .run = run,
};
