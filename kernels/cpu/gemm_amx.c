/*
 * Products of few rows in bf16 on AMX. They read each weight once, in the layout that it has, and keep no copy of it.
 */
#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A tile holds 16 rows of 64 bytes.  A weight tile is 16 outputs by 32 elements of the sum.  An input tile is 32
 * elements of the sum, in pairs, by 16 rows.  A product tile is 16 outputs by 16 rows.  A task is 32 outputs of all
 * rows.
 */
enum { SIDE = 16, DEPTH = 32, TASK = 2 * SIDE };

#define ON_AMX __attribute__((target("amx-tile,amx-bf16")))

struct tile_config {
    uint8_t palette, start, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Eight tiles of 16 rows of 64 bytes.  In static memory: gcc 12 takes it that 8 bytes of it are read, and might leave
 * the others out of what it writes. */
static const struct tile_config whole_tiles = { .palette = 1,
                                                .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
                                                .rows = { SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE } };

static bool has_tiles;

/* Requests the tiles from the kernel, which grants them to all threads of a process. */
static void take_tiles(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, HAS_BF16 = 1 << 22, HAS_TILES = 1 << 24 };
    unsigned a, b, c, d;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & HAS_BF16) || !(d & HAS_TILES))
        return;
    has_tiles = syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool gemm_amx_serves(const struct gemm *g)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, take_tiles);
    return has_tiles && g->dtype == BF16 && !g->ta && g->tb;
}

/* A step of every block of 16 rows of a, in pairs of k, zeros where there is nothing. */
static void pair_step(uint32_t *x, const struct gemm *g, int64_t step, int64_t steps)
{
    /* _tile_dpbf16ps multiplies pairs: element p of row r holds numbers 2 p and 2 p + 1 of the sum for input row r.
     * The loop writes one such pair at a time. */
    const uint16_t *a = (const uint16_t *)g->a + step * DEPTH;
    int64_t left = g->k - step * DEPTH, pairs = (left < DEPTH ? left : DEPTH) / 2;

    for (int64_t r = 0; r < g->m; r++, a += g->k) {
        uint32_t *to = x + (r / SIDE * steps + step) * SIDE * SIDE + r % SIDE;
        for (int64_t p = 0; p < pairs; p++)
            memcpy(to + p * SIDE, a + 2 * p, sizeof *to);
        if (left < DEPTH && left % 2)
            to[pairs * SIDE] = a[left - 1];
    }
}

/* The weight's rows of a task, and the numbers from one to the next; a padded copy where they do not fill tiles. */
static const uint16_t *task_rows(uint16_t *copy, int64_t *stride, const struct gemm *g, int64_t first, int64_t steps)
{
    const uint16_t *w = (const uint16_t *)g->b + first * g->k;
    int64_t rows = g->n - first < TASK ? g->n - first : TASK;

    *stride = g->k;
    if (rows == TASK && g->k % DEPTH == 0)
        return w;
    *stride = steps * DEPTH;
    memset(copy, 0, (size_t)(TASK * *stride) * sizeof *copy);
    for (int64_t i = 0; i < rows; i++)
        memcpy(copy + i * *stride, w + i * g->k, (size_t)g->k * sizeof *copy);
    return copy;
}

