/* safetensors: refused files with reasons, files that are read, and round trips. */
#include "kernels/tensor.h"
#include "models/io/half.h"
#include "models/io/mismatch.h"
#include "models/io/safetensors.h"
#include "tests/support/support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *dir, file[128];

static int setup(void **state)
{
    (void)state;
    dir = test_dir_new();
    snprintf(file, sizeof file, "%s/model.safetensors", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_dir_remove(dir);
    return 0;
}

static void write_bytes(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Writes length, header, and `bytes` data bytes that count up. */
static void write_file(const char *path, const char *header, size_t bytes)
{
    size_t n = strlen(header);
    unsigned char *p = xmalloc(8 + n + bytes);

    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)((uint64_t)n >> 8 * i);
    memcpy(p + 8, header, n);
    for (size_t i = 0; i < bytes; i++)
        p[8 + n + i] = (unsigned char)i;
    write_bytes(path, p, 8 + n + bytes);
    free(p);
}

static void expect_refused(const char *path, const char *fragment)
{
    struct safetensors s;
    struct error err = { 0 };

    if (safetensors_open(&s, path, &err) == 0)
        fail_msg("accepted, wanted \"%s\"", fragment);
    if (!strstr(err.text, fragment))
        fail_msg("\"%s\" does not say \"%s\"", err.text, fragment);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
}

#define T(dtype, shape, begin, end)                                                                                    \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void test_bad_headers(void **state)
{
    static const struct {
        const char *header;
        size_t bytes;
        const char *says;
    } bad[] = {
        { "[]", 0, "header: expected {" },
        { "", 0, "header: expected {" },
        { "  ", 0, "header: expected {" },
        { "\v{}", 0, "header: expected {" },
        { "\xef\xbb\xbf{}", 0, "header: expected {" },
        { "{", 0, "header: byte" },
        { "{}x", 0, "header: byte" },
        { "{\"a\":" T("F32", "[1]", 0, 4) ",\"a\":" T("F32", "[1]", 4, 8) "}", 8, "duplicate" },
        { "{\"a\\u0000b\":" T("F32", "[1]", 0, 4) "}", 4, "header: byte" },
        { "{\"\xff\":" T("F32", "[1]", 0, 4) "}", 4, "header: byte" },
        { "{\"a\":1}", 0, "expected an object" },
        { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype" },
        { "{\"a\":" T("F31", "[1]", 0, 4) "}", 4, "unknown dtype \"F31\"" },
        { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "shape: expected" },
        { "{\"a\":" T("F32", "[1.0]", 0, 4) "}", 4, "shape: expected" },
        { "{\"a\":" T("F32", "[-1]", 0, 4) "}", 4, "shape: expected" },
        { "{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,2]", 0, 4) "}", 4, "its shape wants 8" },
        { "{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,-1]", 0, 4) "}", 4, "shape: expected" },
        { "{\"a\":" T("F32\\u0000", "[1]", 0, 4) "}", 4, "unknown dtype" },
        { "{\"a\":" T("F32", "[4294967296,4294967296]", 0, 4) "}", 4, "overflows" },
        { "{\"a\":" T("F32", "[2305843009213693952]", 0, 0) "}", 0, "overflows" },
        { "{\"a\":" T("F32", "[9223372036854775807]", 0, 4) "}", 4, "overflows" },
        { "{\"a\":" T("F4", "[3]", 0, 1) "}", 1, "inside a byte" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "data_offsets" },
        { "{\"a\":" T("F32", "[1]", 0, 4.0) "}", 4, "data_offsets" },
        { "{\"a\":" T("F32", "[1]", -4, 0) "}", 4, "data_offsets" },
        { "{\"a\":" T("F32", "[1]", 4, 0) "}", 4, "data_offsets" },
        { "{\"a\":" T("F32", "[2]", 0, 8) "}", 4, "data_offsets" },
        { "{\"a\":" T("F32", "[1]", 0, 9223372036854775807) "}", 4, "data_offsets" },
        { "{\"a\":" T("F32", "[1]", 0, 9223372036854775808) "}", 4, "header: byte" },
        { "{\"a\":" T("F32", "[2]", 0, 4) "}", 4, "its shape wants 8" },
        { "{\"a\":" T("BF16", "[2]", 0, 8) "}", 8, "its shape wants 4" },
        { "{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 2, 6) "}", 6, "overlaps" },
        { "{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 0, 4) "}", 4, "overlaps" },
        { "{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 8, 12) "}", 12, "gap" },
        { "{\"a\":" T("F32", "[1]", 4, 8) "}", 8, "gap" },
        { "{\"a\":" T("F32", "[1]", 0, 4) "}", 5, "1 bytes after" },
        { "{}", 3, "3 bytes after" },
        { "{\"__metadata__\":[]}", 0, "__metadata__" },
        { "{\"__metadata__\":{\"a\":1}}", 0, "\"a\": expected a string" },
        { "{\"__metadata__\":{\"a\":null}}", 0, "\"a\": expected a string" },
        { "{\"a\":" T("F32", "[-0]", 0, 0) "}", 0, "expected whole numbers, got -0" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[ -0 ,4]}}", 4, "got -0" },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        write_file(file, bad[i].header, bad[i].bytes);
        expect_refused(file, bad[i].says);
    }
}

