/* The ops of a decoder's block without a backward, see tests/support/op_test.h; rows and columns are turned into those
 * at which the kernels of few rows change their ways. */
#include "tests/support/op_test.h"

#include "tests/support/reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 0.25f
#define SCALE 0.75f
#define CAP 1.5f

/* Rows about a tile of 16, two of them and GROUP_ROWS; columns that load whole vectors, or cannot. */
static void choose_size(struct op_test *t)
{
    static const struct {
        int64_t from, width, rows, cols;
    } sizes[] = {
        { 31, 127, GROUP_ROWS + 1, 127 }, { 33, 31, 17, 40 }, { 127, 33, GROUP_ROWS, 4096 }, { 1025, 31, 3, 4098 }
    };

    if (t->cols == 1025)
        t->rows = 1 + t->variant;
    for (int i = 0; i < ARRAY_LEN(sizes); i++)
        if (t->rows == sizes[i].from && t->cols == sizes[i].width) {
            t->rows = sizes[i].rows;
            t->cols = sizes[i].cols;
            t->rows -= t->rows == 17 ? t->variant % 3 : 0;
            return;
        }
}

/* Inputs of the linear maps: x, the matrices below one another, their biases, A's and B's likewise, the norm. */
enum { X, W, BIAS, A, B, NORM };
enum { MAPS = 3, RANK = 5 };
/* All plain; a norm, biases, adapters on the first and the last; a norm and adapters on all. */
enum { PLAIN, MIXED, ADAPTED, MAP_VARIANTS };

static int64_t outputs_of(int map)
{
    static const int64_t outputs[MAPS] = { 37, 16, 3 };
    return outputs[map];
}

/* Of maps of one width: those of a GLU. */
static int64_t start_of(int map, bool equal)
{
    int64_t at = 0;
    for (int i = 0; i < map; i++)
        at += equal ? outputs_of(0) : outputs_of(i);
    return at;
}

static bool has_adapter(const struct op_test *t, int map)
{
    return t->variant == ADAPTED || (t->variant == MIXED && map != 1);
}

/* SwiGLU multiplies two of its sums with each other, and their errors where they are large. */
static double weight_scale(int64_t inner, bool equal)
{
    return inner < 16 ? 1 : (equal ? 1 : 4) / sqrt((double)inner);
}

static void constant_matrix(struct op_test *t, int64_t rows, int64_t cols, double scale)
{
    op_matrix(t, rows, cols, scale);
    op_constant(t);
}

/* Long sums have the number of terms that the tolerances assume: the other terms are zero, at other places in each row.
 * An adapter's part is about half as large as the rest of the sum. */
static void setup_maps(struct op_test *t, int maps, bool equal)
{
    choose_size(t);
    int64_t n = start_of(maps, equal);
    constant_matrix(t, t->rows, t->cols, 1);
    for (int64_t i = 0; i < t->in[X].n && t->cols >= 4096; i++)
        if ((i / t->cols + i) % 4)
            t->in[X].value[i] = 0;
    constant_matrix(t, n, t->cols, weight_scale(t->cols, equal));
    op_f32(t, n, 0, 1);
    op_constant(t);
    constant_matrix(t, maps * RANK, t->cols, weight_scale(t->cols, equal));
    constant_matrix(t, n, RANK, 0.4);
}

static void setup_norm(struct op_test *t)
{
    op_f32(t, t->cols, 0, 2);
    op_constant(t);
}

static struct tensor *part_of(struct ctx *c, const struct tensor *t, int64_t from, int64_t n)
{
    return tensor_slice(c, t, from, n);
}

static struct linear_map map_of(struct ctx *c, const struct op_test *t, int map, bool equal)
{
    int64_t at = start_of(map, equal), n = start_of(map + 1, equal) - at;
    struct linear_map m = { .w = part_of(c, t->x[W], at, n) };

