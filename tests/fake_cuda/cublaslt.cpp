/* Part of fake_cuda.h: a plain product behind cuBLASLt's calls, which must obey the library's manual. */
#include "tests/fake_cuda/cublasLt.h"
#include "tests/fake_cuda/fake_impl.h"

#include <vector>

#include <stdio.h>
#include <string.h>

constexpr uint64_t WORKSPACE_ALIGNMENT = 16;

struct fake_library {
    int device;
};

struct fake_product {
    cublasComputeType_t compute;
    int transpose_a, transpose_b, epilogue, bias_type; /* bias_type -1: that of D */
    const void *bias;
};

struct fake_layout {
    cudaDataType_t type;
    int64_t rows, cols, ld; /* column after column */
};

struct fake_preference {
    uint64_t workspace;
    uint32_t alignment[4]; /* of A, B, C and D */
    uint32_t reductions;
};

/* A matrix of one product. */
struct operand {
    const char *name;
    const void *data;
    struct fake_layout layout;
};

template <typename T>
static cublasStatus_t create(T **out, const T &value)
{
    *out = new T(value);
    fake_cuda.live++;
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
static cublasStatus_t destroy(T *p)
{
    delete p;
    fake_cuda.live--;
    return CUBLAS_STATUS_SUCCESS;
}

#define BEGIN()                                                                                                        \
    do {                                                                                                               \
        fake_take_launches();                                                                                          \
        if (fake_fails(__func__))                                                                                      \
            return CUBLAS_STATUS_EXECUTION_FAILED;                                                                     \
    } while (0)

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lt)
{
    BEGIN();
    return create(lt, { fake_current_device() });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lt)
{
    return destroy(lt);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute, cudaDataType_t)
{
    BEGIN();
    return create(desc, { compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, -1, nullptr });
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return destroy(desc);
}

