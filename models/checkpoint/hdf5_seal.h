/*
 * hdf5_seal.h - the 512 bytes before the HDF5 data: version, length and sum in plain text.
 */
#ifndef MODELS_CHECKPOINT_HDF5_SEAL_H
#define MODELS_CHECKPOINT_HDF5_SEAL_H

#include "kernels/base.h"

enum { SEAL_BYTES = 512 };

/* Sums what follows the seal in an open file and writes the seal. */
int seal_write(int fd, const char *path, struct error *err);
/* Opens a file for reading; -1 with EXIT_CODE_CHECKPOINT unless every byte of it is what was sealed.  *bytes is its
 * length. */
int seal_open(const char *path, int64_t *bytes, struct error *err);

#endif
