/* A run's state is saved to ambit.h5 and restored; mismatches are refused; folders survive SIGKILL. */
#include "kernels/device.h"
#include "kernels/param.h"
#include "models/io/checkpoint.h"
#include "tests/support/support.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;

static int setup(void **state)
{
    (void)state;
    dir = test_dir_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_dir_remove(dir);
    return 0;
}

/* A small model: an f32 matrix, a bf16 matrix, a frozen vector. */
struct model {
    struct device device;
    struct arena host, data;
    struct params params;
};

static void model_open(struct model *m, enum optimizer optimizer, int64_t width, bool fourth)
{
    struct error err;

    *m = (struct model){ 0 };
    if (device_open(&m->device, "cpu", &err))
        fail_msg("%s", err.text);
    assert_int_equal(arena_init(&m->host, 1 << 16, &err), 0);
    assert_int_equal(arena_init(&m->data, 1 << 20, &err), 0);
    struct param_arenas a = { &m->host, &m->data, optimizer };
    param_new(&m->params, &a, F32, 2, (int64_t[]){ 5, width }, 0.02f, PARAM_DECAY, "a.weight");
    param_new(&m->params, &a, BF16, 2, (int64_t[]){ 33, 7 }, 0.02f, PARAM_DECAY, "b.weight");
    param_new(&m->params, &a, F32, 1, (int64_t[]){ 9 }, 0.5f, PARAM_FROZEN, "c.frozen");
    if (fourth)
        param_new(&m->params, &a, F32, 1, (int64_t[]){ 2 }, 0, 0, "d.bias");
}

static void model_close(struct model *m)
{
    params_release(&m->params);
    arena_release(&m->data);
    arena_release(&m->host);
    device_close(&m->device);
}

/* Fills parameters, masters and moments. */
static void fill(struct model *m, uint32_t seed)
{
    for (int i = 0; i < m->params.n; i++) {
        struct param *p = &m->params.list[i];
        int64_t n = tensor_size(p->t);
        float *values = xmalloc((size_t)n * sizeof *values);
        for (int k = 0; k < 3; k++) {
            for (int64_t j = 0; j < n; j++)
                values[j] = (float)((j * 7919 + i * 31 + k + seed) % 1000) * 0.001234567f;
            if (k == 2)
                param_upload(p, &m->device, values);
            else if (p->state[k])
                device_upload(&m->device, p->state[k], values);
        }
        free(values);
    }
}

static void assert_tensor_equal(struct model *a, const struct tensor *x, struct model *b, const struct tensor *y)
{
    size_t n = tensor_bytes(x);
    void *p = xmalloc(n), *q = xmalloc(n);

    device_download(&a->device, p, x);
    device_download(&b->device, q, y);
    assert_memory_equal(p, q, n);
    free(p);
    free(q);
}

static void assert_models_equal(struct model *a, struct model *b, bool moments)
{
    for (int i = 0; i < a->params.n; i++) {
        struct param *p = &a->params.list[i], *q = &b->params.list[i];
        assert_tensor_equal(a, p->t, b, q->t);
        for (int k = 0; k < PARAM_STATES; k++)
            if (moments && p->state[k])
                assert_tensor_equal(a, p->state[k], b, q->state[k]);
        if (moments && p->master)
            assert_tensor_equal(a, p->master, b, q->master);
    }
}

static int32_t rng[4] = { 1, -2, 3, 0 };
static int64_t cursor[2] = { 5, INT64_MAX };
static const struct checkpoint_extra extra[] = {
    { { "rng", HDF5_I32, 1, { 4 } }, rng },
    { { "cursor", HDF5_I64, 1, { 2 } }, cursor },
};

static void save(struct model *m, const char *where)
{
    struct error err = { 0 };
    struct checkpoint c = {
        &m->params, &m->device, extra,      2, json_pack("{s:f, s:s}", "threshold", 0.625, "mode", "\xc3\xa4"),
        NULL,       NULL,       WEIGHTS_F32
    };

    if (checkpoint_save(where, &c, &err))
        fail_msg("%s", err.text);
    json_decref(c.meta);
}

