#include "models/net/start_values.h"

#include <stdlib.h>

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