/* Unusual but valid headers, which the official reader accepts too. */
static void test_odd_headers(void **state)
{
    static const struct {
        const char *header;
        size_t bytes;
        int n, ndim; /* number of entries, and of dimensions of the first */
    } odd[] = {
        { " {}", 0, 0, 0 },
        { "\t\r\n {\"a\":" T("F32", "[1]", 0, 4) "}  \n", 4, 1, 1 },
        { "{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, 1, 9 },
        { "{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,0]", 0, 0) "}", 0, 1, 13 },
        { "{\"a\":" T("F32", "[]", 0, 4) "}", 4, 1, 0 },
        { "{\"a\":" T("F32", "[0]", 0, 0) ",\"b\":" T("U8", "[1]", 0, 1) "}", 1, 2, 1 },
        { "{\"\":" T("F8_E4M3", "[1]", 0, 1) "}", 1, 1, 1 },
        { "{\"__metadata__\":null}", 0, 0, 0 },
        { "{\"__metadata__\":{\"a\":\"b\\u0000\",\"\":\"\"}}", 0, 0, 0 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4, 1, 1 },
    };
    struct safetensors s;
    struct error err = { 0 };
    char text[128];
    (void)state;

    for (int i = 0; i < ARRAY_LEN(odd); i++) {
        write_file(file, odd[i].header, odd[i].bytes);
        if (safetensors_open(&s, file, &err))
            fail_msg("%s: %s", odd[i].header, err.text);
        assert_int_equal(s.n, odd[i].n);
        if (s.n > 0)
            assert_int_equal(s.entries[0].ndim, odd[i].ndim);
        if (s.n > 0 && odd[i].ndim == 9)
            assert_string_equal(shape_text(text, 9, s.entries[0].shape), "[1, 1, 1, 1, 1, 1, 1, 1, ...]");
        safetensors_close(&s);
    }
}

static void test_bad_lengths(void **state)
{
    unsigned char huge[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}' };
    (void)state;
    write_bytes(file, huge, sizeof huge);
    expect_refused(file, "got 18446744073709551615 of");
    memset(huge, 0, 8);
    huge[0] = 9; /* one more than the file has */
    write_bytes(file, huge, sizeof huge);
    expect_refused(file, "got 9 of");
    write_bytes(file, huge, 7);
    expect_refused(file, "expected a safetensors file, got 7 bytes");
    write_bytes(file, huge, 0);
    expect_refused(file, "0 bytes");
    unlink(file);
    expect_refused(file, "No such file");
    expect_refused(dir, "expected model.safetensors");
}

