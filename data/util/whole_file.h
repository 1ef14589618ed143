/*
 * whole_file.h - files that are read to their end, or by a library that goes where it likes: databases,
 * archives, settings.
 *
 * Only a regular file of bounded size is opened.  A pipe would wait for its writer, a device or a sparse file for ever
 * be read; JSON, which ends where it is no JSON any more, may come from anywhere (json.h).
 */
#ifndef DATA_UTIL_WHOLE_FILE_H
#define DATA_UTIL_WHOLE_FILE_H

#include "kernels/base.h"

#include <stdint.h>
#include <stdio.h>

#define DATABASE_MAX_BYTES (INT64_C(64) << 30)

/* NULL with EXIT_CODE_DATA, nothing having been read; the caller closes it. */
FILE *whole_file_open(const char *path, int64_t max_bytes, struct error *err);
/* All of it, *n bytes with a zero byte behind; NULL with EXIT_CODE_DATA.  The caller frees. */
char *whole_file_read(const char *path, int64_t max_bytes, size_t *n, struct error *err);

#endif
