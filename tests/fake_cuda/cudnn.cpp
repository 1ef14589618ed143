/* Part of fake_cuda.h: a libcudnn whose descriptors must be whole, and whose plans are run by cudnn_run.cpp. */
#include "tests/fake_cuda/dlfcn.h"
#include "tests/fake_cuda/fake_cudnn.h"

#include <memory>

enum { SUCCESS = 0, FAILED = 5000, FAKE_WORKSPACE = 4096 };

struct cudnnContext {
    int device;
    void *stream;
};

/* The descriptor and the element type of each attribute; whether its descriptor is incomplete without it. */
static const struct attribute {
    int name, of, element;
    bool wanted;
} known[] = {
    { CUDNN_POINTWISE_MODE, CUDNN_POINTWISE, CUDNN_OF_POINTWISE_MODE, true },
    { CUDNN_POINTWISE_MATH_PREC, CUDNN_POINTWISE, CUDNN_OF_DATA_TYPE, true },
    { CUDNN_POINTWISE_AXIS, CUDNN_POINTWISE, CUDNN_OF_INT64, false },
    { CUDNN_ENGINEHEUR_MODE, CUDNN_ENGINEHEUR, CUDNN_OF_HEUR_MODE, true },
    { CUDNN_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ENGINEHEUR, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_EXECUTION_PLAN_HANDLE, CUDNN_EXECUTION_PLAN, CUDNN_OF_HANDLE, true },
    { CUDNN_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_EXECUTION_PLAN, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_POINTWISE_PW, CUDNN_OPERATION_POINTWISE, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_POINTWISE_X, CUDNN_OPERATION_POINTWISE, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_POINTWISE_B, CUDNN_OPERATION_POINTWISE, CUDNN_OF_DESCRIPTOR, false },
    { CUDNN_OPERATION_POINTWISE_T, CUDNN_OPERATION_POINTWISE, CUDNN_OF_DESCRIPTOR, false },
    { CUDNN_OPERATION_POINTWISE_Y, CUDNN_OPERATION_POINTWISE, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATIONGRAPH_HANDLE, CUDNN_OPERATIONGRAPH, CUDNN_OF_HANDLE, true },
    { CUDNN_OPERATIONGRAPH_OPS, CUDNN_OPERATIONGRAPH, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_TENSOR_BYTE_ALIGNMENT, CUDNN_TENSOR, CUDNN_OF_INT64, true },
    { CUDNN_TENSOR_DATA_TYPE, CUDNN_TENSOR, CUDNN_OF_DATA_TYPE, true },
    { CUDNN_TENSOR_DIMENSIONS, CUDNN_TENSOR, CUDNN_OF_INT64, true },
    { CUDNN_TENSOR_STRIDES, CUDNN_TENSOR, CUDNN_OF_INT64, true },
    { CUDNN_TENSOR_UNIQUE_ID, CUDNN_TENSOR, CUDNN_OF_INT64, true },
    { CUDNN_TENSOR_IS_VIRTUAL, CUDNN_TENSOR, CUDNN_OF_BOOLEAN, false },
    { CUDNN_TENSOR_IS_BY_VALUE, CUDNN_TENSOR, CUDNN_OF_BOOLEAN, false },
    { CUDNN_TENSOR_RAGGED_OFFSET, CUDNN_TENSOR, CUDNN_OF_DESCRIPTOR, false },
    { CUDNN_VARIANT_PACK_UNIQUE_IDS, CUDNN_VARIANT_PACK, CUDNN_OF_INT64, true },
    { CUDNN_VARIANT_PACK_DATA_POINTERS, CUDNN_VARIANT_PACK, CUDNN_OF_VOID_PTR, true },
    { CUDNN_VARIANT_PACK_WORKSPACE, CUDNN_VARIANT_PACK, CUDNN_OF_VOID_PTR, true },
    { CUDNN_MATMUL_COMP_TYPE, CUDNN_MATMUL, CUDNN_OF_DATA_TYPE, true },
    { CUDNN_MATMUL_PADDING_VALUE, CUDNN_MATMUL, CUDNN_OF_DOUBLE, false },
    { CUDNN_OPERATION_MATMUL_A, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_MATMUL_B, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_MATMUL_C, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_MATMUL_DESC, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_MATMUL_M_OVERRIDE, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_MATMUL_N_OVERRIDE, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, false },
    { CUDNN_OPERATION_MATMUL_K_OVERRIDE, CUDNN_OPERATION_MATMUL, CUDNN_OF_DESCRIPTOR, false },
    { CUDNN_REDUCTION_OPERATOR, CUDNN_REDUCTION, CUDNN_OF_REDUCTION_OPERATOR, true },
    { CUDNN_REDUCTION_COMP_TYPE, CUDNN_REDUCTION, CUDNN_OF_DATA_TYPE, true },
    { CUDNN_OPERATION_REDUCTION_X, CUDNN_OPERATION_REDUCTION, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_REDUCTION_Y, CUDNN_OPERATION_REDUCTION, CUDNN_OF_DESCRIPTOR, true },
    { CUDNN_OPERATION_REDUCTION_DESC, CUDNN_OPERATION_REDUCTION, CUDNN_OF_DESCRIPTOR, true },
};