/* Every truncation, and every flipped bit of a header: refused, or read without access outside the file. */
static void test_truncated_and_flipped(void **state)
{
    static const char header[] = "{\"a\":" T("F32", "[2,3]", 0, 24) ",\"b\":" T("F16", "[4]", 24, 32) "}";
    unsigned char whole[512];
    size_t n = 8 + sizeof header - 1 + 32;
    float out[16];
    (void)state;

    write_file(file, header, 32);
    FILE *f = fopen(file, "rb");
    assert_int_equal(fread(whole, 1, sizeof whole, f), n);
    fclose(f);
    for (size_t cut = 0; cut < n; cut++) {
        write_bytes(file, whole, cut);
        struct safetensors s;
        assert_int_equal(safetensors_open(&s, file, NULL), -1);
    }
    for (size_t bit = 0; bit < 8 * (n - 32); bit++) {
        struct safetensors s;
        whole[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_bytes(file, whole, n);
        whole[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (safetensors_open(&s, file, NULL))
            continue;
        for (int i = 0; i < s.n; i++)
            if (s.entries[i].size <= ARRAY_LEN(out))
                safetensors_read_f32(&s, &s.entries[i], out, 0, s.entries[i].size, NULL);
        safetensors_close(&s);
    }
}

static void test_types(void **state)
{
    static const float values[4] = { 1, -2.5f, 0x1p-24f, 65504 };
    static const uint16_t f16[4] = { 0x3c00, 0xc100, 0x0001, 0x7bff };
    const double f64[4] = { 1, -2.5, 0x1p-24, 65504 };
    const char *header = "{\"d\":" T("F64", "[4]", 0, 32) ",\"h\":" T("F16", "[2,2]", 32, 40) ",\"b\":" T(
        "BF16", "[4]", 40, 48) ",\"i\":" T("I64", "[]", 48, 56) ",\"z\":" T("F32", "[0,3]", 56, 56) "}   ";
    struct safetensors s;
    struct error err;
    float out[4];
    (void)state;

    write_file(file, header, 56);
    FILE *f = fopen(file, "r+b");
    fseek(f, (long)(8 + strlen(header)), SEEK_SET);
    fwrite(f64, 1, sizeof f64, f);
    fwrite(f16, 1, sizeof f16, f);
    for (int i = 0; i < 4; i++) {
        uint16_t b = bf16_from_f32(values[i]);
        fwrite(&b, 1, sizeof b, f);
    }
    fclose(f);
    assert_int_equal(safetensors_open(&s, dir, &err), 0);
    assert_int_equal(s.n, 5);
    for (int i = 0; i < 5; i++)
        assert_true(i == 0 || strcmp(s.entries[i - 1].name, s.entries[i].name) < 0);
    const struct safetensors_entry *h = safetensors_find(&s, "h");
    assert_int_equal(h->ndim, 2);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "d"), out, 0, 4, &err), 0);
    assert_memory_equal(out, values, sizeof values);
    assert_int_equal(safetensors_read_f32(&s, h, out, 1, 3, &err), 0);
    assert_memory_equal(out, values + 1, 3 * sizeof *values);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "b"), out, 0, 3, &err), 0);
    assert_memory_equal(out, values, 3 * sizeof *values);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "z"), out, 0, 0, &err), 0);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "i"), out, 0, 1, &err), -1);
    assert_non_null(strstr(err.text, "\"i\": expected F32, BF16, F16 or F64, got I64"));
    assert_null(safetensors_find(&s, "nothing"));
    safetensors_close(&s);
}

/* All 65536 half-precision values are converted to F32 and back. */
static void test_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = f32_from_f16((uint16_t)h);
        if (isnan(f))
            assert_int_equal(f16_from_f32(f) & 0x7c00, 0x7c00);
        else
            assert_int_equal(f16_from_f32(f), h);
    }
    assert_int_equal(f16_from_f32(65519.996f), 0x7bff);
    assert_int_equal(f16_from_f32(65520.0f), 0x7c00);
    assert_int_equal(f16_from_f32(0x1p-25f), 0); /* a tie, rounded to even */
    assert_int_equal(f16_from_f32(0x1.000002p-25f), 1);
    assert_int_equal(f16_from_f32(-1.0f - 0x1p-11f), 0xbc00); /* a tie, rounded to even */
    assert_int_equal(f16_from_f32(1.0f + 0x3p-11f), 0x3c02);
}

static const struct safetensors_spec specs[] = {
    { "z.weight", 2, { 3, 5 } },
    { "empty", 2, { 0, 7 } },
    { "a \"quoted\" n\xc3\xa4me", 1, { 4 } },
    { "scalar", 0, { 0 } },
};

