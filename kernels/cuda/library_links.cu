/*
 * library_links.cu - links between GPUs (kernels/links.h) through NCCL, which is opened at run time.
 *
 * Connecting may wait for ranks that never come.  It therefore runs in a thread of its own, and the caller polls it.
 */
#include "kernels/cuda/module.h"
#include "kernels/cuda/nccl.h"
#include "kernels/cuda/state.cuh"

#include <atomic>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A call of CommInitRank in a thread of its own.  The call ends when all ranks have made theirs.  The struct has two
 * owners: the thread, and the device that waits for it.  The last one to leave deletes it. */
struct opening {
    struct nccl api;
    struct ncclUniqueId id;
    int device, rank, size;
    ncclComm_t comm;
    int result;
    std::atomic<bool> over, left; /* the call has returned; one of the two owners has left */
};

struct links_library {
    void *module;
    struct nccl api;
    ncclComm_t comm;
    struct opening *opening;
    int size;
};

template <typename F>
static bool find(void *module, F *function, const char *name)
{
    *function = (F)dlsym(module, name);
    return *function != nullptr;
}

static bool find_functions(struct nccl *api, void *m)
{
#define FIND(name) find(m, &api->name, "nccl" #name)
    return FIND(GetUniqueId) && FIND(CommInitRank) && FIND(CommAbort) && FIND(CommGetAsyncError) && FIND(GroupStart) &&
           FIND(GroupEnd) && FIND(Send) && FIND(Recv) && FIND(AllGather) && FIND(GetErrorString);
#undef FIND
}

/* Gives up one ownership. */
static void leave(struct opening *o)
{
    if (o->left.exchange(true))
        delete o;
}

/* The thread. */
static void *connect(void *opening)
{
    struct opening *o = (struct opening *)opening;
    o->result = cudaSetDevice(o->device) == cudaSuccess ? o->api.CommInitRank(&o->comm, o->size, o->id, o->rank)
                                                        : NCCL_UNHANDLED_CUDA_ERROR;
    o->over = true;
    leave(o);
    return nullptr;
}

void links_library_close(struct cuda_state *s)
{
    struct links_library *l = s->links;
    if (!l)
        return;
    if (l->comm)
        l->api.CommAbort(l->comm);
    if (l->opening) /* the library stays open: its call may still be running */
        leave(l->opening);
    else if (l->module)
        dlclose(l->module);
    free(l);
    s->links = nullptr;
}

/* Returns the library, opened at the first call; NULL with err if it is missing or incomplete. */
static struct links_library *library_of(struct cuda_state *s, struct error *err)
{
    if (s->links)
        return s->links;
    s->links = (struct links_library *)xcalloc(1, sizeof *s->links);
    s->links->module = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (s->links->module && find_functions(&s->links->api, s->links->module))
        return s->links;
    links_library_close(s);
    error_set(err, EXIT_CODE_DEVICE, "no libnccl.so.2 with all that is called");
    return nullptr;
}

/* Turns a result of NCCL into an error. */
static int check(const struct links_library *l, int result, struct error *err)
{
    if (result == NCCL_SUCCESS)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "NCCL: %s", l->api.GetErrorString(result));
}

/* The name of a group of ranks is NCCL's unique id. */
static int links_name(struct device *d, char *name, struct error *err)
{
    struct links_library *l = library_of(state_of(d), err);
    struct ncclUniqueId id;
    static_assert(sizeof id.internal == LINKS_NAME, "the id is the name");
    if (!l)
        return -1;
    use_device(state_of(d));
    if (check(l, l->api.GetUniqueId(&id), err))
        return -1;
    memcpy(name, id.internal, LINKS_NAME);
    return 0;
}

/* Starts the thread with all signals blocked: the main thread handles them. */
static int start_thread(struct opening *o)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&thread, nullptr, connect, o);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return rc ? rc : pthread_detach(thread);
}

static int links_open(struct device *d, const char *name, int rank, int size, struct error *err)
{
    const struct cuda_state *s = state_of(d);
    struct links_library *l = library_of(state_of(d), err);
    if (!l)
        return -1;
    struct opening *o = new opening();
    o->api = l->api;
    o->device = s->number;
    o->rank = rank;
    o->size = l->size = size;
    memcpy(o->id.internal, name, LINKS_NAME);
    if (start_thread(o)) {
        delete o;
        return error_set(err, EXIT_CODE_DEVICE, "no thread to connect NCCL");
    }
    l->opening = o;
    return 0;
}

/* Returns 1 while the call is running. */
static int links_opened(struct device *d, struct error *err)
{
    struct links_library *l = state_of(d)->links;
    struct opening *o = l->opening;
    if (!o->over)
        return 1;
    int result = o->result;
    l->comm = o->comm;
    l->opening = nullptr;
    leave(o);
    return check(l, result, err);
}

static void links_close(struct device *d)
{
    use_device(state_of(d));
    links_library_close(state_of(d));
}

static int links_gather(struct device *d, void *all, const void *mine, size_t bytes, struct error *err)
{
    const struct cuda_state *s = state_of(d);
    const struct links_library *l = s->links;
    use_device(s);
    return check(l, l->api.AllGather(mine, all, bytes, NCCL_UINT8, l->comm, s->stream), err);
}

/* Sends and receives between all pairs of ranks in one group, so that they cannot wait for each other in a circle. */
static int links_exchange(struct device *d, void *in, const void *out, size_t bytes, struct error *err)
{
    const struct cuda_state *s = state_of(d);
    const struct links_library *l = s->links;
    use_device(s);
    int result = l->api.GroupStart();
    for (int k = 0; k < l->size && result == NCCL_SUCCESS; k++) {
        result = l->api.Send((const char *)out + (size_t)k * bytes, bytes, NCCL_UINT8, k, l->comm, s->stream);
        if (result == NCCL_SUCCESS)
            result = l->api.Recv((char *)in + (size_t)k * bytes, bytes, NCCL_UINT8, k, l->comm, s->stream);
    }
    int ended = l->api.GroupEnd();
    return check(l, result == NCCL_SUCCESS ? ended : result, err);
}

/* Returns 1 while the stream is busy.  An error of another rank is seen here, and not by waiting forever. */
static int links_poll(struct device *d, struct error *err)
{
    const struct cuda_state *s = state_of(d);
    const struct links_library *l = s->links;
    int result = NCCL_SUCCESS;
    use_device(s);
    if (check(l, l->api.CommGetAsyncError(l->comm, &result), err))
        return -1;
    if (result != NCCL_IN_PROGRESS && check(l, result, err))
        return -1;
    cudaError_t e = cudaStreamQuery(s->stream);
    if (e != cudaErrorNotReady)
        CUDA_CHECK(e);
    return e == cudaErrorNotReady;
}

extern "C" const struct links ambit_links = { links_name,   links_open,     links_opened, links_close,
                                              links_gather, links_exchange, links_poll };
