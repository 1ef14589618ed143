/*
 * nccl.h - the part of NCCL that library_links.cu calls.
 *
 * The library is opened at run time if a user has it, so neither it nor its headers are needed to build.  The values
 * and layouts are those of NCCL's own header, which version 2 keeps; names lack its prefix.
 */
#ifndef KERNELS_CUDA_NCCL_H
#define KERNELS_CUDA_NCCL_H

#include <stddef.h>

typedef struct ncclComm *ncclComm_t;
struct ncclUniqueId {
    char internal[128];
};

enum nccl_result { NCCL_SUCCESS = 0, NCCL_UNHANDLED_CUDA_ERROR = 1, NCCL_IN_PROGRESS = 7 };
enum nccl_type { NCCL_UINT8 = 1 };

struct nccl {
    int (*GetUniqueId)(struct ncclUniqueId *id);
    int (*CommInitRank)(ncclComm_t *comm, int size, struct ncclUniqueId id, int rank);
    int (*CommAbort)(ncclComm_t comm);
    int (*CommGetAsyncError)(ncclComm_t comm, int *result);
    int (*GroupStart)(void);
    int (*GroupEnd)(void);
    int (*Send)(const void *out, size_t n, int type, int peer, ncclComm_t comm, void *stream);
    int (*Recv)(void *in, size_t n, int type, int peer, ncclComm_t comm, void *stream);
    int (*AllGather)(const void *mine, void *all, size_t n, int type, ncclComm_t comm, void *stream);
    const char *(*GetErrorString)(int result);
};

#endif