static void write_specs(enum safetensors_dtype dtype)
{
    struct error err;
    float values[15];
    struct safetensors_writer *w = safetensors_create(file, specs, ARRAY_LEN(specs), dtype, &err);

    for (int i = 0; i < 15; i++)
        values[i] = (float)i + 0.5f;
    assert_non_null(w);
    assert_int_equal(safetensors_put(w, 0, values + 10, 10, 5, &err), 0); /* out of order */
    assert_int_equal(safetensors_put(w, 0, values, 0, 10, &err), 0);
    assert_int_equal(safetensors_put(w, 2, values, 0, 4, &err), 0);
    assert_int_equal(safetensors_put(w, 3, values + 7, 0, 1, &err), 0);
    assert_int_equal(safetensors_finish(w, 0, &err), 0);
}

static void test_round_trip(void **state)
{
    const enum safetensors_dtype dtypes[] = { ST_F32, ST_BF16 };
    struct safetensors s;
    struct error err;
    float out[15];
    (void)state;

    for (int k = 0; k < 2; k++) {
        write_specs(dtypes[k]);
        assert_int_equal(safetensors_open(&s, file, &err), 0);
        assert_int_equal(s.n, 4);
        const struct safetensors_entry *z = safetensors_find(&s, "z.weight");
        assert_int_equal(z->dtype, dtypes[k]);
        assert_int_equal(z->shape[1], 5);
        assert_int_equal((z->data - s.entries[0].data) % 2, 0);
        assert_int_equal(safetensors_read_f32(&s, z, out, 0, 15, &err), 0);
        for (int i = 0; i < 15; i++)
            assert_true(out[i] == (float)i + 0.5f); /* exact in bf16 too */
        assert_int_equal(safetensors_find(&s, "empty")->size, 0);
        assert_int_equal(safetensors_find(&s, "scalar")->ndim, 0);
        assert_non_null(safetensors_find(&s, specs[2].name));
        safetensors_close(&s);
    }
}

static void write_text(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    write_bytes(path, text, strlen(text));
}

static void test_shards(void **state)
{
    char one[256], two[256];
    struct safetensors s;
    struct error err;
    float out[2];
    (void)state;

    unlink(file);
    snprintf(one, sizeof one, "%s/m-1.safetensors", dir);
    snprintf(two, sizeof two, "%s/m-2.safetensors", dir);
    write_file(one, "{\"b\":" T("F32", "[1]", 0, 4) ",\"c\":" T("F32", "[2]", 4, 12) "}", 12);
    write_file(two, "{\"a\":" T("F32", "[1]", 0, 4) "}", 4);
    write_text("model.safetensors.index.json",
               "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"a\":\"m-2.safetensors\","
               "\"b\":\"m-1.safetensors\",\"c\":\"m-1.safetensors\"}}");
    if (safetensors_open(&s, dir, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_files, 2);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "c"), out, 0, 2, &err), 0);
    assert_string_equal(safetensors_file_path(&s, safetensors_find(&s, "a")), two);
    safetensors_close(&s);

    static const struct {
        const char *index, *says;
    } bad[] = {
        { "{\"weight_map\":{\"a\":\"../m-2.safetensors\"}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":\"..\"}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":\"\"}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":7}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":\"m-3.safetensors\"}}", "m-3.safetensors: No such file" },
        { "{\"weight_map\":{\"a\":\"m-1.safetensors\"}}", "\"a\" is not in m-1.safetensors" },
        { "{\"weight_map\":{\"a\":\"m-2.safetensors\",\"b\":\"m-2.safetensors\"}}", "\"b\" is not in m-2" },
        { "{\"weight_map\":{\"a\":\"m-2.safetensors\",\"a\":\"m-1.safetensors\"}}", "duplicate" },
        { "{\"weight_map\":{}}", "weight_map" },
        { "{\"weight_map\":[]}", "weight_map" },
        { "{}", "weight_map" },
        { "{\"weight_map\":", "line 1" },
    };
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        write_text("model.safetensors.index.json", bad[i].index);
        expect_refused(dir, bad[i].says);
    }
    write_file(two, "{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 4, 8) "}", 8);
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m-2.safetensors\",\"c\":\"m-1.safetensors\"}}");
    expect_refused(dir, "\"b\" occurs in");
}

