/*
 * library_attention.cu - causal attention through cuDNN, by its backend interface.
 *
 * A plan is found when a shape is first seen, and kept.  cuDNN recognises attention in a graph of single operations.
 * The graph must have the order of operations that the library expects; any other order has no kernel.
 */
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/state.cuh"

#include <dlfcn.h>
#include <float.h>
#include <stdlib.h>

/* The shapes that go to cuDNN.  The table is fixed, so that a resumed training has the same bits. */
static const struct {
    int capability;    /* minimum */
    int64_t queries;   /* of the longest sequence, minimum */
    int dim, dim_step; /* channels of a head: maximum, and their divisor */
} long_sequences = { 8, 512, 256, 8 };

struct attention_key {
    int64_t sequences, queries, keys; /* maxima over the sequences */
    int64_t heads, groups, dim;
    float scale;
};

struct attention_plan {
    struct attention_key key;
    bool usable;
    cudnnBackendDescriptor_t plan;
    cudnnBackendDescriptor_t made[96]; /* all parts of the plan, itself the last; destroyed in reverse order */
    int n_made;
    struct attention_plan *next;
};

struct attention_library {
    struct cudnn api;
    void *module;
    cudnnHandle_t handle;
    struct attention_plan *plans; /* a list, since a program has few shapes */
};

/* Identifiers of the tensors that a plan reads and writes.  Tensors inside the graph get the numbers from FIRST_INSIDE
 * on. */
enum { Q = 1, K, V, Y, LSE, Q_FROM, K_FROM, LSE_FROM, Q_COUNT, K_COUNT, SCALE, HIDDEN, FIRST_INSIDE };

/* A graph under construction.  After the first failure no function does anything, so the callers need no checks. */
struct graph_maker {
    const struct cudnn *api;
    struct attention_plan *plan;
    cudnnBackendDescriptor_t operations[24];
    int n_operations;
    int64_t next_uid;
    bool failed;
};

/* Sets an attribute of a descriptor. */
static void set(struct graph_maker *g, cudnnBackendDescriptor_t d, enum cudnn_attribute name, enum cudnn_element type,
                int64_t n, const void *elements)
{
    if (!g->failed)
        g->failed = g->api->BackendSetAttribute(d, name, type, n, elements) != 0;
}

static void set_part(struct graph_maker *g, cudnnBackendDescriptor_t d, enum cudnn_attribute name,
                     cudnnBackendDescriptor_t part)
{
    if (part)
        set(g, d, name, CUDNN_OF_DESCRIPTOR, 1, &part);
}

static void set_code(struct graph_maker *g, cudnnBackendDescriptor_t d, enum cudnn_attribute name,
                     enum cudnn_element type, int value)
{
    set(g, d, name, type, 1, &value);
}

/* Creates a descriptor, which belongs to the plan. */
static cudnnBackendDescriptor_t make(struct graph_maker *g, enum cudnn_descriptor type)
{
    struct attention_plan *p = g->plan;
    cudnnBackendDescriptor_t d = nullptr;
    CHECK(p->n_made < (int)(sizeof p->made / sizeof *p->made), "%d descriptors", p->n_made);
    if (!g->failed)
        g->failed = g->api->BackendCreateDescriptor(type, &d) != 0;
    if (!g->failed)
        p->made[p->n_made++] = d;
    return d;
}

/* Completes a descriptor, which may not change any more. */
static cudnnBackendDescriptor_t finalize(struct graph_maker *g, cudnnBackendDescriptor_t d)
{
    if (!g->failed)
        g->failed = g->api->BackendFinalize(d) != 0;
    return d;
}

/* Sizes and strides of a tensor [sequence, head, row, column]. */
struct shape {
    int64_t size[4], stride[4];
};

enum place { IN_MEMORY, INSIDE, BY_VALUE };