static size_t element_bytes(int element)
{
    return element == CUDNN_OF_BOOLEAN ? 1
           : element == CUDNN_OF_HANDLE || element == CUDNN_OF_INT64 || element == CUDNN_OF_DOUBLE ||
                   element == CUDNN_OF_VOID_PTR || element == CUDNN_OF_DESCRIPTOR
               ? 8
               : 4;
}

#define BEGIN()                                                                                                        \
    do {                                                                                                               \
        fake_take_launches();                                                                                          \
        if (fake_fails(__func__))                                                                                      \
            return FAILED;                                                                                             \
    } while (0)

static int cudnnCreate(cudnnHandle_t *handle)
{
    BEGIN();
    *handle = new cudnnContext{ fake_current_device(), nullptr };
    fake_cuda.live++;
    return SUCCESS;
}

static int cudnnDestroy(cudnnHandle_t handle)
{
    delete handle;
    fake_cuda.live--;
    return SUCCESS;
}

static int cudnnSetStream(cudnnHandle_t handle, void *stream)
{
    BEGIN();
    handle->stream = stream;
    return SUCCESS;
}

static int cudnnBackendCreateDescriptor(int type, cudnnBackendDescriptor_t *d)
{
    BEGIN();
    *d = new descriptor{ type, false, {} };
    fake_cuda.live++;
    return SUCCESS;
}

static int cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    delete (struct descriptor *)d;
    fake_cuda.live--;
    return SUCCESS;
}

static int cudnnBackendSetAttribute(cudnnBackendDescriptor_t to, int name, int type, int64_t n, const void *elements)
{
    BEGIN();
    struct descriptor *d = (struct descriptor *)to;
    for (const struct attribute &a : known) {
        if (a.name != name || a.of != d->type)
            continue;
        if (a.element != type || d->finalized)
            fake_misuse("cuDNN: attribute %d is set with type %d%s", name, type, d->finalized ? ", too late" : "");
        for (int64_t i = 0; i < n && type == CUDNN_OF_DESCRIPTOR; i++)
            if (!(*(struct descriptor *const *)((const char *)elements + 8 * i))->finalized)
                fake_misuse("cuDNN: attribute %d is a descriptor that is not finalized", name);
        d->attributes[name].assign((const char *)elements, (const char *)elements + (size_t)n * element_bytes(type));
        return SUCCESS;
    }
    fake_misuse("cuDNN: a descriptor of type %d has no attribute %d", d->type, name);
}

static int cudnnBackendFinalize(cudnnBackendDescriptor_t which)
{
    BEGIN();
    struct descriptor *d = (struct descriptor *)which;
    for (const struct attribute &a : known)
        if (a.of == d->type && a.wanted && !has(d, a.name))
            fake_misuse("cuDNN: a descriptor of type %d is finalized without attribute %d", d->type, a.name);
    if (d->type == CUDNN_EXECUTION_PLAN && fake_spoils_capture())
        return FAILED; /* a plan loads its kernel */
    d->finalized = true;
    return SUCCESS;
}

static int cudnnBackendGetAttribute(cudnnBackendDescriptor_t from, int name, int, int64_t, int64_t *n, void *elements)
{
    BEGIN();
    const struct descriptor *d = (const struct descriptor *)from;
    *n = 1;
    if (name == CUDNN_ENGINEHEUR_RESULTS) {
        struct descriptor *config = *(struct descriptor **)elements;
        config->attributes[CUDNN_ENGINEHEUR_OPERATION_GRAPH] = d->attributes.at(CUDNN_ENGINEHEUR_OPERATION_GRAPH);
        config->finalized = true;
        fake_cuda.searches++;
    } else {
        *(int64_t *)elements = FAKE_WORKSPACE;
    }
    return SUCCESS;
}

