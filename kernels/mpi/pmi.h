/*
 * pmi.h - MPI for ranks that no launcher of MPI's started, such as those of torchrun: RANK, WORLD_SIZE, MASTER_ADDR and
 * MASTER_PORT say who they are and where rank 0 is.
 *
 * A launcher does two things for MPI: it tells processes who they are, and passes on what each says of how it can be
 * reached.  Open MPI 4 asks any library with the functions of PMI-1 for them, if its component for Flux is told where
 * that library is (FLUX_PMI_LIBRARY_PATH).  libambit_mpi.so names itself; what was put is passed on at each barrier
 * (rendezvous.h).  Another MPI takes no notice, and sees one rank.
 */
#ifndef KERNELS_MPI_PMI_H
#define KERNELS_MPI_PMI_H

#include "kernels/base.h"

/* Before MPI begins: waits for all ranks.  -1 with EXIT_CODE_USAGE when a variable is missing, no number, or not what
 * rank 0 has; with EXIT_CODE_FAILURE when a rank does not come. */
int pmi_open(int size, struct error *err);
/* After MPI has ended, or where it did not begin. */
void pmi_close(void);

#endif
