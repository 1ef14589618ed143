/*
 * checksum.h - XXH64 (Yann Collet, github.com/Cyan4973/xxHash, the published specification), fed piece by piece.
 *
 * It finds damage, not forgery.  The seed is 0, so any xxHash tool gives the same number.
 */
#ifndef MODELS_CHECKPOINT_CHECKSUM_H
#define MODELS_CHECKPOINT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

struct checksum {
    uint64_t lane[4], total;
    unsigned char rest[32]; /* the last total % 32 bytes */
};

void checksum_init(struct checksum *c);
void checksum_update(struct checksum *c, const void *data, size_t bytes);
uint64_t checksum_final(const struct checksum *c);
/* All at once. */
uint64_t checksum_of(const void *data, size_t bytes);

#endif
