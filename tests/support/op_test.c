#include "tests/support/op_test.h"

#include "kernels/device.h"
#include "kernels/rng.h"
#include "tests/support/guard.h"
#include "tests/support/support.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs of an op under test: the declarations for the setup of a row. */

double op_uniform(struct op_test *t)
{
    struct philox counter = { { (uint32_t)t->draws++, (uint32_t)t->rows, (uint32_t)t->cols, (uint32_t)t->variant } };
    return (double)philox_block(counter, 1, 2).v[0] * 0x1p-32;
}

double op_rounded(double x, enum dtype dtype)
{
    return dtype == BF16 ? (double)f32_from_bf16(bf16_from_f32((float)x)) : (double)(float)x;
}

static struct op_input *add_input(struct op_test *t, int ndim, int64_t rows, int64_t cols, bool f32, double scale)
{
    assert_true(t->n_in < OP_INPUTS_MAX);
    struct op_input *in = &t->in[t->n_in++];

    *in = (struct op_input){ .ndim = ndim, .shape = { rows, cols }, .f32 = f32, .n = ndim == 1 ? rows : rows * cols };
    in->value = xmalloc((size_t)in->n * sizeof *in->value);
    for (int64_t i = 0; i < in->n; i++)
        in->value[i] = op_rounded((2 * op_uniform(t) - 1) * (scale > 0 ? scale : 1), f32 ? F32 : t->dtype);
    return in;
}

void op_matrix(struct op_test *t, int64_t rows, int64_t cols, double scale)
{
    add_input(t, 2, rows, cols, false, scale);
}

void op_param(struct op_test *t, int64_t rows, int64_t cols, double scale)
{
    add_input(t, 2, rows, cols, false, scale)->param = true;
}

void op_vector(struct op_test *t, int64_t n, double scale)
{
    add_input(t, 1, n, 1, true, scale)->param = true;
}

void op_f32(struct op_test *t, int64_t n, int64_t cols, double scale)
{
    add_input(t, cols ? 2 : 1, n, cols, true, scale);
}

void op_constant(struct op_test *t)
{
    t->in[t->n_in - 1].constant = true;
}

int32_t *op_ints(struct op_test *t, int64_t n, int32_t low, int32_t high)
{
    assert_true(t->n_int_arrays < OP_INTS_MAX);
    int32_t *out = xmalloc((size_t)n * sizeof *out);

    for (int64_t i = 0; i < n; i++)
        out[i] = low + (int32_t)(op_uniform(t) * (high - low));
    t->n_ints[t->n_int_arrays] = n;
    return t->ints[t->n_int_arrays++] = out;
}

int32_t *op_lengths(struct op_test *t, int64_t total, int64_t longest)
{
    static const int32_t edges[] = { 63, 64, 65 }; /* of tiles */
    int32_t *lengths = op_ints(t, total + 2, 0, (int32_t)longest + 1);
    int64_t n = 0, left = total;

    if (total > 1000 && longest > 65)
        memcpy(lengths + 2, edges, sizeof edges);

    lengths[n++] = 0; /* an empty one first, and one more wherever the draw says so */
    for (; left > 0 && n < total + 1; n++) {
        if (n % 4 == 1)
            lengths[n] = 1;
        if (lengths[n] > left || n == total)
            lengths[n] = (int32_t)left;
        left -= lengths[n];
    }
    assert_int_equal(left, 0);
    t->n_ints[t->n_int_arrays - 1] = n;
    return lengths;
}

/* How an op is run. */
struct mode {
    unsigned wants;             /* bit i: input i wants a gradient */
    bool same;                  /* input 1 is the tensor of input 0 */
    int uses;                   /* 2: y = op(x) + op(x) */
    const struct outcome *base; /* of an earlier run: y = a tensor of that form + op(x), in a block */
    bool checkpointed;          /* the block's records are made in the backward */
};

/* The results of a run, on the host. */
struct outcome {
    bool recorded;
    uint32_t sites; /* draws of one use */
    int64_t n;
    struct tensor form;              /* shape and type of the output */
    double *y, *grad[OP_INPUTS_MAX]; /* grad[i] NULL: there is none */
    uint64_t bits;                   /* of all of them, as the device wrote them */
};

enum { HOST_BYTES = 1 << 18 };

