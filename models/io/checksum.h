/*
 * checksum.h - XXH64, computed incrementally (Yann Collet, specification at github.com/Cyan4973/xxHash).
 *
 * The hash detects damage, not forgery. The seed is 0, so any xxHash tool computes the same number.
 */
#ifndef MODELS_IO_CHECKSUM_H
#define MODELS_IO_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

struct checksum {
    uint64_t lane[4], total;
    unsigned char rest[32]; /* the last total % 32 bytes */
};

void checksum_init(struct checksum *c);
void checksum_update(struct checksum *c, const void *data, size_t bytes);
uint64_t checksum_final(const struct checksum *c);
/* Returns the hash of one block of memory. */
uint64_t checksum_of(const void *data, size_t bytes);

#endif