    if (t->variant == MIXED)
        m.b = part_of(c, t->x[BIAS], at, n);
    if (has_adapter(t, map))
        m.lora = (struct lora){ .a = part_of(c, t->x[A], map * RANK, RANK),
                                .b = part_of(c, t->x[B], at, n),
                                .scale = SCALE };
    return m;
}

static struct rms_norm norm_of(const struct op_test *t)
{
    return (struct rms_norm){ t->variant == PLAIN ? NULL : t->x[NORM], EPS };
}

/* n(x) in double */
static double *normed(const struct op_test *t, double *const *x, bool norm)
{
    double *y = xmalloc((size_t)(t->rows * t->cols) * sizeof *y);

    for (int64_t r = 0; r < t->rows; r++) {
        double square = 0;
        for (int64_t j = 0; j < t->cols; j++)
            square += pow(x[X][r * t->cols + j], 2) / (double)t->cols;
        for (int64_t j = 0; j < t->cols; j++)
            y[r * t->cols + j] = x[X][r * t->cols + j] * (norm ? x[NORM][j] / sqrt(square + (double)EPS) : 1);
    }
    return y;
}

/* y[T, N] += the map of in */
static void reference_map(const struct op_test *t, double *const *x, const double *in, int map, bool equal, double *y)
{
    int64_t at = start_of(map, equal), n = start_of(map + 1, equal) - at;
    double *h = xcalloc((size_t)(t->rows * RANK + 1), sizeof *h);

    reference_matmul(y, in, false, x[W] + at * t->cols, true, t->rows, n, t->cols);
    if (has_adapter(t, map))
        reference_matmul(h, in, false, x[A] + map * RANK * t->cols, true, t->rows, RANK, t->cols);
    for (int64_t i = 0; i < t->rows * RANK; i++)
        h[i] *= (double)SCALE;
    reference_matmul(y, h, false, x[B] + at * RANK, true, t->rows, n, RANK);
    for (int64_t i = 0; i < t->rows * n && t->variant == MIXED; i++)
        y[i] += x[BIAS][at + i % n];
    free(h);
}

/* The ops refuse to run in a training step. */
static bool leave_training(struct ctx *c)
{
    bool recording = c->recording;
    c->recording = c->training = false;
    return recording;
}

static struct tensor *enter_training(struct ctx *c, bool recording, struct tensor *y)
{
    c->recording = recording;
    c->training = true;
    return y;
}

static void group_setup(struct op_test *t)
{
    setup_maps(t, MAPS, false);
    setup_norm(t);
}

/* The framework takes one output of the three. */
static int wanted(const struct op_test *t)
{
    return (int)((t->rows + t->variant) % MAPS);
}

static struct tensor *run_group(struct ctx *c, struct op_test *t)
{
    struct linear_map maps[MAPS];
    const struct linear_map *list[MAPS];
    struct tensor *y[MAPS];
    bool recording = leave_training(c);

    for (int i = 0; i < MAPS; i++) {
        maps[i] = map_of(c, t, i, false);
        list[i] = &maps[i];
    }
    op_linear_group(c, y, t->x[X], norm_of(t), list, MAPS);
    return enter_training(c, recording, y[wanted(t)]);
}

static void group(const struct op_test *t, double *const *x, double *y)
{
    double *in = normed(t, x, t->variant != PLAIN);

    reference_map(t, x, in, wanted(t), false, y);
    free(in);
}

static void glu_setup(struct op_test *t)
{
    /* Many rows are worked at op by op: with biases of the products' size that rounds more than a tolerance knows. */
    if (t->variant == MIXED && t->rows == 31)
        t->rows = GROUP_ROWS - 2;
    setup_maps(t, 2, true);
    setup_norm(t);
}

/* Where errors of two sums multiply, what is rounded on the way is the norm or what the adapter reads of it. */
static struct rms_norm glu_norm(const struct op_test *t)
{
    return (struct rms_norm){ t->variant == MIXED ? t->x[NORM] : NULL, EPS };
}

