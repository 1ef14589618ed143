#include "tests/support/op_test.h"

#include "kernels/device.h"
#include "tests/support/op_reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_UNITS_BF16 = 2, GRADIENT_UNITS_BF16 = 4 };

/* rows and columns; every row of the table runs at all of them */
static const struct {
    int64_t rows, cols;
} sizes[] = { { 0, 33 }, { 1, 1 }, { 1, 1025 }, { 31, 127 }, { 33, 31 }, { 127, 33 }, { 1025, 31 } };
enum { SIZE_OF_DETAILS = 4 }; /* the one for the checks that do not depend on size */
enum { SIZE_OF_MOST = ARRAY_LEN(sizes) - 1 };

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

static bool wants_all(void)
{
    return getenv("AMBIT_OPS_ALL") != NULL;
}

/* Variants after the first skip the details on simt, which is slow. */
static bool is_slow(const struct device *d, int variant)
{
    return variant > 0 && is_simt(d);
}

/* Sizes 1 and 2, and 3 and 4, are pairs.  On simt, a variant after the first runs one size of each pair, and not the
 * largest size.  It runs in one type: the even variants in F32, the odd ones in BF16. */
static bool in_turn(const struct device *d, const struct op_row *row, int size, int variant, enum dtype dtype)
{
    bool type = row->f32_only || (variant % 2 == 0) == (dtype == F32);

    if (variant == 0 || wants_all() || strcmp(d->driver->name, "cuda") == 0)
        return true;
    if (!is_simt(d))
        return size != SIZE_OF_MOST || type;
    return type && size != SIZE_OF_MOST && (size == 0 || size > 4 || size % 2 == variant / 2 % 2);
}

static void check_numbers(struct device *d, struct op_test *t, const struct mode *once, int size)
{
    struct outcome out = check_against_reference(d, t, once);

    if (size != SIZE_OF_MOST || !is_slow(d, t->variant))
        check_again(d, t, once, out.bits);
    if (size == SIZE_OF_DETAILS && (wants_all() || !is_slow(d, t->variant)))
        check_details(d, t, &out);
    outcome_release(&out);
}

/* Appends the bits of two runs to the file.  A case with more checks appends a word instead, since bits are not all. */
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
