/*
 * Products by oneDNN. It compiles a program for each shape, which is kept for the next product of that shape.
 *
 * A key holds shape, types and attributes. A full table is emptied. Frozen weights are copied once into the layout
 * that the product prefers; the copies are found by the weight's address, and gemm_cache_forget() drops them before
 * that memory is used again.
 */
#include "kernels/cpu/gemm.h"

#include <stdlib.h>
#include <string.h>

#ifdef AMBIT_DNNL

#include <dnnl.h>
#include <omp.h>

/* Common names for the interfaces of oneDNN 2, which describes memory by a struct, and of oneDNN 3, which describes it
 * by a handle. */
typedef dnnl_memory_desc_t desc;

/* True if a kernel on AMX tiles may run with the tile configuration of another. */
#define DNNL_STALE_TILES (DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR < 301)

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t const_desc;
#define DESC_OF(d) (d)
#define desc_strided dnnl_memory_desc_create_with_strides
#define desc_tagged dnnl_memory_desc_create_with_tag
#define desc_free(d) ((void)dnnl_memory_desc_destroy(*(d)))
#define append_sum(ops) dnnl_post_ops_append_sum((ops), 1.0f, 0, dnnl_data_type_undef)
#define append_eltwise(ops, kind, alpha) dnnl_post_ops_append_eltwise((ops), (kind), (alpha), 0)

static inline dnnl_status_t matmul_describe(dnnl_primitive_desc_t *about, dnnl_engine_t engine, desc *a, desc *b,
                                            desc *bias, desc *y, dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(about, engine, *a, *b, bias ? *bias : NULL, *y, attr);
}

#else

typedef const dnnl_memory_desc_t *const_desc;
#define DESC_OF(d) (&(d))
#define desc_strided dnnl_memory_desc_init_by_strides
#define desc_tagged dnnl_memory_desc_init_by_tag
#define desc_free(d) ((void)(d))
#define append_sum(ops) dnnl_post_ops_append_sum((ops), 1.0f)
#define append_eltwise(ops, kind, alpha) dnnl_post_ops_append_eltwise((ops), 1.0f, (kind), (alpha), 0)

static inline dnnl_status_t matmul_describe(dnnl_primitive_desc_t *about, dnnl_engine_t engine, desc *a, desc *b,
                                            desc *bias, desc *y, dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t matmul;
    dnnl_status_t status = dnnl_matmul_desc_init(&matmul, a, b, bias, y);

    return status == dnnl_success ? dnnl_primitive_desc_create(about, &matmul, attr, engine, NULL) : status;
}

#endif

enum { GEMMS_MAX = 1024, BUCKETS = 1024 };

/* The properties of a compiled product. */
struct dnnl_gemm_key {
    int64_t m, n, k;
    int32_t dtype, y_dtype, act;
    uint8_t ta, tb, add, bias, frozen;
    uint8_t zero[7]; /* keys are hashed and compared as bytes */
};

struct dnnl_gemm {
    struct dnnl_gemm *next;
    struct dnnl_gemm_key key;
    dnnl_primitive_t run; /* NULL: this machine cannot */
    dnnl_primitive_desc_t about;
    dnnl_memory_t a, b, y, bias;
};

/* A frozen weight in the layout that some products use. */
struct packed {
    struct packed *next;
    const void *source;
    bool tb; /* orientation when it was read: a square weight serves both */
    size_t bytes;
    dnnl_memory_t memory;
    void *data;
};

struct gemm_cache {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct dnnl_gemm *gemms[BUCKETS];
    int n_gemms;
    struct packed *packed[BUCKETS];
};

static void must(dnnl_status_t status, const char *what)
{
    CHECK(status == dnnl_success, "oneDNN: %s: status %d", what, (int)status);
}

const char *gemm_library(void)
{
    return "oneDNN";
}

struct gemm_cache *gemm_cache_new(void)
{
    struct gemm_cache *cache = xcalloc(1, sizeof *cache);

    must(dnnl_set_primitive_cache_capacity(0), "no cache of its own"); /* this file has one */
    must(dnnl_engine_create(&cache->engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&cache->stream, cache->engine, dnnl_stream_default_flags), "stream");
    return cache;
}