static int load(struct model *m, const char *where, int n_extra, struct error *err)
{
    struct hdf5_reader r;
    struct checkpoint c = { &m->params, &m->device, extra, n_extra, NULL, NULL, NULL, WEIGHTS_F32 };

    if (checkpoint_open(&r, where, err))
        return -1;
    int rc = checkpoint_load(&r, &c, err);
    hdf5_close(&r);
    return rc;
}

static void test_resume_is_bitwise(void **state)
{
    struct model a, b;
    struct hdf5_reader r;
    struct error err = { 0 };
    (void)state;

    model_open(&a, OPTIMIZER_ADAMW, 3, false);
    model_open(&b, OPTIMIZER_ADAMW, 3, false);
    fill(&a, 1);
    fill(&b, 2);
    save(&a, dir);
    memset(rng, 0, sizeof rng);
    memset(cursor, 0, sizeof cursor);
    if (load(&b, dir, 2, &err))
        fail_msg("%s", err.text);
    assert_models_equal(&a, &b, true);
    assert_int_equal(rng[1], -2);
    assert_true(cursor[1] == INT64_MAX);
    assert_int_equal(checkpoint_open(&r, dir, &err), 0);
    json_t *meta = checkpoint_meta(&r, &err);
    assert_true(json_real_value(json_object_get(meta, "threshold")) == 0.625);
    assert_string_equal(json_string_value(json_object_get(meta, "mode")), "\xc3\xa4");
    json_decref(meta);
    hdf5_close(&r);
    model_close(&a);
    model_close(&b);
}

/* A file of format 1 from an early version, with the numbers of fill(1). */
static void test_old_file(void **state)
{
    struct model a, b;
    struct error err = { 0 };
    (void)state;

    model_open(&a, OPTIMIZER_ADAMW, 3, false);
    model_open(&b, OPTIMIZER_ADAMW, 3, false);
    fill(&a, 1);
    cursor[0] = 0;
    if (load(&b, "tests/gold/checkpoint", 2, &err))
        fail_msg("%s", err.text);
    assert_models_equal(&a, &b, true);
    assert_int_equal(cursor[0], 5);
    model_close(&a);
    model_close(&b);
}

/* A model without moments reads the same file. */
static void test_load_for_inference(void **state)
{
    struct model a, b;
    struct error err = { 0 };
    (void)state;

    model_open(&a, OPTIMIZER_ADAMW, 3, false);
    model_open(&b, OPTIMIZER_NONE, 3, false);
    fill(&a, 3);
    save(&a, dir);
    if (load(&b, dir, 0, &err))
        fail_msg("%s", err.text);
    assert_models_equal(&a, &b, false);
    model_close(&a);
    model_close(&b);
}

