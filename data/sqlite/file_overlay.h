/*
 * file_overlay.h - a file with changes that stay in memory: copy on write by blocks.
 */
#ifndef DATA_SQLITE_FILE_OVERLAY_H
#define DATA_SQLITE_FILE_OVERLAY_H

#include "kernels/base.h"

#include <stdint.h>

/* Reads n bytes at `at` of the file below; what lies behind its end is zeros.  0, or another number on an error. */
typedef int overlay_read_fn(void *below, void *to, int64_t n, int64_t at);

/* A zeroed struct has no changes. */
struct file_overlay {
    bool changed;
    int64_t size;                 /* of the file with its changes, once there are some */
    int64_t below_end;            /* from there on the file below was cut off */
    struct overlay_block *blocks; /* a hash table with open addressing */
    int64_t n, cap;
};

/* The first change: size is the file's own. */
void overlay_begin(struct file_overlay *o, int64_t size);
/* Reads n bytes at `at`, zeros behind the end.  Gives what read gives. */
int overlay_read(const struct file_overlay *o, void *to, int64_t n, int64_t at, overlay_read_fn *read, void *below);
/* 0, 1 when the changes would take more than max_bytes, or what read gives. */
int overlay_write(struct file_overlay *o, const void *from, int64_t n, int64_t at, int64_t max_bytes,
                  overlay_read_fn *read, void *below);
/* Makes the file shorter, or longer by zeros. */
void overlay_truncate(struct file_overlay *o, int64_t size);
void overlay_release(struct file_overlay *o);

#endif
