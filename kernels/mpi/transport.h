/*
 * transport.h - the transport that libambit_mpi.so exports: ranks connected by MPI.
 *
 * The program opens the library at run time (kernels/collective.h), so that ambit runs on machines without MPI.  MPI
 * moves bytes and computes nothing: sums of gradients are made by ambit in a fixed order, and do not depend on the MPI
 * library.  Functions that can fail return 0, or -1 with EXIT_CODE_FAILURE and the message of MPI.
 */
#ifndef KERNELS_MPI_TRANSPORT_H
#define KERNELS_MPI_TRANSPORT_H

#include "kernels/collective.h"

extern const struct transport ambit_transport __attribute__((visibility("default")));

#endif