/* Describes a tensor.  `from`, unless NULL, has the offset of each sequence (a ragged tensor). */
static cudnnBackendDescriptor_t tensor_of(struct graph_maker *g, int64_t uid, enum cudnn_type type, struct shape s,
                                          enum place place, cudnnBackendDescriptor_t from)
{
    cudnnBackendDescriptor_t d = make(g, CUDNN_TENSOR);
    int64_t alignment = type == CUDNN_BFLOAT16 && place == IN_MEMORY ? 16 : 4;
    bool yes = true;
    set(g, d, CUDNN_TENSOR_UNIQUE_ID, CUDNN_OF_INT64, 1, &uid);
    set_code(g, d, CUDNN_TENSOR_DATA_TYPE, CUDNN_OF_DATA_TYPE, type);
    set(g, d, CUDNN_TENSOR_DIMENSIONS, CUDNN_OF_INT64, 4, s.size);
    set(g, d, CUDNN_TENSOR_STRIDES, CUDNN_OF_INT64, 4, s.stride);
    set(g, d, CUDNN_TENSOR_BYTE_ALIGNMENT, CUDNN_OF_INT64, 1, &alignment);
    if (place == INSIDE)
        set(g, d, CUDNN_TENSOR_IS_VIRTUAL, CUDNN_OF_BOOLEAN, 1, &yes);
    if (place == BY_VALUE)
        set(g, d, CUDNN_TENSOR_IS_BY_VALUE, CUDNN_OF_BOOLEAN, 1, &yes);
    set_part(g, d, CUDNN_TENSOR_RAGGED_OFFSET, from);
    return finalize(g, d);
}

static cudnnBackendDescriptor_t inside(struct graph_maker *g, enum cudnn_type type, struct shape s)
{
    return tensor_of(g, g->next_uid++, type, s, INSIDE, nullptr);
}

static void add_operation(struct graph_maker *g, cudnnBackendDescriptor_t operation)
{
    CHECK(g->n_operations < (int)(sizeof g->operations / sizeof *g->operations), "%d operations", g->n_operations);
    g->operations[g->n_operations++] = finalize(g, operation);
}

/* y = mode(x, b) or mode(t, x, b), element by element. axis: that of an index, else -1. */
static void pointwise(struct graph_maker *g, enum cudnn_pointwise_mode mode, enum cudnn_type type, int64_t axis,
                      cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                      cudnnBackendDescriptor_t t)
{
    cudnnBackendDescriptor_t what = make(g, CUDNN_POINTWISE);
    set_code(g, what, CUDNN_POINTWISE_MODE, CUDNN_OF_POINTWISE_MODE, mode);
    set_code(g, what, CUDNN_POINTWISE_MATH_PREC, CUDNN_OF_DATA_TYPE, type);
    if (axis >= 0)
        set(g, what, CUDNN_POINTWISE_AXIS, CUDNN_OF_INT64, 1, &axis);
    finalize(g, what);
    cudnnBackendDescriptor_t d = make(g, CUDNN_OPERATION_POINTWISE);
    set_part(g, d, CUDNN_OPERATION_POINTWISE_PW, what);
    set_part(g, d, CUDNN_OPERATION_POINTWISE_X, x);
    set_part(g, d, CUDNN_OPERATION_POINTWISE_B, b);
    set_part(g, d, CUDNN_OPERATION_POINTWISE_T, t);
    set_part(g, d, CUDNN_OPERATION_POINTWISE_Y, y);
    add_operation(g, d);
}

/* The same into a new tensor inside the graph, which it returns. */
static cudnnBackendDescriptor_t apply(struct graph_maker *g, enum cudnn_pointwise_mode mode, enum cudnn_type type,
                                      struct shape s, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b)
{
    cudnnBackendDescriptor_t y = inside(g, type, s);
    pointwise(g, mode, type, -1, y, x, b, nullptr);
    return y;
}

