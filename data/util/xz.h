/*
 * xz.h - a .xz file as a stream of plain bytes.
 *
 * The whole file is decoded when it is opened, so that a damaged one is refused before anything was read from it.
 */
#ifndef DATA_UTIL_XZ_H
#define DATA_UTIL_XZ_H

#include "kernels/base.h"

#include <stdio.h>

enum { XZ_MAX_BYTES = 1 << 30 }; /* decoded size; a small file may claim to hold far more */

bool xz_is_name(const char *path);
/* At the first decoded byte; the caller closes it.  NULL with EXIT_CODE_DATA when the file is missing, truncated, not
 * xz, damaged or too large. */
FILE *xz_open(const char *path, struct error *err);

#endif
