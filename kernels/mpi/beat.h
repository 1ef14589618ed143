/*
 * beat.h - heartbeats: a thread in each rank sends one to rank 0 four times a second, and rank 0 sends one to all
 * ranks.
 *
 * MPI calls do not end when a process dies, and a rank that computes for minutes is not dead.  Only heartbeats that do
 * not depend on the work tell the two apart.  Silence is counted in a rank's own heartbeats, so a machine that was
 * suspended reports no dead ranks.
 *
 * If one rank ends all and no launcher would end the others, this rank tells each of them.  Their threads then end
 * them.
 */
#ifndef KERNELS_MPI_BEAT_H
#define KERNELS_MPI_BEAT_H

#include "kernels/base.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/* Heartbeats to and from another rank. */
struct beat_peer {
    int rank, silent;    /* silent: heartbeats since the last one received */
    int32_t said, heard; /* the dead rank, else -1 */
    MPI_Request sending, hearing;
};

struct beat {
    MPI_Comm comm; /* a separate communicator */
    int rank, size;
    int32_t ending; /* the exit code that another rank sent to end this one */
    MPI_Request end;
    pthread_t thread;
    struct beat_peer *peers; /* rank 0: all others; others: rank 0 */
    int n_peers;
    atomic_int lost; /* -1: none */
    atomic_bool over;
};

/* Starts the thread.  All ranks together duplicate comm.  MPI must support several threads. */
void beat_start(struct beat *b, MPI_Comm comm, int rank, int size);
/* Stops the thread.  Call it when all ranks are about to do so: a rank whose heartbeat stops counts as dead. */
void beat_end(struct beat *b);
/* Tells all other ranks to exit with the code.  Waits until it is sent to the ranks that still listen, at most a
 * second. */
void beat_end_others(struct beat *b, int32_t code);

#endif
