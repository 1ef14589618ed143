#include "train/run/ranks_sum.h"

#include "data/base/log.h"
#include "train/run/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- buckets ---- */

/* A bucket is an eighth of all gradients, within two bounds. Smaller buckets would cost more for latency than for
 * bytes; larger ones would waste memory. */
enum { PARTS = 8, LEAST = 1 << 15 };

static int64_t size_for(int64_t total)
{
    int64_t part = (total + PARTS - 1) / PARTS;
    return part < LEAST ? LEAST : part > BUCKET_MAX ? BUCKET_MAX : part;
}

static int64_t numbers_of(const struct params *p, int param)
{
    const struct tensor *t = p->list[param].t;
    return t->needs_grad ? tensor_size(t) : 0;
}

/* Cuts the gradients of the parameters that need gradients now. */
static struct buckets buckets_of(const struct params *p)
{
    struct buckets b = { .params = p };

    for (int i = 0; i < p->n; i++)
        b.total += numbers_of(p, i);
    b.size = size_for(b.total);
    b.n = (int)((b.total + b.size - 1) / b.size);
    return b;
}

static int64_t buckets_numbers(const struct buckets *b, int bucket)
{
    int64_t left = b->total - bucket * b->size;
    return left < b->size ? left : b->size;
}

/* Visits the next n floats. */
static void buckets_walk(const struct buckets *b, struct bucket_place *place, float *numbers, int64_t n,
                         bucket_copy_fn *copy, void *arg)
{
    for (int64_t done = 0; done < n && place->done < b->params->n; place->done++, place->at = 0) {
        int64_t left = numbers_of(b->params, place->done) - place->at, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(arg, &b->params->list[place->done], place->at, numbers + done, some);
        done += some;
        place->at += some;
        if (some < left)
            return;
    }
}

/* ---- sums of gradients ---- */

enum { POLL_US = 20, STRETCH = 1 << 12 };

static void *gradient_of(const struct param *p, int64_t at)
{
    return (float *)p->t->grad->data + at;
}

static void download_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    struct run *r = run;
    r->device.driver->download(&r->device, bucket, gradient_of(p, at), (size_t)n * sizeof *bucket);
}

static void upload_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    struct run *r = run;
    r->device.driver->upload(&r->device, gradient_of(p, at), bucket, (size_t)n * sizeof *bucket);
}

/* y (+)= x, n floats on the device */
static void put(struct run *r, float *y, float *x, int64_t n, bool add)
{
    struct tensor to = { .dtype = F32, .ndim = 1, .shape = { n }, .data = y }, from = to;

    from.data = x;
    r->device.driver->kernels->accumulate(&r->work.ctx, (struct destination){ &to, add }, &from);
}

static void fetch_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    put(run, bucket, gradient_of(p, at), n, false);
}

static void store_gradient(void *run, const struct param *p, int64_t at, float *bucket, int64_t n)
{
    put(run, gradient_of(p, at), bucket, n, false);
}

/* out [slice] = in [0] + in [1] + ..., with in [size, slice]. */
static void add_in_order(float *out, const float *in, int size, int64_t slice)
{
#pragma omp parallel for
    for (int64_t at = 0; at < slice; at += STRETCH) {
        int64_t end = slice - at < STRETCH ? slice : at + STRETCH;
        memcpy(out + at, in + at, (size_t)(end - at) * sizeof *out);
        for (int k = 1; k < size; k++)
            for (int64_t i = at; i < end; i++)
                out[i] += in[k * slice + i];
    }
}

static int sum_on_host(struct ranks *x, int64_t n, int64_t slice, struct error *err)
{
    struct collective *all = &x->all;
    size_t bytes = (size_t)slice * sizeof(float);

    memset(x->out + n, 0, (size_t)(slice * all->size - n) * sizeof(float));
    if (collective_exchange(all, x->in, x->out, bytes, err))
        return -1;
    add_in_order(x->out, x->in, all->size, slice);
    return collective_gather(all, x->in, x->out, bytes, err);
}

/* Queues the same sum on the device, one addition after the other. Floats after the first n are leftovers of earlier
 * buckets and are ignored. */
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

/* Sums the next bucket: reduce-scatter, then all-gather. Each rank sums one slice of the bucket, and all ranks
 * receive all slices. */