/* Binds the graph's tensors to their memory for the operations; each tensor that is not internal must have some. */
static void bind(struct run_state *r, const struct descriptor *graph, const struct descriptor *pack, int device)
{
    std::vector<int64_t> uids = all<int64_t>(pack, CUDNN_VARIANT_PACK_UNIQUE_IDS);
    std::vector<char *> pointers = all<char *>(pack, CUDNN_VARIANT_PACK_DATA_POINTERS);
    std::vector<const struct descriptor *> tensors;
    for (size_t i = 0; i < uids.size(); i++)
        r->memory[uids[i]] = pointers.at(i);
    for (void *operation : all<void *>(graph, CUDNN_OPERATIONGRAPH_OPS))
        for (const auto &a : ((const struct descriptor *)operation)->attributes) /* descriptors, all of them */
            tensors.push_back(part((const struct descriptor *)operation, a.first));
    for (size_t i = 0; i < tensors.size(); i++) {
        if (tensors[i]->type != CUDNN_TENSOR)
            continue;
        const struct descriptor *from = part(tensors[i], CUDNN_TENSOR_RAGGED_OFFSET);
        long long uid = one<int64_t>(tensors[i], CUDNN_TENSOR_UNIQUE_ID);
        if (from)
            tensors.push_back(from);
        if (is_set(tensors[i], CUDNN_TENSOR_IS_VIRTUAL))
            continue;
        if (!r->memory.count(uid))
            fake_misuse("cuDNN: tensor %lld is not in the variant pack", uid);
        if (is_set(tensors[i], CUDNN_TENSOR_IS_BY_VALUE))
            memcpy(&r->values[uid], r->memory[uid], sizeof(float));
        else if (fake_memory_place(r->memory[uid], 1, "an operand of cuDNN") != device)
            fake_misuse("cuDNN: tensor %lld is not in memory of device %d", uid, device);
        else if ((uint64_t)r->memory[uid] % (uint64_t)one<int64_t>(tensors[i], CUDNN_TENSOR_BYTE_ALIGNMENT))
            fake_misuse("cuDNN: tensor %lld is not aligned as it says", uid);
    }
}

static int cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t given)
{
    BEGIN();
    const struct descriptor *p = (const struct descriptor *)plan, *pack = (const struct descriptor *)given;
    if (!p->finalized || !pack->finalized || handle != one<cudnnHandle_t>(p, CUDNN_EXECUTION_PLAN_HANDLE))
        fake_misuse("cuDNN: a plan is run that is not finalized, or on another handle");
    if (fake_stream_device(handle->stream, __func__) != handle->device)
        fake_misuse("cuDNN of device %d works on a stream of another", handle->device);
    const struct descriptor *graph =
        part(part(p, CUDNN_EXECUTION_PLAN_ENGINE_CONFIG), CUDNN_ENGINEHEUR_OPERATION_GRAPH);
    char *workspace = one<char *>(pack, CUDNN_VARIANT_PACK_WORKSPACE);
    if (!workspace || fake_memory_place(workspace, FAKE_WORKSPACE, "cuDNN's workspace") != handle->device)
        fake_misuse("cuDNN: the workspace is not in memory of device %d", handle->device);
    std::shared_ptr<struct run_state> r(new struct run_state);
    bind(r.get(), graph, pack, handle->device);
    if (fake_enqueue(handle->stream, [=] {
            memset(workspace, 0xff, FAKE_WORKSPACE);
            fake_cudnn_run(r.get(), graph);
        }) != cudaSuccess)
        return FAILED;
    fake_cuda.attentions++;
    return SUCCESS;
}

void *fake_dlopen(const char *name, int)
{
    if (!strcmp(name, "libnccl.so.2"))
        return fake_nccl_wanted() ? (void *)&fake_cuda : nullptr;
    return fake_cuda.cudnn && !strcmp(name, "libcudnn.so.9") ? (void *)&fake_cuda : nullptr;
}

int fake_dlclose(void *)
{
    return 0;
}

void *fake_dlsym(void *, const char *name)
{
    if (!strncmp(name, "nccl", 4))
        return fake_nccl_find(name);
#define FUNCTION(f)                                                                                                    \
    {                                                                                                                  \
#f, (void *)(f)                                                                                                \
    }
    static const struct {
        const char *name;
        void *function;
    } functions[] = { FUNCTION(cudnnCreate),
                      FUNCTION(cudnnDestroy),
                      FUNCTION(cudnnSetStream),
                      FUNCTION(cudnnBackendCreateDescriptor),
                      FUNCTION(cudnnBackendDestroyDescriptor),
                      FUNCTION(cudnnBackendSetAttribute),
                      FUNCTION(cudnnBackendGetAttribute),
                      FUNCTION(cudnnBackendFinalize),
                      FUNCTION(cudnnBackendExecute) };
    for (const auto &f : functions)
        if (!strcmp(f.name, name))
            return f.function;
    return nullptr;
}
