/*
 * library_matmul.cu - large products through cuBLASLt.
 *
 * A plan is found when its key is first seen, and kept.  The key contains everything that the choice of an algorithm
 * depends on, so equal calls give equal bits.
 */
#include "kernels/cuda/state.cuh"

#include <stdlib.h>

constexpr int64_t PLAN_ROWS = 1024; /* algorithms that must serve any number of rows are chosen for this one */
constexpr int64_t LIBRARY_MIN = (int64_t)1 << 18; /* multiplications below which the tile kernel is as good */

/* Returns the alignment of a pointer in bytes, a power of two up to 16. */
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
           a->tb == b->tb && a->tf32 == b->tf32 && a->align_bias == b->align_bias && a->rowwise == b->rowwise;
}

/* FNV-1a over words, with a shift that mixes the upper bits down. */
static uint64_t hash_of(const struct plan_key *key)
{
    const int64_t words[] = { key->m,
                              key->n,
                              key->k,
                              key->dtype + 4 * key->y_dtype,
                              key->align_a + 32 * key->align_b + 1024 * key->align_y + 32768 * key->align_bias,
                              key->ta + 2 * key->tb + 4 * key->tf32 + 8 * key->rowwise };
    uint64_t h = 14695981039346656037u;
    for (int64_t word : words) {
        h = (h ^ (uint64_t)word) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

/* Returns the slot of a key, or the empty slot where it belongs.  An empty slot has m = 0. */
static struct plan *slot_of(struct plan *plans, int64_t cap, const struct plan_key *key)
{
    uint64_t i = hash_of(key) & (uint64_t)(cap - 1);
    while (plans[i].key.m && !same_key(&plans[i].key, key))
        i = (i + 1) & (uint64_t)(cap - 1);
    return &plans[i];
}

/* Doubles the table. */
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

template <typename T>
static bool set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which, const T &value)
{
    return cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

/* Describes a bias.  The library derives its alignment from the pointer, so it must know one before it chooses. */
static bool describe_bias(struct plan *p, const struct tensor *bias)
{
    return set(p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS) &&
           set(p->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, library_type(bias->dtype)) &&
           set(p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias->data);
}

/* Describes a row-major matrix to a library that counts down columns: to cuBLASLt it is its transpose. */
static bool layout(cublasLtMatrixLayout_t *out, int dtype, int64_t rows, int64_t cols)
{
    return cublasLtMatrixLayoutCreate(out, library_type(dtype), (uint64_t)cols, (uint64_t)rows, cols) ==
           CUBLAS_STATUS_SUCCESS;
}

/* Describes y^T [n,m] = op(b)^T op(a)^T: the library's first matrix is b, its second a. */
static bool describe(struct plan *p, const struct tensor *bias)
{
    const struct plan_key *key = &p->key;
    cublasOperation_t op_b = key->tb ? CUBLAS_OP_T : CUBLAS_OP_N, op_a = key->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasComputeType_t compute = key->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;

    return cublasLtMatmulDescCreate(&p->operation, compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
           set(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, op_b) &&
           set(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, op_a) && (!bias || describe_bias(p, bias)) &&
           layout(&p->a, key->dtype, key->ta ? key->k : key->m, key->ta ? key->m : key->k) &&
           layout(&p->b, key->dtype, key->tb ? key->n : key->k, key->tb ? key->k : key->n) &&
           layout(&p->y, key->y_dtype, key->m, key->n);
}

static bool set_number(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t which,
                       uint32_t value)
{
    return cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

/* Limits of the search: workspace, alignments, and for row-wise plans no split of the inner dimension. */
static bool set_limits(cublasLtMatmulPreference_t preference, const struct plan_key *key)
{
    size_t workspace = LT_WORKSPACE_BYTES;
    return cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                sizeof workspace) == CUBLAS_STATUS_SUCCESS &&
           set_number(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, (uint32_t)key->align_b) &&
           set_number(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, (uint32_t)key->align_a) &&
           set_number(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (uint32_t)key->align_y) &&
           set_number(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, (uint32_t)key->align_y) &&
           (!key->rowwise || set_number(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                        (uint32_t)CUBLASLT_REDUCTION_SCHEME_NONE));
}

/* Takes the library's first choice for the rows of the layouts a and y. */
static bool search(struct cuda_state *s, struct plan *p, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t y)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;

    if (cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS)
        return false;
    bool usable = set_limits(preference, &p->key) &&
                  cublasLtMatmulAlgoGetHeuristic(s->lt, p->operation, p->b, a, y, y, preference, 1, &best, &found) ==
                      CUBLAS_STATUS_SUCCESS &&
                  found == 1 && best.state == CUBLAS_STATUS_SUCCESS;
    if (usable)
        p->algorithm = best.algo;
    cublasLtMatmulPreferenceDestroy(preference);
    return usable;
}

/*
 * Searches an algorithm for PLAN_ROWS rows, and checks that it serves this number of rows as well.
 *
 * An algorithm computes all tiles of y alike.  With one algorithm for all numbers of rows, the sums of a row are the
 * same wherever it stands.
 */
static bool search_rowwise(struct cuda_state *s, struct plan *p)
{
    cublasLtMatrixLayout_t a = nullptr, y = nullptr;
    cublasLtMatmulHeuristicResult_t now;
    bool usable = layout(&a, p->key.dtype, PLAN_ROWS, p->key.k) && layout(&y, p->key.y_dtype, PLAN_ROWS, p->key.n) &&
                  search(s, p, a, y) &&
                  cublasLtMatmulAlgoCheck(s->lt, p->operation, p->b, p->a, p->y, p->y, &p->algorithm, &now) ==
                      CUBLAS_STATUS_SUCCESS &&
                  now.workspaceSize <= LT_WORKSPACE_BYTES;

    for (cublasLtMatrixLayout_t made : { a, y })
        if (made)
            cublasLtMatrixLayoutDestroy(made);
    return usable;
}

static bool find_algorithm(struct cuda_state *s, struct plan *p)
{
    return p->key.rowwise ? search_rowwise(s, p) : search(s, p, p->a, p->y);
}

/* Marks a plan as unusable, so that the library is not asked again.  It warns once for each kind of product, because a
 * step has the same ones hundreds of times. */
static void give_up(struct device *d, struct plan *p, const char *what)
{
    const struct plan_key *key = &p->key;
    unsigned kind = 1u << ((key->dtype == BF16) + 2 * (key->y_dtype == BF16) + 4 * (key->align_bias > 0));
    struct cuda_state *s = state_of(d);

    p->usable = false;
    if (!(s->told & kind))
        d->warn("cuBLASLt %s products of %s into %s%s (%lld x %lld x %lld); kernels of ambit's own do it", what,
                dtype_name((enum dtype)key->dtype), dtype_name((enum dtype)key->y_dtype),
                key->align_bias ? " with a bias" : "", (long long)key->m, (long long)key->n, (long long)key->k);
    s->told |= kind;
}

/* Returns the plan of a key, which may be unusable. */
static struct plan *plan_of(struct device *d, const struct plan_key *key, const struct tensor *bias)
{
    struct cuda_state *s = state_of(d);
    /* At most half of the slots are full, so a search always meets an empty one. */
    if (2 * (s->plan_count + 1) > s->plan_cap)
        grow(s);
    struct plan *p = slot_of(s->plans, s->plan_cap, key);
    if (!p->key.m) {
        p->key = *key;
        s->plan_count++;
        p->usable = describe(p, bias) && find_algorithm(s, p);
        if (!p->usable)
            give_up(d, p, "has no");
    }
    return p;
}

/* Runs a plan.  Returns false, with nothing launched, if the library fails. */
static bool run_plan(struct ctx *c, struct plan *p, struct destination y, const struct tensor *a,
                     const struct tensor *b, const struct tensor *bias)
{
    struct cuda_state *s = state_of(c->dev);
    float alpha = 1, beta = y.add ? 1.0f : 0.0f;
    return (!bias || set(p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias->data)) &&
           cublasLtMatmul(s->lt, p->operation, &alpha, b->data, p->b, a->data, p->a, &beta, y.t->data, p->y, y.t->data,
                          p->y, &p->algorithm, s->lt_workspace, LT_WORKSPACE_BYTES, s->stream) == CUBLAS_STATUS_SUCCESS;
}

/* Returns the bias in the type of the product, as the library wants it.  If the types differ, and the bias has no
 * rounded copy, the copy lies in scratch memory and *made is true: the caller writes it. */
static struct tensor bias_as(const struct ctx *c, const struct tensor *bias, enum dtype dtype, bool *made)
{
    if (bias->rounded && bias->rounded->dtype == dtype)
        return *bias->rounded;
    struct tensor given = *bias;
    given.dtype = dtype;
    *made = dtype != bias->dtype;
    if (*made)
        given.data = cuda_scratch(c, tensor_bytes(&given));
    return given;
}

bool cuda_library_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta, const struct tensor *b,
                         bool tb, const struct tensor *bias)
{
    struct cuda_state *s = state_of(c->dev);
    struct plan_key key = {};
    int64_t inner = tensor_cols(a), outer = tensor_rows(a);
    key.m = ta ? inner : outer, key.k = ta ? outer : inner, key.n = tensor_cols(y.t);
    key.rowwise = c->rows == ROWS_MANY && !ta;
    /* Row-wise plans go by the product of n and k alone, so that every number of rows takes the same way. */
    if (key.m == 0 || key.n == 0 || key.k == 0 || (key.rowwise ? PLAN_ROWS : key.m) * key.n * key.k < LIBRARY_MIN)
        return false;
    key.dtype = a->dtype, key.y_dtype = y.t->dtype;
    key.align_a = alignment_of(a->data), key.align_b = alignment_of(b->data), key.align_y = alignment_of(y.t->data);
    bool made = false;
    struct tensor given = bias ? bias_as(c, bias, y.t->dtype, &made) : tensor();
    key.align_bias = bias ? alignment_of(given.data) : 0;
    key.ta = ta, key.tb = tb;
    key.tf32 = key.dtype == F32 && (a->tf32 || b->tf32 || y.t->tf32);
    use_device(s);
    struct plan *p = plan_of(c->dev, &key, bias ? &given : nullptr);
    if (!p->usable)
        return false;
    if (made)
        cuda_cast(c, &given, bias);
    if (run_plan(c, p, y, a, b, bias ? &given : nullptr))
        c->dev->counts.launches += !s->capturing;
    else
        give_up(c->dev, p, "fails at");
    return p->usable;
}

/* Releases a plan, complete or not. */
static void plan_release(struct plan *p)
{
    for (cublasLtMatrixLayout_t layout : { p->a, p->b, p->y })
        if (layout)
            cublasLtMatrixLayoutDestroy(layout);
    if (p->operation)
        cublasLtMatmulDescDestroy(p->operation);
}

void plans_release(struct cuda_state *s)
{
    for (int64_t i = 0; i < s->plan_cap; i++)
        plan_release(&s->plans[i]);
    free(s->plans);
    s->plans = nullptr;
    s->plan_cap = s->plan_count = 0;
}