static int sum_bucket(struct run *r, int bucket, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t n = buckets_numbers(&x->buckets, bucket), size = x->all.size, slice = (n + size - 1) / size;

    buckets_walk(&x->buckets, &x->from, x->out, n, x->links ? fetch_gradient : download_gradient, r);
    if (x->links ? sum_on_devices(r, slice, err) : sum_on_host(x, n, slice, err))
        return -1;
    buckets_walk(&x->buckets, &x->to, x->in, n, x->links ? store_gradient : upload_gradient, r);
    x->bytes += 2 * (size - 1) * slice * (int64_t)sizeof(float);
    return 0;
}

/* Waits until linked devices have finished all queued work. */
static int wait_links(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int rc = 0;

    while (x->links && (rc = x->links->poll(&r->device, err)) > 0) {
        collective_wait_note(&x->all);
        usleep(POLL_US);
    }
    x->all.broken = x->all.broken || rc;
    return rc;
}

static size_t bucket_bytes(const struct ranks *x)
{
    return (size_t)(BUCKET_MAX + x->all.size) * sizeof(float);
}

int ranks_link(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;

    if (ranks_open_links(r, err))
        return -1;
    if (!x->links)
        return 0;
    if (device_arena(&r->device, &x->memory, 2 * bucket_bytes(x) + ARENA_ALIGN, err))
        return -1;
    x->in = arena_alloc(&x->memory, bucket_bytes(x));
    x->out = arena_alloc(&x->memory, bucket_bytes(x));
    return 0;
}

/* Resets all state that a step's sums start from. */
static void set_buckets(struct run *r)
{
    struct ranks *x = &r->ranks;

    x->buckets = buckets_of(r->params);
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
        if (sum_bucket(r, i, err))
            return -1;
    int rc = wait_links(r, err);
    x->summed += now_seconds() - start;
    return rc;
}

/* ---- sharded optimizer ---- */

bool ranks_sharded(const struct run *r)
{
    return r->set.shard_optimizer && r->ranks.all.size > 1;
}

/* A position among the weights that a rank updates. */
struct shard_place {
    int param;
    int64_t at; /* offset from the start of its shard of the parameter */
};

/* Copies between elements [at, at + n) of a parameter and n floats. */
typedef void weights_fn(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n);

static struct update_share shard_of(const struct run *r, int param, int rank)
{
    const struct update_share none = { 0, 0 };

    return r->params->list[param].t->needs_grad ? optim_share(&r->optim, r->params, param, rank) : none;
}

static float *weights_of(const struct param *p, int64_t at)
{
    return (float *)(p->master ? p->master : p->t)->data + at;
}

static void download_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    r->device.driver->download(&r->device, numbers, weights_of(p, at), (size_t)n * sizeof *numbers);
}

static void upload_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    param_upload_part(p, &r->device, numbers, at, n);
}

static void convert(struct run *r, void *y, enum dtype type, const float *x, int64_t n)
{
    struct tensor to = { .dtype = type, .ndim = 1, .shape = { n }, .data = y };
    struct tensor from = { .dtype = F32, .ndim = 1, .shape = { n }, .data = (void *)(uintptr_t)x };

    r->device.driver->kernels->cast(&r->work.ctx, &to, &from);
}

static void fetch_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    convert(r, numbers, F32, weights_of(p, at), n);
}

static void store_weights(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    convert(r, weights_of(p, at), F32, numbers, n);
    if (p->master)
        convert(r, (uint16_t *)p->t->data + at, BF16, numbers, n);
}

/* Visits at most the next n weights that a rank updates. Returns their number. */
static int64_t walk_shard(struct run *r, int rank, struct shard_place *place, float *numbers, int64_t n,
                          weights_fn *copy)
{
    int64_t done = 0;

    for (; place->param < r->params->n && done < n; place->param++, place->at = 0) {
        struct update_share s = shard_of(r, place->param, rank);
        int64_t left = s.end - s.first - place->at, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(r, &r->params->list[place->param], s.first + place->at, numbers + done, some);
        done += some;
        place->at += some;
        if (some < left)
            break;
    }
    return done;
}

static int64_t shard_size(const struct run *r, int rank)
{
    int64_t n = 0;

    for (int i = 0; i < r->params->n; i++) {
        struct update_share s = shard_of(r, i, rank);
        n += s.end - s.first;
    }
    return n;
}