/* sums[i][j] = 16 outputs from 16 i on by 16 rows of block j; x1 NULL: there is one block. */
ON_AMX static void multiply_tiles(float sums[2][2][SIDE][SIDE], const uint16_t *w, int64_t stride, const uint32_t *x0,
                                  const uint32_t *x1, int64_t steps)
{
    size_t bytes = (size_t)stride * sizeof *w;

    /* Tiles 0 to 3 are sums, 4 and 5 weights, 6 and 7 inputs. Each loaded tile serves two products. */
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t s = 0; s < steps; s++) {
        _tile_loadd(4, w + s * DEPTH, bytes);
        _tile_loadd(5, w + SIDE * stride + s * DEPTH, bytes);
        _tile_loadd(6, x0 + s * SIDE * SIDE, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        if (!x1)
            continue;
        _tile_loadd(7, x1 + s * SIDE * SIDE, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums[0][0], 64);
    _tile_stored(1, sums[0][1], 64);
    _tile_stored(2, sums[1][0], 64);
    _tile_stored(3, sums[1][1], 64);
}

/* Columns from `first` on of rows from `from` on. */
static void put_sums(struct tensor *y, const struct gemm *g, int64_t first, int64_t from, float sums[2][2][SIDE][SIDE])
{
    int64_t rows = g->m - from < TASK ? g->m - from : TASK, cols = g->n - first < TASK ? g->n - first : TASK;
    /* Sums lie with outputs down and rows across; y has them the other way round. */
    float turned[TASK][TASK];

    for (int64_t i = 0; i < cols; i += SIDE)
        for (int64_t j = 0; j < rows; j += SIDE)
            transpose(&turned[j][i], TASK, &sums[i / SIDE][j / SIDE][0][0], SIDE, SIDE, SIDE);
    for (int64_t r = 0; r < rows; r++) {
        float *line = turned[r];
        if (g->bias)
            row_add(line, g->bias + first, cols);
        if (g->act)
            activation_run(line, line, cols, g->act);
        row_store((struct destination){ y, g->add }, (from + r) * g->n + first, line, cols);
    }
}

/* Products that read the same rows x, packed; their tasks are numbered through. */
struct amx_run {
    const struct gemm *list;
    int n;
    uint32_t *x;
    int64_t steps, tasks;
};

static int64_t tasks_of(const struct gemm *g)
{
    return (g->n + TASK - 1) / TASK;
}

static void run_task(const struct amx_run *run, int64_t task, uint16_t *copy)
{
    const struct gemm *g = run->list;

    /* The tasks of all products are numbered through, so that threads are busy to the end of the last one. */
    for (; task >= tasks_of(g); g++)
        task -= tasks_of(g);
    struct tensor y = { .data = g->y, .dtype = g->y_dtype, .ndim = 1, .shape = { g->m * g->n } };
    int64_t stride, block = run->steps * SIDE * SIDE;
    const uint16_t *w = task_rows(copy, &stride, g, task * TASK, run->steps);
    float sums[2][2][SIDE][SIDE];
    for (int64_t from = 0; from < g->m; from += TASK) {
        const uint32_t *x = run->x + from / SIDE * block;
        multiply_tiles(sums, w, stride, x, g->m - from > SIDE ? x + block : NULL, run->steps);
        put_sums(&y, g, task * TASK, from, sums);
    }
}

/* Runs the tasks of one thread.  Other users of tiles find the configuration unchanged. */
ON_AMX static void run_tasks(const struct amx_run *run)
{
    struct tile_config before = { 0 };
    uint16_t *copy = xmalloc((size_t)(TASK * run->steps * DEPTH) * sizeof *copy);

    /* oneDNN may have configured the tiles of this thread. */
    _tile_storeconfig(&before);
    _tile_loadconfig(&whole_tiles);
#pragma omp for schedule(static)
    for (int64_t s = 0; s < run->steps; s++)
        pair_step(run->x, run->list, s, run->steps);
#pragma omp for schedule(static)
    /* The end of the loop above is a barrier: all inputs are packed before a task reads them. */
    for (int64_t task = 0; task < run->tasks; task++)
        run_task(run, task, copy);
    if (before.palette)
        _tile_loadconfig(&before);
    else
        _tile_release();
    free(copy);
}

void gemm_amx(const struct gemm *list, int n)
{
    int64_t steps = (list->k + DEPTH - 1) / DEPTH, blocks = (list->m + SIDE - 1) / SIDE;
    struct amx_run run = {
        .list = list, .n = n, .x = xcalloc((size_t)(blocks * steps * SIDE * SIDE), sizeof *run.x), .steps = steps
    };

    for (int i = 0; i < n; i++)
        run.tasks += tasks_of(&list[i]);
#pragma omp parallel if (run.tasks * TASK * list->k > PARALLEL_MIN)
    run_tasks(&run);
    free(run.x);
}

#else

bool gemm_amx_serves(const struct gemm *g)
{
    (void)g;
    return false;
}

void gemm_amx(const struct gemm *list, int n)
{
    (void)list;
    (void)n;
    CHECK(false, "no AMX");
}

#endif
