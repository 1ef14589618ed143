/*
 * collective.h - processes that compute one thing together: ranks, and the ways in which they pass bytes on.
 *
 * A transport only copies: all sums are the caller's, in the order of ranks, so that neither the transport's algorithm
 * nor its timing changes a bit.  Transports are modules that are opened at run time, as devices are; there is one,
 * libambit_mpi.so, so the programs start on a machine without MPI.
 *
 * Every rank makes the same calls in the same order, from one thread.  A rank that is silent for COLLECTIVE_SILENCE
 * seconds, dead or not, is lost: calls of all others then fail, naming it.
 */
#ifndef KERNELS_COLLECTIVE_H
#define KERNELS_COLLECTIVE_H

#include "kernels/base.h"

enum { COLLECTIVE_SILENCE = 15 };

struct collective;

/* What a transport implements.  A module exports one as `const struct transport ambit_transport`. */
struct transport {
    /* Fills rank, size, local_rank and state; of a start that is unlaunched the size is given.  -1 with
     * EXIT_CODE_DEVICE, or as variables and others are at fault. */
    int (*open)(struct collective *c, struct error *err);
    /* Waits for all others to close too. */
    void (*close)(struct collective *c);
    /* Ends all ranks at once. */
    void (*abort)(struct collective *c, enum exit_code code);
    /* -1 with EXIT_CODE_FAILURE when a rank is lost. */
    int (*gather)(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err);
    int (*exchange)(struct collective *c, void *in, const void *out, size_t bytes, struct error *err);
    int (*send)(struct collective *c, int to, const void *data, size_t bytes, struct error *err);
    int (*receive)(struct collective *c, int from, void *data, size_t bytes, struct error *err);
    int (*look)(struct collective *c, struct error *err);
};

struct collective {
    const struct transport *transport; /* NULL: one rank alone, which calls nothing */
    void *state;                       /* the transport's */
    int rank, size, local_rank;        /* local: among those of its machine */
    int lost;                          /* the rank that a call found lost, else -1 */
    bool unlaunched; /* no launcher of MPI's: size, RANK, MASTER_ADDR and MASTER_PORT are all that is known */
    /* The caller's to set, may be NULL: called now and then by a call that waits; it may not call a collective. */
    void (*waiting)(void *arg);
    void *waiting_arg;
};

/* One rank of those that mpirun, srun or torchrun's variables tell of; alone where none does.  -1 with
 * EXIT_CODE_USAGE when a variable is no number or the transport sees other ranks, EXIT_CODE_DEVICE without transport.
 */
int collective_open(struct collective *c, struct error *err);
void collective_close(struct collective *c);
/* Does not return. */
void collective_abort(struct collective *c, enum exit_code code) __attribute__((noreturn));

/* all [size, bytes]: what every rank gave as mine [bytes]. */
int collective_gather(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err);
/* in [size, bytes]: the block that every rank had for this one; out [size, bytes]: block k is for rank k. */
int collective_exchange(struct collective *c, void *in, const void *out, size_t bytes, struct error *err);
/* Between two ranks alone: the one sends what the other receives, in this order. */
int collective_send(struct collective *c, int to, const void *data, size_t bytes, struct error *err);
int collective_receive(struct collective *c, int from, void *data, size_t bytes, struct error *err);
/* For who waits for something else: -1 when a rank is lost. */
int collective_look(struct collective *c, struct error *err);

#endif
