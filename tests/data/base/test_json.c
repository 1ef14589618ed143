/* Reading and writing JSON: error messages, records after bad ones, and files that appear whole or not at all. */
#include "tests/support/support.h"

#include "data/base/json.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static void bad_files_are_named(void **state)
{
    struct error err = { 0 };
    assert_null(json_read_file(test_file(*state, "none.json", NULL), &err));
    assert_error(err, "none.json", "No such file");
    assert_null(json_read_file(*state, &err));
    assert_error(err, "directory");
    assert_null(json_read_file(test_file(*state, "cut.json", "{\"a\": [1,\n 2"), &err));
    assert_error(err, "cut.json: line 2");
    assert_null(json_read_file(test_file(*state, "twice.json", "{\"a\": 1, \"a\": 2}"), &err));
    assert_error(err, "twice.json", "duplicate");
    assert_null(json_read_file(test_file(*state, "empty.json", ""), &err));
    assert_int_equal(err.code, EXIT_CODE_DATA);
}

static void deep_nesting_is_an_error(void **state)
{
    struct error err = { 0 };
    char *text = xmalloc(100001);
    memset(text, '[', 100000);
    text[100000] = '\0';
    assert_null(json_read_file(test_file(*state, "deep.json", text), &err));
    assert_int_equal(err.code, EXIT_CODE_DATA);
    free(text);
}

static void fields_are_checked(void **state)
{
    (void)state;
    struct error err = { 0 };
    int64_t n = 77;
    double x = 77;
    bool b = false;
    json_t *o = json_pack("{s:s, s:i, s:f, s:b, s:[i], s:{}}", "s", "text", "n", 5, "x", 0.5, "b", 1, "a", 1, "o");
    assert_string_equal(json_get_string(o, "s", "w", &err), "text");
    assert_int_equal(json_array_size(json_get_array(o, "a", "w", &err)), 1);
    assert_non_null(json_get_object(o, "o", "w", &err));
    assert_int_equal(json_get_int(o, "n", 5, 5, &n, "w", &err), 0);
    assert_int_equal(n, 5);
    assert_int_equal(json_get_real(o, "n", 0, 5, &x, "w", &err), 0);
    assert_true(x == 5);
    assert_int_equal(json_get_bool(o, "b", &b, "w", &err), 0);
    assert_true(b);

    assert_null(json_get_string(o, "n", "dev.json: record 3", &err));
    assert_error(err, "dev.json: record 3: ", "\"n\"", "expected a string, got an integer");
    assert_null(json_get_array(o, "q", "w", &err));
    assert_error(err, "\"q\" is missing", "an array");
    assert_null(json_get_object(json_object_get(o, "a"), "q", "w", &err));
    assert_error(err, "w: expected an object", "\"q\"", "got an array");
    assert_int_equal(json_get_int(o, "n", 6, 9, &n, "w", &err), -1);
    assert_error(err, "6 to 9, got 5");
    assert_int_equal(json_get_int(o, "x", 0, 9, &n, "w", &err), -1);
    assert_error(err, "a real number");
    assert_int_equal(json_get_real(o, "x", 0.6, 1, &x, "w", &err), -1);
    assert_error(err, "0.5", "0.6 to 1");
    assert_int_equal(json_get_bool(o, "n", &b, "w", &err), -1);
    assert_int_equal(n, 5); /* the bad record left no trace */
    json_decref(o);
}

/* Reads all records; "1:3:-1:" lists the field "n" of each record, or -1 for a bad one. */
static void read_all(const char *path, char *seen, size_t size, struct error *err)
{
    json_t *o;
    int rc;
    struct json_reader *r = json_reader_open(path, err);
    assert_non_null(r);
    for (*seen = '\0'; (rc = json_reader_next(r, &o, err)) != 0;) {
        size_t at = strlen(seen);
        int64_t n = rc > 0 ? json_integer_value(json_object_get(o, "n")) : -1;
        snprintf(seen + at, size - at, "%lld:", (long long)n);
        assert_true((rc > 0) == (o != NULL));
        json_decref(o);
        if (json_reader_failed(r))
            break;
    }
    json_reader_close(r);
}

