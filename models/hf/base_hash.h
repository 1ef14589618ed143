/*
 * base_hash.h - which weights a run started from: a sum that another folder with the same tensors has too.
 */
#ifndef MODELS_HF_BASE_HASH_H
#define MODELS_HF_BASE_HASH_H

#include "kernels/base.h"

/* XXH64 over names and bytes of all tensors of the folder's safetensors, in name order, however they are sharded.  -1
 * with EXIT_CODE_CHECKPOINT when they cannot be opened. */
int base_hash(const char *dir, uint64_t *hash, struct error *err);

#endif