static void expect_mismatch(struct model *m, int n_extra, const char *const *says)
{
    struct error err = { 0 };

    assert_int_equal(load(m, dir, n_extra, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_non_null(strstr(err.text, "/ambit.h5: "));
    for (; *says; says++)
        if (!strstr(err.text, *says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, *says);
}

static void test_what_does_not_fit(void **state)
{
    struct model a, wider, more, copy;
    (void)state;

    model_open(&a, OPTIMIZER_ADAMW, 3, false);
    model_open(&wider, OPTIMIZER_ADAMW, 4, false);
    model_open(&more, OPTIMIZER_ADAMW, 3, true);
    model_open(&copy, OPTIMIZER_ADAMW, 3, true);
    fill(&a, 4);
    fill(&more, 5);
    fill(&copy, 5);
    save(&a, dir);
    expect_mismatch(
        &wider, 2,
        (const char *[]){ "3 of the wrong shape", "param/a.weight: expected f32 [5, 4], got f32 [5, 3]", NULL });
    expect_mismatch(&more, 2, (const char *[]){ "3 missing", "param/d.bias, adam_m/d.bias, adam_v/d.bias", NULL });
    assert_models_equal(&more, &copy, true); /* nothing was changed */
    expect_mismatch(&a, 1, (const char *[]){ "1 unexpected (state/cursor)", NULL });
    save(&more, dir);
    expect_mismatch(&a, 2, (const char *[]){ "3 unexpected", "param/d.bias", NULL });
    model_close(&a);
    model_close(&wider);
    model_close(&more);
    model_close(&copy);
}

static void test_adafactor(void **state)
{
    struct model a, b, other;
    struct error err = { 0 };
    (void)state;

    model_open(&a, OPTIMIZER_ADAFACTOR, 3, true);
    model_open(&b, OPTIMIZER_ADAFACTOR, 3, true);
    model_open(&other, OPTIMIZER_ADAMW, 3, true);
    fill(&a, 1);
    fill(&b, 2);
    save(&a, dir);
    if (load(&b, dir, 2, &err))
        fail_msg("%s", err.text);
    assert_models_equal(&a, &b, true);
    expect_mismatch(&other, 2, (const char *[]){ "6 missing", "adam_m/a.weight, adam_v/a.weight", NULL });
    model_close(&a);
    model_close(&b);
    model_close(&other);
}

/* ---- matrices in shorter types ---- */

enum { ROWS = 65, COLUMNS = 67 };

/* A matrix that is large enough to be shortened, in either compute type, and a vector. */
static void wide_open(struct model *m, enum dtype dtype)
{
    struct error err;

    *m = (struct model){ 0 };
    if (device_open(&m->device, "cpu", &err))
        fail_msg("%s", err.text);
    assert_int_equal(arena_init(&m->host, 1 << 16, &err), 0);
    assert_int_equal(arena_init(&m->data, 1 << 20, &err), 0);
    struct param_arenas a = { &m->host, &m->data, OPTIMIZER_NONE };
    param_new(&m->params, &a, dtype, 2, (int64_t[]){ ROWS, COLUMNS }, 0.02f, 0, "wide");
    param_new(&m->params, &a, F32, 1, (int64_t[]){ 9 }, 0.5f, 0, "bias");
}

/* Rows of very different magnitudes; the third is zero. */
static void fill_wide(struct model *m, float *values)
{
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < COLUMNS; i++)
            values[row * COLUMNS + i] = row == 2 ? 0 : ldexpf((float)((row * 131 + i * 7919) % 1000 - 500), row - 32);
    param_upload(&m->params.list[0], &m->device, values);
    param_upload(&m->params.list[1], &m->device, (float[]){ 1, -2, 3, 0.1f, 5, 6, 7, 8, 1e-30f });
}

static void save_wide(struct model *m, enum weights_type form)
{
    struct error err = { 0 };
    struct checkpoint c = { .params = &m->params, .device = &m->device, .meta = json_object(), .weights = form };

    if (checkpoint_save(dir, &c, &err))
        fail_msg("%s", err.text);
    json_decref(c.meta);
}

/* Maximum error of an element in a row with this largest magnitude. The product with the scale is rounded too. */
static float most_moved(enum weights_type form, float number, float largest)
{
    return form == WEIGHTS_F32 ? 0 : form == WEIGHTS_BF16 ? fabsf(number) / 256 : largest / 127 * 0.5001f;
}

static float largest_of(const float *row)
{
    float largest = 0;
    for (int i = 0; i < COLUMNS; i++)
        largest = fmaxf(largest, fabsf(row[i]));
    return largest;
}

static void test_shorter_forms(void **state)
{
    static float values[ROWS * COLUMNS], found[ROWS * COLUMNS];
    static const enum hdf5_type types[] = { HDF5_F32, HDF5_BF16, HDF5_I8 };
    struct hdf5_reader r;
    struct model a, b;
    struct error err = { 0 };
    (void)state;

    wide_open(&a, F32);
    wide_open(&b, F32);
    fill_wide(&a, values);
    for (enum weights_type form = WEIGHTS_F32; form <= WEIGHTS_INT8; form++) {
        save_wide(&a, form);
        if (load(&b, dir, 0, &err))
            fail_msg("%s", err.text);
        param_download(&b.params.list[0], &b.device, found);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            float most = most_moved(form, values[i], largest_of(values + i / COLUMNS * COLUMNS));
            if (!(fabsf(found[i] - values[i]) <= most))
                fail_msg("form %d, number %d: %g became %g", form, i, (double)values[i], (double)found[i]);
        }
        assert_tensor_equal(&a, a.params.list[1].t, &b, b.params.list[1].t); /* a vector is stored in f32 */
        assert_int_equal(checkpoint_open(&r, dir, &err), 0);
        assert_int_equal(hdf5_find(&r, "param/wide")->type, types[form]);
        assert_int_equal(hdf5_find(&r, "scale/wide") != NULL, form == WEIGHTS_INT8);
        hdf5_close(&r);
    }
    model_close(&a);
    model_close(&b);
}

/* A model that computes in bf16 reads an int8 file: its weights are the rounded products. */
static void test_int8_into_bf16(void **state)
{
    static float values[ROWS * COLUMNS], whole[ROWS * COLUMNS], found[ROWS * COLUMNS];
    struct model a, b, c;
    struct error err = { 0 };
    (void)state;

    wide_open(&a, F32);
    wide_open(&b, BF16);
    wide_open(&c, F32);
    fill_wide(&a, values);
    save_wide(&a, WEIGHTS_INT8);
    if (load(&b, dir, 0, &err) || load(&c, dir, 0, &err))
        fail_msg("%s", err.text);
    param_download(&b.params.list[0], &b.device, found);
    param_download(&c.params.list[0], &c.device, whole);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        assert_true(found[i] == f32_from_bf16(bf16_from_f32(whole[i])));
    model_close(&a);
    model_close(&b);
    model_close(&c);
}

static void test_what_int8_cannot_hold(void **state)
{
    static float values[ROWS * COLUMNS];
    struct model a;
    struct error err = { 0 };
    struct checkpoint c = { .params = &a.params, .device = &a.device, .weights = WEIGHTS_INT8 };
    (void)state;

    wide_open(&a, F32);
    fill_wide(&a, values);
    values[77] = INFINITY;
    param_upload(&a.params.list[0], &a.device, values);
    c.meta = json_object();
    assert_int_equal(checkpoint_save(dir, &c, &err), -1);
    assert_error(err, "wide: expected finite weights, got inf at place 77");
    json_decref(c.meta);
    model_close(&a);
}

/* ---- the mean of several files ---- */

/* Returns element i of the matrix in file k, with numbers that f32 holds exactly, and so their means of 2 and 4. */
static float exact(int k, int i)
{
    return (float)((i * 37 + k * 101) % 512 - 256) / 64;
}

/* Saves a model of exact() into a folder of its own and opens the file. */
static void open_exact(struct hdf5_reader *r, int k, enum weights_type form)
{
    static float values[ROWS * COLUMNS];
    char sub[300];
    struct model m;
    struct error err = { 0 };

    wide_open(&m, F32);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = exact(k, i);
    param_upload(&m.params.list[0], &m.device, values);
    param_upload(&m.params.list[1], &m.device, (float[]){ (float)k, 2, 3, 4, 5, 6, 7, 8, (float)(k * k) });
    snprintf(sub, sizeof sub, "%s/%d", dir, k);
    assert_int_equal(mkdir(sub, 0777), 0);
    struct checkpoint c = { .params = &m.params, .device = &m.device, .meta = json_object(), .weights = form };
    if (checkpoint_save(sub, &c, &err) || checkpoint_open(r, sub, &err))
        fail_msg("%s", err.text);
    json_decref(c.meta);
    model_close(&m);
}

/* The mean of n files in f32 is exact. In int8 it is within half a scale of the mean of the dequantised matrices. */
static void check_mean(struct model *m, const struct hdf5_reader *files, int n, enum weights_type form, float most)
{
    static float found[ROWS * COLUMNS];
    float bias[9], squares = 0;
    struct error err = { 0 };
    struct checkpoint c = { .params = &m->params, .device = &m->device, .meta = json_object(), .weights = form };

    if (checkpoint_copy(dir, &c, files, n, &err) || load(m, dir, 0, &err))
        fail_msg("%s", err.text);
    json_decref(c.meta);
    param_download(&m->params.list[0], &m->device, found);
    param_download(&m->params.list[1], &m->device, bias);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += exact(k, i);
        if (!(fabsf(found[i] - sum / (float)n) <= most))
            fail_msg("%d files, number %d: expected %g, got %g", n, i, (double)(sum / (float)n), (double)found[i]);
    }
    for (int k = 0; k < n; k++)
        squares += (float)(k * k);
    assert_true(bias[0] == (float)(n - 1) / 2 && bias[1] == 2 && bias[8] == squares / (float)n);
}