static void *encode(const double *x, int64_t n, enum dtype dtype)
{
    char *bytes = xmalloc((size_t)n * dtype_size(dtype));

    for (int64_t i = 0; i < n; i++) {
        if (dtype == BF16)
            ((uint16_t *)(void *)bytes)[i] = bf16_from_f32((float)x[i]);
        else
            ((float *)(void *)bytes)[i] = (float)x[i];
    }
    return bytes;
}

static double *decode(struct device *d, const struct tensor *t, uint64_t *bits)
{
    int64_t n = tensor_size(t);
    void *bytes = xmalloc(tensor_bytes(t));
    double *out = xmalloc((size_t)n * sizeof *out);

    device_download(d, bytes, t);
    *bits = hash_bytes(*bits, bytes, tensor_bytes(t));
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(t->dtype == BF16 ? f32_from_bf16(((uint16_t *)bytes)[i]) : ((float *)bytes)[i]);
    free(bytes);
    return out;
}

static struct tensor *place(struct ctx *c, int ndim, const int64_t *shape, enum dtype dtype, const double *value)
{
    struct tensor *t = tensor_new(c, dtype, ndim, shape);

    if (c->k) {
        void *bytes = encode(value, tensor_size(t), dtype);
        device_upload(c->dev, t, bytes);
        free(bytes);
    }
    return t;
}

static struct tensor *place_input(struct ctx *c, const struct op_test *t, int i, bool wants)
{
    const struct op_input *in = &t->in[i];
    struct tensor *x = place(c, in->ndim, in->shape, in->f32 ? F32 : t->dtype, in->value);

    x->needs_grad = wants && !in->constant;
    x->is_param = in->param;
    if (in->param && x->needs_grad) {
        x->grad = tensor_new(c, F32, x->ndim, x->shape);
        RUN(c, fill, x->grad, 0.0f);
    }
    return x;
}

/* The incoming gradient at element i of the output: the same for every run. */
static double op_entering(int64_t i, enum dtype dtype)
{
    struct philox counter = { { (uint32_t)i, 7, 7, 7 } };
    return op_rounded((double)philox_block(counter, 3, 5).v[0] * 0x1p-31 - 1, dtype);
}

static struct tensor *place_entering(struct ctx *c, const struct tensor *y)
{
    int64_t n = tensor_size(y);
    double *values = xmalloc((size_t)n * sizeof *values);

    for (int64_t i = 0; i < n; i++)
        values[i] = op_entering(i, y->dtype);
    struct tensor *dy = place(c, y->ndim, y->shape, y->dtype, values);
    free(values);
    return dy;
}

/* A checkpointed block keeps the shape of its first input, which an op need not do. */
static struct tensor *block(struct ctx *c, struct tensor **in, const void *arg)
{
    struct op_test *t = (struct op_test *)(uintptr_t)arg;
    return op_add(c, in[0], t->row->run(c, t));
}

static struct tensor *run_block(struct ctx *c, struct op_test *t, const struct mode *mode)
{
    struct tensor *in[1 + OP_INPUTS_MAX] = { place_entering(c, &mode->base->form) };
    int n = 1;

    in[0]->needs_grad = true;
    for (int i = 0; i < t->n_in; i++)
        if (t->x[i]->needs_grad && !t->x[i]->is_param)
            in[n++] = t->x[i];
    return mode->checkpointed ? tape_checkpoint(c, block, t, in, n) : block(c, in, t);
}

static struct tensor *step(struct ctx *c, struct op_test *t, const struct mode *mode, struct outcome *out)
{
    for (int i = 0; i < t->n_in; i++)
        t->x[i] = mode->same && i == 1 ? t->x[0] : place_input(c, t, i, mode->wants >> i & 1);
    c->rng = batch_i32(c, t->rng, 4);
    struct tensor *y = mode->base ? run_block(c, t, mode) : t->row->run(c, t);
    out->sites = c->site;
    if (mode->uses == 2)
        y = op_add(c, y, t->row->run(c, t));
    out->recorded = c->tape != NULL;
    if (out->recorded)
        tape_backward_from(c, y, place_entering(c, y));
    return y;
}