/* Returns the maximum or the sum of each row of x. */
static cudnnBackendDescriptor_t reduce(struct graph_maker *g, enum cudnn_reduction by, struct shape rows,
                                       cudnnBackendDescriptor_t x)
{
    cudnnBackendDescriptor_t y = inside(g, CUDNN_FLOAT, rows), what = make(g, CUDNN_REDUCTION);
    set_code(g, what, CUDNN_REDUCTION_OPERATOR, CUDNN_OF_REDUCTION_OPERATOR, by);
    set_code(g, what, CUDNN_REDUCTION_COMP_TYPE, CUDNN_OF_DATA_TYPE, CUDNN_FLOAT);
    finalize(g, what);
    cudnnBackendDescriptor_t d = make(g, CUDNN_OPERATION_REDUCTION);
    set_part(g, d, CUDNN_OPERATION_REDUCTION_DESC, what);
    set_part(g, d, CUDNN_OPERATION_REDUCTION_X, x);
    set_part(g, d, CUDNN_OPERATION_REDUCTION_Y, y);
    add_operation(g, d);
    return y;
}

/* c = a b for each sequence, over the first m rows of a, the first n columns of b, and the first k terms of the sums.
 * NULL: all. */
static void multiply(struct graph_maker *g, cudnnBackendDescriptor_t c, cudnnBackendDescriptor_t a,
                     cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t m, cudnnBackendDescriptor_t n,
                     cudnnBackendDescriptor_t k)
{
    cudnnBackendDescriptor_t what = make(g, CUDNN_MATMUL);
    double padding = 0;
    set_code(g, what, CUDNN_MATMUL_COMP_TYPE, CUDNN_OF_DATA_TYPE, CUDNN_FLOAT);
    if (n)
        set(g, what, CUDNN_MATMUL_PADDING_VALUE, CUDNN_OF_DOUBLE, 1, &padding);
    finalize(g, what);
    cudnnBackendDescriptor_t d = make(g, CUDNN_OPERATION_MATMUL);
    set_part(g, d, CUDNN_OPERATION_MATMUL_A, a);
    set_part(g, d, CUDNN_OPERATION_MATMUL_B, b);
    set_part(g, d, CUDNN_OPERATION_MATMUL_C, c);
    set_part(g, d, CUDNN_OPERATION_MATMUL_M_OVERRIDE, m);
    set_part(g, d, CUDNN_OPERATION_MATMUL_N_OVERRIDE, n);
    set_part(g, d, CUDNN_OPERATION_MATMUL_K_OVERRIDE, k);
    set_part(g, d, CUDNN_OPERATION_MATMUL_DESC, what);
    add_operation(g, d);
}

/*
 * Replaces the scores of keys that a query does not see by `hidden`.
 *
 * Those are the keys behind the end of the sequence, and keys behind the query itself.  The last query of a sequence
 * sees its last key.  The order of operations is the one that the library recognises as attention.
 */
static cudnnBackendDescriptor_t mask(struct graph_maker *g, struct shape s, cudnnBackendDescriptor_t scores,
                                     cudnnBackendDescriptor_t queries, cudnnBackendDescriptor_t keys,
                                     cudnnBackendDescriptor_t hidden)
{
    cudnnBackendDescriptor_t row[2], col[2], seen[2], y[2] = { scores, scores };
    for (int i = 0; i < 2; i++) {
        row[i] = inside(g, CUDNN_INT32, s), col[i] = inside(g, CUDNN_INT32, s);
        pointwise(g, CUDNN_GEN_INDEX, CUDNN_INT32, 2, row[i], y[i], nullptr, nullptr);
        pointwise(g, CUDNN_GEN_INDEX, CUDNN_INT32, 3, col[i], y[i], nullptr, nullptr);
        if (i == 0) {
            cudnnBackendDescriptor_t a = apply(g, CUDNN_CMP_LT, CUDNN_BOOLEAN, s, row[i], queries);
            cudnnBackendDescriptor_t b = apply(g, CUDNN_CMP_LT, CUDNN_BOOLEAN, s, col[i], keys);
            seen[i] = apply(g, CUDNN_LOGICAL_AND, CUDNN_BOOLEAN, s, a, b);
        } else {
            row[i] = apply(g, CUDNN_ADD, CUDNN_INT32, s, row[i], keys);
            row[i] = apply(g, CUDNN_SUB, CUDNN_INT32, s, row[i], queries);
            seen[i] = apply(g, CUDNN_CMP_GE, CUDNN_BOOLEAN, s, row[i], col[i]);
        }
        cudnnBackendDescriptor_t next = inside(g, CUDNN_FLOAT, s);
        pointwise(g, CUDNN_BINARY_SELECT, CUDNN_FLOAT, -1, next, y[i], hidden, seen[i]);
        y[1] = next;
    }
    return y[1];
}

