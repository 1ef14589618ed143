/*
 * whole_file.h - opens, reads and hashes files that are read completely, or by a library with random access: databases,
 * archives, settings.
 *
 * Only regular files of bounded size are opened.  A pipe would wait for its writer, and a device or a sparse file could
 * be read forever.  JSON has no such restriction (json.h), since a parser stops at the first error.
 */
#ifndef DATA_BASE_WHOLE_FILE_H
#define DATA_BASE_WHOLE_FILE_H

#include "kernels/base.h"

#include <stdint.h>
#include <stdio.h>

#define DATABASE_MAX_BYTES (INT64_C(64) << 30)

/* Opens a file; the caller closes it.  NULL with EXIT_CODE_DATA, before anything is read. */
FILE *whole_file_open(const char *path, int64_t max_bytes, struct error *err);
/* Reads a file into memory: *n bytes, followed by a zero byte.  The caller frees the result.  NULL with
 * EXIT_CODE_DATA. */
char *whole_file_read(const char *path, int64_t max_bytes, size_t *n, struct error *err);

/*
 * Hashes of texts, files and folders, by which a resumed run checks that its inputs are unchanged.  Each function
 * continues the hash h as hash_bytes does.
 */

/* Hashes a text with its NUL; NULL and "" differ. */
uint64_t hash_text(uint64_t h, const char *text);
/* Hashes the bytes of a file; 0 if the file cannot be read. */
uint64_t hash_file(const char *path);
/* Hashes names, sizes and times of the files directly in a folder: for weights that take long to read.  NULL adds
 * nothing. */
uint64_t hash_folder(uint64_t h, const char *dir);

#endif
