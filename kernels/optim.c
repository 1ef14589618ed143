#include "kernels/optim.h"

#include <string.h>

/* The table of n rows that starts at `block`, and the bytes that it takes. */
static struct update_table table_at(void *block, int n)
{
    struct update_table t = { .rules = block };

    t.rows = (struct update_row *)(void *)((char *)block + ARENA_ALIGN);
    t.first = (int32_t *)(void *)(t.rows + n);
    return t;
}

static size_t table_bytes(int n)
{
    _Static_assert(sizeof(struct update_rules) <= ARENA_ALIGN, "rows begin behind the rules");
    return ARENA_ALIGN + (size_t)n * sizeof(struct update_row) + (size_t)(n + 1) * sizeof(int32_t);
}

int optim_init(struct optim *o, struct device *d, const struct params *p, struct error *err)
{
    enum { HEADERS = 1024 };
    int n = 0;

    for (int i = 0; i < p->n; i++)
        n += p->list[i].t->grad != NULL;
    size_t bytes = table_bytes(n);
    if (arena_init(&o->host, HEADERS + bytes, err) || device_arena(d, &o->data, HEADERS + bytes, err)) {
        arena_release(&o->host);
        return -1;
    }
    o->lr = tensor_alloc(&o->host, &o->data, F32, 1, (int64_t[]){ 1 });
    o->norm = tensor_alloc(&o->host, &o->data, F32, 1, (int64_t[]){ 1 });
    o->rows = n;
    o->table = table_at(arena_alloc(&o->data, bytes), n);
    o->uploaded = table_at(memset(arena_alloc(&o->host, bytes), 0, bytes), n);
    return 0;
}

void optim_release(struct optim *o, struct device *d)
{
    arena_release(&o->host);
    device_arena_release(d, &o->data);
}

static struct update_row row_of(const struct optim *o, const struct param *p)
{
    const struct tensor *w = p->master ? p->master : p->t;

    return (struct update_row){ .w = w->data,
                                .m = p->m->data,
                                .v = p->v->data,
                                .g = p->t->grad->data,
                                .half = p->master ? p->t->data : NULL,
                                .n = tensor_size(w),
                                .decay = p->flags & PARAM_DECAY ? o->adamw.decay : 0,
                                .lr_scale = p->lr_scale };
}

static bool same_rules(const struct update_rules *a, const struct update_rules *b)
{
    const struct schedule *s = &a->schedule, *t = &b->schedule;
    const struct adamw *x = &a->adamw, *y = &b->adamw;

    return s->lr == t->lr && s->warmup == t->warmup && s->total == t->total && s->cosine == t->cosine &&
           x->beta1 == y->beta1 && x->beta2 == y->beta2 && x->eps == y->eps && x->decay == y->decay &&
           x->clip == y->clip;
}

static bool same_row(const struct update_row *a, const struct update_row *b)
{
    return a->w == b->w && a->m == b->m && a->v == b->v && a->g == b->g && a->half == b->half && a->n == b->n &&
           a->decay == b->decay && a->lr_scale == b->lr_scale;
}

/* Brings the host's table up to date; false when it was. */
static bool fill_table(struct optim *o, const struct params *p)
{
    struct update_table *t = &o->uploaded;
    const struct update_rules rules = { o->schedule, o->adamw };
    bool changed = !same_rules(t->rules, &rules) || t->n != o->table.n;
    int n = 0;

    *t->rules = rules;
    for (int i = 0; i < p->n; i++) {
        if (!p->list[i].t->needs_grad)
            continue;
        struct update_row row = row_of(o, &p->list[i]);
        changed |= !same_row(&t->rows[n], &row);
        t->rows[n] = row;
        t->first[n + 1] = t->first[n] + (int32_t)((row.n + UPDATE_CHUNK - 1) / UPDATE_CHUNK);
        n++;
    }
    t->n = n;
    return changed;
}

/* How much there is to do, on which the launches depend. */
static void count_work(struct ctx *c, struct optim *o, const struct params *p)
{
    struct update_table *t = &o->table;

    t->n = 0;
    t->chunks = t->elements = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t n = tensor_size(p->list[i].t);
        if (!p->list[i].t->needs_grad)
            continue;
        ctx_note(c, i);
        t->n++;
        t->elements += n;
        t->chunks += (n + UPDATE_CHUNK - 1) / UPDATE_CHUNK;
    }
    CHECK(t->chunks <= INT32_MAX, "%lld chunks", (long long)t->chunks);
}

void optim_step(struct ctx *c, struct optim *o, const struct params *p)
{
    struct tensor *rng = c->rng;
    const struct update_table *t = &o->table;

    count_work(c, o, p);
    if (ctx_uploads(c)) {
        CHECK(t->n <= o->rows, "%d parameters are trained, there is room for %d", t->n, o->rows);
        if (fill_table(o, p))
            c->dev->driver->upload(c->dev, t->rules, o->uploaded.rules, table_bytes(o->rows));
    }
    RUN(c, adamw, o->norm, o->lr, rng, t);
}
