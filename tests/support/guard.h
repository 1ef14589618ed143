/*
 * guard.h - bytes after every arena block that nobody may write, nor, under AddressSanitizer, read.
 *
 * The executable is linked with --wrap=arena_alloc and --wrap=arena_alloc_end, so every block of the code under test
 * gets GUARD_BYTES more than it asked for.  The test fills the arena with a pattern before the run and looks at the
 * extra bytes afterwards.
 */
#ifndef TESTS_GUARD_H
#define TESTS_GUARD_H

#include "kernels/arena.h"

/* GUARD_NAN: NaNs of both types.  A kernel that reads them shows, but one that adds to them does not. */
enum { GUARD_BYTES = 64, GUARD_PATTERN = 0xa5, GUARD_NAN = 0xff };

/* From now on every block is guarded, and the blocks of `step` are remembered.  later: kernels run after memory has
 * gone to others, so that nothing is closed to AddressSanitizer. */
void guard_start(const struct arena *step, bool later);
void guard_stop(void);
/* copy: the arena's memory, taken after guard_stop; pattern: the byte that filled it.  Returns the offset of the first
 * byte that was written beyond a block, or -1. */
int64_t guard_find_damage(const unsigned char *copy, int pattern);

#endif