/* Returns the weights in bf16; lse = log sum exp of each row. */
static cudnnBackendDescriptor_t softmax(struct graph_maker *g, struct shape s, struct shape rows,
                                        cudnnBackendDescriptor_t scores, cudnnBackendDescriptor_t lse)
{
    cudnnBackendDescriptor_t most = reduce(g, CUDNN_REDUCE_MAX, rows, scores);
    cudnnBackendDescriptor_t less = apply(g, CUDNN_SUB, CUDNN_FLOAT, s, scores, most);
    cudnnBackendDescriptor_t e = apply(g, CUDNN_EXP, CUDNN_FLOAT, s, less, nullptr);
    cudnnBackendDescriptor_t sum = reduce(g, CUDNN_REDUCE_ADD, rows, e);
    cudnnBackendDescriptor_t log = apply(g, CUDNN_LOG, CUDNN_FLOAT, rows, sum, nullptr);
    cudnnBackendDescriptor_t weights = inside(g, CUDNN_BFLOAT16, s);
    pointwise(g, CUDNN_ADD, CUDNN_FLOAT, -1, lse, most, log, nullptr);
    pointwise(g, CUDNN_DIV, CUDNN_FLOAT, -1, weights, e, sum, nullptr);
    return weights;
}

/* The shape of packed tensors: the heads of a row side by side, sequence after sequence. */
static struct shape packed(int64_t sequences, int64_t heads, int64_t rows, int64_t dim)
{
    return { { sequences, heads, rows, dim }, { rows * heads * dim, dim, heads * dim, 1 } };
}

static struct shape turned(struct shape s)
{
    return { { s.size[0], s.size[1], s.size[3], s.size[2] }, { s.stride[0], s.stride[1], s.stride[3], s.stride[2] } };
}

static struct shape dense(int64_t sequences, int64_t heads, int64_t rows, int64_t cols)
{
    return { { sequences, heads, rows, cols }, { heads * rows * cols, rows * cols, cols, 1 } };
}

/* Describes the whole graph. */
static void describe_attention(struct graph_maker *g, const struct attention_key *k)
{
    int64_t n = k->sequences;
    struct shape one = { { 1, 1, 1, 1 }, { 1, 1, 1, 1 } }, each = { { n, 1, 1, 1 }, { 1, 1, 1, 1 } };
    struct shape ends = { { n + 1, 1, 1, 1 }, { 1, 1, 1, 1 } };
    struct shape scores = dense(n, k->heads, k->queries, k->keys), rows = dense(n, k->heads, k->queries, 1);
    struct shape q_shape = packed(n, k->heads, k->queries, k->dim), k_shape = packed(n, k->groups, k->keys, k->dim);
    /* Tensors in memory: offsets, operands, results and the numbers of rows. */
    cudnnBackendDescriptor_t from[3];
    for (int i = 0; i < 3; i++)
        from[i] = tensor_of(g, Q_FROM + i, CUDNN_INT32, ends, IN_MEMORY, nullptr);
    cudnnBackendDescriptor_t q = tensor_of(g, Q, CUDNN_BFLOAT16, q_shape, IN_MEMORY, from[0]);
    cudnnBackendDescriptor_t kt = tensor_of(g, K, CUDNN_BFLOAT16, turned(k_shape), IN_MEMORY, from[1]);
    cudnnBackendDescriptor_t v = tensor_of(g, V, CUDNN_BFLOAT16, k_shape, IN_MEMORY, from[1]);
    cudnnBackendDescriptor_t y = tensor_of(g, Y, CUDNN_BFLOAT16, q_shape, IN_MEMORY, from[0]);
    cudnnBackendDescriptor_t lse =
        tensor_of(g, LSE, CUDNN_FLOAT, packed(n, k->heads, k->queries, 1), IN_MEMORY, from[2]);
    cudnnBackendDescriptor_t queries = tensor_of(g, Q_COUNT, CUDNN_INT32, each, IN_MEMORY, nullptr);
    cudnnBackendDescriptor_t keys = tensor_of(g, K_COUNT, CUDNN_INT32, each, IN_MEMORY, nullptr);
    cudnnBackendDescriptor_t scale = tensor_of(g, SCALE, CUDNN_FLOAT, one, BY_VALUE, nullptr);
    cudnnBackendDescriptor_t hidden = tensor_of(g, HIDDEN, CUDNN_FLOAT, one, BY_VALUE, nullptr);
    /* The graph: scores, scale, mask, softmax, values. */
    cudnnBackendDescriptor_t s = inside(g, CUDNN_FLOAT, scores);
    multiply(g, s, q, kt, queries, keys, nullptr);
    s = apply(g, CUDNN_MUL, CUDNN_FLOAT, scores, s, scale);
    s = mask(g, scores, s, queries, keys, hidden);
    s = softmax(g, scores, rows, s, lse);
    multiply(g, y, s, v, queries, nullptr, keys);
}

