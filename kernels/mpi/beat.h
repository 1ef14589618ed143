/*
 * beat.h - who is alive: a thread in each rank sends a sign of life to rank 0 four times a second, and rank 0 one to
 * all.
 *
 * Calls of MPI do not end when a process is gone, and a rank that computes for minutes is not gone: only signs that do
 * not depend on the work tell the two apart.  Silence is counted in a rank's own beats, so that a machine that was
 * halted as a whole accuses nobody.
 *
 * Where no launcher would end the others when one ends all, that one tells each of them, and their threads do.
 */
#ifndef KERNELS_MPI_BEAT_H
#define KERNELS_MPI_BEAT_H

#include "kernels/base.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/* To and from another rank. */
struct beat_peer {
    int rank, silent;    /* beats since it was heard */
    int32_t said, heard; /* the rank that is lost, else -1 */
    MPI_Request sending, hearing;
};

struct beat {
    MPI_Comm comm; /* of its own */
    int rank, size;
    int32_t ending; /* the code with which another rank ends this one, once it is heard */
    MPI_Request end;
    pthread_t thread;
    struct beat_peer *peers; /* rank 0: all others; others: rank 0 */
    int n_peers;
    atomic_int lost; /* -1: nobody */
    atomic_bool over;
};

/* A copy of comm is made by all ranks together.  MPI serves several threads. */
void beat_start(struct beat *b, MPI_Comm comm, int rank, int size);
/* When all ranks are about to do so: a beat that ended is a rank that is lost. */
void beat_end(struct beat *b);
/* Tells all others to exit with the code, and waits until it has left for those that still listen, a second at most. */
void beat_end_others(struct beat *b, int32_t code);

#endif