static size_t dry_peak(struct device *d, struct op_test *t, const struct mode *mode, struct arena *host)
{
    struct arena measure;
    struct outcome ignored;
    struct ctx c = { .dev = d, .host = host, .step = &measure, .recording = true, .training = true };

    arena_measure(&measure);
    arena_reset(host, 0);
    step(&c, t, mode, &ignored);
    arena_reset(host, 0);
    return measure.peak;
}

static void check_guards(struct device *d, const struct arena *a, const struct op_test *t, int pattern)
{
    unsigned char *copy = xmalloc(a->size);

    d->driver->download(d, copy, a->base, a->size);
    int64_t at = guard_find_damage(copy, pattern);
    free(copy);
    if (at >= 0)
        fail_msg("%s on %s: [%lld, %lld] variant %d: byte %lld, beyond every block, was written", t->row->name,
                 d->driver->name, (long long)t->rows, (long long)t->cols, t->variant, (long long)at);
}

static void fill_memory(struct device *d, const struct arena *a, int pattern)
{
    void *bytes = xmalloc(a->size);

    memset(bytes, pattern, a->size);
    d->driver->upload(d, a->base, bytes, a->size);
    d->driver->sync(d); /* before blocks are closed */
    free(bytes);
}

/* Fails if a byte beyond a block is written, or if the dry run predicts another peak.  Every second run starts with
 * memory full of NaN.  End with outcome_release. */
static struct outcome op_run(struct device *d, struct op_test *t, const struct mode *mode)
{
    struct arena host, step_arena;
    struct error err;
    struct outcome out = { .bits = HASH_START };
    static int runs;
    int pattern = runs++ % 2 ? GUARD_PATTERN : GUARD_NAN;

    assert_int_equal(arena_init(&host, HOST_BYTES, &err), 0);
    guard_start(&step_arena, strcmp(d->driver->name, "cuda") == 0);
    size_t peak = dry_peak(d, t, mode, &host);
    assert_int_equal(device_arena(d, &step_arena, peak, &err), 0);
    fill_memory(d, &step_arena, pattern);
    struct ctx c = {
        .k = d->driver->kernels, .dev = d, .host = &host, .step = &step_arena, .recording = true, .training = true
    };
    struct tensor *y = step(&c, t, mode, &out);
    d->driver->sync(d);
    if (step_arena.peak != peak)
        fail_msg("%s on %s: the dry run foretold %zu bytes, %zu were used", t->row->name, d->driver->name, peak,
                 step_arena.peak);
    guard_stop();
    if (!mode->checkpointed) /* which uses its memory again, guards included */
        check_guards(d, &step_arena, t, pattern);
    out.n = tensor_size(y);
    out.form = *y;
    out.y = decode(d, y, &out.bits);
    for (int i = 0; i < t->n_in; i++)
        if (t->x[i]->grad && !(mode->same && i == 1))
            out.grad[i] = decode(d, t->x[i]->grad, &out.bits);
    device_arena_release(d, &step_arena);
    arena_release(&host);
    return out;
}

static void outcome_release(struct outcome *o)
{
    free(o->y);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        free(o->grad[i]);
    *o = (struct outcome){ 0 };
}

/* The f64 formula on the inputs of a case.  Most of a test's time goes into its gradients by central differences.  They
 * are the same on every device, so those of a case are kept for the devices after the first.  Each input, type and mode
 * takes its own elements and directions, so that all of them together cover many. */
struct reference {
    const struct mode *mode;
    int64_t n;
    uint32_t sites;
    enum dtype dtype; /* of the output */
    double *x[OP_INPUTS_MAX];
    double *y, *use, *entering; /* entering: the gradient, of the output */
};

/* Single elements of an input with at most SLOPES_LARGE elements, and of a larger one; directions.  Each costs two
 * evaluations of the reference. */
enum { SLOPES_SINGLE = 6, SLOPES_SINGLE_LARGE = 2, SLOPES_LARGE = 20000, SLOPES_ALONG = 2 };

/* Slopes of one input: by single elements, and along random signs, which depend on every element. */
struct slopes {
    int n;
    int64_t at[SLOPES_SINGLE];
    double want[SLOPES_SINGLE], along[SLOPES_ALONG], noise;
    double rms;     /* of the whole gradient, as far as these tell */
    uint64_t signs; /* t->draws before the signs of the first direction */
};

#define STEP 1e-8 /* of the central differences: short, since ReLU has a corner that should not lie inside */