/* Takes the library's first choice of a kernel for the graph.  It is the same for the same graph, device
 * and version. */
static void choose(struct graph_maker *g, cudnnHandle_t handle)
{
    /* First the graph, then the library's ranking of kernels for it, then a plan of the first one. */
    cudnnBackendDescriptor_t graph = make(g, CUDNN_OPERATIONGRAPH);
    set(g, graph, CUDNN_OPERATIONGRAPH_OPS, CUDNN_OF_DESCRIPTOR, g->n_operations, g->operations);
    set(g, graph, CUDNN_OPERATIONGRAPH_HANDLE, CUDNN_OF_HANDLE, 1, &handle);
    finalize(g, graph);
    cudnnBackendDescriptor_t search = make(g, CUDNN_ENGINEHEUR);
    set_part(g, search, CUDNN_ENGINEHEUR_OPERATION_GRAPH, graph);
    set_code(g, search, CUDNN_ENGINEHEUR_MODE, CUDNN_OF_HEUR_MODE, CUDNN_HEUR_MODE_A);
    finalize(g, search);
    cudnnBackendDescriptor_t first = make(g, CUDNN_ENGINECFG);
    int64_t found = 0, bytes = 0;
    if (!g->failed)
        g->failed = g->api->BackendGetAttribute(search, CUDNN_ENGINEHEUR_RESULTS, CUDNN_OF_DESCRIPTOR, 1, &found,
                                                &first) != 0 ||
                    found < 1;
    cudnnBackendDescriptor_t plan = make(g, CUDNN_EXECUTION_PLAN);
    set(g, plan, CUDNN_EXECUTION_PLAN_HANDLE, CUDNN_OF_HANDLE, 1, &handle);
    set_part(g, plan, CUDNN_EXECUTION_PLAN_ENGINE_CONFIG, first);
    finalize(g, plan);
    if (!g->failed)
        g->failed = g->api->BackendGetAttribute(plan, CUDNN_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_OF_INT64, 1, &found,
                                                &bytes) != 0 ||
                    bytes > (int64_t)LT_WORKSPACE_BYTES;
    g->plan->plan = plan;
}

/* The begin of each sequence in the tensors, and its numbers of rows, as a plan reads them. */
struct attention_ends {
    int *q_from, *k_from, *lse_from, *queries, *keys;
    const int *offsets, *key_start, *key_len;
    int n, heads, groups, dim;
};

/*
 * Computes the ends of the sequences on the device, since the host does not know them.
 *
 * Grid     one thread for each sequence and one for the end.
 * Memory   a few numbers of each sequence.
 */
__global__ void __launch_bounds__(WARP) attention_ends_kernel(attention_ends a)
{
    int s = (int)grid_thread();
    if (s > a.n)
        return;
    int row = a.offsets[s], last = s < a.n ? s : s - 1;
    a.q_from[s] = row * a.heads * a.dim;
    a.lse_from[s] = row * a.heads;
    a.k_from[s] = (a.key_start[last] + (s < a.n ? 0 : a.key_len[last])) * a.groups * a.dim;
    if (s == a.n)
        return;
    a.queries[s] = a.offsets[s + 1] - row;
    a.keys[s] = a.key_len[s];
}

