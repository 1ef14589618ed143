/* Compressed records: all streams are read, and damage is an error wherever it occurs. */
#include "tests/support/records_text.h"
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/base/out_file.h"
#include "data/base/record_reader.h"
#include "data/base/whole_file.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

static const char two_lines[] = "{\"id\":1}\n{\"id\":2}\n";
static const char two_records[] = "{\"id\":1};{\"id\":2};";

static size_t pack_xz(const char *text, uint8_t *bytes, size_t room)
{
    size_t n = 0;
    lzma_ret ret =
        lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, strlen(text), bytes, &n, room);
    CHECK(ret == LZMA_OK, "lzma_easy_buffer_encode: %d", (int)ret);
    return n;
}

static size_t pack_gzip(const char *text, uint8_t *bytes, size_t room)
{
    z_stream z = { 0 };
    CHECK(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = bytes;
    z.avail_out = (uInt)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate");
    deflateEnd(&z);
    return room - z.avail_out;
}

static size_t to_xz(uint8_t *bytes, size_t room)
{
    return pack_xz(two_lines, bytes, room);
}

static size_t to_gzip(uint8_t *bytes, size_t room)
{
    return pack_gzip(two_lines, bytes, room);
}

static size_t to_zstd(uint8_t *bytes, size_t room)
{
    static const uint8_t packed[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x91, 0x00, 0x00, 0x7b, 0x22,
                                      0x69, 0x64, 0x22, 0x3a, 0x31, 0x7d, 0x0a, 0x7b, 0x22, 0x69, 0x64,
                                      0x22, 0x3a, 0x32, 0x7d, 0x0a, 0xe8, 0x23, 0x85, 0x18 };
    CHECK(sizeof packed <= room, "%zu bytes", sizeof packed);
    memcpy(bytes, packed, sizeof packed);
    return sizeof packed;
}

/* Formats by bytes and by name, and two streams in a row.  Each proper prefix and each flipped byte is an error or
 * changes nothing. */
static void check_coding(const char *dir, const char *name, size_t (*pack)(uint8_t *, size_t))
{
    struct error err = { 0 };
    uint8_t bytes[4096];
    size_t n = pack(bytes, sizeof bytes / 2);
    const char *path = test_file(dir, name, NULL), *bare = test_file(dir, "bare", NULL);
    write_bytes(path, bytes, n);
    const char *seen = records_text(path, RECORDS_AUTO, &err);
    if (!seen) { /* a build without libzstd */
        assert_error(err, "this build cannot read", "install libzstd-dev");
        return;
    }
    assert_string_equal(seen, two_records);
    memcpy(bytes + n, bytes, n);
    write_bytes(bare, bytes, 2 * n);
    assert_string_equal(records_text(bare, RECORDS_AUTO, &err), "{\"id\":1};{\"id\":2};{\"id\":1};{\"id\":2};");
    for (size_t cut = 0; cut < n; cut++) {
        write_bytes(path, bytes, cut);
        seen = records_text(path, RECORDS_AUTO, &err);
        assert_true(!seen || strchr(seen, '-'));
        assert_error(err, name);
        assert_int_equal(err.code, EXIT_CODE_DATA);
    }
    assert_error(err, "truncated");
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x10;
        write_bytes(path, bytes, n);
        seen = records_text(path, RECORDS_AUTO, &err);
        assert_true(!seen || strchr(seen, '-') || strcmp(seen, two_records) == 0);
        bytes[i] ^= 0x10;
    }
    write_bytes(path, "plain text", 10);
    assert_null(records_text(path, RECORDS_AUTO, &err));
    assert_error(err, name, "data as its name says", "got other data");
}

static void compressed_files_are_read(void **state)
{
    check_coding(*state, "a.jsonl.gz", to_gzip);
    check_coding(*state, "a.jsonl.xz", to_xz);
    check_coding(*state, "a.jsonl.zst", to_zstd);
}

enum { MANY = 4000, MANY_BYTES = MANY * 64 };

/* Records of characters that compress badly. */
static char *many_lines(void)
{
    char *text = xmalloc(MANY_BYTES), *to = text;
    uint64_t h = HASH_START;
    for (int i = 0; i < MANY; i++) {
        h = hash_bytes(h, &i, sizeof i);
        to += snprintf(to, 64, "{\"id\":%d,\"q\":\"%016llx\"}\n", i, (unsigned long long)h);
    }
    return text;
}

/* Number of records before reading ends; *rc is the last return code. */
static int count_until_end(const char *path, bool ask, int *rc, struct error *err)
{
    struct record_reader *r = record_reader_open(path, RECORDS_AUTO, err);
    json_t *o;
    int n = 0;
    assert_non_null(r);
    while (!ask || record_reader_ready(r)) {
        *rc = record_reader_next(r, &o, err);
        json_decref(o);
        if (*rc == 0 || record_reader_failed(r))
            break;
        n++;
    }
    record_reader_close(r);
    return n;
}

static void check_damage(const char *path, const uint8_t *bytes, size_t n)
{
    for (int ask = 0; ask < 2; ask++) {
        struct error err = { 0 };
        int rc = 1;
        write_bytes(path, bytes, n);
        count_until_end(path, ask, &rc, &err);
        assert_int_equal(rc, -1);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, path, "is damaged");
    }
}