static void lines_go_on_after_a_bad_one(void **state)
{
    struct error err = { 0 };
    char seen[256];
    const char *path =
        test_file(*state, "a.jsonl", "\n{\"n\":1}\r\n\n{\"n\":oops}\n[2]\n{\"n\":3}\n{\"n\":4} x\n{\"n\":5}");
    read_all(path, seen, sizeof seen, &err);
    assert_string_equal(seen, "1:-1:-1:3:-1:5:");
    struct json_reader *r = json_reader_open(path, &err);
    json_t *o;
    assert_int_equal(json_reader_next(r, &o, &err), 1);
    assert_non_null(strstr(json_reader_where(r), "a.jsonl: line 2"));
    json_decref(o);
    assert_int_equal(json_reader_next(r, &o, &err), -1);
    assert_error(err, "a.jsonl: line 4, column");
    assert_int_equal(json_reader_next(r, &o, &err), -1);
    assert_error(err, "a.jsonl: line 5", "expected an object, got an array");
    json_reader_close(r);
}

static void a_missing_end_is_reported_on_its_line(void **state)
{
    struct error err = { 0 };
    char seen[64];
    read_all(test_file(*state, "lacks.jsonl", "{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}\n"), seen, sizeof seen, &err);
    assert_error(err, "lacks.jsonl: line 2", "near end of file");
}

static void arrays_and_empty_files(void **state)
{
    struct error err = { 0 };
    char seen[256];
    read_all(test_file(*state, "a.json", " \n[{\"n\":1},\n 5, {\"n\":2}]\n"), seen, sizeof seen, &err);
    assert_string_equal(seen, "1:-1:2:");
    assert_error(err, "a.json: record 2", "an integer");
    read_all(test_file(*state, "b.json", "[]"), seen, sizeof seen, &err);
    assert_string_equal(seen, "");
    read_all(test_file(*state, "c.json", " \n "), seen, sizeof seen, &err);
    assert_string_equal(seen, "");
    read_all(test_file(*state, "d.json", "[{\"n\":1},"), seen, sizeof seen, &err);
    assert_string_equal(seen, "1:-1:");
    assert_error(err, "d.json: record 2", "expected ']'");
}

static void a_record_with_nul_fails_alone(void **state)
{
    struct error err = { 0 };
    char seen[64];
    read_all(test_file(*state, "nul.json", "[{\"n\":1}, {\"n\":2,\"q\":[{\"s\":\"a\\u0000b\"}]},\n {\"n\":3}]"), seen,
             sizeof seen, &err);
    assert_string_equal(seen, "1:-1:3:");
    assert_error(err, "nul.json: record 2", "expected text", "\\u0000");
    read_all(test_file(*state, "nul.jsonl", "{\"n\":1}\n{\"q\":\"a\\u0000\"}\n{\"n\":3}\n"), seen, sizeof seen, &err);
    assert_string_equal(seen, "1:-1:3:");
    assert_error(err, "nul.jsonl: line 2, column", "expected text", "\\u0000");
    assert_null(strstr(err.text, "NUL"));
    assert_null(json_read_file(test_file(*state, "whole.json", "[\"\\u0000\"]"), &err));
    assert_error(err, "whole.json: line 1, column", "expected text");
}

static void a_line_without_end_is_bounded(void **state)
{
    struct error err = { 0 };
    const char *path = test_file(*state, "long.jsonl", "{\"n\":1}\n\"");
    FILE *f = fopen(path, "ab");
    char *block = xmalloc(1 << 20);
    memset(block, 'x', 1 << 20);
    for (int i = 0; i < JSONL_MAX_LINE >> 20; i++)
        assert_int_equal(fwrite(block, 1 << 20, 1, f), 1);
    fputs("\n{\"n\":2}\n", f);
    fclose(f);
    free(block);
    char seen[64];
    read_all(path, seen, sizeof seen, &err);
    assert_string_equal(seen, "1:-1:2:");
    assert_error(err, "long.jsonl: line 2", "longer than");
}

static void zero_bytes_are_refused(void **state)
{
    struct error err = { 0 };
    const char *path = test_file(*state, "zero.jsonl", "");
    FILE *f = fopen(path, "wb");
    fwrite("{\"n\":\0 1}\n{\"n\":2}\n", 1, 18, f);
    fclose(f);
    char seen[64];
    read_all(path, seen, sizeof seen, &err);
    assert_string_equal(seen, "-1:2:");
}