/* Computes r->y, the output. */
static void reference_forward(struct op_test *t, struct reference *r)
{
    memset(r->y, 0, (size_t)r->n * sizeof *r->y);
    for (int use = 0; use < r->mode->uses; use++) {
        memset(r->use, 0, (size_t)r->n * sizeof *r->use);
        t->site = (uint32_t)use * r->sites;
        t->row->reference(t, r->x, r->use);
        for (int64_t i = 0; i < r->n; i++)
            r->y[i] += r->use[i];
    }
}

/* For inputs in the mode, of an output of out's form; end with reference_release. */
static struct reference reference_new(struct op_test *t, const struct mode *mode, const struct outcome *out)
{
    struct reference r = { .mode = mode, .n = out->n, .sites = out->sites, .dtype = out->form.dtype };

    for (int i = 0; i < t->n_in; i++)
        r.x[i] = t->in[mode->same && i == 1 ? 0 : i].value;
    r.y = xmalloc((size_t)r.n * sizeof *r.y);
    r.use = xmalloc((size_t)r.n * sizeof *r.use);
    r.entering = xmalloc((size_t)r.n * sizeof *r.entering);
    for (int64_t i = 0; i < r.n; i++)
        r.entering[i] = op_entering(i, out->form.dtype);
    return r;
}

static void reference_release(struct reference *r)
{
    free(r->y);
    free(r->use);
    free(r->entering);
}

/*
 * d loss / d input along direction (NULL: the unit vector of element `at`).  Outputs are subtracted one by one before
 * they are summed, so that a small step costs few digits; *noise is what it does cost.
 */
static double slope(struct op_test *t, struct reference *r, int input, const double *direction, int64_t at,
                    double *noise)
{
    struct op_input *in = &t->in[input];
    double *old = xmalloc((size_t)in->n * sizeof *old), *ahead = xmalloc((size_t)r->n * sizeof *ahead);
    double sum = 0, square = 0;

    memcpy(old, in->value, (size_t)in->n * sizeof *old);
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < in->n; i++)
            in->value[i] = old[i] + (side ? -STEP : STEP) * (direction ? direction[i] : (double)(i == at));
        reference_forward(t, r);
        if (side == 0)
            memcpy(ahead, r->y, (size_t)r->n * sizeof *ahead);
    }
    for (int64_t i = 0; i < r->n; i++) {
        sum += r->entering[i] * (ahead[i] - r->y[i]);
        square += r->y[i] * r->y[i];
    }
    memcpy(in->value, old, (size_t)in->n * sizeof *old);
    free(old);
    free(ahead);
    *noise = 16 * 0x1p-53 * sqrt(square) / STEP;
    return sum / (2 * STEP);
}

static void slopes_single(struct slopes *s, struct op_test *t, struct reference *r, int input)
{
    int64_t n = t->in[input].n, most = n > SLOPES_LARGE ? SLOPES_SINGLE_LARGE : SLOPES_SINGLE;
    double square = 0;

    s->n = (int)(n < most ? n : most);
    for (int i = 0; i < s->n; i++) {
        s->at[i] = n <= most ? i : i == 0 ? 0 : i == 1 ? n - 1 : (int64_t)(op_uniform(t) * (double)n);
        s->want[i] = slope(t, r, input, NULL, s->at[i], &s->noise);
        square += s->want[i] * s->want[i];
    }
    s->rms = sqrt(square / s->n);
}

/* Takes the next n random signs. */
static void slopes_signs(struct op_test *t, double *sign, int64_t n)
{
    uint32_t bits = 0; /* a draw has 32 */

    for (int64_t i = 0; i < n; i++) {
        if (i % 32 == 0)
            bits = (uint32_t)(op_uniform(t) * 0x1p32);
        sign[i] = bits >> i % 32 & 1 ? -1 : 1;
    }
}

static void slopes_along(struct slopes *s, struct op_test *t, struct reference *r, int input)
{
    int64_t n = t->in[input].n;
    double *sign = xmalloc((size_t)n * sizeof *sign), square = 0;

    s->signs = t->draws;
    for (int k = 0; k < SLOPES_ALONG; k++) {
        slopes_signs(t, sign, n);
        s->along[k] = slope(t, r, input, sign, 0, &s->noise);
        square += s->along[k] * s->along[k] / SLOPES_ALONG;
    }
    free(sign);
    s->rms = fmax(s->rms, sqrt(square / (double)n)); /* Hutchinson's estimate; single elements may all be zero */
}

