#include "kernels/tape.h"

#include "kernels/kernels.h"

#include <string.h>

struct grad grad_of(struct ctx *c, struct tensor *t)
{
    if (!t || !t->needs_grad)
        return (struct grad){ 0 };
    bool add = t->grad != NULL;
    CHECK(add || !t->is_param, "a parameter without a gradient tensor");
    if (!add)
        t->grad = tensor_like(c, t);
    return (struct grad){ t->grad, add };
}

bool tape_needs_(struct ctx *c, struct tensor *y, int n, struct tensor *const *in)
{
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->needs_grad)
            y->needs_grad = true;
    return c->recording && y->needs_grad;
}

void tape_push(struct ctx *c, const void *rec, size_t size)
{
    struct node *n = arena_alloc(c->host, size);
    memcpy(n, rec, size);
    n->prev = c->tape;
    c->tape = n;
}

static void tape_run(struct ctx *c, struct node *newest)
{
    for (struct node *n = newest; n; n = n->prev)
        if (n->out->grad)
            n->backward(c, n);
}

void tape_backward_from(struct ctx *c, struct tensor *y, struct tensor *dy)
{
    CHECK(tensor_size(y) == tensor_size(dy) && y->dtype == dy->dtype, "gradient of another shape or type");
    y->grad = dy;
    tape_run(c, c->tape);
}

void tape_backward(struct ctx *c, struct tensor *loss)
{
    struct tensor *one = tensor_like(c, loss);
    CHECK(tensor_size(loss) == 1 && loss->dtype == F32, "a loss is one f32");
    RUN(c, fill, one, 1.0f);
    tape_backward_from(c, loss, one);
}

struct checkpoint_node {
    struct node node;
    block_fn *fn;
    const void *arg;
    struct tensor *in[BLOCK_MAX_IN];
    int n_in;
    uint32_t site;
};

/* Gradients that outlive a block come first. */
static void start_gradients(struct ctx *c, struct tensor *const *in, int n_in)
{
    for (int i = 0; i < n_in; i++) {
        struct grad g = grad_of(c, in[i]);
        if (g.t && !g.add)
            RUN(c, fill, g.t, 0.0f);
    }
}

static void checkpoint_backward(struct ctx *c, struct node *node)
{
    struct checkpoint_node *n = (struct checkpoint_node *)node;

    start_gradients(c, n->in, n->n_in);
    size_t host = arena_mark(c->host), step = arena_mark(c->step);
    struct node *outer = c->tape;
    uint32_t site = c->site;
    c->tape = NULL;
    c->recording = true;
    c->site = n->site;
    struct tensor *y = n->fn(c, n->in, n->arg);
    y->grad = node->out->grad;
    tape_run(c, c->tape);
    c->tape = outer;
    c->site = site;
    arena_reset(c->host, host);
    arena_reset(c->step, step);
}

struct tensor *tape_checkpoint(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in)
{
    CHECK(n_in > 0 && n_in <= BLOCK_MAX_IN, "%d inputs", n_in);
    struct tensor *y = tensor_like(c, in[0]);
    struct checkpoint_node n = {
        .node = { .out = y, .backward = checkpoint_backward }, .fn = fn, .arg = arg, .n_in = n_in, .site = c->site
    };
    memcpy(n.in, in, (size_t)n_in * sizeof *in);
    size_t host = arena_mark(c->host), step = arena_mark(c->step);
    bool recording = c->recording;
    c->recording = false;
    struct tensor *t = fn(c, in, arg);
    CHECK(tensor_size(t) == tensor_size(y) && t->dtype == y->dtype, "a checkpointed block keeps the shape of in[0]");
    RUN(c, cast, y, t);
    y->needs_grad = t->needs_grad;
    c->recording = recording;
    arena_reset(c->host, host);
    arena_reset(c->step, step);
    if (recording && y->needs_grad)
        tape_push(c, &n, sizeof n);
    return y;
}

/* The newest record of a block whose others end before `start`. */
struct block_node {
    struct node node;
    struct node *start;
    struct tensor *in[BLOCK_MAX_IN];
    int n_in;
};

static void block_backward(struct ctx *c, struct node *node)
{
    struct block_node *b = (struct block_node *)node;

    start_gradients(c, b->in, b->n_in);
    size_t host = arena_mark(c->host), step = arena_mark(c->step);
    for (struct node *n = node->prev; n != b->start; n = n->prev)
        if (n->out->grad)
            n->backward(c, n);
    arena_reset(c->host, host);
    arena_reset(c->step, step);
    node->prev = b->start; /* done: the tape goes on before the block */
}

struct tensor *tape_block(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in)
{
    CHECK(n_in > 0 && n_in <= BLOCK_MAX_IN, "%d inputs", n_in);
    struct block_node b = { .node = { .backward = block_backward }, .start = c->tape, .n_in = n_in };

    memcpy(b.in, in, (size_t)n_in * sizeof *in);
    b.node.out = fn(c, in, arg);
    if (c->recording && b.node.out->needs_grad)
        tape_push(c, &b, sizeof b);
    return b.node.out;
}
