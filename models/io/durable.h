/*
 * durable.h - writes files that survive a kill or a power cut.
 *
 * All functions return 0, or -1 with EXIT_CODE_FAILURE.
 */
#ifndef MODELS_IO_DURABLE_H
#define MODELS_IO_DURABLE_H

#include "kernels/base.h"

/* Writes all bytes at offset `at` of fd. path is for messages. */
int durable_write(int fd, const void *data, size_t bytes, int64_t at, const char *path, struct error *err);
/* Syncs fd, an open descriptor of tmp, renames tmp to path and syncs the folder. */
int durable_rename(int fd, const char *tmp, const char *path, struct error *err);
/* Syncs the folder of path, so that a rename or removal in it is permanent. */
int durable_sync_parent(const char *path, struct error *err);

#endif
