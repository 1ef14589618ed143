/* Part of fake_cuda.h: a libcudnn whose plans are run operation by operation, and whose descriptors must be whole. */
#include "kernels/cuda/cudnn.h"
#include "tests/fake_cuda/dlfcn.h"
#include "tests/fake_cuda/fake_impl.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include <math.h>
#include <string.h>

enum { SUCCESS = 0, FAILED = 5000, FAKE_WORKSPACE = 4096 };

struct descriptor {
    int type;
    bool finalized;
    std::map<int, std::vector<char>> attributes;
};

struct cudnnContext {
    int device;
    void *stream;
};

/* What an attribute is of, and what its elements are; whether a descriptor without it is not whole. */
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

static bool has(const struct descriptor *d, int name)
{
    return d->attributes.count(name) != 0;
}

template <typename T>
static std::vector<T> all(const struct descriptor *d, int name)
{
    const std::vector<char> &bytes = d->attributes.at(name);
    std::vector<T> v(bytes.size() / sizeof(T));
    memcpy(v.data(), bytes.data(), bytes.size());
    return v;
}

template <typename T>
static T one(const struct descriptor *d, int name)
{
    return all<T>(d, name).at(0);
}

static const struct descriptor *part(const struct descriptor *d, int name)
{
    return has(d, name) ? (const struct descriptor *)one<void *>(d, name) : nullptr;
}

/* What each tensor of a run holds. */
struct run_state {
    std::map<int64_t, char *> memory;             /* of the variant pack */
    std::map<int64_t, float> values;              /* by value */
    std::map<int64_t, std::vector<float>> inside; /* sequence, head, row and column one after the other */
    std::vector<int64_t> queries;                 /* the rows of each sequence, of whatever is written */
};

/* A tensor as an operation uses it. */
struct tensor_view {
    int64_t uid, size[4], stride[4];
    int type;
    char *memory;        /* NULL: inside, or a value */
    const int32_t *from; /* where each sequence's numbers begin, or NULL */
    std::vector<float> *inside;
    float value;
};

static bool is_set(const struct descriptor *d, int name)
{
    return has(d, name) && one<char>(d, name);
}

static struct tensor_view view_of(struct run_state *r, const struct descriptor *d)
{
    struct tensor_view t = {};
    std::vector<int64_t> size = all<int64_t>(d, CUDNN_TENSOR_DIMENSIONS), by = all<int64_t>(d, CUDNN_TENSOR_STRIDES);
    t.uid = one<int64_t>(d, CUDNN_TENSOR_UNIQUE_ID), t.type = one<int>(d, CUDNN_TENSOR_DATA_TYPE);
    if (size.size() != 4 || by.size() != 4)
        fake_misuse("cuDNN: tensor %lld has %zu sizes and %zu strides", (long long)t.uid, size.size(), by.size());
    std::copy(size.begin(), size.end(), t.size);
    std::copy(by.begin(), by.end(), t.stride);
    const struct descriptor *from = part(d, CUDNN_TENSOR_RAGGED_OFFSET);
    if (from)
        t.from = (const int32_t *)r->memory.at(one<int64_t>(from, CUDNN_TENSOR_UNIQUE_ID));
    if (is_set(d, CUDNN_TENSOR_IS_VIRTUAL))
        t.inside = &r->inside[t.uid];
    else if (is_set(d, CUDNN_TENSOR_IS_BY_VALUE))
        t.value = r->values.at(t.uid);
    else
        t.memory = r->memory.at(t.uid);
    return t;
}

