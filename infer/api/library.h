/*
 * library.h - the state of process and thread around a call of libambit (ambit.h).
 *
 * ambit's code was written for programs, which own their process.  A library is a guest: library_enter() sets what the
 * code expects of the calling thread, and library_leave() restores what the host had.  The first call sets the
 * library's own copy of ambit's global variables; the host's variables stay unchanged.
 *
 * state                             in a program                      in the library
 * messages                          standard error                    ambit_set_log()
 * PR_SET_DUMPABLE                   off, from the first worker on     unchanged
 * numeric locale                    C, never set                      C for the calling thread, during the call
 * OpenMP's number of threads        of the environment                of the handle, during the call
 * OpenBLAS's number of threads      as OpenMP's                       unchanged
 * worker and detector               beside the program                beside the library
 * signal handlers                   installed by commands             never installed
 */
#ifndef INFER_API_LIBRARY_H
#define INFER_API_LIBRARY_H

#include "kernels/base.h"

#include <locale.h>

/* State of the host's thread during a call. */
struct library_visit {
    locale_t locale;
    int threads, dynamic;
};

/* Sets up the library at the first call.  Nothing here fails. */
void library_open(void);
/* Begins a call with so many threads; 0: as many as processors are available, or as OMP_NUM_THREADS says.  Returns -1
 * in a forked child, and inside a parallel region of OpenMP unless threads is 1: oneDNN skips the work of threads that
 * OpenMP does not give.  Then there is nothing to leave. */
int library_enter(struct library_visit *v, int threads, struct error *err);
void library_leave(const struct library_visit *v);

#endif
