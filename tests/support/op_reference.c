#include "tests/support/op_reference.h"

#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 1e-8 /* of the central differences: short, since ReLU has a corner that should not lie inside */

void reference_forward(struct op_test *t, struct reference *r)
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

struct reference reference_new(struct op_test *t, const struct mode *mode, const struct outcome *out)
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

void reference_release(struct reference *r)
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

void slopes_signs(struct op_test *t, double *sign, int64_t n)
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

const struct slopes *slopes_of(struct op_test *t, struct reference *r, int input)
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
