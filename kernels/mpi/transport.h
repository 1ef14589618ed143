/*
 * transport.h - the transport that libambit_mpi.so exports: ranks connected by MPI.  MPI moves bytes and computes
 * nothing.
 */
#ifndef KERNELS_MPI_TRANSPORT_H
#define KERNELS_MPI_TRANSPORT_H

#include "kernels/collective.h"

extern const struct transport ambit_transport __attribute__((visibility("default")));

#endif
