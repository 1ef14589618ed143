/* Part of ranks.h: state of the optimizer that is cut over ranks.  What a rank has updated all take; what it keeps,
 * rank 0 asks for when it saves. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

#include <stdlib.h>

bool ranks_sharded(const struct run *r)
{
    return r->set.shard_optimizer && r->ranks.all.size > 1;
}

/* ---- weights ---- */

/* Before which of the numbers that a rank updates. */
struct share_place {
    int param;
    int64_t at; /* behind the first of its share of it */
};

/* Between elements [at, at + n) of a parameter and n numbers. */
typedef void weights_fn(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n);

static struct update_share share_of(const struct run *r, int param, int rank)
{
    const struct update_share none = { 0, 0 };

    return r->params->list[param].t->needs_grad ? optim_share(&r->optim, r->params, param, rank) : none;
}

static float *weights_of(const struct param *p, int64_t at)
{
    return (float *)(p->master ? p->master : p->t)->data + at;
}

static void download(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    r->device.driver->download(&r->device, numbers, weights_of(p, at), (size_t)n * sizeof *numbers);
}

static void upload(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    param_upload_part(p, &r->device, numbers, at, n);
}

static void convert(struct run *r, void *y, enum dtype type, const float *x, int64_t n)
{
    struct tensor to = { .dtype = type, .ndim = 1, .shape = { n }, .data = y };
    struct tensor from = { .dtype = F32, .ndim = 1, .shape = { n }, .data = (void *)(uintptr_t)x };

    r->device.driver->kernels->cast(&r->work.ctx, &to, &from);
}

static void fetch(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    convert(r, numbers, F32, weights_of(p, at), n);
}

static void store(struct run *r, struct param *p, int64_t at, float *numbers, int64_t n)
{
    convert(r, weights_of(p, at), F32, numbers, n);
    if (p->master)
        convert(r, (uint16_t *)p->t->data + at, BF16, numbers, n);
}

/* At most the next n of what a rank updates; returns how many there were. */
static int64_t walk(struct run *r, int rank, struct share_place *place, float *numbers, int64_t n, weights_fn *copy)
{
    int64_t done = 0;

    for (; place->param < r->params->n && done < n; place->param++, place->at = 0) {
        struct update_share s = share_of(r, place->param, rank);
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

static int64_t share_numbers(const struct run *r, int rank)
{
    int64_t n = 0;

    for (int i = 0; i < r->params->n; i++) {
        struct update_share s = share_of(r, i, rank);
        n += s.end - s.first;
    }
    return n;
}

static int64_t largest_share(const struct run *r)
{
    int64_t most = 0;

    for (int k = 0; k < r->ranks.all.size; k++)
        most = share_numbers(r, k) > most ? share_numbers(r, k) : most;
    return most;
}

/* The next n numbers of every rank; a share that ended gives what is there. */
static int gather_slice(struct run *r, struct share_place *places, int64_t n, struct error *err)
{
    struct ranks *x = &r->ranks;
    size_t bytes = (size_t)n * sizeof(float);

    walk(r, x->all.rank, &places[x->all.rank], x->out, n, x->links ? fetch : download);
    if (x->links ? x->links->gather(&r->device, x->in, x->out, bytes, err)
                 : collective_gather(&x->all, x->in, x->out, bytes, err))
        return -1;
    for (int k = 0; k < x->all.size; k++)
        if (k != x->all.rank)
            walk(r, k, &places[k], x->in + k * n, n, x->links ? store : upload);
    x->bytes += (x->all.size - 1) * (int64_t)bytes;
    return 0;
}

int ranks_gather_weights(struct run *r, struct error *err)
{
    struct ranks *x = &r->ranks;
    int64_t slice = BUCKET_MOST / x->all.size;
    double start = now_seconds();

    if (!ranks_sharded(r))
        return 0;
    struct share_place *places = xcalloc((size_t)x->all.size, sizeof *places);
    int rc = 0;
    for (int64_t left = largest_share(r); left > 0 && rc == 0; left -= slice)
        rc = gather_slice(r, places, left < slice ? left : slice, err);
    free(places);
    if (rc == 0)
        rc = ranks_wait_links(r, err);
    x->gathered += now_seconds() - start;
    return rc;
}

/* ---- states ---- */

/* What rank 0 asks for; of no parameter: nothing more. */
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

/* Under Adafactor one rank has the whole. */
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

/* Whether or not the save has failed.  A rank that is lost is noticed where all meet next. */
void ranks_end_states(struct run *r)
{
    const struct state_request none = { -1, 0 };

    for (int rank = 1; rank < r->ranks.all.size && ranks_sharded(r); rank++)
        if (collective_send(&r->ranks.all, rank, &none, sizeof none, NULL))
            return;
}