/* The identity of a set of slopes; everything else follows from it. */
struct key {
    const struct op_row *row;
    int64_t rows, cols;
    enum dtype dtype, out; /* out: the output's */
    int variant, uses, same, input;
    uint64_t draws;
};

struct kept {
    struct key key;
    struct slopes slopes;
    struct kept *next;
};

static struct kept *find(const struct kept *list, const struct key *key)
{
    while (list && memcmp(&list->key, key, sizeof *key) != 0)
        list = list->next;
    return (struct kept *)list;
}

/* The result is kept until the program ends. */
static const struct slopes *slopes_of(struct op_test *t, struct reference *r, int input)
{
    static struct kept *list;
    struct key key;

    memset(&key, 0, sizeof key);
    key.row = t->row, key.rows = t->rows, key.cols = t->cols, key.dtype = t->dtype, key.out = r->dtype,
    key.variant = t->variant;
    key.uses = r->mode->uses, key.same = r->mode->same, key.input = input, key.draws = t->draws;
    struct kept *kept = find(list, &key);
    if (!kept) {
        kept = xcalloc(1, sizeof *kept);
        kept->key = key;
        kept->next = list;
        list = kept;
        t->draws += (uint64_t)t->dtype << 24; /* not those of the other type */
        slopes_single(&kept->slopes, t, r, input);
        slopes_along(&kept->slopes, t, r, input);
    }
    return &kept->slopes;
}

enum { OUTPUT_UNITS_BF16 = 2, GRADIENT_UNITS_BF16 = 4 };

/* rows and columns; every row of the table runs at all of them */
static const struct {
    int64_t rows, cols;
} sizes[] = { { 0, 33 }, { 1, 1 }, { 1, 1025 }, { 31, 127 }, { 33, 31 }, { 127, 33 }, { 1025, 31 } };
enum { SIZE_OF_DETAILS = 4 }; /* the one for the checks that do not depend on size */
enum { SIZE_OF_MOST = ARRAY_LEN(sizes) - 1 };
enum { VARIANTS_IN_BOTH_TYPES = 4 };

static void setup(struct op_test *t, const struct op_row *row, int size, int variant, enum dtype dtype)
{
    *t = (struct op_test){ .row = row,
                           .rows = sizes[size].rows,
                           .cols = sizes[size].cols,
                           .dtype = dtype,
                           .variant = variant,
                           .rng = { 17, 4, 3, 0 } };
    row->setup(t);
}

static void teardown(struct op_test *t)
{
    for (int i = 0; i < t->n_in; i++)
        free(t->in[i].value);
    for (int i = 0; i < t->n_int_arrays; i++)
        free(t->ints[i]);
}

/* Comparing. */

struct where {
    const struct op_test *t;
    const struct device *d;
    const struct mode *mode;
};

/* For each type, the largest error so far as a share of the tolerance. */
static double nearest[BF16 + 1];

static void compare(const struct where *w, const char *what, int64_t i, double got, double want, double allowed)
{
    double error = fabs(got - want), *most = &nearest[w->t->dtype];

    if (error <= allowed) {
        *most = error > *most * allowed ? error / allowed : *most;
        return;
    }
    fail_msg("%s on %s, %s, [%lld, %lld] variant %d, %d use(s)%s: %s[%lld] is %.9g, expected %.9g within %.2g",
             w->t->row->name, w->d->driver->name, dtype_name(w->t->dtype), (long long)w->t->rows, (long long)w->t->cols,
             w->t->variant, w->mode->uses, w->mode->same ? ", one tensor" : "", what, (long long)i, got, want, allowed);
}

/* The most terms of a sum: no op sums over more than the longest side of its inputs.  A product of two sums has the
 * errors of both. */
static int64_t terms(const struct op_test *t)
{
    int64_t most = t->rows > t->cols ? t->rows : t->cols;

    for (int i = 0; i < t->n_in; i++)
        for (int j = 0; j < t->in[i].ndim; j++)
            most = t->in[i].shape[j] > most ? t->in[i].shape[j] : most;
    return (1 + t->row->rounded_twice) * most;
}

