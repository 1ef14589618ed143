/*
 * collective.h - collective communication between ranks, the processes that compute one task together.
 *
 * A transport only copies.  Sums are computed by the caller in the order of ranks, so neither the transport's algorithm
 * nor its timing changes a bit.  Transports are modules that are opened at run time, like devices.  The only one is
 * libambit_mpi.so, so the programs start on a machine without MPI.
 *
 * Every rank makes the same calls in the same order, from one thread.  mpirun or srun starts the ranks, and ends the
 * others when one of them dies.
 */
#ifndef KERNELS_COLLECTIVE_H
#define KERNELS_COLLECTIVE_H

#include "kernels/base.h"

struct collective;

/* The functions that a transport implements.  A module exports one as `const struct transport ambit_transport`. */
struct transport {
    /* Fills rank, size, local_rank and state.  Returns 0, or -1 with EXIT_CODE_DEVICE or EXIT_CODE_FAILURE. */
    int (*open)(struct collective *c, struct error *err);
    /* Closes after all other ranks close. */
    void (*close)(struct collective *c);
    /* Ends all ranks at once. */
    void (*abort)(struct collective *c, enum exit_code code);
    /* Return 0, or -1 with EXIT_CODE_FAILURE if the transport fails. */
    int (*gather)(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err);
    int (*exchange)(struct collective *c, void *in, const void *out, size_t bytes, struct error *err);
    int (*send)(struct collective *c, int to, const void *data, size_t bytes, struct error *err);
    int (*receive)(struct collective *c, int from, void *data, size_t bytes, struct error *err);
};

struct collective {
    const struct transport *transport; /* NULL: a single rank, no transport calls */
    void *state;                       /* owned by the transport */
    int rank, size, local_rank;        /* local_rank: rank among those of its machine */
    bool broken;                       /* a call has failed: no other call may follow, except abort */
    /* Set by the caller, may be NULL.  Waiting calls run it now and then.  It may not call a collective. */
    void (*waiting)(void *arg);
    void *waiting_arg;
};

/* Joins the ranks that mpirun or srun describes in environment variables; without them, this process is a single rank.
 * Returns 0, or -1 with EXIT_CODE_USAGE if a variable is not a number, if the transport sees other ranks, or if
 * torchrun has started several.  Without a transport, the code is EXIT_CODE_DEVICE. */
int collective_open(struct collective *c, struct error *err);
void collective_close(struct collective *c);
/* Ends all ranks with this exit code.  Does not return. */
void collective_abort(struct collective *c, enum exit_code code) __attribute__((noreturn));

/* Gathers `mine` [bytes] of every rank into `all` [size, bytes].  This and the next calls return 0, or -1 with
 * EXIT_CODE_FAILURE and `broken` set if the transport fails. */
int collective_gather(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err);
/* Sends block k of `out` [size, bytes] to rank k.  Block k of `in` [size, bytes] is the block from rank k. */
int collective_exchange(struct collective *c, void *in, const void *out, size_t bytes, struct error *err);
/* Send bytes from one rank to one other, which must receive them in the same order. */
int collective_send(struct collective *c, int to, const void *data, size_t bytes, struct error *err);
int collective_receive(struct collective *c, int from, void *data, size_t bytes, struct error *err);
/* Runs c->waiting, if any.  Call it while waiting for something else, such as work on a device. */
void collective_wait_note(const struct collective *c);

#endif
