/* Large products through cuBLASLt, each with the plan that was found when its key was first seen. */
#include "kernels/cuda/state.cuh"

#include <stdlib.h>

constexpr int64_t LIBRARY_MIN = (int64_t)1 << 18; /* multiplications below which the tile kernel is as good */

static int alignment_of(const void *p)
{
    uintptr_t at = (uintptr_t)p;
    int bytes = 2;
    while (bytes < 16 && at % (uintptr_t)(2 * bytes) == 0)
        bytes *= 2;
    return bytes;
}

static bool same_key(const struct plan_key *a, const struct plan_key *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->dtype == b->dtype && a->y_dtype == b->y_dtype &&
           a->align_a == b->align_a && a->align_b == b->align_b && a->align_y == b->align_y && a->ta == b->ta &&
           a->tb == b->tb && a->bias == b->bias;
}

static uint64_t hash_of(const struct plan_key *key)
{
    const int64_t words[] = { key->m,
                              key->n,
                              key->k,
                              key->dtype + 4 * key->y_dtype,
                              key->align_a + 32 * key->align_b + 1024 * key->align_y,
                              key->ta + 2 * key->tb + 4 * key->bias };
    uint64_t h = 14695981039346656037u;
    for (int64_t word : words) {
        h = (h ^ (uint64_t)word) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

/* The slot of this key, or the empty one where it belongs; an empty slot has m = 0. */
static struct plan *slot_of(struct plan *plans, int64_t cap, const struct plan_key *key)
{
    uint64_t i = hash_of(key) & (uint64_t)(cap - 1);
    while (plans[i].key.m && !same_key(&plans[i].key, key))
        i = (i + 1) & (uint64_t)(cap - 1);
    return &plans[i];
}

static void grow(struct cuda_state *s)
{
    int64_t cap = s->plan_cap ? 2 * s->plan_cap : 64;
    struct plan *plans = (struct plan *)xcalloc((size_t)cap, sizeof *plans);
    for (int64_t i = 0; i < s->plan_cap; i++)
        if (s->plans[i].key.m)
            *slot_of(plans, cap, &s->plans[i].key) = s->plans[i];
    free(s->plans);
    s->plans = plans;
    s->plan_cap = cap;
}

static cudaDataType_t library_type(int dtype)
{
    return dtype == BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/*
 * cuBLASLt counts down columns, so it computes y^T [n,m] = op(b)^T op(a)^T: its first matrix is b, its second a.
 */
static void describe(struct plan *p)
{
    const struct plan_key *key = &p->key;
    cublasOperation_t op_b = key->tb ? CUBLAS_OP_T : CUBLAS_OP_N, op_a = key->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint64_t rows_b = (uint64_t)(key->tb ? key->k : key->n), cols_b = (uint64_t)(key->tb ? key->n : key->k);
    uint64_t rows_a = (uint64_t)(key->ta ? key->m : key->k), cols_a = (uint64_t)(key->ta ? key->k : key->m);

    LT_CHECK(cublasLtMatmulDescCreate(&p->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    LT_CHECK(cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b));
    LT_CHECK(cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof op_a));
    if (key->bias) {
        cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
        cudaDataType_t type = CUDA_R_32F;
        LT_CHECK(
            cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
        LT_CHECK(cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type));
    }
    LT_CHECK(cublasLtMatrixLayoutCreate(&p->b, library_type(key->dtype), rows_b, cols_b, (int64_t)rows_b));
    LT_CHECK(cublasLtMatrixLayoutCreate(&p->a, library_type(key->dtype), rows_a, cols_a, (int64_t)rows_a));
    LT_CHECK(cublasLtMatrixLayoutCreate(&p->y, library_type(key->y_dtype), (uint64_t)key->n, (uint64_t)key->m, key->n));
}

static void set_alignment(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t which, int bytes)
{
    uint32_t value = (uint32_t)bytes;
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof value));
}

static void find_algorithm(struct cuda_state *s, struct plan *p)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t best;
    size_t workspace = LT_WORKSPACE_BYTES;
    int found = 0;

    LT_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                  sizeof workspace));
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p->key.align_b);
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p->key.align_a);
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p->key.align_y);
    set_alignment(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p->key.align_y);
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(s->lt, p->operation, p->b, p->a, p->y, p->y, preference, 1, &best, &found);
    p->usable = status == CUBLAS_STATUS_SUCCESS && found == 1 && best.state == CUBLAS_STATUS_SUCCESS;
    if (p->usable)
        p->algorithm = best.algo;
    LT_CHECK(cublasLtMatmulPreferenceDestroy(preference));
}

static struct plan *plan_of(struct cuda_state *s, const struct plan_key *key)
{
    if (2 * (s->plan_count + 1) > s->plan_cap)
        grow(s);
    struct plan *p = slot_of(s->plans, s->plan_cap, key);
    if (!p->key.m) {
        p->key = *key;
        s->plan_count++;
        describe(p);
        find_algorithm(s, p);
    }
    return p;
}

bool cuda_library_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta, const struct tensor *b,
                         bool tb, const struct tensor *bias)
{
    struct cuda_state *s = state_of(c->dev);
    struct plan_key key = {};
    int64_t inner = tensor_cols(a), outer = tensor_rows(a);
    key.m = ta ? inner : outer, key.k = ta ? outer : inner, key.n = tensor_cols(y.t);
    if (key.m == 0 || key.n == 0 || key.k == 0 || key.m * key.n * key.k < LIBRARY_MIN)
        return false;
    key.dtype = a->dtype, key.y_dtype = y.t->dtype;
    key.align_a = alignment_of(a->data), key.align_b = alignment_of(b->data), key.align_y = alignment_of(y.t->data);
    key.ta = ta, key.tb = tb, key.bias = bias != nullptr;
    struct plan *p = plan_of(s, &key);
    if (!p->usable)
        return false;
    if (bias)
        LT_CHECK(cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias->data,
                                                sizeof bias->data));
    float alpha = 1, beta = y.add ? 1.0f : 0.0f;
    LT_CHECK(cublasLtMatmul(s->lt, p->operation, &alpha, b->data, p->b, a->data, p->a, &beta, y.t->data, p->y,
                            y.t->data, p->y, &p->algorithm, s->lt_workspace, LT_WORKSPACE_BYTES, cuda_stream(c)));
    return true;
}

void plans_release(struct cuda_state *s)
{
    for (int64_t i = 0; i < s->plan_cap; i++)
        if (s->plans[i].key.m) {
            cublasLtMatrixLayoutDestroy(s->plans[i].a);
            cublasLtMatrixLayoutDestroy(s->plans[i].b);
            cublasLtMatrixLayoutDestroy(s->plans[i].y);
            cublasLtMatmulDescDestroy(s->plans[i].operation);
        }
    free(s->plans);
    s->plans = nullptr;
    s->plan_cap = s->plan_count = 0;
}
