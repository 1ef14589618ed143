/*
 * rendezvous.h - where ranks that no launcher started find each other: all connect to a port of rank 0, and there tell
 * each other what MPI has to know to connect them itself.  It passes a few kilobytes when a run begins, and no more.
 *
 * Rank 0 listens while it waits for the others.  Who else comes to the port is sent away: a rank opens with a hello
 * that has the number of ranks and the version in it.
 */
#ifndef KERNELS_MPI_RENDEZVOUS_H
#define KERNELS_MPI_RENDEZVOUS_H

#include "kernels/base.h"

enum { RENDEZVOUS_RANKS_MAX = 1024, RENDEZVOUS_SECONDS = 120, RENDEZVOUS_BYTES_MAX = 1 << 18 };

struct rendezvous {
    int rank, size;
    int *sockets; /* rank 0: [size], of the others by rank; others: [1], to rank 0 */
    char place[300];
    uint32_t run; /* drawn by rank 0 */
};

/* What a rank gave, in memory of the caller's. */
struct rendezvous_words {
    char *data;
    uint32_t bytes;
};

/* Waits for all.  -1 with EXIT_CODE_USAGE when ranks disagree on who or how many they are, or the port is none to be
 * had; with EXIT_CODE_FAILURE when one has not come after seconds, naming it. */
int rendezvous_open(struct rendezvous *r, const char *host, const char *port, int rank, int size, int seconds,
                    struct error *err);
/* all [size]: what every rank gave, which the caller frees; mine of RENDEZVOUS_BYTES_MAX at most.  -1 as above. */
int rendezvous_share(struct rendezvous *r, struct rendezvous_words mine, struct rendezvous_words *all,
                     struct error *err);
void rendezvous_close(struct rendezvous *r);

#endif