static struct tensor *run_glu(struct ctx *c, struct op_test *t, enum gate kind)
{
    bool recording = leave_training(c);
    struct linear_map gate = map_of(c, t, 0, true), up = map_of(c, t, 1, true);

    return enter_training(c, recording, op_linear_glu(c, t->x[X], glu_norm(t), &gate, &up, kind));
}

static struct tensor *run_swiglu(struct ctx *c, struct op_test *t)
{
    return run_glu(c, t, GATE_SILU);
}

static struct tensor *run_geglu(struct ctx *c, struct op_test *t)
{
    return run_glu(c, t, GATE_GELU);
}

static void glu(const struct op_test *t, double *const *x, double *y, enum gate kind)
{
    int64_t n = t->rows * outputs_of(0);
    double *in = normed(t, x, t->variant == MIXED), *up = xcalloc((size_t)n + 1, sizeof *up), root = sqrt(2 / acos(-1));

    reference_map(t, x, in, 0, true, y);
    reference_map(t, x, in, 1, true, up);
    for (int64_t i = 0; i < n; i++) {
        double g = y[i];
        y[i] = up[i] * (kind == GATE_SILU ? g / (1 + exp(-g)) : g / 2 * (1 + tanh(root * (g + 0.044715 * g * g * g))));
    }
    free(in);
    free(up);
}

static void swiglu(const struct op_test *t, double *const *x, double *y)
{
    glu(t, x, y, GATE_SILU);
}

static void geglu(const struct op_test *t, double *const *x, double *y)
{
    glu(t, x, y, GATE_GELU);
}

enum { SUM = NORM /* what is added to takes the place of the norm */ };

/* A sum that is F32 always in one of the variants. */
static void add_setup(struct op_test *t)
{
    setup_maps(t, 1, false);
    constant_matrix(t, t->rows, outputs_of(0), 2);
    t->in[SUM].f32 = t->variant == PLAIN;
}

/* In place, so on a copy. */
static struct tensor *run_add(struct ctx *c, struct op_test *t)
{
    bool recording = leave_training(c);
    struct tensor *y = op_scale(c, t->x[SUM], 1);
    struct linear_map m = map_of(c, t, 0, false);

    op_linear_add(c, y, t->x[X], &m);
    return enter_training(c, recording, y);
}

static void add(const struct op_test *t, double *const *x, double *y)
{
    memcpy(y, x[SUM], (size_t)t->in[SUM].n * sizeof *y);
    reference_map(t, x, x[X], 0, false, y);
}

static void logits_setup(struct op_test *t)
{
    setup_maps(t, 1, false);
}

static struct tensor *run_capped(struct ctx *c, struct op_test *t, float cap)
{
    bool recording = leave_training(c);
    struct linear_map m = map_of(c, t, 0, false);

    return enter_training(c, recording, op_linear_logits(c, t->x[X], m.w, &m.lora, cap));
}

static struct tensor *run_logits(struct ctx *c, struct op_test *t)
{
    return run_capped(c, t, 0);
}

static struct tensor *run_capped_logits(struct ctx *c, struct op_test *t)
{
    return run_capped(c, t, CAP);
}

static void logits(const struct op_test *t, double *const *x, double *y)
{
    struct op_test plain = *t;

    if (t->variant == MIXED) { /* has no bias here */
        for (int64_t i = 0; i < t->rows * outputs_of(0); i++)
            y[i] -= x[BIAS][i % outputs_of(0)];
    }
    reference_map(&plain, x, x[X], 0, false, y);
}

static void capped_logits(const struct op_test *t, double *const *x, double *y)
{
    logits(t, x, y);
    for (int64_t i = 0; i < t->rows * outputs_of(0); i++)
        y[i] = (double)CAP * tanh(y[i] / (double)CAP);
}