static double unit(const struct op_test *t, enum dtype output, bool gradient)
{
    if (t->dtype == BF16 || output == BF16)
        return (gradient ? GRADIENT_UNITS_BF16 : OUTPUT_UNITS_BF16 + t->row->rounded_twice) * 0x1p-8;
    return (gradient ? 2 : 1) * (16 + 2 * sqrt((double)terms(t))) * 0x1p-24;
}

static double rms_of(const double *x, int64_t n)
{
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return n ? sqrt(square / (double)n) : 0;
}

/* The size that errors of the output are relative to: that of the sums where the row tells them, else its own. */
static double output_rms(const struct op_test *t, const struct reference *r)
{
    if (!t->row->sums)
        return rms_of(r->y, r->n);
    double *sums = xcalloc((size_t)r->n + 1, sizeof *sums);
    t->row->sums(t, r->x, sums);
    double rms = rms_of(sums, r->n);
    free(sums);
    return rms;
}

static void check_output(const struct where *w, const struct outcome *out, const struct reference *r)
{
    double rms = output_rms(w->t, r);

    for (int64_t i = 0; i < r->n; i++)
        compare(w, "y", i, out->y[i], r->y[i], unit(w->t, r->dtype, false) * (fabs(r->y[i]) + rms));
}

static void check_along(const struct where *w, struct op_test *t, int input, const struct slopes *s, const double *got,
                        double allowed)
{
    int64_t n = t->in[input].n;
    double *sign = xmalloc((size_t)n * sizeof *sign);
    char what[48];

    snprintf(what, sizeof what, "input %d along direction", input);
    t->draws = s->signs;
    for (int k = 0; k < SLOPES_ALONG; k++) {
        double along = 0;
        slopes_signs(t, sign, n);
        for (int64_t i = 0; i < n; i++)
            along += sign[i] * got[i];
        compare(w, what, k, along, s->along[k], allowed);
    }
    free(sign);
}

/* The root mean square of the whole gradient: the reference's estimate, or that of the numbers from the device.  A
 * wrong number raises the tolerance by a small part of its error only. */
static double gradient_rms(const struct slopes *s, const double *got, int64_t n)
{
    double rms = rms_of(got, n);
    return isfinite(rms) ? fmax(s->rms, rms) : s->rms;
}

static void check_gradient(const struct where *w, struct op_test *t, struct reference *r, int input, const double *got)
{
    char what[48];

    if (!t->in[input].n)
        return;
    const struct slopes *s = slopes_of(t, r, input);
    double tolerance = unit(t, r->dtype, true), rms = gradient_rms(s, got, t->in[input].n);
    snprintf(what, sizeof what, "gradient of input %d", input);
    for (int i = 0; i < s->n; i++)
        compare(w, what, s->at[i], got[s->at[i]], s->want[i], tolerance * (fabs(s->want[i]) + rms) + s->noise);
    check_along(w, t, input, s, got, 2 * tolerance * rms * sqrt((double)t->in[input].n) + s->noise);
}

static struct outcome check_against_reference(struct device *d, struct op_test *t, const struct mode *mode)
{
    struct where w = { t, d, mode };
    struct outcome out = op_run(d, t, mode);
    struct reference r = reference_new(t, mode, &out);

    reference_forward(t, &r);
    if (mode->uses == 1)
        check_output(&w, &out, &r);
    for (int i = 0; i < t->n_in; i++)
        if (out.grad[i])
            check_gradient(&w, t, &r, i, out.grad[i]);
        else
            assert_true(t->in[i].constant || (mode->same && i == 1) || !out.recorded);
    reference_release(&r);
    return out;
}

/* Everything but the numbers. */

static bool is_simt(const struct device *d)
{
    return strcmp(d->driver->name, "simt") == 0;
}

/* simt draws its orders from the next seed, and fills memory that holds nothing with its other value. */
static void next_seed(struct device *d)
{
    char text[32];
    struct error err;

    if (!is_simt(d))
        return;
    snprintf(text, sizeof text, "%ld", strtol(getenv("AMBIT_SIMT_SEED"), NULL, 10) + 1);
    setenv("AMBIT_SIMT_SEED", text, 1);
    d->driver->close(d);
    assert_int_equal(d->driver->open(d, 0, &err), 0);
}

