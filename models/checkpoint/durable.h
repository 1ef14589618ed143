/*
 * durable.h - the last steps of writing a file that must survive a kill or a power cut.
 */
#ifndef MODELS_CHECKPOINT_DURABLE_H
#define MODELS_CHECKPOINT_DURABLE_H

#include "kernels/base.h"

/* All of data at an offset of fd; path is for the message.  -1 with EXIT_CODE_FAILURE (disk full, say). */
int durable_write(int fd, const void *data, size_t bytes, int64_t at, const char *path, struct error *err);
/* Syncs fd (an open descriptor of tmp), renames tmp to path and syncs the folder. */
int durable_rename(int fd, const char *tmp, const char *path, struct error *err);
/* Syncs the folder that holds path, so that a rename or removal in it stays. */
int durable_sync_parent(const char *path, struct error *err);

#endif
