/*
 * sums.h - sums of texts and files, by which a run that goes on knows that what it reads is what it was; they go on
 * from h as hash_bytes does.
 */
#ifndef DATA_UTIL_SUMS_H
#define DATA_UTIL_SUMS_H

#include "kernels/base.h"

/* Of a text and its end; NULL is another than "". */
uint64_t sum_text(uint64_t h, const char *text);
/* Of a file's bytes; 0 when it cannot be read. */
uint64_t sum_file(const char *path);
/* Of names, sizes and times of the files right below a folder, for weights that take long to read; NULL adds nothing.
 */
uint64_t sum_folder(uint64_t h, const char *dir);

#endif
