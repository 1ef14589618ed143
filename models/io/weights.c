#include "models/io/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* minimum size of a matrix that is shortened; minimum size for several threads; largest int8 magnitude */
enum { MIN_SIZE = 4096, SHARED_FROM = 1 << 16, MAX_INT8 = 127 };

const char *const weights_words[] = { "f32", "bf16", "int8", NULL };

static void describe(struct weights_tensor *out, const char *group, const struct param *p, enum hdf5_type type)
{
    int n = snprintf(out->name, sizeof out->name, "%s%s", group, p->name);

    CHECK(n < HDF5_MAX_NAME && !strchr(p->name, '/') && p->t->ndim <= HDF5_MAX_DIMS, "tensor name %s", p->name);
    out->tensor = (struct hdf5_tensor){ .name = out->name, .type = type, .ndim = p->t->ndim };
    for (int d = 0; d < p->t->ndim; d++)
        out->tensor.shape[d] = p->t->shape[d];
}

/* Describes the scales of an int8 matrix, one per row. */
static void describe_scales(struct weights_tensor *out, const struct param *p)
{
    describe(out, WEIGHTS_SCALE, p, HDF5_F32);
    out->tensor.ndim = 1;
    for (int d = 1; d < HDF5_MAX_DIMS; d++)
        out->tensor.shape[d] = 0;
}

/* ---- writing ---- */

static void quantise_row(int8_t *q, float *scale, const float *w, int64_t n)
{
    float largest = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(w[i]));
    *scale = largest / MAX_INT8 > 0 ? largest / MAX_INT8 : 1; /* rows that are zero, or too small for a scale */
    for (int64_t i = 0; i < n; i++)
        q[i] = (int8_t)fminf(fmaxf(rintf(w[i] / *scale), -MAX_INT8), MAX_INT8);
}

/* Quantises w [rows, columns] to q [rows, columns] and scale [rows]. A row of zeros has the scale 1. */
static void quantise(int8_t *q, float *scale, const float *w, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static) if (rows * columns >= SHARED_FROM)
    for (int64_t row = 0; row < rows; row++)
        quantise_row(q + row * columns, scale + row, w + row * columns, columns);
}

static int put_bf16(struct hdf5_writer *w, const struct param *p, const float *values, struct error *err)
{
    struct weights_tensor t;
    int64_t n = tensor_size(p->t);
    uint16_t *half = xmalloc((size_t)n * sizeof *half);

    describe(&t, WEIGHTS_PARAM, p, HDF5_BF16);
    for (int64_t i = 0; i < n; i++)
        half[i] = bf16_from_f32(values[i]);
    int rc = hdf5_put(w, &t.tensor, half, err);
    free(half);
    return rc;
}

static int put_int8(struct hdf5_writer *w, const struct param *p, const float *values, struct error *err)
{
    struct weights_tensor t, s;
    int64_t rows = p->t->shape[0], columns = p->t->shape[1];
    int8_t *q = xmalloc((size_t)(rows * columns));
    float *scale = xmalloc((size_t)rows * sizeof *scale);

    describe(&t, WEIGHTS_PARAM, p, HDF5_I8);
    describe_scales(&s, p);
    quantise(q, scale, values, rows, columns);
    int rc = hdf5_put(w, &t.tensor, q, err) || hdf5_put(w, &s.tensor, scale, err) ? -1 : 0;
    free(scale);
    free(q);
    return rc;
}

static int check_finite(const struct param *p, const float *values, struct error *err)
{
    for (int64_t i = 0; i < tensor_size(p->t); i++)
        if (!isfinite(values[i]))
            return error_set(err, EXIT_CODE_DATA, "%s: expected finite weights, got %g at place %lld", p->name,
                             (double)values[i], (long long)i);
    return 0;
}

int weights_put(struct hdf5_writer *w, const struct param *p, const float *values, enum weights_type stored,
                struct error *err)
{
    struct weights_tensor whole;

    describe(&whole, WEIGHTS_PARAM, p, HDF5_F32);
    if (stored == WEIGHTS_F32 || p->t->ndim != 2 || tensor_size(p->t) < MIN_SIZE)
        return hdf5_put(w, &whole.tensor, values, err);
    if (check_finite(p, values, err))
        return -1;
    return stored == WEIGHTS_BF16 ? put_bf16(w, p, values, err) : put_int8(w, p, values, err);
}

/* ---- reading ---- */

static enum hdf5_type type_of(const struct hdf5_reader *r, const char *name)
{
    char full[HDF5_MAX_NAME];

    snprintf(full, sizeof full, WEIGHTS_PARAM "%s", name);
    const struct hdf5_tensor *t = hdf5_find(r, full);
    return t ? t->type : HDF5_F32;
}

bool weights_scaled(const struct hdf5_reader *r, const char *name)
{
    return type_of(r, name) == HDF5_I8;
}

int weights_tensors(const struct hdf5_reader *r, const struct param *p, struct weights_tensor out[2])
{
    enum hdf5_type type = type_of(r, p->name);
    bool scaled = type == HDF5_I8 && p->t->ndim == 2;

    describe(&out[0], WEIGHTS_PARAM, p, scaled || type == HDF5_BF16 ? type : HDF5_F32);
    if (scaled)
        describe_scales(&out[1], p);
    return scaled ? 2 : 1;
}

static int get_bf16(const struct hdf5_reader *r, const struct hdf5_tensor *t, float *values, struct error *err)
{
    int64_t n = hdf5_tensor_size(t);
    uint16_t *half = xmalloc((size_t)n * sizeof *half);
    int rc = hdf5_get(r, t, half, NULL, err);

    for (int64_t i = 0; i < n && rc == 0; i++)
        values[i] = f32_from_bf16(half[i]);
    free(half);
    return rc;
}

static int check_scales(const struct hdf5_reader *r, const struct hdf5_tensor *t, const float *scale, struct error *err)
{
    for (int64_t row = 0; row < t->shape[0]; row++)
        if (!(scale[row] > 0 && isfinite(scale[row] * INT8_MIN)))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: row %lld: expected a finite scale above zero, got %g",
                             r->path, t->name, (long long)row, (double)scale[row]);
    return 0;
}

static void dequantise(float *w, const int8_t *q, const float *scale, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static) if (rows * columns >= SHARED_FROM)
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = row * columns; i < (row + 1) * columns; i++)
            w[i] = scale[row] * (float)q[i];
}

static int get_int8(const struct hdf5_reader *r, const struct weights_tensor t[2], float *values, struct error *err)
{
    const struct hdf5_tensor *numbers = &t[0].tensor, *scales = &t[1].tensor;
    int64_t rows = numbers->shape[0], columns = numbers->shape[1];
    int8_t *q = xmalloc((size_t)(rows * columns));
    float *scale = xmalloc((size_t)rows * sizeof *scale);
    int rc = hdf5_get(r, numbers, q, NULL, err) || hdf5_get(r, scales, scale, NULL, err) ||
                     check_scales(r, scales, scale, err)
                 ? -1
                 : 0;

    if (rc == 0)
        dequantise(values, q, scale, rows, columns);
    free(scale);
    free(q);
    return rc;
}

int weights_get(const struct hdf5_reader *r, const struct param *p, float *values, struct error *err)
{
    struct weights_tensor t[2];

    if (weights_tensors(r, p, t) == 2)
        return get_int8(r, t, values, err);
    return t[0].tensor.type == HDF5_BF16 ? get_bf16(r, &t[0].tensor, values, err)
                                         : hdf5_get(r, &t[0].tensor, values, NULL, err);
}
