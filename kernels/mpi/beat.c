#include "kernels/mpi/beat.h"

#include "kernels/collective.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { BEAT_US = 250000, SILENT_MOST = COLLECTIVE_SILENCE * (1000000 / BEAT_US), TAG = 1, END_TAG = 2 };
enum { END_LOOK_US = 10000, END_LOOKS_LEAST = 20, END_LOOKS_MOST = 100 };

static bool done(MPI_Request *request)
{
    int flag = 1;

    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static void hear(struct beat *b, struct beat_peer *p)
{
    p->silent++;
    while (done(&p->hearing)) {
        p->silent = 0;
        if (p->heard >= 0)
            atomic_store(&b->lost, p->heard);
        MPI_Irecv(&p->heard, 1, MPI_INT32_T, p->rank, TAG, b->comm, &p->hearing);
    }
    if (p->silent > SILENT_MOST)
        atomic_store(&b->lost, p->rank);
}

/* A message that is still pending means that no one receives it. */
static void say(struct beat *b, struct beat_peer *p)
{
    if (!done(&p->sending))
        return;
    p->said = atomic_load(&b->lost);
    MPI_Isend(&p->said, 1, MPI_INT32_T, p->rank, TAG, b->comm, &p->sending);
}

static void *run(void *arg)
{
    struct beat *b = arg;

    while (!atomic_load(&b->over)) {
        if (done(&b->end))
            _exit(b->ending);
        for (int i = 0; i < b->n_peers; i++) {
            hear(b, &b->peers[i]);
            say(b, &b->peers[i]);
        }
        usleep(BEAT_US);
    }
    return NULL;
}

/* Starts the thread with signals blocked, because the computing thread handles them. */
static void start_thread(struct beat *b)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&b->thread, NULL, run, b) == 0, "no thread for signs of life");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void beat_start(struct beat *b, MPI_Comm comm, int rank, int size)
{
    MPI_Comm_dup(comm, &b->comm);
    b->rank = rank;
    b->size = size;
    MPI_Irecv(&b->ending, 1, MPI_INT32_T, MPI_ANY_SOURCE, END_TAG, b->comm, &b->end);
    b->n_peers = rank ? 1 : size - 1;
    b->peers = xcalloc((size_t)b->n_peers, sizeof *b->peers);
    atomic_init(&b->lost, -1);
    atomic_init(&b->over, false);
    for (int i = 0; i < b->n_peers; i++) {
        struct beat_peer *p = &b->peers[i];
        *p = (struct beat_peer){ .rank = rank ? 0 : i + 1, .said = -1, .sending = MPI_REQUEST_NULL };
        MPI_Irecv(&p->heard, 1, MPI_INT32_T, p->rank, TAG, b->comm, &p->hearing);
    }
    start_thread(b);
}

void beat_end(struct beat *b)
{
    atomic_store(&b->over, true);
    pthread_join(b->thread, NULL);
    MPI_Cancel(&b->end);
    MPI_Wait(&b->end, MPI_STATUS_IGNORE);
    for (int i = 0; i < b->n_peers; i++) {
        MPI_Cancel(&b->peers[i].hearing);
        MPI_Wait(&b->peers[i].hearing, MPI_STATUS_IGNORE);
        MPI_Wait(&b->peers[i].sending, MPI_STATUS_IGNORE);
    }
    free(b->peers);
    MPI_Comm_free(&b->comm);
}

void beat_end_others(struct beat *b, int32_t code)
{
    MPI_Request *sending = xcalloc((size_t)b->size, sizeof *sending);
    int gone = 0;

    for (int k = 0; k < b->size; k++) {
        sending[k] = MPI_REQUEST_NULL;
        if (k != b->rank)
            MPI_Isend(&code, 1, MPI_INT32_T, k, END_TAG, b->comm, &sending[k]);
    }
    /* a message that MPI reports as sent may still be on its way */
    for (int i = 0; i < END_LOOKS_MOST && (!gone || i < END_LOOKS_LEAST); i++) {
        MPI_Testall(b->size, sending, &gone, MPI_STATUSES_IGNORE);
        usleep(END_LOOK_US);
    }
    free(sending);
}