static void check_again(struct device *d, struct op_test *t, const struct mode *mode, uint64_t bits)
{
    int threads = omp_get_max_threads();

    next_seed(d);
    omp_set_num_threads(threads == 1 ? 2 : 1);
    struct outcome again = op_run(d, t, mode);
    omp_set_num_threads(threads);
    if (again.bits != bits)
        fail_msg("%s on %s, %s: a second run gives other bits", t->row->name, d->driver->name, dtype_name(t->dtype));
    outcome_release(&again);
}

/* One wanted gradient at a time: the others stay away, and the number does not change. */
static void check_wants(struct device *d, struct op_test *t, const struct outcome *all)
{
    for (int i = 0; i < t->n_in; i++) {
        struct mode mode = { .wants = 1u << i, .uses = 1 };
        struct outcome one = op_run(d, t, &mode);

        for (int j = 0; j < t->n_in; j++) {
            if (j != i || t->in[j].constant)
                assert_null(one.grad[j]);
            else
                assert_memory_equal(one.grad[j], all->grad[j], (size_t)t->in[j].n * sizeof *one.grad[j]);
        }
        outcome_release(&one);
    }
    struct mode none = { .wants = 0, .uses = 1 };
    struct outcome frozen = op_run(d, t, &none);
    assert_false(frozen.recorded);
    outcome_release(&frozen);
}

/* Equal numbers; a zero's sign may differ, since the gradients of a block start from zero. */
static void assert_equal(const struct op_test *t, const double *a, const double *b, int64_t n)
{
    assert_int_equal(a == NULL, b == NULL);
    for (int64_t i = 0; a && i < n; i++)
        if (a[i] != b[i])
            fail_msg("%s, %s, variant %d: [%lld] is %.9g when checkpointed, %.9g plain", t->row->name,
                     dtype_name(t->dtype), t->variant, (long long)i, b[i], a[i]);
}

static void check_checkpoint(struct device *d, struct op_test *t, const struct outcome *base)
{
    struct mode mode = { .wants = ~0u, .uses = 1, .base = base };
    struct outcome plain = op_run(d, t, &mode);

    mode.checkpointed = true;
    struct outcome kept = op_run(d, t, &mode);
    assert_equal(t, plain.y, kept.y, plain.n);
    for (int i = 0; i < t->n_in; i++)
        assert_equal(t, plain.grad[i], kept.grad[i], t->in[i].n);
    outcome_release(&plain);
    outcome_release(&kept);
}

static void check_details(struct device *d, struct op_test *t, const struct outcome *out)
{
    struct mode twice = { .wants = ~0u, .uses = 2 };

    check_checkpoint(d, t, out);
    check_wants(d, t, out);
    struct outcome o = check_against_reference(d, t, &twice);
    outcome_release(&o);
    if (t->row->same_twice) {
        struct mode same = { .wants = ~0u, .same = true, .uses = 1 };
        o = check_against_reference(d, t, &same);
        outcome_release(&o);
    }
}

/* Variants after the first run once on simt, which is slow, and skip the details there. */
static bool is_slow(const struct device *d, int variant)
{
    return variant > 0 && is_simt(d) && !test_all();
}

/* simt does not run the largest size.  Sizes 1 and 2, and 3 and 4, are pairs: on simt, a variant after the first runs
 * one size of each pair.  It runs in one type, by the parity of its bits, since a bit often stands for one feature.  On
 * the CPU the first variants run the smaller sizes in both types. */
static bool in_turn(const struct device *d, const struct op_row *row, int size, int variant, enum dtype dtype)
{
    bool type = row->f32_only || (__builtin_parity((unsigned)variant) == 0) == (dtype == F32);

    if (test_all() || strcmp(d->driver->name, "cuda") == 0)
        return true;
    if (!is_simt(d))
        return type || (variant < VARIANTS_IN_BOTH_TYPES && size != SIZE_OF_MOST) || variant == 0;
    if (size == SIZE_OF_MOST || variant == 0)
        return size != SIZE_OF_MOST;
    return type && (size == 0 || size > 4 || size % 2 == variant / 2 % 2);
}