static int64_t max_shard_size(const struct run *r)
{
    int64_t most = 0;

    for (int k = 0; k < r->ranks.all.size; k++)
        most = shard_size(r, k) > most ? shard_size(r, k) : most;
    return most;
}

/* Gathers the next n weights of every rank. A rank whose shard has ended sends stale floats, which are ignored. */
static int gather_slice(struct run *r, struct shard_place *places, int64_t n, struct error *err)
{
    struct ranks *x = &r->ranks;
    size_t bytes = (size_t)n * sizeof(float);

    walk_shard(r, x->all.rank, &places[x->all.rank], x->out, n, x->links ? fetch_weights : download_weights);
    if (x->links ? x->links->gather(&r->device, x->in, x->out, bytes, err)
                 : collective_gather(&x->all, x->in, x->out, bytes, err))
        return -1;
    for (int k = 0; k < x->all.size; k++)
        if (k != x->all.rank)
            walk_shard(r, k, &places[k], x->in + k * n, n, x->links ? store_weights : upload_weights);
    x->bytes += (x->all.size - 1) * (int64_t)bytes;
    return 0;
}

int ranks_gather_weights(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t slice = BUCKET_MAX / x->all.size;
    double start = now_seconds();

    if (!ranks_sharded(r))
        return 0;
    struct shard_place *places = xcalloc((size_t)x->all.size, sizeof *places);
    int rc = 0;
    for (int64_t left = max_shard_size(r); left > 0 && rc == 0; left -= slice)
        rc = gather_slice(r, places, left < slice ? left : slice, err);
    free(places);
    if (rc == 0)
        rc = wait_links(r, err);
    x->gathered += now_seconds() - start;
    return rc;
}

/* A request of rank 0 for a state; param -1 ends the service. */
struct state_request {
    int32_t param, k;
};

static int ask_for(struct run *r, int rank, int param, int k, float *out, size_t bytes, struct error *err)
{
    const struct state_request request = { param, k };
    struct collective *all = &r->ranks.all;

    return collective_send(all, rank, &request, sizeof request, err) || collective_receive(all, rank, out, bytes, err)
               ? -1
               : 0;
}

/* An Adafactor state is not sharded: one rank holds all of it. */
static size_t bytes_of(const struct param *p, int k, struct update_share s)
{
    int64_t shape[TENSOR_MAX_DIMS], n = p->optimizer == OPTIMIZER_ADAFACTOR ? 1 : s.end - s.first;
    int ndim = param_state_shape(p, k, shape);

    for (int d = 0; d < ndim && p->optimizer == OPTIMIZER_ADAFACTOR; d++)
        n *= shape[d];
    return (size_t)n * sizeof(float);
}

int ranks_whole_state(void *run, const struct param *p, int k, float *out, struct error *err)
{
    struct run *r = run;
    int param = (int)(p - r->params->list), rc = 0;

    for (int rank = 0; rank < r->ranks.all.size && rc == 0; rank++) {
        struct update_share s = optim_share(&r->optim, r->params, param, rank);
        if (s.first == s.end)
            continue;
        float *to = out + (p->optimizer == OPTIMIZER_ADAFACTOR ? 0 : s.first);
        if (rank == r->ranks.all.rank)
            device_download(&r->device, to, p->state[k]);
        else
            rc = ask_for(r, rank, param, k, to, bytes_of(p, k, s), err);
    }
    return rc;
}

static int serve(struct run *r, const struct state_request *q, float *buffer, struct error *err)
{
    const struct tensor *state = r->params->list[q->param].state[q->k];

    device_download(&r->device, buffer, state);
    return collective_send(&r->ranks.all, 0, buffer, tensor_bytes(state), err);
}

int ranks_serve_states(struct run *r, struct error *err)
{
    struct state_request q;

    if (!ranks_sharded(r))
        return 0;
    float *buffer = params_buffer(r->params);
    int rc;
    do {
        rc = collective_receive(&r->ranks.all, 0, &q, sizeof q, err);
    } while (rc == 0 && q.param >= 0 && (rc = serve(r, &q, buffer, err)) == 0);
    free(buffer);
    return rc;
}

/* Call it even if saving failed. A dead rank is noticed at the next exchange. */
void ranks_end_states(struct run *r)
{
    const struct state_request none = { -1, 0 };

    for (int rank = 1; rank < r->ranks.all.size && ranks_sharded(r); rank++)
        if (collective_send(&r->ranks.all, rank, &none, sizeof none, NULL))
            return;
}