static attention_ends find_ends(struct ctx *c, const struct causal *s, const struct attention_key *key)
{
    int64_t n = key->sequences;
    int *room = (int *)cuda_scratch(c, (size_t)(5 * (n + 1)) * sizeof(int));
    attention_ends a = {};
    a.q_from = room, a.k_from = room + (n + 1), a.lse_from = room + 2 * (n + 1);
    a.queries = room + 3 * (n + 1), a.keys = room + 4 * (n + 1);
    a.offsets = data_of<int>(s->qs.offsets), a.key_start = data_of<int>(s->key_start);
    a.key_len = data_of<int>(s->key_len);
    a.n = (int)n, a.heads = (int)key->heads, a.groups = (int)key->groups, a.dim = (int)key->dim;
    LAUNCH(attention_ends_kernel, blocks_for(n + 1, WARP), WARP, 0, cuda_stream(c), a);
    return a;
}

static void plan_release(const struct cudnn *api, struct attention_plan *p)
{
    while (p->n_made > 0)
        api->BackendDestroyDescriptor(p->made[--p->n_made]);
    free(p);
}

static bool same_key(const struct attention_key *a, const struct attention_key *b)
{
    return a->sequences == b->sequences && a->queries == b->queries && a->keys == b->keys && a->heads == b->heads &&
           a->groups == b->groups && a->dim == b->dim && a->scale == b->scale;
}

/* Warns once about a plan that fails, and does not use it again. */
static void give_up(struct device *d, struct attention_plan *p, const char *what)
{
    p->usable = false;
    d->warn("cuDNN %s attention of %lld sequences of %lld queries, %lld channels a head; ambit's own kernel does it",
            what, (long long)p->key.sequences, (long long)p->key.queries, (long long)p->key.dim);
}

/* Returns the plan of a shape, which may be unusable. */
static struct attention_plan *plan_of(struct device *d, struct attention_library *l, const struct attention_key *key)
{
    for (struct attention_plan *p = l->plans; p; p = p->next)
        if (same_key(&p->key, key))
            return p;
    struct attention_plan *p = (struct attention_plan *)xcalloc(1, sizeof *p);
    struct graph_maker g = {};
    p->key = *key;
    p->next = l->plans;
    l->plans = p;
    g.api = &l->api, g.plan = p, g.next_uid = FIRST_INSIDE;
    describe_attention(&g, key);
    choose(&g, l->handle);
    p->usable = !g.failed;
    if (!p->usable)
        give_up(d, p, "has no kernel for");
    return p;
}

/* Runs a plan.  Returns false, with nothing launched, if the library fails. */
static bool run_plan(struct ctx *c, struct attention_library *l, struct attention_plan *p, void *const (&data)[LSE],
                     const attention_ends &a)
{
    float scale = p->key.scale, hidden = -FLT_MAX;
    const int64_t uids[] = { Q, K, V, Y, LSE, Q_FROM, K_FROM, LSE_FROM, Q_COUNT, K_COUNT, SCALE, HIDDEN };
    void *const pointers[] = { data[0],  data[1],    data[2],   data[3], data[4], a.q_from,
                               a.k_from, a.lse_from, a.queries, a.keys,  &scale,  &hidden };
    constexpr int64_t N = sizeof uids / sizeof *uids;
    /* Pointers are bound to a plan by a descriptor, which is destroyed after the launch. */
    struct attention_plan pack = {};
    struct graph_maker g = {};
    g.api = &l->api, g.plan = &pack;
    cudnnBackendDescriptor_t d = make(&g, CUDNN_VARIANT_PACK);
    set(&g, d, CUDNN_VARIANT_PACK_UNIQUE_IDS, CUDNN_OF_INT64, N, uids);
    set(&g, d, CUDNN_VARIANT_PACK_DATA_POINTERS, CUDNN_OF_VOID_PTR, N, pointers);
    set(&g, d, CUDNN_VARIANT_PACK_WORKSPACE, CUDNN_OF_VOID_PTR, 1, &state_of(c->dev)->lt_workspace);
    finalize(&g, d);
    bool done = !g.failed && l->api.BackendExecute(l->handle, p->plan, d) == 0;
    if (d)
        l->api.BackendDestroyDescriptor(d);
    return done;
}