static void test_mean(void **state)
{
    struct hdf5_reader files[4];
    struct model m;
    (void)state;

    for (int k = 0; k < 4; k++)
        open_exact(&files[k], k, WEIGHTS_F32);
    wide_open(&m, F32);
    check_mean(&m, files, 1, WEIGHTS_F32, 0);
    check_mean(&m, files, 2, WEIGHTS_F32, 0);
    check_mean(&m, files, 4, WEIGHTS_F32, 0);
    check_mean(&m, files, 4, WEIGHTS_INT8, 4.0f / 127 * 0.5001f);
    model_close(&m);
    for (int k = 0; k < 4; k++)
        hdf5_close(&files[k]);
}

/* Files in int8 are added after each has been multiplied by its own scales. */
static void test_mean_of_int8(void **state)
{
    struct hdf5_reader files[2];
    struct model m;
    (void)state;

    for (int k = 0; k < 2; k++)
        open_exact(&files[k], k, WEIGHTS_INT8);
    wide_open(&m, F32);
    check_mean(&m, files, 2, WEIGHTS_F32, 4.0f / 127 * 0.5001f);
    model_close(&m);
    for (int k = 0; k < 2; k++)
        hdf5_close(&files[k]);
}

/* A second file without a parameter is refused by name, and no file is written. */
static void test_mean_of_other_parameters(void **state)
{
    struct hdf5_reader files[2];
    struct model m, other;
    struct error err = { 0 };
    char sub[300];
    (void)state;

    open_exact(&files[0], 0, WEIGHTS_F32);
    model_open(&other, OPTIMIZER_ADAMW, 3, false);
    fill(&other, 1);
    snprintf(sub, sizeof sub, "%s/other", dir);
    assert_int_equal(mkdir(sub, 0777), 0);
    save(&other, sub);
    assert_int_equal(checkpoint_open(&files[1], sub, &err), 0);
    wide_open(&m, F32);
    struct checkpoint c = { .params = &m.params, .device = &m.device, .meta = json_object() };
    assert_int_equal(checkpoint_copy(dir, &c, files, 2, &err), -1);
    assert_non_null(strstr(err.text, "/other/ambit.h5: 2 missing (param/wide, param/bias)"));
    snprintf(sub, sizeof sub, "%s/ambit.h5", dir);
    assert_int_equal(access(sub, F_OK), -1);
    json_decref(c.meta);
    model_close(&m);
    model_close(&other);
    hdf5_close(&files[0]);
    hdf5_close(&files[1]);
}