static void add_to_setup(struct op_test *t)
{
    constant_matrix(t, t->rows, t->cols, 1);
    constant_matrix(t, t->rows, t->cols, 1);
}

/* In place, so on a copy. */
static struct tensor *run_add_to(struct ctx *c, struct op_test *t)
{
    bool recording = leave_training(c);
    struct tensor *y = op_scale(c, t->x[0], 1);

    op_add_to(c, y, t->x[1]);
    return enter_training(c, recording, y);
}

static void add_to(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        y[i] = x[0][i] + x[1][i];
}

/* Heads of queries and groups of keys and values; a cache of three rows more, filled from its end. */
enum { HEADS = 3, GROUPS = 2, QUERIES = 0, KEYS, K_CACHE, V_CACHE, HEAD_NORMS, FREQS };
/* The compared outputs: queries; keys; the same after the norm; keys and values in a cache. */
enum { ROPE_QUERIES, ROPE_KEYS, ROPE_NORMED, ROPE_NORMED_KEYS, ROPE_K_CACHE, ROPE_V_CACHE, ROPE_VARIANTS };

static int64_t half_of(const struct op_test *t)
{
    return t->cols > 127 ? 40 : t->cols;
}

static void rope_setup(struct op_test *t)
{
    int64_t half = half_of(t);

    constant_matrix(t, t->rows, HEADS * 2 * half, 2);
    constant_matrix(t, t->rows, GROUPS * 2 * half, 2);
    constant_matrix(t, t->rows + 3, GROUPS * 2 * half, 2);
    constant_matrix(t, t->rows + 3, GROUPS * 2 * half, 2);
    op_f32(t, 4 * half, 0, 2);
    op_constant(t);
    op_f32(t, half, 0, 1);
    op_constant(t);
    op_ints(t, t->rows, 0, 4096);
    int32_t *ids = op_ints(t, t->rows, 0, 1);
    for (int32_t r = 0; r < t->rows; r++)
        ids[r] = r % 5 == 2 ? -1 - r / 5 : (int32_t)t->rows + 1 - r;
}

static bool rope_norms(const struct op_test *t)
{
    return t->variant >= ROPE_NORMED;
}

static bool rope_caches(const struct op_test *t)
{
    return t->variant >= ROPE_K_CACHE;
}

static struct tensor *run_rope(struct ctx *c, struct op_test *t)
{
    bool recording = leave_training(c);
    int64_t head = 2 * half_of(t);
    struct tensor *q = op_scale(c, t->x[QUERIES], 1), *k = op_scale(c, t->x[KEYS], 1), *v = t->x[KEYS];
    struct rope_cache r = { .angles = op_rope_angles(c, batch_i32(c, t->ints[0], t->rows), t->x[FREQS]), .eps = EPS };
    struct tensor *norms[2] = { part_of(c, t->x[HEAD_NORMS], 0, head), part_of(c, t->x[HEAD_NORMS], head, head) };

    if (rope_norms(t)) {
        r.q_norm = norms[0];
        r.k_norm = norms[1];
    }
    if (rope_caches(t)) {
        r.k = op_scale(c, t->x[K_CACHE], 1);
        r.v = op_scale(c, t->x[V_CACHE], 1);
        r.ids = batch_i32(c, t->ints[1], t->rows);
    }
    op_rope_cache(c, q, k, v, &r);
    struct tensor *outputs[ROPE_VARIANTS] = { q, k, q, k, r.k, r.v };
    return enter_training(c, recording, outputs[t->variant]);
}

