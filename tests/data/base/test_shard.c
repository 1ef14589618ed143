/* Shards: arguments, ranges that cover every record once, records of a range, manifests that are read back, hashes of
 * inputs. */
#include "tests/support/support.h"

#include "data/base/out_file.h"
#include "data/base/shard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void parts_are_named(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "3", "0/3", "4/3", "1/0", "-1/3", "1/3 ", " 1/3", "1//3", "1/65537", "a/b" };
    struct shard s = { 0 };
    struct error err;

    assert_int_equal(shard_parse(&s, "3/16", &err), 0);
    assert_true(s.index == 3 && s.count == 16 && !s.range.some);
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(shard_parse(&s, bad[i], &err), -1);
        assert_int_equal(err.code, EXIT_CODE_USAGE);
    }
    assert_true(s.index == 3 && s.count == 16);
}

/* Every record is in exactly one shard, and batches are not cut. */
static void check_cut(int64_t records, int count, int64_t grain)
{
    int64_t before = 0, most = 0, least = INT64_MAX;

    for (int i = 1; i <= count; i++) {
        struct shard s = { .index = i, .count = count };
        shard_cut(&s, records, grain);
        assert_true(s.range.some && s.range.first == before && s.range.end >= before);
        assert_true(s.range.end % grain == 0 || s.range.end == records);
        int64_t grains = (s.range.end - before + grain - 1) / grain;
        most = grains > most ? grains : most;
        least = grains < least ? grains : least;
        before = s.range.end;
    }
    assert_true(before == records && most - least <= 1);
}

static void cuts_cover_every_record_once(void **state)
{
    (void)state;
    static const int64_t records[] = { 0, 1, 2, 63, 64, 65, 127, 1000, 1000000, INT64_C(1000000000000) };
    static const int counts[] = { 1, 2, 3, 7, 16, 333 };

    for (int i = 0; i < ARRAY_LEN(records); i++)
        for (int k = 0; k < ARRAY_LEN(counts); k++) {
            check_cut(records[i], counts[k], 1);
            check_cut(records[i], counts[k], 64);
        }
}

/* The reader's place and error of each record, one per line. */
static char *read_all(const char *path, const struct record_range *range)
{
    struct error err = { 0 };
    struct record_reader *in = record_reader_open_range(path, RECORDS_AUTO, range, &err);
    char *text = xstrdup("");
    json_t *record;
    int rc;

    assert_non_null(in);
    while (!record_reader_failed(in) && (rc = record_reader_next(in, &record, &err)) != 0) {
        char *json = rc > 0 ? json_dumps(record, JSON_COMPACT) : xstrdup(err.text), *more;
        assert_true(asprintf(&more, "%s%s %d %s\n", text, record_reader_where(in), (int)record_reader_place(in), json) >
                    0);
        free(json);
        free(text);
        json_decref(record);
        text = more;
    }
    record_reader_close(in);
    return text;
}

static void check_ranges(const char *path, int records)
{
    const struct record_range all = { 0 };
    char *whole = read_all(path, &all);

    for (int count = 1; count <= records + 2; count++) {
        char *joined = xstrdup(""), *more;
        for (int i = 1; i <= count; i++) {
            struct shard s = { .index = i, .count = count };
            shard_cut(&s, records, 1);
            char *part = read_all(path, &s.range);
            assert_true(asprintf(&more, "%s%s", joined, part) >= 0);
            free(joined);
            free(part);
            joined = more;
        }
        assert_string_equal(joined, whole);
        free(joined);
    }
    free(whole);
}

static void ranges_are_of_the_whole(void **state)
{
    check_ranges(test_file(*state, "a.jsonl", "\n{\"n\":1}\n \n{\"n\":2}\nno JSON\n[]\n{\"n\":5}"), 5);
    check_ranges(test_file(*state, "a.json", "[{\"n\":1},{\"n\":\",]\"},7,{\"n\":[{}]}]"), 4);
    check_ranges(test_file(*state, "a.csv", "id,question\nx,\"a\n\"\"b\"\n1,2,3\n,c\n"), 3);
    check_ranges(test_file(*state, "a.txt", "Who?\n\n Why?\nWhen?"), 3);
    check_ranges(test_file(*state, "none.jsonl", ""), 0);
}

static void a_range_behind_the_end_is_refused(void **state)
{
    const struct record_range range = { true, 3, 4 };
    const char *path = test_file(*state, "two.jsonl", "{}\n{}\n");
    struct error err;

    assert_null(record_reader_open_range(path, RECORDS_AUTO, &range, &err));
    assert_non_null(strstr(err.text, "two.jsonl: expected more than 3 records, got 2"));
}

static void marks_come_back(void **state)
{
    const char *path = test_file(*state, "mark", NULL);
    struct shard_manifest a = { .shard = { 2, 3, { true, 5, 9 } }, .bytes = 77, .hash = UINT64_C(0xfedcba9876543210) },
                          b;
    struct error err;

    a.failed = true;
    a.run = json_pack("{s:s, s:{s:i}, s:{}, s:{}}", "command", "x", "input", "records", 14, "settings", "files");
    assert_int_equal(shard_manifest_read(&b, path, &err), SHARD_MISSING);
    int lock = shard_manifest_lock(path, &err);
    assert_true(lock >= 0);
    assert_int_equal(shard_manifest_lock(path, &err), -1);
    assert_non_null(strstr(err.text, "another process is working on this shard"));
    assert_int_equal(shard_manifest_read(&b, path, &err), SHARD_RUNNING);
    close(lock);
    assert_int_equal(shard_manifest_read(&b, path, &err), SHARD_UNFINISHED);
    assert_int_equal(shard_manifest_write(path, &a, &err), 0);
    assert_int_equal(shard_manifest_read(&b, path, &err), SHARD_DONE);
    assert_true(b.shard.index == 2 && b.shard.count == 3 && b.shard.range.first == 5 && b.shard.range.end == 9);
    assert_true(b.bytes == a.bytes && b.hash == a.hash && b.failed && json_equal(a.run, b.run));
    shard_manifest_release(&a);
    shard_manifest_release(&b);
}

static void hashes_are_of_the_input(void **state)
{
    char *dir = path_in(*state, "model"), *bytes = xcalloc(1, 1 << 20);
    struct error err;

    assert_int_equal(make_dirs(dir, &err), 0);
    const char *config = test_file(dir, "config.json", "{}"), *weights = test_file(dir, "ambit.h5", "0");
    uint64_t before = shard_sample(dir), of_file = shard_sample(config);
    assert_true(before != of_file && before == shard_sample(dir));
    test_file(dir, "found.jsonl", "{}");
    assert_true(shard_sample(dir) == before);
    test_file(dir, "ambit.h5", "1");
    assert_true(shard_sample(dir) != before);
    memset(bytes, 'a', (1 << 20) - 1);
    test_file(dir, "ambit.h5", bytes);
    before = shard_sample(weights);
    bytes[0] = 'b';
    test_file(dir, "ambit.h5", bytes);
    assert_true(shard_sample(weights) != before);
    bytes[0] = 'a';
    bytes[(1 << 20) - 2] = 'b';
    test_file(dir, "ambit.h5", bytes);
    assert_true(shard_sample(weights) != before);
    free(bytes);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_named),
        cmocka_unit_test(cuts_cover_every_record_once),
        cmocka_unit_test_setup_teardown(ranges_are_of_the_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_range_behind_the_end_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hashes_are_of_the_input, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
