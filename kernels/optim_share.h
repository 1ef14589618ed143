/*
 * optim_share.h - sharding of optimizer states over ranks, the internal part of optim.h.
 */
#ifndef KERNELS_OPTIM_SHARE_H
#define KERNELS_OPTIM_SHARE_H

#include "kernels/optim.h"

enum { STATE_HEADER = (sizeof(struct tensor) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN };

/* Returns the number of chunks of UPDATE_CHUNK that n elements need. */
int64_t optim_chunks(int64_t n);
/* Allocates this rank's states in the arenas of o, which have enough memory. */
void optim_take_share(struct optim *o, struct params *p);

#endif