/* A forged file: an int8 matrix of any shape with any scales, and the vector of wide_open. */
static void forge(const struct hdf5_tensor *wide, const struct hdf5_tensor *scale, float one)
{
    static const int8_t numbers[ROWS * COLUMNS];
    static const float bias[9];
    static const struct hdf5_tensor meta = { "meta", HDF5_U8, 1, { 2 } }, vector = { "param/bias", HDF5_F32, 1, { 9 } };
    float scales[ROWS + 1];
    char path[256];
    struct error err = { 0 };

    for (int i = 0; i <= ROWS; i++)
        scales[i] = i == 5 ? one : 0.25f;
    snprintf(path, sizeof path, "%s/ambit.h5", dir);
    struct hdf5_writer *w = hdf5_create(path, &err);
    int rc = hdf5_put(w, &meta, "{}", &err) || hdf5_put(w, &vector, bias, &err) || hdf5_put(w, wide, numbers, &err) ||
                     (scale && hdf5_put(w, scale, scales, &err))
                 ? -1
                 : 0;
    if (hdf5_finish(w, rc, &err))
        fail_msg("%s", err.text);
}

static void test_hostile_scales(void **state)
{
    static const struct hdf5_tensor wide = { "param/wide", HDF5_I8, 2, { ROWS, COLUMNS } };
    static const struct hdf5_tensor flat = { "param/wide", HDF5_I8, 1, { ROWS } };
    static const struct hdf5_tensor whole = { "param/wide", HDF5_BF16, 2, { 5, COLUMNS } };
    static const struct hdf5_tensor scale = { "scale/wide", HDF5_F32, 1, { ROWS } };
    static const struct hdf5_tensor more = { "scale/wide", HDF5_F32, 1, { ROWS + 1 } };
    static const struct hdf5_tensor column = { "scale/wide", HDF5_F32, 2, { ROWS, 1 } };
    static const struct hdf5_tensor bytes = { "scale/wide", HDF5_I32, 1, { ROWS } };
    static const struct hdf5_tensor other = { "scale/bias", HDF5_F32, 1, { 9 } };
    const struct {
        const struct hdf5_tensor *wide, *scale;
        float one;
        const char *says;
    } forgeries[] = {
        { &wide, NULL, 1, "1 missing (scale/wide)" },
        { &wide, &more, 1, "scale/wide: expected f32 [65], got f32 [66]" },
        { &wide, &column, 1, "scale/wide: expected f32 [65], got f32 [65, 1]" },
        { &wide, &bytes, 1, "scale/wide: expected f32 [65], got i32 [65]" },
        { &wide, &other, 1, "1 missing (scale/wide); 1 unexpected (scale/bias)" },
        { &flat, &scale, 1, "param/wide: expected i8 [65, 67], got i8 [65]" },
        { &whole, NULL, 1, "param/wide: expected bf16 [65, 67], got bf16 [5, 67]" },
        { &whole, &scale, 1, "1 unexpected (scale/wide)" },
        { &wide, &scale, 0, "scale/wide: row 5: expected a finite scale above zero, got 0" },
        { &wide, &scale, -0.5f, "scale/wide: row 5: expected a finite scale above zero, got -0.5" },
        { &wide, &scale, INFINITY, "scale/wide: row 5: expected a finite scale above zero, got inf" },
        { &wide, &scale, NAN, "row 5: expected a finite scale above zero, got " },
        { &wide, &scale, 3e38f, "row 5: expected a finite scale above zero, got 3e+38" },
    };
    struct model m;
    (void)state;

    wide_open(&m, F32);
    for (int i = 0; i < ARRAY_LEN(forgeries); i++) {
        forge(forgeries[i].wide, forgeries[i].scale, forgeries[i].one);
        expect_mismatch(&m, 0, (const char *[]){ forgeries[i].says, NULL });
    }
    forge(&wide, &scale, 0.5f);
    assert_int_equal(load(&m, dir, 0, NULL), 0);
    model_close(&m);
}