/* Damage in the middle, in the checksum and in the length is an error after the records before it.  The result is the
 * same if the reader polls ahead. */
static void check_damages(const char *path, size_t (*pack)(const char *, uint8_t *, size_t))
{
    uint8_t *bytes = xmalloc(MANY_BYTES);
    char *text = many_lines();
    struct error err = { 0 };
    size_t n = pack(text, bytes, MANY_BYTES);
    int rc = -1;
    write_bytes(path, bytes, n);
    assert_int_equal(count_until_end(path, true, &rc, &err), MANY);
    assert_int_equal(rc, 0);
    for (size_t at = n / 4; at < n; at += at < n - 40 ? n / 9 : 1) {
        uint8_t before[32];
        size_t size = n - at < 32 ? 1 : 32;
        memcpy(before, bytes + at, size);
        for (size_t i = 0; i < size; i++)
            bytes[at + i] ^= (uint8_t)(0x55 + i);
        check_damage(path, bytes, n);
        memcpy(bytes + at, before, size);
    }
    free(text);
    free(bytes);
}

static void damage_is_never_the_end(void **state)
{
    check_damages(test_file(*state, "d.jsonl.gz", NULL), pack_gzip);
    check_damages(test_file(*state, "d.jsonl.xz", NULL), pack_xz);
}

/* jansson takes a read failure for the end of the text, and the value before it may be complete. */
static void damaged_values_are_refused(void **state)
{
    uint8_t bytes[4096];
    struct error err = { 0 };
    size_t n = pack_gzip("{\"a\":1}\n", bytes, sizeof bytes);
    const char *path = test_file(*state, "value.json.gz", NULL);
    bytes[n - 6] ^= 1;
    write_bytes(path, bytes, n);
    assert_null(json_read_file(path, &err));
    assert_error(err, "value.json.gz", "is damaged");
}

/* As in gzip, zeros are padding and other bytes are ignored, except a member with a damaged start. */
static void bytes_behind_gzip(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        bool member;
        int rc;
    } tails[] = { { "\0\0\0\0\0", 5, false, 0 },
                  { "garbage", 7, false, 0 },
                  { "\x1f", 1, false, -1 },
                  { "\x1f\x8c garbage", 10, false, -1 },
                  { "x", 1, true, -1 } };
    const char *path = test_file(*state, "tail.jsonl.gz", NULL);
    for (int i = 0; i < ARRAY_LEN(tails); i++) {
        uint8_t bytes[4096];
        struct error err = { 0 };
        size_t n = to_gzip(bytes, sizeof bytes);
        int rc = 1;
        memcpy(bytes + n, tails[i].bytes, tails[i].n);
        n += tails[i].n;
        if (tails[i].member)
            n += to_gzip(bytes + n, sizeof bytes - n);
        write_bytes(path, bytes, n);
        assert_int_equal(count_until_end(path, true, &rc, &err), 2);
        assert_int_equal(rc, tails[i].rc);
    }
}

/* The same lines through every format, in pieces of all sizes, give the same bytes each time. */
static void check_round_trip(const char *path)
{
    char *text = many_lines();
    struct error err = { 0 };
    size_t n = strlen(text);
    uint64_t sums[2] = { 0 };
    int rc = -1;

    for (int i = 0; i < 2; i++) {
        struct out_file o;
        if (out_file_open(&o, path, &err)) { /* a build without libzstd */
            assert_error(err, path, "cannot compress");
            free(text);
            return;
        }
        for (size_t at = 0, step = 1; at < n; at += step, step = i ? n : 3 * step + 1)
            assert_int_equal(fwrite(text + at, 1, step < n - at ? step : n - at, o.f), step < n - at ? step : n - at);
        assert_int_equal(out_file_commit(&o, &err), 0);
        assert_int_equal(count_until_end(path, true, &rc, &err), MANY);
        assert_int_equal(rc, 0);
        sums[i] = hash_file(path);
    }
    assert_true(sums[0] == sums[1]);
    free(text);
}

static void outputs_are_compressed(void **state)
{
    check_round_trip(test_file(*state, "o.jsonl.gz", NULL));
    check_round_trip(test_file(*state, "o.jsonl.xz", NULL));
    check_round_trip(test_file(*state, "o.jsonl.zst", NULL));
}

/* A file that does not fit leaves nothing behind. */
static void a_full_disk_is_reported(void **state)
{
    struct error err = { 0 };
    struct out_file o;
    const char *link = test_file(*state, "full.jsonl.gz", NULL);

    unlink(link);
    if (access("/dev/full", W_OK) || symlink("/dev/full", link))
        skip();
    assert_int_equal(out_file_open(&o, link, &err), 0);
    fputs(two_lines, o.f);
    assert_int_equal(out_file_commit(&o, &err), -1);
    assert_error(err, "/dev/full", "No space left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_files_are_read),  cmocka_unit_test(damage_is_never_the_end),
        cmocka_unit_test(damaged_values_are_refused), cmocka_unit_test(bytes_behind_gzip),
        cmocka_unit_test(outputs_are_compressed),     cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests_name("text_decoder", tests, set_up, tear_down);
}