static void dnnl_gemm_free(struct dnnl_gemm *p)
{
    if (p->run) {
        dnnl_primitive_destroy(p->run);
        dnnl_primitive_desc_destroy(p->about);
        dnnl_memory_destroy(p->a);
        dnnl_memory_destroy(p->b);
        dnnl_memory_destroy(p->y);
        if (p->bias)
            dnnl_memory_destroy(p->bias);
    }
    free(p);
}

static void forget_gemms(struct gemm_cache *cache)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct dnnl_gemm *p = cache->gemms[i], *next; p; p = next) {
            next = p->next;
            dnnl_gemm_free(p);
        }
    memset(cache->gemms, 0, sizeof cache->gemms);
    cache->n_gemms = 0;
}

void gemm_cache_forget(struct gemm_cache *cache, const void *from, size_t bytes)
{
    uintptr_t low = (uintptr_t)from, high = low + bytes;

    for (int i = 0; i < BUCKETS; i++)
        for (struct packed **link = &cache->packed[i], *p = *link; p; p = *link) {
            uintptr_t at = (uintptr_t)p->source;
            if (at >= high || at + p->bytes <= low) {
                link = &p->next;
                continue;
            }
            *link = p->next;
            dnnl_memory_destroy(p->memory);
            free(p->data);
            free(p);
        }
}

void gemm_cache_free(struct gemm_cache *cache)
{
    forget_gemms(cache);
    gemm_cache_forget(cache, NULL, UINTPTR_MAX);
    dnnl_stream_destroy(cache->stream);
    dnnl_engine_destroy(cache->engine);
    free(cache);
}

static dnnl_data_type_t type_of(enum dtype dtype)
{
    return dtype == BF16 ? dnnl_bf16 : dnnl_f32;
}

/* A [rows, cols] matrix, stored transposed or not. */
static void desc_matrix(desc *d, int64_t rows, int64_t cols, enum dtype dtype, bool transposed)
{
    dnnl_dims_t dims = { rows, cols }, strides = { transposed ? 1 : cols, transposed ? rows : 1 };
    must(desc_strided(d, 2, dims, type_of(dtype), strides), "strides");
}

/* The same in whatever layout the product likes best. */
static void desc_any(desc *d, int64_t rows, int64_t cols, enum dtype dtype)
{
    dnnl_dims_t dims = { rows, cols };
    must(desc_tagged(d, 2, dims, type_of(dtype), dnnl_format_tag_any), "layout");
}

static void append_activation(dnnl_post_ops_t ops, enum activation act)
{
    static const struct {
        dnnl_alg_kind_t kind;
        float alpha;
    } algs[] = {
        [ACT_GELU] = { dnnl_eltwise_gelu_erf, 0 },    [ACT_GELU_TANH] = { dnnl_eltwise_gelu_tanh, 0 },
        [ACT_RELU] = { dnnl_eltwise_relu, 0 },        [ACT_LEAKY_RELU] = { dnnl_eltwise_relu, 0.2f },
        [ACT_ELU] = { dnnl_eltwise_elu, 1.0f },       [ACT_TANH] = { dnnl_eltwise_tanh, 0 },
        [ACT_SIGMOID] = { dnnl_eltwise_logistic, 0 },
    };
    must(append_eltwise(ops, algs[act].kind, algs[act].alpha), "activation");
}

static dnnl_primitive_attr_t dnnl_gemm_attr(const struct dnnl_gemm_key *key)
{
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;

    must(dnnl_primitive_attr_create(&attr), "attributes");
    must(dnnl_post_ops_create(&ops), "post-ops");
    if (key->add)
        must(append_sum(ops), "sum");
    if (key->act)
        append_activation(ops, (enum activation)key->act);
    must(dnnl_primitive_attr_set_post_ops(attr, ops), "post-ops");
    dnnl_post_ops_destroy(ops);
    return attr;
}

static const_desc weights_desc(const struct dnnl_gemm *p)
{
    return dnnl_primitive_desc_query_md(p->about, dnnl_query_weights_md, 0);
}