static void written_values_are_read_back(void **state)
{
    struct error err = { 0 };
    struct out_file o;
    const char *path = test_file(*state, "out.jsonl", "old\n");
    json_t *v = json_pack("{s:i, s:f, s:s}", "z", 1, "a", 0.1, "text", "\xc3\xa9\n");
    assert_int_equal(out_file_open(&o, path, &err), 0);
    assert_int_equal(json_write_line(&o, v, &err), 0);
    char *before = test_read(path);
    assert_string_equal(before, "old\n"); /* nothing appears before the commit */
    assert_int_equal(out_file_commit(&o, &err), 0);
    char *after = test_read(path);
    assert_string_equal(after, "{\"z\":1,\"a\":0.1,\"text\":\"\xc3\xa9\\n\"}\n");
    assert_int_equal(json_write_file(path, v, &err), 0);
    json_t *again = json_read_file(path, &err);
    assert_true(json_equal(v, again));
    free(before);
    free(after);
    json_decref(v);
    json_decref(again);
}

/* Except for reals, the text is as jansson writes it, on one line and indented. */
static void other_values_are_as_jansson_writes_them(void **state)
{
    (void)state;
    json_t *v = json_pack("{s:[], s:{}, s:[i, n, b, [s, {s:i}]], s:s, s:f}", "a \"b\"", "", "c", -7, 1,
                          "\x01\x1f\"\\/\x7f\xc3\xa9", "d", 5, "e", "\t\n", "f", 0.25);
    char *ours = json_text(v, 9), *theirs = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(9)), *indented = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&indented, &n);

    assert_string_equal(ours, theirs);
    free(theirs);
    theirs = json_dumps(v, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    assert_true(json_put(f, v, 2, 9));
    fclose(f);
    assert_string_equal(indented, theirs);
    free(indented);
    free(theirs);
    free(ours);
    json_decref(v);
}

static void cells_have_all_their_digits(void **state)
{
    (void)state;
    json_t *v = json_pack("{s:f, s:{s:[[f, f, f, f, f]]}}", "p", 1234567890.12, "result", "rows", 1234567890.12, 565.2,
                          3.0, 1e16, 3e-7);
    char *text = json_text(v, 9), *exact = json_text(v, JSON_EXACT);

    assert_string_equal(text, "{\"p\":1.23456789e9,\"result\":{\"rows\":[[1234567890.12,565.2,3.0,1e16,3e-7]]}}");
    assert_string_equal(exact, "{\"p\":1234567890.12,\"result\":{\"rows\":[[1234567890.12,565.2,3.0,1e16,3e-7]]}}");
    free(text);
    free(exact);
    json_decref(v);
}

static void invalid_text_is_not_written(void **state)
{
    (void)state;
    json_t *v = json_pack("[o]", json_string_nocheck("\xff"));

    assert_null(json_text(v, 9));
    json_decref(v);
}

static void cut_messages_are_still_text(void **state)
{
    (void)state;
    json_t *whole = json_message("caf\xc3\xa9"), *cut = json_message("caf\xc3");
    assert_string_equal(json_string_value(whole), "caf\xc3\xa9");
    assert_string_equal(json_string_value(cut), "caf");
    json_decref(whole);
    json_decref(cut);
}

static void an_aborted_write_leaves_the_old_file(void **state)
{
    struct error err = { 0 };
    struct out_file o;
    const char *path = test_file(*state, "keep", "old"), *tmp = test_file(*state, "keep.tmp", NULL);
    assert_int_equal(out_file_open(&o, path, &err), 0);
    fputs("new", o.f);
    out_file_abort(&o);
    out_file_abort(&o);
    char *text = test_read(path);
    assert_string_equal(text, "old");
    assert_int_equal(access(tmp, F_OK), -1);
    free(text);
}

static void a_full_disk_leaves_nothing(void **state)
{
    struct error err = { 0 };
    struct out_file o;
    struct rlimit old, small = { .rlim_cur = 8192 };
    const char *path = test_file(*state, "full.json", NULL), *tmp = test_file(*state, "full.json.tmp", NULL);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(out_file_open(&o, path, &err), 0);
    for (int i = 0; i < 20000; i++)
        fputc('x', o.f);
    int rc = out_file_commit(&o, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, EXIT_CODE_FAILURE);
    assert_error(err, "full.json");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(tmp, F_OK), -1);
}

