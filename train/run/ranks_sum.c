/* Part of ranks.h: sums of gradients, a bucket at a time. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKET = 1 << 22 /* numbers of all ranks together */ };

/* A place in the gradients of all that is trained, one behind the other. */
struct gradient_place {
    int param;
    int64_t at;
};

typedef void copy_fn(struct device *d, char *gradient, float *host, size_t bytes);

static void fetch(struct device *d, char *gradient, float *host, size_t bytes)
{
    d->driver->download(d, host, gradient, bytes);
}

static void put(struct device *d, char *gradient, float *host, size_t bytes)
{
    d->driver->upload(d, gradient, host, bytes);
}

/* The next numbers, at most n of them; returns how many there were. */
static int64_t walk(struct run *r, struct gradient_place *p, float *host, int64_t n, copy_fn *copy)
{
    int64_t done = 0;

    for (; p->param < r->params->n && done < n; p->param++, p->at = 0) {
        const struct tensor *t = r->params->list[p->param].t;
        int64_t left = t->needs_grad ? tensor_size(t) - p->at : 0, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(&r->device, (char *)t->grad->data + (size_t)p->at * sizeof *host, host + done,
                 (size_t)some * sizeof *host);
        done += some;
        p->at += some;
        if (some < left)
            break;
    }
    return done;
}

/* out [slice] = in [0] + in [1] + ... of in [size, slice] */
static void add_in_order(float *out, const float *in, int size, int64_t slice)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < slice; i++) {
        float sum = in[i];
        for (int k = 1; k < size; k++)
            sum += in[k * slice + i];
        out[i] = sum;
    }
}

/* Each rank adds up a slice, the n numbers of `out` being cut into as many slices as there are ranks, and all take all
 * slices. */
static int sum_bucket(struct run *r, int64_t n, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t size = x->all.size, slice = (n + size - 1) / size;
    size_t bytes = (size_t)slice * sizeof(float);

    memset(x->out + n, 0, (size_t)(slice * size - n) * sizeof(float));
    if (collective_exchange(&x->all, x->in, x->out, bytes, err))
        return -1;
    add_in_order(x->out, x->in, x->all.size, slice);
    x->bytes += 2 * (size - 1) * (int64_t)bytes;
    return collective_gather(&x->all, x->in, x->out, bytes, err);
}

int ranks_sum(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    struct gradient_place from = { 0 }, to = { 0 };
    double start = now_seconds();
    size_t most = (size_t)(BUCKET + x->all.size) * sizeof(float);

    if (!x->in) {
        x->in = xmalloc(most);
        x->out = xmalloc(most);
    }
    for (int64_t n; (n = walk(r, &from, x->out, BUCKET, fetch)) > 0;) {
        if (sum_bucket(r, n, err))
            return -1;
        walk(r, &to, x->in, n, put);
    }
    x->summed += now_seconds() - start;
    return 0;
}