template <typename F>
static bool find(void *module, F *function, const char *name)
{
    *function = (F)dlsym(module, name);
    return *function != nullptr;
}

static bool find_functions(struct cudnn *api, void *m)
{
#define FIND(name) find(m, &api->name, "cudnn" #name)
    return FIND(Create) && FIND(Destroy) && FIND(SetStream) && FIND(BackendCreateDescriptor) &&
           FIND(BackendDestroyDescriptor) && FIND(BackendFinalize) && FIND(BackendSetAttribute) &&
           FIND(BackendGetAttribute) && FIND(BackendExecute);
#undef FIND
}

void attention_library_close(struct cuda_state *s)
{
    struct attention_library *l = s->attention;
    if (!l)
        return;
    for (struct attention_plan *p = l->plans, *next; p; p = next) {
        next = p->next;
        plan_release(&l->api, p);
    }
    if (l->handle)
        l->api.Destroy(l->handle);
    if (l->module)
        dlclose(l->module);
    free(l);
    s->attention = nullptr;
}

/* Opens the library and a handle; s->attention stays NULL if that fails. */
static void library_open(struct cuda_state *s)
{
    struct attention_library *l = (struct attention_library *)xcalloc(1, sizeof *l);
    s->attention = l;
    l->module = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (!l->module || !find_functions(&l->api, l->module) || l->api.Create(&l->handle) != 0 ||
        l->api.SetStream(l->handle, s->stream) != 0)
        attention_library_close(s);
}

/* Returns the library, which is opened when it is first needed.  NULL if AMBIT_CUDNN does not ask for it, or if it is
 * missing. */
static struct attention_library *library_of(struct device *d)
{
    struct cuda_state *s = state_of(d);
    const char *wanted = getenv("AMBIT_CUDNN");
    if (s->attention_asked)
        return s->attention;
    s->attention_asked = true;
    if (!wanted || !*wanted || strcmp(wanted, "0") == 0)
        return nullptr;
    library_open(s);
    if (!s->attention)
        d->warn("AMBIT_CUDNN is set, but there is no libcudnn.so.9 that starts; ambit's own attention does it");
    return s->attention;
}

/* Whether a call is in the table, and within the int32 offsets of cuDNN. */
static bool in_table(const struct cuda_state *s, const struct tensor *q, const struct causal *g,
                     const struct attention_form *form)
{
    int64_t dim = tensor_cols(q) / form->heads, numbers = tensor_size(q);
    return q->dtype == BF16 && !form->bias && form->cap == 0 && !form->window && !g->prefix_start &&
           s->capability >= long_sequences.capability && g->qs.max_len >= long_sequences.queries &&
           dim <= long_sequences.dim && dim % long_sequences.dim_step == 0 && numbers <= INT32_MAX;
}

bool cuda_library_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                            const struct tensor *k, const struct tensor *v, const struct causal *s,
                            const struct attention_form *form)
{
    struct attention_library *l = in_table(state_of(c->dev), q, s, form) ? library_of(c->dev) : nullptr;
    if (!l || tensor_size(k) > INT32_MAX)
        return false;
    int64_t dim = tensor_cols(q) / form->heads;
    struct attention_key key = {};
    key.sequences = s->qs.n, key.queries = s->qs.max_len, key.keys = s->max_keys;
    key.heads = form->heads, key.groups = form->groups, key.dim = dim;
    key.scale = form->scale;
    use_device(state_of(c->dev));
    struct attention_plan *p = plan_of(c->dev, l, &key);
    if (!p->usable)
        return false;
    void *const data[LSE] = { q->data, k->data, v->data, y->data, lse->data };
    if (run_plan(c, l, p, data, find_ends(c, s, &key)))
        c->dev->counts.launches += !state_of(c->dev)->capturing;
    else
        give_up(c->dev, p, "fails at");
    return p->usable;
}