/*
 * Returns whether the library computes this product wrong.  oneDNN before 3.1 then gives wrong numbers on AMX or an
 * illegal instruction, because it does not set its tiles anew (fixed in its f401ed24d2).  It needs k in blocks of 32
 * with 31 left over, beside a partial block of rows or columns.  This was seen at k = 63.  Longer k are split
 * differently, by a heuristic over threads and caches.
 */
static bool library_is_wrong(const struct dnnl_gemm_key *key)
{
    bool amx = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_amx) == dnnl_cpu_isa_avx512_core_amx;

    return DNNL_STALE_TILES && amx && key->dtype == BF16 && key->k > 32 && key->k % 32 == 31;
}

/* Compiles; leaves p->run NULL where this machine has no such product (bf16 before AVX-512), or a wrong one. */
static void dnnl_gemm_compile(struct gemm_cache *cache, struct dnnl_gemm *p)
{
    if (library_is_wrong(&p->key))
        return;
    const struct dnnl_gemm_key *key = &p->key;
    enum dtype dtype = (enum dtype)key->dtype, y_dtype = (enum dtype)key->y_dtype;
    dnnl_primitive_attr_t attr = dnnl_gemm_attr(key);
    desc a, b, y, bias;

    desc_matrix(&a, key->m, key->k, dtype, key->ta);
    desc_matrix(&y, key->m, key->n, y_dtype, false);
    desc_matrix(&bias, 1, key->n, F32, false);
    if (key->frozen)
        /* The library chooses the layout of b; pack() converts the weight to it. */
        desc_any(&b, key->k, key->n, dtype);
    else
        desc_matrix(&b, key->k, key->n, dtype, key->tb);
    dnnl_status_t status = matmul_describe(&p->about, cache->engine, &a, &b, key->bias ? &bias : NULL, &y, attr);
    if (status == dnnl_success) {
        must(dnnl_primitive_create(&p->run, p->about), "compile");
        must(dnnl_memory_create(&p->a, DESC_OF(a), cache->engine, DNNL_MEMORY_NONE), "memory");
        must(dnnl_memory_create(&p->b, weights_desc(p), cache->engine, DNNL_MEMORY_NONE), "memory");
        must(dnnl_memory_create(&p->y, DESC_OF(y), cache->engine, DNNL_MEMORY_NONE), "memory");
        if (key->bias)
            must(dnnl_memory_create(&p->bias, DESC_OF(bias), cache->engine, DNNL_MEMORY_NONE), "memory");
    }
    dnnl_primitive_attr_destroy(attr);
    desc_free(&a);
    desc_free(&b);
    desc_free(&y);
    desc_free(&bias);
}

static size_t bucket_of(const void *key, size_t n)
{
    return (size_t)(hash_bytes(HASH_START, key, n) % BUCKETS);
}

static struct dnnl_gemm *dnnl_gemm_get(struct gemm_cache *cache, const struct gemm *g)
{
    struct dnnl_gemm_key key = { .m = g->m,
                                 .n = g->n,
                                 .k = g->k,
                                 .dtype = (int32_t)g->dtype,
                                 .y_dtype = (int32_t)g->y_dtype,
                                 .act = (int32_t)g->act,
                                 .ta = g->ta,
                                 .tb = g->tb,
                                 .add = g->add,
                                 .bias = g->bias != NULL,
                                 .frozen = g->b_frozen };
    size_t bucket = bucket_of(&key, sizeof key);

    for (struct dnnl_gemm *p = cache->gemms[bucket]; p; p = p->next)
        if (!memcmp(&p->key, &key, sizeof key))
            return p;
    /* Packed weights stay: their layouts outlive the products that asked for them. */
    if (cache->n_gemms == GEMMS_MAX)
        forget_gemms(cache);
    struct dnnl_gemm *p = xcalloc(1, sizeof *p);
    p->key = key;
    dnnl_gemm_compile(cache, p);
    p->next = cache->gemms[bucket];
    cache->gemms[bucket] = p;
    cache->n_gemms++;
    return p;
}

