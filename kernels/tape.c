#include "kernels/tape.h"

#include "kernels/kernels.h"

#include <string.h>

struct destination destination_of(struct ctx *c, struct tensor *t)
{
    if (!t || !t->needs_grad)
        return (struct destination){ 0 };
    CHECK(t->grad || !t->is_param, "a parameter without a gradient tensor");
    bool add = t->grad && !t->grad->reserved;
    if (!t->grad)
        t->grad = tensor_like(c, t);
    t->grad->reserved = false;
    return (struct destination){ t->grad, add };
}

/* Returns whether dy, allocated earlier, lives at least as long as the memory that a block reserved for t's
 * gradient. */
static bool outlives(const struct tensor *dy, const struct tensor *place)
{
    return place->reserved && (uintptr_t)dy->data < (uintptr_t)place->data;
}

void tape_move_grad(struct ctx *c, struct tensor *t, struct tensor *dy)
{
    if (t->needs_grad && !t->is_param && (!t->grad || outlives(dy, t->grad))) {
        t->grad = dy;
        return;
    }
    struct destination dt = destination_of(c, t);
    RUN(c, accumulate, dt, dy);
}

bool tape_needs_(struct ctx *c, struct tensor *y, int n, struct tensor *const *in)
{
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->needs_grad)
            y->needs_grad = true;
    return c->recording && (y->needs_grad || y->transient);
}

void tape_push(struct ctx *c, const void *rec, size_t size)
{
    struct node *n = arena_alloc(c->host, size);
    memcpy(n, rec, size);
    n->prev = c->tape;
    c->tape = n;
    if (n->out->transient)
        n->out->record = n;
}

struct ctx *tape_transient(struct ctx *c)
{
    CHECK(!c->transient, "no tensor was made since the last tape_transient");
    c->transient = c->recording;
    return c;
}

void tape_recompute(struct ctx *c, struct tensor *t)
{
    if (t->data)
        return;
    CHECK(t->record && t->record->recompute, "a transient tensor that nobody can make again");
    t->data = arena_alloc(c->step, tensor_bytes(t));
    t->record->recompute(c, t->record);
}

bool tape_defers(const struct tensor *t)
{
    return !t->data && t->record && t->record->remakes && t->needs_grad;
}

void tape_defer(struct ctx *c, struct tensor *t, const void *rec, size_t size)
{
    CHECK(tape_defers(t), "a tensor whose numbers are there, or that its backward does not make again");
    struct node *n = arena_alloc(c->host, size), *maker = t->record;

    memcpy(n, rec, size);
    n->out = t;
    n->prev = maker->prev;
    maker->prev = n;
    maker->wanted = true;
}

struct tensor *tape_remade(struct node *n)
{
    if (!n->wanted)
        return NULL;
    n->out->data = n->out->grad->data;
    return n->out;
}

/* Drops the data of transient outputs of the newest records, back to `start`. */
static void drop_transient(struct ctx *c, const struct node *start, size_t end)
{
    for (struct node *n = c->tape; n != start; n = n->prev)
        if (n->out->transient)
            n->out->data = NULL;
    arena_reset_end(c->step, end);
}

static void run_record(struct ctx *c, struct node *n)
{
    if (n->out->grad)
        n->backward(c, n);
}

static void tape_run(struct ctx *c, struct node *newest)
{
    for (struct node *n = newest; n; n = n->prev)
        run_record(c, n);
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

/* The memory of a block's backward: first the gradients that outlive it, then the memory that it frees. */
struct room {
    struct tensor *grad[BLOCK_MAX_IN]; /* NULL: it already existed or is not needed */
    size_t host, step, first;
};

static struct room room_enter(struct ctx *c, struct tensor *const *in, int n_in)
{
    struct room r = { .first = arena_mark(c->step) };

    for (int i = 0; i < n_in; i++) {
        if (!in[i]->needs_grad || in[i]->grad)
            continue;
        r.grad[i] = in[i]->grad = tensor_like(c, in[i]);
        r.grad[i]->reserved = true;
    }
    r.host = arena_mark(c->host);
    r.step = arena_mark(c->step);
    return r;
}

/* Frees the memory of the gradients too if none was written, because gradients were moved. */
static void room_leave(struct ctx *c, const struct room *r, struct tensor *const *in, int n_in)
{
    bool used = false;

    for (int i = 0; i < n_in; i++) {
        if (r->grad[i] && in[i]->grad == r->grad[i] && r->grad[i]->reserved)
            in[i]->grad = NULL;
        used |= r->grad[i] && in[i]->grad == r->grad[i];
    }
    arena_reset(c->host, r->host);
    arena_reset(c->step, used ? r->step : r->first);
}

static void checkpoint_backward(struct ctx *c, struct node *node)
{
    struct checkpoint_node *n = (struct checkpoint_node *)node;

    struct room room = room_enter(c, n->in, n->n_in);
    size_t end = arena_mark_end(c->step);
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
    arena_reset_end(c->step, end);
    room_leave(c, &room, n->in, n->n_in);
}

struct ctx *tape_result(struct ctx *c)
{
    c->takes_result = c->result != NULL;
    return c;
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
    struct tensor *outer = c->result;
    bool recording = c->recording;
    c->result = y;
    c->recording = false;
    struct tensor *t = fn(c, in, arg);
    CHECK(tensor_size(t) == tensor_size(y) && t->dtype == y->dtype, "a checkpointed block keeps the shape of in[0]");
    if (t->data != y->data)
        RUN(c, cast, y, t);
    y->needs_grad = t->needs_grad;
    c->result = outer;
    c->recording = recording;
    arena_reset(c->host, host);
    arena_reset(c->step, step);
    if (recording && y->needs_grad)
        tape_push(c, &n, sizeof n);
    return y;
}

/* The newest record of a block.  The other records of the block end before `start`. */
struct block_node {
    struct node node;
    struct node *start;
    struct tensor *in[BLOCK_MAX_IN];
    int n_in;
};

static void block_backward(struct ctx *c, struct node *node)
{
    struct block_node *b = (struct block_node *)node;

    struct room room = room_enter(c, b->in, b->n_in);
    for (struct node *n = node->prev; n != b->start; n = n->prev)
        run_record(c, n);
    room_leave(c, &room, b->in, b->n_in);
    node->prev = b->start; /* the block is done: the tape continues before it */
}

struct tensor *tape_block(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in)
{
    CHECK(n_in > 0 && n_in <= BLOCK_MAX_IN, "%d inputs", n_in);
    struct block_node b = { .node = { .backward = block_backward }, .start = c->tape, .n_in = n_in };
    size_t end = arena_mark_end(c->step);

    memcpy(b.in, in, (size_t)n_in * sizeof *in);
    b.node.out = fn(c, in, arg);
    CHECK(!b.node.out->transient, "a block whose output is transient");
    drop_transient(c, b.start, end);
    if (c->recording && b.node.out->needs_grad)
        tape_push(c, &b, sizeof b);
    return b.node.out;
}