static void copy_attribute(void *to, size_t size, const void *value, size_t bytes)
{
    if (bytes != size)
        fake_misuse("an attribute of %zu bytes is given with %zu", size, bytes);
    memcpy(to, value, size);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t bytes)
{
    BEGIN();
    switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        copy_attribute(&desc->transpose_a, sizeof desc->transpose_a, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
        copy_attribute(&desc->transpose_b, sizeof desc->transpose_b, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        copy_attribute(&desc->epilogue, sizeof desc->epilogue, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        copy_attribute(&desc->bias, sizeof desc->bias, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        copy_attribute(&desc->bias_type, sizeof desc->bias_type, value, bytes);
        break;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    BEGIN();
    if (ld < (int64_t)rows)
        fake_misuse("a leading dimension of %lld, columns of %llu", (long long)ld, (unsigned long long)rows);
    return create(layout, { type, (int64_t)rows, (int64_t)cols, ld });
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    BEGIN();
    return create(preference, { 0, { 256, 256, 256, 256 }, CUBLASLT_REDUCTION_SCHEME_MASK });
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void *value,
                                                    size_t bytes)
{
    BEGIN();
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        copy_attribute(&preference->workspace, sizeof preference->workspace, value, bytes);
    else if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        copy_attribute(&preference->reductions, sizeof preference->reductions, value, bytes);
    else
        copy_attribute(&preference->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], sizeof(uint32_t),
                       value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* op(A) [m,k] op(B) [k,n] = D [m,n], C like D */
static void check_shapes(const struct fake_product *p, const struct fake_layout *a, const struct fake_layout *b,
                         const struct fake_layout *c, const struct fake_layout *d)
{
    int64_t m = p->transpose_a ? a->cols : a->rows, k = p->transpose_a ? a->rows : a->cols;
    int64_t n = p->transpose_b ? b->rows : b->cols, also = p->transpose_b ? b->cols : b->rows;
    if (also != k || d->rows != m || d->cols != n || c->rows != m || c->cols != n || c->ld != d->ld)
        fake_misuse("op(A) is %lld x %lld, op(B) %lld x %lld, C %lld x %lld, D %lld x %lld", (long long)m, (long long)k,
                    (long long)also, (long long)n, (long long)c->rows, (long long)c->cols, (long long)d->rows,
                    (long long)d->cols);
    if (a->type != b->type || c->type != d->type)
        fake_misuse("A and B, or C and D, are of two types");
    if (p->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && (a->type != CUDA_R_32F || d->type != CUDA_R_32F))
        fake_misuse("TF32 is asked for, and not all matrices are F32");
}

static uint64_t alignment_of(const void *p)
{
    uint64_t at = (uint64_t)p;
    return at & (~at + 1) & 255 ? at & (~at + 1) & 255 : 256;
}

/* The properties that an algorithm was chosen for and that decide whether it may run.  An algorithm without reductions
 * serves any number of columns of D. */
static void describe_choice(uint64_t out[8], const struct fake_product *p, const struct fake_layout *a,
                            const struct fake_layout *b, const struct fake_layout *d, uint64_t reductions)
{
    uint64_t columns = reductions ? (uint64_t)d->cols : 0;
    out[0] = (uint64_t)(p->transpose_a + 2 * p->transpose_b + 4 * p->epilogue + 64 * a->type + 128 * d->type) +
             ((uint64_t)p->compute << 32);
    out[1] = (uint64_t)d->rows ^ columns << 20 ^ (uint64_t)(p->transpose_a ? a->rows : a->cols) << 40;
    out[2] = (uint64_t)a->ld ^ (uint64_t)b->ld << 20 ^ (uint64_t)d->ld << 40;
}

/* A bias must be of D's type: the only one that the manual has for each. */
static bool supported(const struct fake_product *p, const struct fake_layout *d)
{
    if (p->epilogue != CUBLASLT_EPILOGUE_BIAS)
        return true;
    if (!p->bias)
        fake_misuse("an algorithm is asked for an epilogue with a bias, and there is no bias pointer");
    return p->bias_type == -1 || p->bias_type == (int)d->type;
}

static size_t workspace_need(const struct fake_layout *d, uint64_t limit)
{
    uint64_t all = (uint64_t)(d->rows * d->cols) * sizeof(float);
    return all < limit ? all : limit;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lt, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int,
                                              struct cublasLtMatmulHeuristicResult_t *out, int *found)
{
    BEGIN();
    fake_cuda.searches++;
    if (lt->device != fake_current_device())
        fake_misuse("cuBLASLt of device %d is asked while the thread's device is %d", lt->device,
                    fake_current_device());
    check_shapes(desc, a, b, c, d);
    *found = supported(desc, d);
    if (!*found)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *out = {};
    out->algo.data[6] = preference->reductions;
    describe_choice(out->algo.data, desc, a, b, d, preference->reductions);
    for (int i = 0; i < 4; i++)
        out->algo.data[3] |= (uint64_t)preference->alignment[i] << 16 * i;
    out->algo.data[4] = desc->epilogue == CUBLASLT_EPILOGUE_BIAS ? alignment_of(desc->bias) : 1;
    out->algo.data[5] = workspace_need(d, preference->workspace);
    out->workspaceSize = out->algo.data[5];
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lt, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const struct cublasLtMatmulAlgo_t *algo,
                                       struct cublasLtMatmulHeuristicResult_t *out)
{
    BEGIN();
    uint64_t now[8] = {};
    if (lt->device != fake_current_device())
        fake_misuse("cuBLASLt of device %d is asked while the thread's device is %d", lt->device,
                    fake_current_device());
    check_shapes(desc, a, b, c, d);
    describe_choice(now, desc, a, b, d, algo->data[6]);
    if (memcmp(now, algo->data, 3 * sizeof *now))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *out = {};
    out->workspaceSize = algo->data[5];
    return CUBLAS_STATUS_SUCCESS;
}

static size_t type_bytes(int type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

static void check_operand(const struct operand *o, int device, uint64_t alignment)
{
    const struct fake_layout *l = &o->layout;
    size_t bytes = (size_t)((l->cols - 1) * l->ld + l->rows) * type_bytes(l->type);
    char what[128];
    snprintf(what, sizeof what, "matrix %s, %lld columns of %lld, leading dimension %lld", o->name, (long long)l->cols,
             (long long)l->rows, (long long)l->ld);
    if (fake_memory_place(o->data, bytes, what) != device)
        fake_misuse("%s: not in memory of device %d", what, device);
    if (alignment_of(o->data) < alignment)
        fake_misuse("%s: aligned to %llu bytes, the algorithm was chosen for %llu", what,
                    (unsigned long long)alignment_of(o->data), (unsigned long long)alignment);
}

static void check_bias(const struct fake_product *p, const struct fake_layout *d, int device, uint64_t alignment)
{
    if (p->epilogue != CUBLASLT_EPILOGUE_BIAS)
        return;
    struct operand bias = { "bias", p->bias, { d->type, d->rows, 1, d->rows } };
    if (!p->bias)
        fake_misuse("a product with an epilogue for a bias, and no bias pointer");
    /* an algorithm that was chosen for more than 16 bytes makes no use of them */
    check_operand(&bias, device, alignment < 16 ? alignment : 16);
}

static void check_workspace(void *workspace, size_t bytes, const struct cublasLtMatmulAlgo_t *algo, int device)
{
    if (bytes < algo->data[5])
        fake_misuse("a workspace of %zu bytes for an algorithm that needs %llu", bytes,
                    (unsigned long long)algo->data[5]);
    if (bytes && fake_memory_place(workspace, bytes, "the workspace") != device)
        fake_misuse("the workspace is not in memory of device %d", device);
    if ((uint64_t)workspace % WORKSPACE_ALIGNMENT)
        fake_misuse("the workspace is not aligned to %llu bytes", (unsigned long long)WORKSPACE_ALIGNMENT);
}

static float from_type(const void *p, int type, int64_t i)
{
    if (type == CUDA_R_32F)
        return ((const float *)p)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)p)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void to_type(void *p, int type, int64_t i, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (type == CUDA_R_32F)
        ((float *)p)[i] = x;
    else if (x != x)
        ((uint16_t *)p)[i] = 0x7fff;
    else
        ((uint16_t *)p)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* to the nearest, ties to even */
}

/* To ten bits behind the point, and the nearest. */
static float tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* op(o) as it is multiplied, row after row */
static std::vector<float> dense(const struct operand *o, bool transposed, cublasComputeType_t compute)
{
    const struct fake_layout *l = &o->layout;
    int64_t rows = transposed ? l->cols : l->rows, cols = transposed ? l->rows : l->cols;
    std::vector<float> x((size_t)(rows * cols));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            x[(size_t)(i * cols + j)] = from_type(o->data, l->type, transposed ? i * l->ld + j : j * l->ld + i);
    if (compute == CUBLAS_COMPUTE_32F_FAST_TF32)
        for (float &value : x)
            value = tf32(value);
    return x;
}

struct fake_matmul {
    struct fake_product product;
    struct operand a, b, c, d;
    float alpha, beta;
};

static void run(const struct fake_matmul *p)
{
    const struct fake_layout *l = &p->d.layout;
    cublasComputeType_t compute = p->product.compute;
    std::vector<float> a = dense(&p->a, p->product.transpose_a, compute);
    std::vector<float> b = dense(&p->b, !p->product.transpose_b, compute);
    int64_t depth = (int64_t)a.size() / l->rows;
    for (int64_t j = 0; j < l->cols; j++)
        for (int64_t i = 0; i < l->rows; i++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += (double)a[(size_t)(i * depth + k)] * (double)b[(size_t)(j * depth + k)];
            float value = p->alpha * (float)sum;
            if (p->beta != 0)
                value += p->beta * from_type(p->c.data, l->type, j * l->ld + i);
            if (p->product.epilogue == CUBLASLT_EPILOGUE_BIAS)
                value += from_type(p->product.bias, l->type, i);
            to_type((void *)p->d.data, l->type, j * l->ld + i, value);
        }
}

/* Checks that the algorithm was chosen for this product and for arguments like these. */
static void check_matmul(const struct fake_matmul *p, const struct cublasLtMatmulAlgo_t *algo, int device)
{
    const struct operand *const operands[] = { &p->a, &p->b, &p->c, &p->d };
    uint64_t now[8] = {};
    check_shapes(&p->product, &p->a.layout, &p->b.layout, &p->c.layout, &p->d.layout);
    describe_choice(now, &p->product, &p->a.layout, &p->b.layout, &p->d.layout, algo->data[6]);
    if (memcmp(now, algo->data, 3 * sizeof *now))
        fake_misuse("the algorithm was chosen for another product");
    for (int i = 0; i < 4; i++)
        check_operand(operands[i], device, algo->data[3] >> 16 * i & 0xffff);
    check_bias(&p->product, &p->d.layout, device, algo->data[4]);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lt, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb, const void *beta,
                              const void *c, cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
                              const struct cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream)
{
    BEGIN();
    struct fake_matmul p = { *desc,           { "A", a, *la },       { "B", b, *lb },     { "C", c, *lc },
                             { "D", d, *ld }, *(const float *)alpha, *(const float *)beta };
    size_t need = algo->data[5];
    if (lt->device != fake_stream_device(stream, __func__))
        fake_misuse("cuBLASLt of device %d works on a stream of another", lt->device);
    check_matmul(&p, algo, lt->device);
    check_workspace(workspace, workspace_bytes, algo, lt->device);
    if (fake_enqueue(stream, [=] {
            memset(workspace, 0xff, need);
            run(&p);
        }) != cudaSuccess)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    fake_cuda.products++;
    return CUBLAS_STATUS_SUCCESS;
}
