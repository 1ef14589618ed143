/* Part of ranks.h: sums of gradients, a bucket at a time: on the host, beside the backward where kernels are done when
 * they return; or on devices that are linked. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_US = 20, LOOK_US = 1000, STRETCH = 1 << 12 };

static void *element(const struct param *p, int64_t at)
{
    return (float *)p->t->grad->data + at;
}

static void download(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    struct run *r = run;
    r->device.driver->download(&r->device, bucket, element(p, at), (size_t)n * sizeof *bucket);
}

static void upload(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    struct run *r = run;
    r->device.driver->upload(&r->device, element(p, at), bucket, (size_t)n * sizeof *bucket);
}

/* y (+)= x, n numbers of the device's */
static void put(struct run *r, float *y, float *x, int64_t n, bool add)
{
    struct tensor to = { .dtype = F32, .ndim = 1, .shape = { n }, .data = y }, from = to;

    from.data = x;
    r->device.driver->kernels->accumulate(&r->work.ctx, (struct destination){ &to, add }, &from);
}

static void fetch(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    put(run, bucket, element(p, at), n, false);
}

static void store(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    put(run, element(p, at), bucket, n, false);
}

/* out [slice] = in [0] + in [1] + ... of in [size, slice]; one thread, since others may compute */
static void add_in_order(float *out, const float *in, int size, int64_t slice)
{
    for (int64_t at = 0; at < slice; at += STRETCH) {
        int64_t end = slice - at < STRETCH ? slice : at + STRETCH;
        memcpy(out + at, in + at, (size_t)(end - at) * sizeof *out);
        for (int k = 1; k < size; k++)
            for (int64_t i = at; i < end; i++)
                out[i] += in[k * slice + i];
    }
}

static int sum_on_host(struct ranks *x, struct collective *all, int64_t n, int64_t slice, struct error *err)
{
    size_t bytes = (size_t)slice * sizeof(float);

    memset(x->out + n, 0, (size_t)(slice * all->size - n) * sizeof(float));
    if (collective_exchange(all, x->in, x->out, bytes, err))
        return -1;
    add_in_order(x->out, x->in, all->size, slice);
    return collective_gather(all, x->in, x->out, bytes, err);
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

/* The next bucket: each rank adds up a slice, its numbers being cut into as many slices as there are ranks, and all
 * take all slices. */
static int sum_bucket(struct run *r, struct collective *all, int bucket, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t n = buckets_numbers(&x->buckets, bucket), size = all->size, slice = (n + size - 1) / size;

    buckets_walk(&x->buckets, &x->from, x->out, n, x->links ? fetch : download, r);
    if (x->links ? sum_on_devices(r, slice, err) : sum_on_host(x, all, n, slice, err))
        return -1;
    buckets_walk(&x->buckets, &x->to, x->in, n, x->links ? store : upload, r);
    x->bytes += 2 * (size - 1) * slice * (int64_t)sizeof(float);
    return 0;
}

int ranks_wait_links(struct run *r, struct error *err)
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

static size_t bucket_bytes(const struct ranks *x)
{
    return (size_t)(BUCKET_MOST + x->all.size) * sizeof(float);
}

/* Ranks that ended since the last step tell so where the others begin to sum. */
static int look_who_comes(struct ranks *x, struct error *err)
{
    const struct rank_note note = { 0 };

    return collective_gather(&x->own, x->come, &note, sizeof note, err) ? -1 : ranks_heed(x, x->come, err);
}

/* The first piece of a step's sums, then each bucket. */
static int sum_in_thread(void *run, int piece, struct error *err)
{
    struct run *r = run;
    struct ranks *x = &r->ranks;
    double start = now_seconds();

    if (piece == 0)
        return look_who_comes(x, err);
    int rc = sum_bucket(r, &x->own, piece - 1, err);
    x->summed += now_seconds() - start;
    return rc;
}

/* Where kernels are done when they return, and nothing replays them as a whole, gradients may be read as they come. */
static void start_thread(struct run *r)
{
    struct ranks *x = &r->ranks;

    if (x->all.size < 2 || r->device.driver->capture_begin)
        return;
    x->own = x->all;
    x->own.waiting = NULL;
    order_thread_start(&x->thread, sum_in_thread, r);
}

int ranks_link(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;

    if (ranks_open_links(r, err))
        return -1;
    if (!x->links) {
        start_thread(r);
        return 0;
    }
    if (device_arena(&r->device, &x->memory, 2 * bucket_bytes(x) + ARENA_ALIGN, err))
        return -1;
    x->in = arena_alloc(&x->memory, bucket_bytes(x));
    x->out = arena_alloc(&x->memory, bucket_bytes(x));
    return 0;
}

/* All that a step's sums begin with. */
static void set_buckets(struct run *r)
{
    struct ranks *x = &r->ranks;

    buckets_set(&x->buckets, r->params);
    x->from = x->to = (struct bucket_place){ 0 };
    if (x->in)
        return;
    x->in = xmalloc(bucket_bytes(x));
    x->out = xmalloc(bucket_bytes(x));
}

int ranks_sum(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    double start = now_seconds();

    set_buckets(r);
    for (int i = 0; i < x->buckets.n; i++)
        if (sum_bucket(r, &x->all, i, err))
            return -1;
    int rc = ranks_wait_links(r, err);
    x->summed += now_seconds() - start;
    x->exposed = x->summed;
    return rc;
}

bool ranks_overlap(const struct run *r)
{
    return r->ranks.thread.running;
}

/* A gradient of the last backward. */
static void note_final(void *run, int param)
{
    struct ranks *x = &((struct run *)run)->ranks;
    int ready = x->buckets.ready;

    buckets_note(&x->buckets, param);
    if (x->buckets.ready > ready)
        order_thread_allow(&x->thread, 1 + x->buckets.ready);
}

void ranks_sum_begin(struct run *r)
{
    struct ranks *x = &r->ranks;

    set_buckets(r);
    grad_watch_release(&x->watch);
    grad_watch_init(&x->watch, r->params, note_final, r);
    order_thread_round(&x->thread, 1 + x->buckets.n);
    order_thread_allow(&x->thread, 1);
}

void ranks_last(struct run *r)
{
    if (ranks_overlap(r))
        r->work.ctx.watch = &r->ranks.watch;
}

int ranks_sum_end(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    double start = now_seconds();

    r->work.ctx.watch = NULL;
    order_thread_allow(&x->thread, 1 + x->buckets.n);
    while (!order_thread_wait(&x->thread, LOOK_US))
        collective_look(&x->all, NULL); /* the thread sees a rank that is lost, and ends its round */
    int rc = order_thread_result(&x->thread, err);
    x->exposed += now_seconds() - start;
    x->all.lost = x->own.lost;
    return rc;
}