static void check_numbers(struct device *d, struct op_test *t, const struct mode *once, int size)
{
    struct outcome out = check_against_reference(d, t, once);

    if (!is_slow(d, t->variant))
        check_again(d, t, once, out.bits);
    if (size == SIZE_OF_DETAILS && !is_slow(d, t->variant))
        check_details(d, t, &out);
    outcome_release(&out);
}

/* Appends the bits of two runs to the file.  A case with further checks appends the word
 * details instead, since bits do not cover them. */
static void write_bits(struct device *d, struct op_test *t, const struct mode *once, const char *path, bool details)
{
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    for (int run = 0; run < 2; run++) {
        struct outcome out = op_run(d, t, once);
        fprintf(f, details ? "details\n" : "%016llx\n", (unsigned long long)out.bits);
        outcome_release(&out);
        next_seed(d);
    }
    fclose(f);
}

static void check_case(const struct op_row *row, struct device *d, int size, int variant, enum dtype dtype)
{
    struct mode once = { .wants = ~0u, .uses = 1 };
    struct op_test t;

    const char *bits = getenv("AMBIT_OPS_BITS");

    next_seed(d);
    setup(&t, row, size, variant, dtype);
    if (bits) {
        write_bits(d, &t, &once, bits, size == SIZE_OF_DETAILS);
    } else if (getenv("AMBIT_OPS_ONCE")) {
        struct outcome out = op_run(d, &t, &once);
        outcome_release(&out);
    } else {
        check_numbers(d, &t, &once, size);
    }
    teardown(&t);
}

long op_cases;

static bool wanted(void)
{
    const char *only = getenv("AMBIT_OPS_CASE");
    long number = op_cases++;

    return !only || strtol(only, NULL, 10) == number;
}

static void tell_nearest(const struct op_row *row, const struct device *d)
{
    if (getenv("AMBIT_OPS_NEAREST"))
        printf("%s on %s: at most %.2f of what is allowed in f32, %.2f in bf16\n", row->name, d->driver->name,
               nearest[F32], nearest[BF16]);
    memset(nearest, 0, sizeof nearest);
}

void op_check(const struct op_row *row, struct device *d, const char *type)
{
    for (enum dtype dtype = F32; dtype <= (row->f32_only ? F32 : BF16); dtype++)
        for (int variant = 0; variant < row->variants; variant++)
            for (int size = 0; size < ARRAY_LEN(sizes) && (!type || strcmp(type, dtype_name(dtype)) == 0); size++)
                if (wanted() && in_turn(d, row, size, variant, dtype))
                    check_case(row, d, size, variant, dtype);
    tell_nearest(row, d);
}

/* The main function of a table. */

static struct device device;
static const char *type; /* of those checked, NULL: all */

static void check_row(void **state)
{
    op_check(*state, &device, type);
}

/* The rows whose name contains `wanted` (NULL: all), on one device.  Returns how many failed. */
static int check_device(const struct op_row *rows, int n_rows, const char *name, const char *wanted)
{
    struct CMUnitTest *tests = xcalloc((size_t)n_rows, sizeof *tests);
    size_t n = 0;

    for (int i = 0; i < n_rows; i++)
        if (!wanted || strstr(rows[i].name, wanted))
            tests[n++] = (struct CMUnitTest){ rows[i].name, check_row, NULL, NULL, (void *)(uintptr_t)&rows[i] };
    int failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    free(tests);
    return failed;
}

int op_main(const struct op_row *rows, int n, int argc, char **argv)
{
    static const char *const names[] = { "cpu", "simt", "cuda" };
    struct error err;
    int failed = 0;

    type = argc > 3 ? argv[3] : NULL;
    if (type && strcmp(type, "f32") != 0 && strcmp(type, "bf16") != 0) {
        printf("expected f32 or bf16, got '%s'\n", type);
        return 2;
    }
    test_choose_seed(); /* op_check counts up from it */
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        if (argc > 1 && strcmp(argv[1], names[i]) != 0)
            continue;
        if (device_open(&device, names[i], &err)) {
            printf("%s: left out: %s\n", names[i], err.text);
            failed += argc > 1;
            continue;
        }
        printf("%s: %s\n", names[i], device.description);
        failed += check_device(rows, n, names[i], argc > 2 ? argv[2] : NULL);
        device_close(&device);
    }
    if (getenv("AMBIT_OPS_CASE"))
        printf("of %ld cases\n", op_cases);
    return failed != 0;
}