static size_t type_bytes(int type)
{
    return type == CUDNN_BFLOAT16 ? 2 : 4;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of bf16 the nearest, ties to even, in the upper half. */
static uint32_t bits_of(int type, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return type == CUDNN_BFLOAT16 && x == x ? (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u : bits;
}

static char *address(const struct tensor_view &t, int64_t b, int64_t h, int64_t i, int64_t j)
{
    int64_t begin = t.from ? t.from[b] : b * t.stride[0];
    char *p = t.memory + (begin + h * t.stride[1] + i * t.stride[2] + j * t.stride[3]) * (int64_t)type_bytes(t.type);
    if (fake_memory_place(p, type_bytes(t.type), "an operand of cuDNN") == FAKE_PAGEABLE)
        fake_misuse("cuDNN: tensor %lld reaches past its memory", (long long)t.uid);
    return p;
}

/* The number there; sizes of 1 go for all. */
static float get(const struct tensor_view &t, int64_t b, int64_t h, int64_t i, int64_t j)
{
    b = t.size[0] == 1 ? 0 : b, h = t.size[1] == 1 ? 0 : h, i = t.size[2] == 1 ? 0 : i, j = t.size[3] == 1 ? 0 : j;
    size_t at = (size_t)(((b * t.size[1] + h) * t.size[2] + i) * t.size[3] + j);
    if (t.inside && at >= t.inside->size())
        fake_misuse("cuDNN: tensor %lld is read before it is written", (long long)t.uid);
    if (!t.memory)
        return t.inside ? (*t.inside)[at] : t.value;
    const char *p = address(t, b, h, i, j);
    if (t.type == CUDNN_INT32)
        return (float)*(const int32_t *)p;
    return t.type == CUDNN_FLOAT ? *(const float *)p : from_bits((uint32_t) * (const uint16_t *)p << 16);
}

static void put(const struct run_state *r, struct tensor_view &t, int64_t b, int64_t h, int64_t i, int64_t j, float x)
{
    uint32_t bits = bits_of(t.type, x);
    if (t.inside) {
        t.inside->resize((size_t)(t.size[0] * t.size[1] * t.size[2] * t.size[3]));
        (*t.inside)[(size_t)(((b * t.size[1] + h) * t.size[2] + i) * t.size[3] + j)] = from_bits(bits);
        return;
    }
    if (i >= r->queries[(size_t)b])
        return; /* no row of the sequence's */
    char *p = address(t, b, h, i, j);
    if (t.type == CUDNN_FLOAT)
        *(float *)p = x;
    else
        *(uint16_t *)p = (uint16_t)(bits >> 16);
}

/* Calls f for each place of t. */
template <typename F>
static void for_each(const struct tensor_view &t, F f)
{
    for (int64_t b = 0; b < t.size[0]; b++)
        for (int64_t h = 0; h < t.size[1]; h++)
            for (int64_t i = 0; i < t.size[2]; i++)
                for (int64_t j = 0; j < t.size[3]; j++)
                    f(b, h, i, j);
}

static float apply(int mode, float x, float b, float t)
{
    switch (mode) {
    case CUDNN_ADD:
        return x + b;
    case CUDNN_MUL:
        return x * b;
    case CUDNN_DIV:
        return x / b;
    case CUDNN_SUB:
        return x - b;
    case CUDNN_EXP:
        return expf(x);
    case CUDNN_LOG:
        return logf(x);
    case CUDNN_CMP_GE:
        return x >= b;
    case CUDNN_CMP_LT:
        return x < b;
    case CUDNN_LOGICAL_AND:
        return x != 0 && b != 0;
    case CUDNN_BINARY_SELECT:
        return t != 0 ? x : b;
    }
    fake_misuse("cuDNN: pointwise mode %d", mode);
}

static void run_pointwise(struct run_state *r, const struct descriptor *d)
{
    const struct descriptor *what = part(d, CUDNN_OPERATION_POINTWISE_PW);
    const struct descriptor *second = part(d, CUDNN_OPERATION_POINTWISE_B);
    const struct descriptor *third = part(d, CUDNN_OPERATION_POINTWISE_T);
    struct tensor_view x = view_of(r, part(d, CUDNN_OPERATION_POINTWISE_X)), b = second ? view_of(r, second) : x;
    struct tensor_view t = third ? view_of(r, third) : x, y = view_of(r, part(d, CUDNN_OPERATION_POINTWISE_Y));
    int mode = one<int>(what, CUDNN_POINTWISE_MODE);
    int64_t axis = has(what, CUDNN_POINTWISE_AXIS) ? one<int64_t>(what, CUDNN_POINTWISE_AXIS) : -1;
    if ((mode == CUDNN_GEN_INDEX) != (axis >= 0) || (mode == CUDNN_BINARY_SELECT) != (third != nullptr))
        fake_misuse("cuDNN: pointwise mode %d with axis %lld", mode, (long long)axis);
    for_each(y, [&](int64_t n, int64_t h, int64_t i, int64_t j) {
        put(r, y, n, h, i, j,
            axis >= 0 ? (float)(axis == 2 ? i : j)
                      : apply(mode, get(x, n, h, i, j), get(b, n, h, i, j), get(t, n, h, i, j)));
    });
}

static void run_reduction(struct run_state *r, const struct descriptor *d)
{
    struct tensor_view x = view_of(r, part(d, CUDNN_OPERATION_REDUCTION_X));
    struct tensor_view y = view_of(r, part(d, CUDNN_OPERATION_REDUCTION_Y));
    bool most = one<int>(part(d, CUDNN_OPERATION_REDUCTION_DESC), CUDNN_REDUCTION_OPERATOR) == CUDNN_REDUCE_MAX;
    for_each(y, [&](int64_t n, int64_t h, int64_t i, int64_t) {
        float v = most ? -INFINITY : 0;
        for (int64_t j = 0; j < x.size[3]; j++)
            v = most ? fmaxf(v, get(x, n, h, i, j)) : v + get(x, n, h, i, j);
        put(r, y, n, h, i, 0, v);
    });
}

/* How many of the sequence's rows, or all of them. */
static int64_t count(struct run_state *r, const struct descriptor *d, int name, int64_t n, int64_t most)
{
    return has(d, name) ? (int64_t)get(view_of(r, part(d, name)), n, 0, 0, 0) : most;
}

/* One head's rows and columns. */
static std::vector<float> gather(const struct tensor_view &t, int64_t n, int64_t h, int64_t rows, int64_t cols)
{
    std::vector<float> v;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            v.push_back(get(t, n, h, i, j));
    return v;
}

static void run_matmul(struct run_state *r, const struct descriptor *d)
{
    struct tensor_view a = view_of(r, part(d, CUDNN_OPERATION_MATMUL_A));
    struct tensor_view b = view_of(r, part(d, CUDNN_OPERATION_MATMUL_B));
    struct tensor_view c = view_of(r, part(d, CUDNN_OPERATION_MATMUL_C));
    if (a.size[3] != b.size[2] || c.size[2] != a.size[2] || c.size[3] != b.size[3] || a.size[1] % b.size[1])
        fake_misuse("cuDNN: a product of %lld x %lld by %lld x %lld", (long long)a.size[2], (long long)a.size[3],
                    (long long)b.size[2], (long long)b.size[3]);
    r->queries.assign((size_t)c.size[0], 0);
    for (int64_t n = 0; n < c.size[0]; n++) {
        int64_t rows = count(r, d, CUDNN_OPERATION_MATMUL_M_OVERRIDE, n, c.size[2]);
        int64_t cols = count(r, d, CUDNN_OPERATION_MATMUL_N_OVERRIDE, n, c.size[3]);
        int64_t depth = count(r, d, CUDNN_OPERATION_MATMUL_K_OVERRIDE, n, a.size[3]);
        r->queries[(size_t)n] = rows;
        for (int64_t h = 0; h < c.size[1]; h++) {
            std::vector<float> left = gather(a, n, h, rows, depth);
            std::vector<float> right = gather(b, n, h * b.size[1] / a.size[1], depth, cols);
            for (int64_t i = 0; i < c.size[2]; i++)
                for (int64_t j = 0; j < c.size[3]; j++) {
                    double sum = 0;
                    for (int64_t k = 0; k < depth && i < rows && j < cols; k++)
                        sum += (double)left[(size_t)(i * depth + k)] * (double)right[(size_t)(k * cols + j)];
                    put(r, c, n, h, i, j, (float)sum);
                }
        }
    }
}

static void run_graph(struct run_state *r, const struct descriptor *graph)
{
    for (void *p : all<void *>(graph, CUDNN_OPERATIONGRAPH_OPS)) {
        const struct descriptor *d = (const struct descriptor *)p;
        if (d->type == CUDNN_OPERATION_MATMUL)
            run_matmul(r, d);
        else if (d->type == CUDNN_OPERATION_REDUCTION)
            run_reduction(r, d);
        else
            run_pointwise(r, d);
    }
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

/* Puts what the graph's tensors are given where operations find it; each that is not inside must be given. */
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
            run_graph(r.get(), graph);
        }) != cudaSuccess)
        return FAILED;
    fake_cuda.attentions++;
    return SUCCESS;
}

void *fake_dlopen(const char *name, int)
{
    return fake_cuda.cudnn && !strcmp(name, "libcudnn.so.9") ? (void *)&fake_cuda : nullptr;
}

int fake_dlclose(void *)
{
    return 0;
}

void *fake_dlsym(void *, const char *name)
{
#define FUNCTION(f)                                                                                                    \
    {                                                                                                                  \
#f, (void *)f                                                                                                  \
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
