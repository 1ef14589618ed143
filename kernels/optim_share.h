/*
 * optim_share.h - the part of optim.h that cuts states over ranks.
 */
#ifndef KERNELS_OPTIM_SHARE_H
#define KERNELS_OPTIM_SHARE_H

#include "kernels/optim.h"

enum { STATE_HEADER = (sizeof(struct tensor) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN };

/* Chunks of UPDATE_CHUNK that n numbers begin. */
int64_t optim_chunks(int64_t n);
/* This rank's states, from o's arenas, which have room for them. */
void optim_take_share(struct optim *o, struct params *p);

#endif