static void touch(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

static bool exists(const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

static void make(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0777), 0);
}

static int commit(int64_t step, int keep)
{
    struct error err = { 0 };
    char *tmp = checkpoint_dir_begin(dir, step, &err);

    if (!tmp)
        fail_msg("%s", err.text);
    touch(tmp, "ambit.h5");
    free(tmp);
    int rc = checkpoint_dir_commit(dir, step, keep, &err);
    if (rc)
        fail_msg("%s", err.text);
    return rc;
}

static void test_folders(void **state)
{
    struct error err = { 0 };
    char *path, nowhere[128];
    (void)state;

    snprintf(nowhere, sizeof nowhere, "%s/none", dir);
    assert_int_equal(checkpoint_latest(nowhere, &path, &err), 0);
    assert_null(path);
    for (int64_t step = 8; step <= 12; step++)
        commit(step, 2);
    assert_true(exists("checkpoint-11/ambit.h5") && exists("checkpoint-12/ambit.h5") && !exists("checkpoint-10"));
    commit(12, 2); /* again: the new folder replaces the old one */
    assert_true(exists("checkpoint-11") && exists("checkpoint-12") && !exists("checkpoint-12.tmp"));
    free(checkpoint_dir_begin(dir, 13, &err)); /* interrupted */
    make("checkpoint-0099");
    make("checkpoint-99x");
    assert_true(exists("checkpoint-13.tmp"));
    assert_int_equal(checkpoint_latest(dir, &path, &err), 0);
    assert_non_null(strstr(path, "/checkpoint-12"));
    assert_false(exists("checkpoint-13.tmp"));
    free(path);
    commit(100, 1);
    assert_true(exists("checkpoint-100") && !exists("checkpoint-11") && !exists("checkpoint-12"));
}

