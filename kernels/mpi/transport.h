/*
 * transport.h - what libambit_mpi.so hands out: ranks that MPI connects.  MPI moves bytes and computes nothing.
 */
#ifndef KERNELS_MPI_TRANSPORT_H
#define KERNELS_MPI_TRANSPORT_H

#include "kernels/collective.h"

extern const struct transport ambit_transport __attribute__((visibility("default")));

#endif
