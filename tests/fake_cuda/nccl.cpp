/* Part of fake_cuda.h: a libnccl.so.2 whose GPUs are those of the ranks that MPI connects; there is one where FAKE_NCCL
 * is set; at "fail" rank 1 does not connect.  Nothing moves before something waits for the
 * stream, and all of it has to be device memory. */
#include "kernels/cuda/nccl.h"
#include "tests/fake_cuda/fake_impl.h"

#include <vector>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FAKE_NCCL
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

struct transfer {
    bool send;
    char *p;
    size_t n;
    int peer;
    cudaStream_t stream;
};

struct ncclComm {
    MPI_Comm comm;
};

enum { INVALID = 4 };
static const char secret[] = "the id of rank 0";
static bool grouped;
static std::vector<transfer> group;

static void check_place(const void *p, size_t n, cudaStream_t stream)
{
    if (fake_memory_place(p, n, "NCCL") != fake_stream_device(stream, "NCCL"))
        fake_misuse("NCCL: memory that is not of the stream's device");
}

static int get_unique_id(struct ncclUniqueId *id)
{
    memset(id, 0, sizeof *id);
    memcpy(id->internal, secret, sizeof secret);
    return NCCL_SUCCESS;
}

static int comm_init_rank(ncclComm_t *comm, int size, struct ncclUniqueId id, int rank)
{
    int there, own;
    MPI_Comm_size(MPI_COMM_WORLD, &there);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    if (memcmp(id.internal, secret, sizeof secret) || size != there || rank != own)
        return INVALID;
    const char *trouble = getenv("FAKE_NCCL");
    if (!strcmp(trouble, "fail") && rank == 1)
        return INVALID;
    while (!strcmp(trouble, "fail"))
        pause(); /* for a rank that does not come */
    *comm = new ncclComm();
    return MPI_Comm_dup(MPI_COMM_WORLD, &(*comm)->comm);
}

static int comm_abort(ncclComm_t comm)
{
    delete comm;
    return NCCL_SUCCESS;
}

static int comm_get_async_error(ncclComm_t, int *result)
{
    return *result = NCCL_SUCCESS;
}

static int group_start()
{
    grouped = true;
    return NCCL_SUCCESS;
}

static int add(bool send, const void *p, size_t n, int type, int peer, cudaStream_t stream)
{
    if (!grouped || type != NCCL_UINT8)
        return INVALID;
    check_place(p, n, stream);
    group.push_back({ send, (char *)p, n, peer, stream });
    return NCCL_SUCCESS;
}

static ncclComm_t of_group;

static int send(const void *out, size_t n, int type, int peer, ncclComm_t comm, void *stream)
{
    of_group = comm;
    return add(true, out, n, type, peer, stream);
}

static int receive(void *in, size_t n, int type, int peer, ncclComm_t comm, void *stream)
{
    of_group = comm;
    return add(false, in, n, type, peer, stream);
}

static void move(MPI_Comm comm, const std::vector<transfer> &list)
{
    std::vector<MPI_Request> requests(list.size());
    for (size_t i = 0; i < list.size(); i++) {
        const transfer &t = list[i];
        if (t.send)
            MPI_Isend(t.p, (int)t.n, MPI_BYTE, t.peer, 0, comm, &requests[i]);
        else
            MPI_Irecv(t.p, (int)t.n, MPI_BYTE, t.peer, 0, comm, &requests[i]);
    }
    MPI_Waitall((int)requests.size(), requests.data(), MPI_STATUSES_IGNORE);
}

static int group_end()
{
    std::vector<transfer> list;
    list.swap(group);
    grouped = false;
    if (list.empty())
        return NCCL_SUCCESS;
    MPI_Comm comm = of_group->comm;
    fake_enqueue(list[0].stream, [=] { move(comm, list); });
    return NCCL_SUCCESS;
}

static int all_gather(const void *mine, void *all, size_t n, int type, ncclComm_t comm, void *stream)
{
    int size;
    MPI_Comm c = comm->comm;
    MPI_Comm_size(c, &size);
    if (type != NCCL_UINT8)
        return INVALID;
    check_place(mine, n, stream);
    check_place(all, n * (size_t)size, stream);
    fake_enqueue(stream, [=] { MPI_Allgather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, c); });
    return NCCL_SUCCESS;
}

static const char *get_error_string(int)
{
    return "a fake error";
}

void *fake_nccl_find(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = { { "ncclGetUniqueId", (void *)get_unique_id },
                      { "ncclCommInitRank", (void *)comm_init_rank },
                      { "ncclCommAbort", (void *)comm_abort },
                      { "ncclCommGetAsyncError", (void *)comm_get_async_error },
                      { "ncclGroupStart", (void *)group_start },
                      { "ncclGroupEnd", (void *)group_end },
                      { "ncclSend", (void *)send },
                      { "ncclRecv", (void *)receive },
                      { "ncclAllGather", (void *)all_gather },
                      { "ncclGetErrorString", (void *)get_error_string } };
    for (const auto &f : functions)
        if (!strcmp(f.name, name))
            return f.function;
    return nullptr;
}

bool fake_nccl_wanted()
{
    return getenv("FAKE_NCCL") != nullptr;
}
#else
void *fake_nccl_find(const char *)
{
    return nullptr;
}

bool fake_nccl_wanted()
{
    return false;
}
#endif
