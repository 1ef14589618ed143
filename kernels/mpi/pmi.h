/*
 * pmi.h - MPI for ranks without an MPI launcher, such as those of torchrun.  The variables RANK, WORLD_SIZE,
 * MASTER_ADDR and MASTER_PORT describe the ranks and the address of rank 0.
 *
 * A launcher does two things for MPI.  It gives each process its rank, and it distributes the address that each process
 * publishes.  Open MPI 4 calls any library with the PMI-1 functions for this, if FLUX_PMI_LIBRARY_PATH names the
 * library. libambit_mpi.so names itself.  Published values are distributed at each barrier (rendezvous.h).  Other MPI
 * libraries ignore this and see one rank.
 */
#ifndef KERNELS_MPI_PMI_H
#define KERNELS_MPI_PMI_H

#include "kernels/base.h"

/* Waits for all ranks; call it before MPI starts.  Returns 0, or -1 with EXIT_CODE_USAGE if a variable is missing, not
 * a number, or different from that of rank 0.  If a rank does not come, the code is EXIT_CODE_FAILURE. */
int pmi_open(int size, struct error *err);
/* Releases the connections.  Call it after MPI has ended or failed to start. */
void pmi_close(void);

#endif
