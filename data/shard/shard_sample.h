/*
 * shard_sample.h - a sum of a file or a folder that a run reads, by which parts of the run know that they read the
 * same.
 *
 * It must cost little for weights of a hundred GB: it is of sizes and of samples of the bytes, and not of times or of
 * paths, which differ between machines.
 */
#ifndef DATA_SHARD_SHARD_SAMPLE_H
#define DATA_SHARD_SHARD_SAMPLE_H

#include <stdint.h>

/* Of a folder it takes weights, their settings, prompts and databases, down to the second level, and leaves what others
 * may write beside them.  Of what cannot be read it is that of nothing. */
uint64_t shard_sample(const char *path);

#endif
