/*
 * small_data.h - a data folder that trains within a second: the first contrast questions of the practice data.
 */
#ifndef TESTS_SMALL_DATA_H
#define TESTS_SMALL_DATA_H

#include "tests/support/support.h"

/* Writes dir with so many questions of each split. */
void small_data_write(const char *dir, int train, int valid, int test);

#endif
