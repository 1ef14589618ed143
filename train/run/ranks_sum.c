/* Part of ranks.h: sums of gradients, a bucket at a time, on the host or on devices that are linked. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKET = 1 << 22 /* numbers of all ranks together */, POLL_US = 20 };

/* A place in the gradients of all that is trained, one behind the other. */
struct gradient_place {
    int param;
    int64_t at;
};

/* Between elements [at, at + n) of a gradient and as many of a bucket. */
typedef void copy_fn(struct run *r, const struct tensor *gradient, int64_t at, float *bucket, int64_t n);

static void *element(const struct tensor *t, int64_t at)
{
    return (float *)t->data + at;
}

static void download(struct run *r, const struct tensor *gradient, int64_t at, float *bucket, int64_t n)
{
    r->device.driver->download(&r->device, bucket, element(gradient, at), (size_t)n * sizeof *bucket);
}

static void upload(struct run *r, const struct tensor *gradient, int64_t at, float *bucket, int64_t n)
{
    r->device.driver->upload(&r->device, element(gradient, at), bucket, (size_t)n * sizeof *bucket);
}

/* y (+)= x, n numbers of the device's */
static void put(struct run *r, float *y, float *x, int64_t n, bool add)
{
    struct tensor to = { .dtype = F32, .ndim = 1, .shape = { n }, .data = y }, from = to;

    from.data = x;
    r->device.driver->kernels->accumulate(&r->work.ctx, (struct destination){ &to, add }, &from);
}

static void fetch(struct run *r, const struct tensor *gradient, int64_t at, float *bucket, int64_t n)
{
    put(r, bucket, element(gradient, at), n, false);
}

static void store(struct run *r, const struct tensor *gradient, int64_t at, float *bucket, int64_t n)
{
    put(r, element(gradient, at), bucket, n, false);
}

/* The next numbers, at most n of them; returns how many there were. */
static int64_t walk(struct run *r, struct gradient_place *p, float *bucket, int64_t n, copy_fn *copy)
{
    int64_t done = 0;

    for (; p->param < r->params->n && done < n; p->param++, p->at = 0) {
        const struct tensor *t = r->params->list[p->param].t;
        int64_t left = t->needs_grad ? tensor_size(t) - p->at : 0, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(r, t->grad, p->at, bucket + done, some);
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

static int sum_on_host(struct run *r, int64_t n, int64_t slice, struct error *err)
{
    struct ranks *x = &r->ranks;
    size_t bytes = (size_t)slice * sizeof(float);

    memset(x->out + n, 0, (size_t)(slice * x->all.size - n) * sizeof(float));
    if (collective_exchange(&x->all, x->in, x->out, bytes, err))
        return -1;
    add_in_order(x->out, x->in, x->all.size, slice);
    return collective_gather(&x->all, x->in, x->out, bytes, err);
}

/* The same, queued: one addition after the other.  Numbers behind the n are of earlier buckets and go nowhere. */
static int sum_on_devices(struct run *r, int64_t slice, struct error *err)
{
    struct ranks *x = &r->ranks;
    size_t bytes = (size_t)slice * sizeof(float);

    if (x->links->exchange(&r->device, x->in, x->out, bytes, err))
        return -1;
    for (int k = 0; k < x->all.size; k++)
        put(r, x->out, x->in + k * slice, slice, k > 0);
    return x->links->gather(&r->device, x->in, x->out, bytes, err);
}

/* Each rank adds up a slice, the n numbers of `out` being cut into as many slices as there are ranks, and all take all
 * slices. */
static int sum_bucket(struct run *r, int64_t n, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t size = x->all.size, slice = (n + size - 1) / size;

    x->bytes += 2 * (size - 1) * slice * (int64_t)sizeof(float);
    return x->links ? sum_on_devices(r, slice, err) : sum_on_host(r, n, slice, err);
}

/* Until the device has done what is queued. */
static int wait_for_links(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int rc = 0;

    while (x->links && (rc = x->links->poll(&r->device, err)) > 0) {
        if (collective_look(&x->all, err))
            return -1;
        usleep(POLL_US);
    }
    if (rc)
        x->all.lost = x->all.size;
    return rc;
}

static void take_buckets(struct ranks *x)
{
    size_t most = (size_t)(BUCKET + x->all.size) * sizeof(float);

    if (x->in)
        return;
    x->in = xmalloc(most);
    x->out = xmalloc(most);
}

int ranks_link(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t most = BUCKET + x->all.size;

    if (ranks_open_links(r, err))
        return -1;
    if (!x->links)
        return 0;
    if (device_arena(&r->device, &x->memory, 2 * (size_t)most * sizeof(float) + ARENA_ALIGN, err))
        return -1;
    x->in = arena_alloc(&x->memory, (size_t)most * sizeof(float));
    x->out = arena_alloc(&x->memory, (size_t)most * sizeof(float));
    return 0;
}

int ranks_sum(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    struct gradient_place from = { 0 }, to = { 0 };
    double start = now_seconds();

    take_buckets(x);
    for (int64_t n; (n = walk(r, &from, x->out, BUCKET, x->links ? fetch : download)) > 0;) {
        if (sum_bucket(r, n, err))
            return -1;
        walk(r, &to, x->in, n, x->links ? store : upload);
    }
    int rc = wait_for_links(r, err);
    x->summed += now_seconds() - start;
    return rc;
}
