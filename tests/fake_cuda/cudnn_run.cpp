/* Part of fake_cuda.h: the operations of a graph that cuDNN was given, in plain arithmetic. */
#include "tests/fake_cuda/fake_cudnn.h"

#include <algorithm>

#include <math.h>

/* A tensor as an operation uses it. */
struct tensor_view {
    int64_t uid, size[4], stride[4];
    int type;
    char *memory;        /* NULL: inside, or a value */
    const int32_t *from; /* where each sequence's numbers begin, or NULL */
    std::vector<float> *inside;
    float value;
};

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

void fake_cudnn_run(struct run_state *r, const struct descriptor *graph)
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