static void open_dir(void *arg)
{
    struct safetensors *s = arg;
    struct error err;

    assert_int_equal(safetensors_open(s, dir, &err), 0);
}

/* A tensor that the index omits is read with a warning; a file that is named like a shard is ignored with a warning. */
static void test_unlisted(void **state)
{
    char one[160], two[160], other[160];
    struct safetensors s;
    (void)state;

    snprintf(one, sizeof one, "%s/m-00001-of-00002.safetensors", dir);
    snprintf(two, sizeof two, "%s/m-00002-of-00002.safetensors", dir);
    snprintf(other, sizeof other, "%s/x-00001-of-00002.safetensors", dir);
    write_file(one, "{\"b\":" T("F32", "[1]", 0, 4) ",\"c\":" T("F32", "[2]", 4, 12) "}", 12);
    write_file(two, "{\"d\":" T("F32", "[1]", 0, 4) "}", 4);
    write_file(other, "{\"e\":" T("F32", "[1]", 0, 4) "}", 4);
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"b\":\"m-00001-of-00002.safetensors\"}}");
    char *said = test_said(open_dir, &s);
    assert_non_null(strstr(said, "1 tensors of its shards are not in weight_map, but are read: c"));
    assert_non_null(strstr(said, "1 files with names of shards are not in weight_map and are ignored: "
                                 "m-00002-of-00002.safetensors\n"));
    assert_non_null(safetensors_find(&s, "c"));
    assert_null(safetensors_find(&s, "d"));
    safetensors_close(&s);
    free(said);
}

/* Tensors of the same shape are compared by value, with any types. */
static void test_same(void **state)
{
    static const unsigned char numbers[] = {
        0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0x80, 0x3f, 0, 0x40, 0x80, 0x3f, 0, 0x41
    };
    const char *header =
        "{\"f\":" T("F32", "[2]", 0, 8) ",\"h\":" T("BF16", "[2]", 8, 12) ",\"o\":" T("BF16", "[2]", 12, 16) "}";
    struct safetensors s;
    struct error err;
    (void)state;

    write_file(file, header, sizeof numbers);
    FILE *f = fopen(file, "r+b");
    fseek(f, -(long)sizeof numbers, SEEK_END);
    assert_int_equal(fwrite(numbers, 1, sizeof numbers, f), sizeof numbers);
    fclose(f);
    assert_true(safetensors_in(dir));
    assert_int_equal(safetensors_open(&s, dir, &err), 0);
    const struct safetensors_entry *whole = safetensors_find(&s, "f"), *half = safetensors_find(&s, "h");
    assert_true(safetensors_same(&s, whole, half) && safetensors_same(&s, half, half));
    assert_false(safetensors_same(&s, whole, safetensors_find(&s, "o")));
    assert_false(safetensors_same(&s, half, safetensors_find(&s, "o")));
    safetensors_close(&s);
}

static void test_pickle(void **state)
{
    (void)state;
    write_text("pytorch_model.bin", "x");
    expect_refused(dir, "save_pretrained");
}

/* A full disk, simulated by a file size limit: an error, the old file unchanged, no partial file left. */
static void test_disk_full(void **state)
{
    const struct safetensors_spec big = { "big", 1, { 100000 } };
    struct rlimit old, limit;
    struct error err;
    struct stat st;
    char tmp[160];
    (void)state;

    write_specs(ST_F32);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = (struct rlimit){ .rlim_cur = 5000, .rlim_max = old.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    struct safetensors_writer *w = safetensors_create(file, &big, 1, ST_F32, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_null(w);
    assert_int_equal(err.code, EXIT_CODE_FAILURE);
    snprintf(tmp, sizeof tmp, "%s.tmp", file);
    assert_int_equal(stat(tmp, &st), -1);
    struct safetensors s;
    assert_int_equal(safetensors_open(&s, file, &err), 0);
    assert_int_equal(s.n, 4);
    safetensors_close(&s);
    assert_null(safetensors_create("/nonexistent/x.safetensors", &big, 1, ST_F32, &err));
    assert_non_null(strstr(err.text, "/nonexistent/x.safetensors.tmp: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bad_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_lengths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncated_and_flipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types, setup, teardown),
        cmocka_unit_test(test_half),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unlisted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pickle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
