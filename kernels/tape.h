/*
 * tape.h - reverse-mode differentiation by a linked list of records.
 *
 * An op computes its output at once and, when an input wants a gradient, pushes a record holding what its backward
 * needs.  tape_backward() walks the list from newest to oldest.  Records and gradients live in the step arenas: nothing
 * is freed one by one, and the next step reuses the same addresses, which is what lets a whole training step be
 * captured as one CUDA graph.
 */
#ifndef KERNELS_TAPE_H
#define KERNELS_TAPE_H

#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* First member of every op's record.  `out` is the output whose gradient starts the backward. */
struct node {
    struct node *prev;
    struct tensor *out;
    void (*backward)(struct ctx *c, struct node *n);
    void (*recompute)(struct ctx *c, struct node *n); /* writes out's data once more, from what stays; NULL: cannot */
    bool remakes, wanted; /* the backward can do that too, over out's gradient; and does, see tape_defer */
};

/* Where a backward kernel writes: t is NULL when nobody wants it; add says += rather than =. */
struct destination {
    struct tensor *t;
    bool add;
};
/* Call once per input of an op, each followed by its kernel when two inputs may be the same tensor. */
struct destination destination_of(struct ctx *c, struct tensor *t);

/* Makes dy, which no one reads any more, the gradient of t where that has none yet, and else adds it: the last thing
 * that a backward does.  Of t's type and shape. */
void tape_move_grad(struct ctx *c, struct tensor *t, struct tensor *dy);

/* True, and marks y, when recording and any of the listed inputs (NULL allowed) needs a gradient, or y is transient. */
bool tape_needs_(struct ctx *c, struct tensor *y, int n, struct tensor *const *in);
#define tape_needs(c, y, ...)                                                                                          \
    tape_needs_((c), (y), (int)(sizeof((struct tensor *[]){ __VA_ARGS__ }) / sizeof(void *)),                          \
                (struct tensor *[]){ __VA_ARGS__ })

/* Copies *rec (whose first member is a struct node) into the arena and makes it the newest record. */
void tape_push(struct ctx *c, const void *rec, size_t size);
#define TAPE_PUSH(c, type, y, fn, ...)                                                                                 \
    tape_push((c), &(struct type){ .node.out = (y), .node.backward = (fn), __VA_ARGS__ }, sizeof(struct type))

/* Runs the tape from loss, an F32 scalar whose gradient becomes 1, back to the oldest record. */
void tape_backward(struct ctx *c, struct tensor *loss);
/* The same from y with dy, which lies in step memory and may go on as another's gradient, as the gradient of y. */
void tape_backward_from(struct ctx *c, struct tensor *y, struct tensor *dy);

/*
 * Gradient checkpointing.  Computes y = fn(in) keeping only y; the backward runs fn again, recording, on memory that is
 * given back when the block is done, and with the same random numbers.  fn maps in[0] to the same shape and keeps no
 * pointer to what it allocates.  Whatever needs a gradient and is not a parameter must be in in[].
 */
typedef struct tensor *block_fn(struct ctx *c, struct tensor **in, const void *arg);
enum { BLOCK_MAX_IN = 4 };
struct tensor *tape_checkpoint(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in);

/*
 * Runs fn(in) as it is, but what its backward needs beyond the gradients of in[] is given back when the block is done:
 * gradients of one block's inner tensors lie where those of the next will.  Not recording, it is fn(in).  fn may
 * return any shape, and keeps what it allocates, transient tensors aside; whatever needs a gradient and is not a
 * parameter must be in in[].
 */
struct tensor *tape_block(struct ctx *c, block_fn *fn, const void *arg, struct tensor **in, int n_in);

/*
 * c, for the op called next, whose output (the first tensor that it makes) will be transient: its numbers are given up
 * at the end of the tape_block that it is made in.  It may be an input of ops whose backward asks for it by
 * tape_recompute (linear maps), if its own op can make it again (rms_norm, glu), and of ops whose backward does not
 * read it (rope, add).  It may not be the block's output.  Not recording, outputs are never transient.
 */
struct ctx *tape_transient(struct ctx *c);
/* Has the numbers of an input there, in step memory if they were given up.  In a backward, before any mark. */
void tape_recompute(struct ctx *c, struct tensor *t);
/* Whether t's numbers were given up and its own op makes them again on its way through its backward (node.remakes): a
 * backward that needs them for the gradient of a parameter alone may wait for that, see tape_defer. */
bool tape_defers(const struct tensor *t);
/* Copies *rec (whose first member is a struct node with a backward) to run right after the backward of the op that made
 * t, with t, whose numbers are there then, as its `out`.  Memory that rec names must last until the block is done. */
void tape_defer(struct ctx *c, struct tensor *t, const void *rec, size_t size);
/* For the backward of a record that remakes: its output, whose numbers are to be written over its gradient's as the
 * last use of these; NULL where nobody waits for them. */
struct tensor *tape_remade(struct node *n);

#ifdef __cplusplus
}
#endif
#endif
