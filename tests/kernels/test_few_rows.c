/* A row's bits depend neither on the rows beside it nor on their adapters, so the completion of a text does not depend
 * on its batch. */
#include "tests/support/guard.h"
#include "tests/support/step.h"

#include "kernels/rng.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 70, MIXED_ROWS = 135, TILED_ROWS = 640, MAPS = 3, OTHERS = 9, STRETCHED_ROWS = 40 };

enum few_op { FEW_GROUP, FEW_SWIGLU, FEW_GEGLU, FEW_ADD, FEW_LOGITS, FEW_OPS };

/* Maps that stay, and rows of which some are run. */
struct few {
    struct test_step step;
    int64_t rows, rank; /* of x; of the adapters that all rows may have */
    struct tensor *x, *sum;
    struct rms_norm norm;
    struct linear_map maps[MAPS];
    struct lora others[MAPS][OTHERS];
};

static struct tensor *noise(struct few *f, struct rng *r, int64_t rows, int64_t cols, enum dtype dtype)
{
    float *values = xmalloc((size_t)(rows * cols) * sizeof *values);

    for (int64_t i = 0; i < rows * cols; i++)
        values[i] = 2 * rng_uniform(r) - 1;
    struct tensor *t = batch_f32(&f->step.ctx, values, rows, cols, dtype);
    free(values);
    t->frozen = true;
    return t;
}

static void few_close(struct few *f)
{
    guard_stop();
    test_step_close(&f->step);
}

/* The second map has a bias and no adapter; ranks are of whole 16 bytes where columns are. */
static void few_open(struct few *f, int64_t rows, int64_t cols, int64_t outputs, enum dtype dtype, bool adapted)
{
    struct rng r = { 11, 0 };
    f->rows = rows;
    f->rank = cols % 8 ? 4 : 8;

    test_step_open(&f->step);
    guard_start(&f->step.step, strcmp(test_device_name(), "cuda") == 0);
    f->step.ctx.recording = f->step.ctx.training = false;
    f->x = noise(f, &r, rows, cols, dtype);
    f->sum = noise(f, &r, rows, outputs, dtype);
    f->norm = (struct rms_norm){ noise(f, &r, 1, cols, F32), 1e-5f };
    for (int i = 0; i < MAPS; i++) {
        struct linear_map *m = &f->maps[i];
        *m = (struct linear_map){ .w = noise(f, &r, outputs, cols, dtype) };
        if (i == 1)
            m->b = noise(f, &r, 1, outputs, F32);
        else if (adapted)
            m->lora = (struct lora){ .a = noise(f, &r, f->rank, cols, dtype),
                                     .b = noise(f, &r, outputs, f->rank, dtype),
                                     .scale = 0.5f };
    }
}

static struct tensor *apply(struct few *f, struct tensor *x, int64_t from, enum few_op op)
{
    const struct linear_map *const maps[MAPS] = { &f->maps[0], &f->maps[1], &f->maps[2] };
    struct ctx *c = &f->step.ctx;
    struct tensor *y[MAPS], view = tensor_view(f->sum, from, x->shape[0]);

    switch (op) {
    case FEW_GROUP:
        op_linear_group(c, y, x, f->norm, maps, MAPS);
        return op_add(c, op_add(c, y[0], y[1]), y[2]);
    case FEW_SWIGLU:
    case FEW_GEGLU:
        return op_linear_glu(c, x, f->norm, maps[0], maps[1], op == FEW_GEGLU ? GATE_GELU : GATE_SILU);
    case FEW_ADD:
        y[0] = op_scale(c, &view, 1);
        op_linear_add(c, y[0], x, maps[0]);
        return y[0];
    default:
        return op_linear_logits(c, x, f->maps[0].w, &f->maps[0].lora, 0);
    }
}

