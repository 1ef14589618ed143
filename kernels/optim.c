#include "kernels/optim.h"

#include "kernels/kernels.h"

void optim_init(struct optim *o, const struct param_arenas *a)
{
    o->lr = tensor_alloc(a->host, a->data, F32, 1, (int64_t[]){ 1 });
    o->norm = tensor_alloc(a->host, a->data, F32, 1, (int64_t[]){ 1 });
}

static void gradient_norm(struct ctx *c, struct tensor *norm, const struct params *p)
{
    RUN(c, fill, norm, 0.0f);
    for (int i = 0; i < p->n; i++)
        if (p->list[i].t->needs_grad)
            RUN(c, sum_squares, norm, p->list[i].t->grad);
}

static void update(struct ctx *c, const struct optim *o, const struct param *p)
{
    struct adamw a = o->adamw;

    a.lr_scale *= p->lr_scale;
    if (!(p->flags & PARAM_DECAY))
        a.decay = 0;
    RUN(c, adamw, p->t, p->master, p->m, p->v, p->t->grad, o->norm, o->lr, c->rng, &a);
}

void optim_step(struct ctx *c, struct optim *o, const struct params *p)
{
    struct tensor *rng = c->rng;
    const struct schedule *s = &o->schedule;

    gradient_norm(c, o->norm, p);
    RUN(c, schedule, o->lr, rng, s);
    for (int i = 0; i < p->n; i++)
        if (p->list[i].t->needs_grad)
            update(c, o, &p->list[i]);
}
