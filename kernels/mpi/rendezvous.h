/*
 * rendezvous.h - the rendezvous of ranks without a launcher.  All ranks connect to a port of rank 0 and exchange the
 * data that MPI needs to connect them.
 *
 * A run exchanges a few kilobytes at its start and nothing later.  Rank 0 listens while it waits for the other ranks.
 * A rank opens with a hello that contains the number of ranks and the version.  Other connections are closed.
 */
#ifndef KERNELS_MPI_RENDEZVOUS_H
#define KERNELS_MPI_RENDEZVOUS_H

#include "kernels/base.h"

enum { RENDEZVOUS_RANKS_MAX = 1024, RENDEZVOUS_SECONDS = 120, RENDEZVOUS_BYTES_MAX = 1 << 18 };

struct rendezvous {
    int rank, size;
    int *sockets; /* rank 0: [size], by rank; others: [1], to rank 0 */
    char place[300];
    uint32_t run; /* drawn by rank 0 */
};

/* The bytes of a rank, in memory of the caller. */
struct rendezvous_words {
    char *data;
    uint32_t bytes;
};

/* Waits for all ranks.  Returns 0, or -1 with EXIT_CODE_USAGE if ranks disagree on ranks or their number, or the
 * port is unavailable.  If a rank has not come after `seconds`, the code is EXIT_CODE_FAILURE, and the error names
 * the rank. */
int rendezvous_open(struct rendezvous *r, const char *host, const char *port, int rank, int size, int seconds,
                    struct error *err);
/* Gathers the words of every rank into all [size], which the caller frees.  mine has at most RENDEZVOUS_BYTES_MAX
 * bytes.  Errors are those of rendezvous_open. */
int rendezvous_share(struct rendezvous *r, struct rendezvous_words mine, struct rendezvous_words *all,
                     struct error *err);
void rendezvous_close(struct rendezvous *r);

#endif