static void test_open_finds(void **state)
{
    struct hdf5_reader r;
    struct error err = { 0 };
    struct model m;
    (void)state;

    assert_int_equal(checkpoint_open(&r, dir, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_non_null(strstr(err.text, "expected ambit.h5 or a checkpoint-N"));
    model_open(&m, OPTIMIZER_ADAMW, 3, false);
    fill(&m, 1);
    for (int64_t step = 9; step <= 10; step++) {
        char *tmp = checkpoint_dir_begin(dir, step, &err);
        save(&m, tmp);
        free(tmp);
        assert_int_equal(checkpoint_dir_commit(dir, step, 5, &err), 0);
    }
    assert_int_equal(checkpoint_open(&r, dir, &err), 0);
    assert_non_null(strstr(r.path, "/checkpoint-10/ambit.h5"));
    hdf5_close(&r);
    model_close(&m);
}

/* Saves one step after another until killed. The step is in cursor[0] and in every number. */
static void save_forever(int64_t step)
{
    struct model m;
    struct error err = { 0 };

    model_open(&m, OPTIMIZER_ADAMW, 3, false);
    for (;; step++) {
        char *tmp = checkpoint_dir_begin(dir, step, &err);
        if (!tmp)
            _exit(1);
        fill(&m, (uint32_t)step);
        cursor[0] = step;
        save(&m, tmp);
        touch(tmp, "config.json");
        free(tmp);
        if (checkpoint_dir_commit(dir, step, 2, &err))
            _exit(1);
    }
}

static void test_killed_while_saving(void **state)
{
    struct error err = { 0 };
    struct model m, wanted;
    int64_t step = 1, progress = 0;
    (void)state;

    model_open(&m, OPTIMIZER_ADAMW, 3, false);
    model_open(&wanted, OPTIMIZER_ADAMW, 3, false);
    for (int round = 0; round < 25 || progress <= 10; round++) { /* on a busy machine a child may make no progress */
        pid_t child = fork();
        if (child == 0)
            save_forever(step);
        usleep((useconds_t)(3000 + 7919 * round % 50000));
        int status;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        char *path, wanted_end[64];
        assert_int_equal(checkpoint_latest(dir, &path, &err), 0);
        if (!path)
            continue; /* killed before the first checkpoint was complete */
        if (load(&m, path, 2, &err))
            fail_msg("round %d: %s", round, err.text);
        snprintf(wanted_end, sizeof wanted_end, "/checkpoint-%" PRId64, cursor[0]);
        assert_string_equal(strrchr(path, '/'), wanted_end);
        free(path);
        fill(&wanted, (uint32_t)cursor[0]);
        assert_models_equal(&m, &wanted, true);
        assert_true(cursor[0] >= step - 1); /* no committed step is lost */
        progress += cursor[0] + 1 - step;
        step = cursor[0] + 1;
    }
    model_close(&m);
    model_close(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_resume_is_bitwise, setup, teardown),
        cmocka_unit_test_setup_teardown(test_old_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_for_inference, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_adafactor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shorter_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_int8_into_bf16, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_int8_cannot_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mean, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mean_of_int8, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mean_of_other_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_scales, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_finds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_while_saving, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
