/*
 * poison.h - fills uninitialised memory with visible values: NaN, or numbers too large for any result.
 *
 * Static shared memory lies between two symbols of shared.ld.  Now and then, a search for overwritten poison finds the
 * part that a kernel uses.  A block therefore costs no more than the memory it uses.
 */
#ifndef KERNELS_SIMT_POISON_H
#define KERNELS_SIMT_POISON_H

#include <stddef.h>

/* Chooses the poison from now on.  Call it first. */
void poison_choose(unsigned number);
/* Poisons memory without checks by sanitizers. */
void poison(void *p, size_t bytes);
/* Poisons the static shared memory of a kernel after one of its blocks. */
void poison_shared(const void *kernel);

#endif
