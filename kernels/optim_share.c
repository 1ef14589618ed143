#include "kernels/optim_share.h"

#include <stdlib.h>

int64_t optim_chunks(int64_t n)
{
    return (n + UPDATE_CHUNK - 1) / UPDATE_CHUNK;
}

/* Returns [n + 1]: the chunks of all preceding parameters with a gradient. */
static int64_t *count_chunks(const struct params *p)
{
    int64_t *chunks = xcalloc((size_t)p->n + 1, sizeof *chunks);

    for (int i = 0; i < p->n; i++)
        chunks[i + 1] = chunks[i] + (p->list[i].t->grad ? optim_chunks(tensor_size(p->list[i].t)) : 0);
    return chunks;
}

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct update_share share_of(const int64_t *chunks, const struct params *p, int param, int rank, int ranks)
{
    int64_t first = chunks[param], n = tensor_size(p->list[param].t), all = chunks[p->n];
    int64_t from = all * rank / ranks, end = all * (rank + 1) / ranks, some = chunks[param + 1] - first;

    if (p->list[param].optimizer == OPTIMIZER_ADAFACTOR)
        return (struct update_share){ 0, first >= from && first < end && some ? n : 0 };
    from = between(from - first, 0, some) * UPDATE_CHUNK;
    return (struct update_share){ between(from, 0, n), between(between(end - first, 0, some) * UPDATE_CHUNK, 0, n) };
}

struct update_share optim_share(const struct optim *o, const struct params *p, int param, int rank)
{
    return share_of(o->chunks, p, param, rank, o->ranks);
}

/* Returns the number of elements of the k-th state in a shard, or -1 if there is no such state. */
static int64_t state_numbers(const struct param *p, int k, struct update_share s)
{
    int64_t shape[TENSOR_MAX_DIMS];
    int ndim = param_state_shape(p, k, shape);

    if (ndim < 0)
        return -1;
    if (ndim == p->t->ndim || s.end == s.first)
        return s.end - s.first;
    return shape[0];
}

static bool is_trained(const struct param *p)
{
    return p->t->grad && p->optimizer != OPTIMIZER_NONE;
}

size_t optim_share_bytes(const struct params *p, int rank, int ranks)
{
    size_t bytes = 0;

    if (ranks < 2)
        return 0;
    int64_t *chunks = count_chunks(p);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < PARAM_STATES && is_trained(&p->list[i]); k++) {
            int64_t n = state_numbers(&p->list[i], k, share_of(chunks, p, i, rank, ranks));
            bytes += n > 0 ? ((size_t)n * sizeof(float) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : 0;
        }
    free(chunks);
    return bytes;
}

void optim_take_share(struct optim *o, struct params *p)
{
    o->chunks = count_chunks(p);
    for (int i = 0; i < p->n; i++) {
        struct param *q = &p->list[i];
        if (!is_trained(q))
            continue;
        CHECK(!q->state[0], "%s has all of its state", q->name);
        struct update_share s = optim_share(o, p, i, o->rank);
        q->first = s.first;
        q->end = s.end;
        for (int k = PARAM_STATES - 1; k >= 0; k--) {
            int64_t n = state_numbers(q, k, s);
            if (n >= 0)
                q->state[k] = tensor_alloc(&o->host, &o->data, F32, 1, &n);
        }
    }
}
