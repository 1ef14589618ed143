/*
 * tape.h - reverse-mode differentiation by a linked list of records.
 *
 * An op computes its output at once.  When an input needs a gradient, the op also pushes a record with the data of its
 * backward.  tape_backward() walks the list from newest to oldest.
 *
 * Records and gradients live in the step arenas, and nothing is freed one by one.  The next step reuses the same
 * addresses, so a whole training step can be captured as one CUDA graph.
 */
#ifndef KERNELS_TAPE_H
#define KERNELS_TAPE_H

#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first member of every op's record.  The backward starts from the gradient of `out`. */
struct node {
    struct node *prev;
    struct tensor *out;
    void (*backward)(struct ctx *c, struct node *n);
    void (*recompute)(struct ctx *c, struct node *n); /* recomputes out's data; NULL: cannot */
    bool remakes, wanted; /* the backward can recompute `out` over its gradient; and does, see tape_defer */
};

/* The gradient tensor that a backward kernel writes.  t is NULL when no gradient is needed; `add` means += instead of
 * =. */
struct destination {
    struct tensor *t;
    bool add;
};
/* Returns the destination for the gradient of t.  Call it once per input of an op.  When two inputs may be the same
 * tensor, run each one's kernel before the next call. */
struct destination destination_of(struct ctx *c, struct tensor *t);

/* Makes dy the gradient of t if t has none yet, and adds dy otherwise.  This is the last action of a backward, because
 * nothing may read dy afterwards.  dy has the type and shape of t. */
void tape_move_grad(struct ctx *c, struct tensor *t, struct tensor *dy);

/* Returns whether the op must push a record: the tape records, and an input needs a gradient or y is transient.
 * Entries of the list may be NULL.  When an input needs a gradient, y is marked as needing one, recording or not. */
bool tape_needs_(struct ctx *c, struct tensor *y, int n, struct tensor *const *in);
#define tape_needs(c, y, ...)                                                                                          \
    tape_needs_((c), (y), (int)(sizeof((struct tensor *[]){ __VA_ARGS__ }) / sizeof(void *)),                          \
                (struct tensor *[]){ __VA_ARGS__ })

/* Copies *rec, whose first member is a struct node, into the arena and makes it the newest record. */
void tape_push(struct ctx *c, const void *rec, size_t size);
#define TAPE_PUSH(c, type, y, fn, ...)                                                                                 \
    tape_push((c), &(struct type){ .node.out = (y), .node.backward = (fn), __VA_ARGS__ }, sizeof(struct type))

/* Runs the tape from `loss`, an F32 scalar whose gradient becomes 1, back to the oldest record. */
void tape_backward(struct ctx *c, struct tensor *loss);
/* Runs the tape with dy as the gradient of y.  dy lies in step memory and may become the gradient of another tensor. */
void tape_backward_from(struct ctx *c, struct tensor *y, struct tensor *dy);

/*
 * Gradient checkpointing (Chen et al. 2016): computes y = fn(in) and keeps only y.  The backward runs fn again,
 * recording, with the same random numbers.  Its memory is freed when it is done.  fn maps in[0] to the same shape and
 * keeps no pointer to its allocations.  A tensor that needs a gradient must be a parameter or be in in[].
 */
typedef struct tensor *block_fn(struct ctx *c, struct tensor **in, const void *arg);
enum { BLOCK_MAX_IN = 4 };
struct tensor *tape_checkpoint(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in);
/* Returns c, and lets the next tensor take the memory of the block's output, which saves its copy.  fn calls it for the
 * op that makes its result: op_add(tape_result(c), ...).  It does nothing outside tape_checkpoint and in a backward. */
struct ctx *tape_result(struct ctx *c);

/*
 * Computes y = fn(in).  Afterwards the block's backward frees its memory, except the gradients of in[].  Gradients of
 * inner tensors of successive blocks therefore share memory.  Without recording, the result is fn(in).  fn may return
 * any shape, and its allocations stay, except transient tensors.  A tensor that needs a gradient must be a parameter or
 * be in in[].
 */
struct tensor *tape_block(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in);

/*
 * Marks the first tensor that the next op makes, its output, as transient and returns c.  A transient tensor loses its
 * data at the end of the tape_block that makes it.
 *
 * Two kinds of ops may read it.  The backward of the first kind does not read it (rope, add).  The backward of the
 * second kind calls tape_recompute (linear maps), and then the op that made it must be able to recompute it (rms_norm,
 * glu).  It may not be the output of the block.  Without recording, no output is transient.
 */
struct ctx *tape_transient(struct ctx *c);
/* Restores the data of an input in step memory if it was dropped.  Call it in a backward, before any arena mark. */
void tape_recompute(struct ctx *c, struct tensor *t);
/* Returns whether the data of t was dropped and the backward of its op recomputes it (node.remakes).  A backward that
 * needs this data only for the gradient of a parameter may wait for it, see tape_defer. */
bool tape_defers(const struct tensor *t);
/* Copies *rec to run right after the backward of the op that made t.  The first member of *rec is a struct node with a
 * backward.  Its `out` becomes t, whose data is present then.  Memory that *rec names must last until the block is
 * done. */
void tape_defer(struct ctx *c, struct tensor *t, const void *rec, size_t size);
/* Returns the output that the backward of a record with `remakes` must recompute, or NULL if no deferred record needs
 * it.  The data overwrites the output's gradient: recomputing is the last use of that gradient. */
struct tensor *tape_remade(struct node *n);

#ifdef __cplusplus
}
#endif
#endif
