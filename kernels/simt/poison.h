/*
 * poison.h - memory that holds nothing yet holds what shows: NaN, or numbers too large for any result.
 *
 * Static shared memory lies between two symbols of shared.ld.  Which of it a kernel uses is learnt by looking for what
 * is no longer poisoned, now and then, so that a block costs no more than what it uses.
 */
#ifndef KERNELS_SIMT_POISON_H
#define KERNELS_SIMT_POISON_H

#include <stddef.h>

/* Which of the two is used from now on; before any other. */
void poison_choose(unsigned number);
/* Unseen by sanitizers. */
void poison(void *p, size_t bytes);
/* A block of this kernel has run: its static shared memory is poisoned for the next. */
void poison_shared(const void *kernel);

#endif
