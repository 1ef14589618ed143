#include "models/net/param_builder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void param_part(struct param_builder *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(b->part, sizeof b->part, fmt, ap);
    va_end(ap);
    CHECK(n >= 0 && (size_t)n < sizeof b->part, "a part's name of %d characters", n);
}

struct tensor *param_matrix(const struct param_builder *b, int64_t rows, int64_t cols, const char *name)
{
    int64_t shape[2] = { rows, cols };
    float std = b->init_std >= 0 ? b->init_std : sqrtf(2.0f / (float)(rows + cols));

    return param_new(b->p, b->a, b->dtype, 2, shape, std, PARAM_DECAY | b->flags, "%s%s", b->part, name);
}

struct tensor *param_embedding(const struct param_builder *b, int64_t rows, int64_t cols, const char *name)
{
    struct param_builder table = *b;

    table.flags |= PARAM_EMBEDDING;
    return param_matrix(&table, rows, cols, name);
}

struct tensor *param_vector(const struct param_builder *b, int64_t n, float init, const char *name)
{
    return param_new(b->p, b->a, F32, 1, &n, init, b->flags, "%s%s", b->part, name);
}

struct tensor *param_bias(const struct param_builder *b, int64_t n, const char *name)
{
    struct param_builder bias = *b;

    if (b->dtype == BF16)
        bias.flags |= PARAM_BIAS;
    return param_vector(&bias, n, 0, name);
}

static struct param *find(const struct params *p, const struct tensor *t)
{
    int i = 0;

    while (i < p->n && p->list[i].t != t)
        i++;
    CHECK(i < p->n, "a weight that is no parameter");
    return p->list + i;
}

float *start_values(const struct params *p, const struct tensor *t, struct device *d)
{
    float *x = xmalloc((size_t)tensor_size(t) * sizeof *x);

    param_download(find(p, t), d, x);
    return x;
}

void start_upload(const struct params *p, const struct tensor *t, struct device *d, float *values)
{
    param_upload(find(p, t), d, values);
    free(values);
}