/* y[2 half] = the head at x, normed by w (NULL: not), turned by the angles of the position */
static void reference_head(const struct op_test *t, double *y, const double *x, const double *w, const double *freqs,
                           int32_t position)
{
    int64_t half = half_of(t);
    double square = 0;

    for (int64_t j = 0; j < 2 * half; j++)
        square += x[j] * x[j] / (double)(2 * half);
    for (int64_t j = 0; j < half; j++) {
        double factor = w ? 1 / sqrt(square + (double)EPS) : 1, angle = (double)((float)position * (float)freqs[j]);
        double a = x[j] * factor * (w ? w[j] : 1), b = x[half + j] * factor * (w ? w[half + j] : 1);
        y[j] = a * cos(angle) - b * sin(angle);
        y[half + j] = b * cos(angle) + a * sin(angle);
    }
}

static void rope(const struct op_test *t, double *const *x, double *y)
{
    int64_t head = 2 * half_of(t), width = GROUPS * head;
    bool queries = t->variant == ROPE_QUERIES || t->variant == ROPE_NORMED;
    const double *w = rope_norms(t) ? x[HEAD_NORMS] + (queries ? 0 : head) : NULL;
    int64_t heads = queries ? HEADS : GROUPS;

    if (rope_caches(t))
        memcpy(y, x[t->variant == ROPE_K_CACHE ? K_CACHE : V_CACHE], (size_t)t->in[K_CACHE].n * sizeof *y);
    for (int64_t r = 0; r < t->rows; r++) {
        int64_t at = rope_caches(t) ? t->ints[1][r] : r;
        if (at < 0)
            continue;
        if (t->variant == ROPE_V_CACHE) {
            memcpy(y + at * width, x[KEYS] + r * width, (size_t)width * sizeof *y);
            continue;
        }
        for (int64_t h = 0; h < heads; h++)
            reference_head(t, y + (at * heads + h) * head, x[queries ? QUERIES : KEYS] + (r * heads + h) * head, w,
                           x[FREQS], t->ints[0][r]);
    }
}

enum { CACHE_SPARE = 3 };

/* Backwards to the first row, and some nowhere. */
static void cache_setup(struct op_test *t)
{
    constant_matrix(t, t->rows, t->cols, 1);
    constant_matrix(t, t->rows + CACHE_SPARE, t->cols, 1);
    int32_t *ids = op_ints(t, t->rows, 0, 1);
    for (int64_t r = 0; r < t->rows; r++)
        ids[r] = r % 5 == 3 ? -1 : (int32_t)(t->rows - 1 - r);
}

/* In place, so on a copy. */
static struct tensor *run_cache(struct ctx *c, struct op_test *t)
{
    bool recording = leave_training(c);
    struct tensor *cache = op_scale(c, t->x[1], 1);

    op_cache_rows(c, cache, t->x[0], batch_i32(c, t->ints[0], t->rows));
    return enter_training(c, recording, cache);
}

static void cache(const struct op_test *t, double *const *x, double *y)
{
    memcpy(y, x[1], (size_t)t->in[1].n * sizeof *y);
    for (int64_t r = 0; r < t->rows; r++)
        if (t->ints[0][r] >= 0)
            memcpy(y + t->ints[0][r] * t->cols, x[0] + r * t->cols, (size_t)t->cols * sizeof *y);
}

static const struct op_row rows[] = {
    { "linear_group", group_setup, run_group, group, .variants = MAP_VARIANTS },
    { "linear_swiglu", glu_setup, run_swiglu, swiglu, .variants = MAP_VARIANTS },
    { "linear_geglu", glu_setup, run_geglu, geglu, .variants = MAP_VARIANTS },
    { "linear_add", add_setup, run_add, add, .variants = MAP_VARIANTS },
    { "linear_logits", logits_setup, run_logits, logits, .variants = MAP_VARIANTS },
    { "linear_logits_capped", logits_setup, run_capped_logits, capped_logits, .sums = logits,
      .variants = MAP_VARIANTS },
    { "add_to", add_to_setup, run_add_to, add_to, .variants = 1 },
    { "rope_cache", rope_setup, run_rope, rope, .variants = ROPE_VARIANTS },
    { "cache_rows", cache_setup, run_cache, cache, .variants = 1 },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