/* The caller frees. */
static char *run(struct few *f, int64_t from, int64_t rows, enum few_op op, size_t *row)
{
    struct ctx *c = &f->step.ctx;
    size_t mark = arena_mark(c->step), host = arena_mark(c->host);
    struct tensor view = tensor_view(f->x, from, rows), *y = apply(f, &view, from, op);
    char *bits = xmalloc(tensor_bytes(y));

    device_download(&f->step.device, bits, y);
    *row = tensor_bytes(y) / (size_t)rows;
    arena_reset(c->step, mark);
    arena_reset(c->host, host);
    return bits;
}

/* Rows that are run by themselves. */
struct few_part {
    int64_t from, rows;
};

/* simt is slow: it runs every other case, unless all is to run. */
static bool in_turn(int number)
{
    return number % 2 == 0 || test_all() || strcmp(test_device_name(), "simt") != 0;
}

static void check_rows(struct few *f, enum few_op op, const struct few_part *parts, int n)
{
    size_t row;
    char *whole = run(f, 0, f->rows, op, &row);

    for (int i = 0; i < n; i++) {
        if (!in_turn(i + (int)op + (int)f->step.ctx.rows))
            continue;
        char *bits = run(f, parts[i].from, parts[i].rows, op, &row);
        if (memcmp(bits, whole + (size_t)parts[i].from * row, (size_t)parts[i].rows * row) != 0)
            fail_msg("op %d, rows %d, %lld columns of %s%s: %lld rows from %lld on give other bits than all", op,
                     f->step.ctx.rows, (long long)tensor_cols(f->x), dtype_name(f->x->dtype),
                     f->maps[0].lora.a ? " with adapters" : "", (long long)parts[i].rows, (long long)parts[i].from);
        free(bits);
    }
    free(whole);
}

static void check_maps(int64_t cols, int64_t outputs, enum dtype dtype, bool adapted)
{
    static const struct few_part parts[] = { { 0, 1 },  { 1, 2 },   { 17, 1 }, { 3, 15 }, { 2, 16 },
                                             { 5, 31 }, { 30, 32 }, { 1, 33 }, { 4, 65 } };
    struct few f;

    few_open(&f, ROWS, cols, outputs, dtype, adapted);
    for (enum rows_mode rows = ROWS_FEW; rows <= ROWS_MANY; rows++)
        for (enum few_op op = 0; op < FEW_OPS; op++) {
            f.step.ctx.rows = rows;
            check_rows(&f, op, parts, ARRAY_LEN(parts));
        }
    few_close(&f);
}

