/*
 * sums.h - hashes of texts, files and folders, by which a resumed run checks that its inputs are unchanged.
 *
 * Each function continues the hash h as hash_bytes does.
 */
#ifndef DATA_UTIL_SUMS_H
#define DATA_UTIL_SUMS_H

#include "kernels/base.h"

/* Hashes a text with its NUL; NULL and "" differ. */
uint64_t sum_text(uint64_t h, const char *text);
/* Hashes the bytes of a file; 0 if the file cannot be read. */
uint64_t sum_file(const char *path);
/* Hashes names, sizes and times of the files directly in a folder: for weights that take long to read.  NULL adds
 * nothing. */
uint64_t sum_folder(uint64_t h, const char *dir);

#endif