static dnnl_memory_t pack(struct gemm_cache *cache, const struct dnnl_gemm *p, const struct gemm *g)
{
    size_t bytes = (size_t)(g->k * g->n) * dtype_size(g->dtype);
    struct packed **link = &cache->packed[bucket_of(&g->b, sizeof g->b)], *w = xcalloc(1, sizeof *w);
    dnnl_primitive_desc_t about;
    dnnl_primitive_t reorder;
    dnnl_memory_t plain;
    desc d;

    desc_matrix(&d, g->k, g->n, g->dtype, g->tb);
    must(dnnl_memory_create(&plain, DESC_OF(d), cache->engine, (void *)(uintptr_t)g->b), "memory");
    size_t want = (dnnl_memory_desc_get_size(weights_desc(p)) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    *w = (struct packed){
        .next = *link, .source = g->b, .tb = g->tb, .bytes = bytes, .data = aligned_alloc(ARENA_ALIGN, want)
    };
    CHECK(w->data, "out of memory: %zu bytes for packed weights", want);
    must(dnnl_memory_create(&w->memory, weights_desc(p), cache->engine, w->data), "memory");
    must(dnnl_reorder_primitive_desc_create(&about, DESC_OF(d), cache->engine, weights_desc(p), cache->engine, NULL),
         "reorder");
    must(dnnl_primitive_create(&reorder, about), "reorder");
    dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, plain }, { DNNL_ARG_TO, w->memory } };
    must(dnnl_primitive_execute(reorder, cache->stream, 2, args), "reorder");
    must(dnnl_stream_wait(cache->stream), "reorder");
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(about);
    dnnl_memory_destroy(plain);
    desc_free(&d);
    *link = w;
    return w->memory;
}

/* The packed copy of g->b in the layout p wants. */
static dnnl_memory_t packed_get(struct gemm_cache *cache, const struct dnnl_gemm *p, const struct gemm *g)
{
    for (struct packed *w = cache->packed[bucket_of(&g->b, sizeof g->b)]; w; w = w->next) {
        const_desc have;
        if (w->source != g->b || w->tb != g->tb)
            continue;
        must(dnnl_memory_get_memory_desc(w->memory, &have), "layout");
        if (dnnl_memory_desc_equal(have, weights_desc(p)))
            return w->memory;
    }
    return pack(cache, p, g);
}

/* As measured over all numbers of rows up to 2048; AMX takes other sums than AVX-512, and which of the two serves a
 * product depends on its rows. */
bool gemm_rows_alone(enum dtype dtype)
{
    const unsigned wide = dnnl_cpu_isa_avx512_core, half = dnnl_cpu_isa_avx512_core_bf16;
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    return dtype == F32 || gemm_widens(dtype) ? (isa & wide) == wide : isa == half;
}

bool gemm_widens(enum dtype dtype)
{
    const unsigned wide = dnnl_cpu_isa_avx512_core, half = dnnl_cpu_isa_avx512_core_bf16;
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    return dtype == BF16 && (isa & wide) == wide && (isa & half) != half;
}

bool gemm_packs(struct gemm_cache *cache, enum dtype dtype)
{
    /* A product of a usual shape tells whether oneDNN has products of this type at all. */
    struct gemm g = { .m = 64, .n = 64, .k = 64, .dtype = dtype, .y_dtype = dtype, .tb = true, .b_frozen = true };

    return !gemm_tiled() && !gemm_widens(dtype) && dnnl_gemm_get(cache, &g)->run != NULL;
}

static void *plain_pointer(const void *p)
{
    return (void *)(uintptr_t)p; /* oneDNN declares inputs without const */
}