static void test_rows(void **state)
{
    static const struct {
        int64_t cols, outputs;
    } maps[] = { { 1, 21 }, { 31, 21 }, { 127, 40 }, { 200, 21 }, { 1032, 21 } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(maps); i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            for (int adapted = 0; adapted < 2; adapted++)
                if (maps[i].cols == 127 || in_turn(i + adapted + (int)dtype))
                    check_maps(maps[i].cols, maps[i].outputs, dtype, adapted);
}

/* Tiles of many rows and columns, some of them partial, against the kernel of few rows.  The last map has rows of whole
 * packs, which tiles store without a look at each column. */
static void test_tiles(void **state)
{
    static const struct few_part parts[] = { { 639, 1 }, { 112, 31 }, { 500, 33 }, { 1, 127 }, { 511, 129 } };
    static const struct {
        int64_t cols, outputs;
    } maps[] = { { 72, 133 }, { 520, 60 }, { 136, 72 } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(maps); i++) {
        struct few f;
        few_open(&f, TILED_ROWS, maps[i].cols, maps[i].outputs, BF16, i == 1);
        f.step.ctx.rows = ROWS_FEW;
        for (enum few_op op = 0; op < FEW_OPS; op++)
            check_rows(&f, op, parts, ARRAY_LEN(parts));
        few_close(&f);
    }
}

/* Of many ranks; each map lacks some. */
static void give_others(struct few *f)
{
    struct rng r = { 12, 0 };

    for (int i = 0; i < MAPS; i++) {
        const struct tensor *w = f->maps[i].w;
        for (int k = 0; k < OTHERS; k++) {
            int64_t rank = f->rank == 8 ? 8 * (1 + k) : 1 + 3 * k;
            if ((i + k) % 4)
                f->others[i][k] = (struct lora){ .a = noise(f, &r, rank, w->shape[1], w->dtype),
                                                 .b = noise(f, &r, w->shape[0], rank, w->dtype),
                                                 .scale = 0.25f * (float)k };
        }
    }
}

/* The rows from `from` on that have the adapter of row `from` are run alone, with that adapter for all of them. */
static int64_t check_stretch(struct few *f, enum few_op op, const int32_t *adapter_of, int64_t from, const char *mixed)
{
    struct linear_map all[MAPS];
    int64_t rows = 1;
    size_t row;

    while (from + rows < f->rows && adapter_of[from + rows] == adapter_of[from])
        rows++;
    memcpy(all, f->maps, sizeof all);
    for (int i = 0; i < MAPS && adapter_of[from]; i++)
        f->maps[i].lora = f->others[i][adapter_of[from] - 1];
    char *bits = run(f, from, rows, op, &row);
    memcpy(f->maps, all, sizeof all);
    if (memcmp(bits, mixed + (size_t)from * row, (size_t)rows * row) != 0)
        fail_msg("op %d, %lld columns of %s: %lld rows from %lld on have other bits than with their adapter %d for all",
                 op, (long long)tensor_cols(f->x), dtype_name(f->x->dtype), (long long)rows, (long long)from,
                 adapter_of[from]);
    free(bits);
    return rows;
}

/* All stretches of several rows, one single row of each adapter, and the last rows. */
static void check_alone(struct few *f, enum few_op op, const int32_t *adapter_of, const char *mixed)
{
    for (int64_t from = 0; from < f->rows;)
        if (from < STRETCHED_ROWS + 1 + OTHERS || from >= f->rows - 3)
            from += check_stretch(f, op, adapter_of, from, mixed);
        else
            from++;
}

/* Rows of many adapters, or of none, in runs and one by one. */
static void check_mixed(int64_t rows, int64_t cols, int64_t outputs, enum dtype dtype, bool adapted)
{
    int32_t adapter_of[MIXED_ROWS];
    struct few f = { 0 };
    size_t row;

    few_open(&f, rows, cols, outputs, dtype, adapted);
    give_others(&f);
    f.step.ctx.rows = ROWS_FEW;
    for (int t = 0; t < rows; t++)
        adapter_of[t] = (t < STRETCHED_ROWS ? t / 4 : t) % (t < 128 ? 1 + OTHERS : 3);
    struct tensor *numbers = batch_i32(&f.step.ctx, adapter_of, rows);
    for (enum few_op op = 0; op < FEW_OPS; op++) {
        for (int i = 0; i < MAPS; i++) {
            f.maps[i].lora.others = f.others[i];
            f.maps[i].lora.n_others = OTHERS;
        }
        f.step.ctx.adapter_of = numbers;
        char *mixed = run(&f, 0, rows, op, &row);
        f.step.ctx.adapter_of = NULL;
        check_alone(&f, op, adapter_of, mixed);
        free(mixed);
    }
    few_close(&f);
}

static void test_adapters(void **state)
{
    (void)state;
    for (enum dtype dtype = F32; dtype <= BF16; dtype++)
        for (int adapted = 0; adapted < 2; adapted++) {
            if (in_turn(adapted + (int)dtype + 1))
                check_mixed(ROWS, 127, 21, dtype, adapted);
            if (in_turn(adapted + (int)dtype))
                check_mixed(dtype == BF16 && adapted ? MIXED_ROWS : ROWS, 64, 40, dtype, adapted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_tiles),
                                        cmocka_unit_test(test_adapters) };
    return test_devices(tests, ARRAY_LEN(tests));
}