static void devices_are_written_in_place(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct out_file o;
    struct stat st;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(out_file_open(&o, "/dev/full", &err), 0);
    fputs("lost", o.f);
    assert_int_equal(out_file_commit(&o, &err), -1);
    assert_error(err, "/dev/full", "No space left");
    assert_true(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
}

static void links_are_followed(void **state)
{
    struct error err = { 0 };
    struct stat st;
    const char *target = test_file(*state, "target", "old"), *link = test_file(*state, "link", NULL);
    assert_int_equal(symlink(target, link), 0);
    json_t *v = json_true();
    assert_int_equal(json_write_file(link, v, &err), 0);
    assert_true(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    char *text = test_read(target);
    assert_string_equal(text, "true\n");
    free(text);
}

static void unwritable_targets_are_named(void **state)
{
    struct error err = { 0 };
    struct out_file o;
    assert_int_equal(out_file_open(&o, test_file(*state, "no/such/out.json", NULL), &err), -1);
    assert_error(err, "no/such/out.json");
    assert_int_equal(out_file_open(&o, *state, &err), -1);
    assert_error(err, "directory");
    assert_int_equal(out_file_open(&o, "/proc/ambit.json", &err), -1);
    assert_error(err, "/proc/ambit.json");
}

static void folders_are_made_with_their_parents(void **state)
{
    struct error err = { 0 };
    struct stat st;
    const char *path = test_file(*state, "a/b/c", NULL);
    assert_int_equal(make_dirs(path, &err), 0);
    assert_true(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
    assert_int_equal(make_dirs(path, &err), 0);
    test_file(*state, "file", "x");
    assert_int_equal(make_dirs(test_file(*state, "file", NULL), &err), -1);
    assert_error(err, "Not a directory");
    assert_int_equal(make_dirs(test_file(*state, "file/below", NULL), &err), -1);
    assert_error(err, "file/below", "Not a directory");
    assert_int_equal(make_dirs("", &err), -1);
}

/* Each allocation of jansson fails in turn: the result is an error or a value, never a crash or a leak. */
static int until_failure;

static void *failing_malloc(size_t n)
{
    return until_failure-- > 0 ? malloc(n) : NULL;
}

static void failing_allocations(void **state)
{
    struct error err = { 0 };
    const char *path = test_file(*state, "m.jsonl", "{\"n\":1,\"a\":[1,2,{\"b\":\"text\"}]}\n{\"n\":2}\n");
    bool whole = false;
    json_set_alloc_funcs(failing_malloc, free);
    for (int n = 0; n < 200 && !whole; n++) {
        json_t *o;
        int rc, records = 0;
        until_failure = n;
        struct json_reader *r = json_reader_open(path, &err);
        assert_non_null(r);
        while ((rc = json_reader_next(r, &o, &err)) > 0) {
            records++;
            json_decref(o);
        }
        json_reader_close(r);
        assert_true(rc == 0 || *err.text); /* jansson reports some of these as a wrong token */
        whole = rc == 0 && records == 2;
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(deep_nesting_is_an_error),
        cmocka_unit_test(fields_are_checked),
        cmocka_unit_test(lines_go_on_after_a_bad_one),
        cmocka_unit_test(a_missing_end_is_reported_on_its_line),
        cmocka_unit_test(arrays_and_empty_files),
        cmocka_unit_test(a_record_with_nul_fails_alone),
        cmocka_unit_test(a_line_without_end_is_bounded),
        cmocka_unit_test(zero_bytes_are_refused),
        cmocka_unit_test(written_values_are_read_back),
        cmocka_unit_test(cut_messages_are_still_text),
        cmocka_unit_test(other_values_are_as_jansson_writes_them),
        cmocka_unit_test(cells_have_all_their_digits),
        cmocka_unit_test(invalid_text_is_not_written),
        cmocka_unit_test(an_aborted_write_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_leaves_nothing),
        cmocka_unit_test(devices_are_written_in_place),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(unwritable_targets_are_named),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests_name("json", tests, set_up, tear_down);
}