bool gemm_dnnl(struct gemm_cache *cache, const struct gemm *g)
{
    struct dnnl_gemm *p = dnnl_gemm_get(cache, g);

    if (!p->run)
        return false;
    dnnl_memory_t b = p->b;
    must(dnnl_memory_set_data_handle(p->a, plain_pointer(g->a)), "memory");
    must(dnnl_memory_set_data_handle(p->y, g->y), "memory");
    if (g->b_frozen)
        b = packed_get(cache, p, g);
    else
        must(dnnl_memory_set_data_handle(b, plain_pointer(g->b)), "memory");
    if (g->bias)
        must(dnnl_memory_set_data_handle(p->bias, plain_pointer(g->bias)), "memory");
    dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, p->a }, { DNNL_ARG_WEIGHTS, b }, { DNNL_ARG_DST, p->y }, { DNNL_ARG_BIAS, p->bias }
    };
    must(dnnl_primitive_execute(p->run, cache->stream, g->bias ? 4 : 3, args), "product");
    /* Execution on the CPU is synchronous with OpenMP; the wait holds for other runtimes too. */
    must(dnnl_stream_wait(cache->stream), "product");
    return true;
}

/* Products of f32 without AVX-512.  There oneDNN splits sums by the number of threads.  The product is therefore split
 * by its shape alone, and one thread computes each tile. */
enum { ROWS = 192, COLUMNS = 384, DEPTH = 128 };

bool gemm_tiled(void)
{
    return !gemm_rows_alone(F32);
}

static int64_t part(int64_t from, int64_t end, int64_t most)
{
    return end - from < most ? end - from : most;
}

/* The tile of y at (i, j), by the thread that calls.  Sums over rows of a batch, which may be long, are sums of sums.
 */
static void make_tile(const struct gemm *g, const float *a, const float *b, float *y, bool add, int64_t i, int64_t j)
{
    /* Steps from row to row and from column to column of a and b as the product sees them. */
    int64_t row = g->ta ? 1 : g->k, col = g->ta ? g->m : 1, down = g->tb ? 1 : g->n, across = g->tb ? g->k : 1;
    int64_t m = part(i, g->m, ROWS), n = part(j, g->n, COLUMNS), depth = g->ta ? DEPTH : g->k;
    int threads = omp_get_max_threads();
    dnnl_status_t status = dnnl_success;

    /* Inside a parallel region the setting is the thread's own. oneDNN then sums in one order. */
    omp_set_num_threads(1);
    for (int64_t l = 0; l < g->k && status == dnnl_success; l += depth)
        status = dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', m, n, part(l, g->k, depth), 1.0f,
                            a + i * row + l * col, g->ta ? g->m : g->k, b + l * down + j * across, g->tb ? g->k : g->n,
                            add || l > 0 ? 1.0f : 0.0f, y + i * g->n + j, g->n);
    omp_set_num_threads(threads);
    CHECK(status == dnnl_success, "oneDNN: sgemm: status %d", (int)status);
}

void gemm_tiles(const struct gemm *g, const float *a, const float *b, float *y, bool add)
{
    int64_t across = (g->n + COLUMNS - 1) / COLUMNS, tiles = across * ((g->m + ROWS - 1) / ROWS);
#pragma omp parallel for schedule(static) if (tiles > 1)
    for (int64_t t = 0; t < tiles; t++)
        make_tile(g, a, b, y, add, t / across * ROWS, t % across * COLUMNS);
}

#else

const char *gemm_library(void)
{
    return "OpenBLAS";
}

struct gemm_cache *gemm_cache_new(void)
{
    return NULL; /* there is nothing to keep */
}

void gemm_cache_free(struct gemm_cache *cache)
{
    (void)cache;
}

void gemm_cache_forget(struct gemm_cache *cache, const void *from, size_t bytes)
{
    (void)cache;
    (void)from;
    (void)bytes;
}

bool gemm_rows_alone(enum dtype dtype)
{
    (void)dtype;
    return false;
}

bool gemm_widens(enum dtype dtype)
{
    (void)dtype;
    return false;
}

bool gemm_packs(struct gemm_cache *cache, enum dtype dtype)
{
    (void)cache;
    (void)dtype;
    return false;
}

bool gemm_dnnl(struct gemm_cache *cache, const struct gemm *g)
{
    (void)cache;
    (void)g;
    return false;
}

bool gemm_tiled(void)
{
    return false;
}

void gemm_tiles(const struct gemm *g, const float *a, const float *b, float *y, bool add)
{
    (void)g, (void)a, (void)b, (void)y, (void)add;
}

#endif
