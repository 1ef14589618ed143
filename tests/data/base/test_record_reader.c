/* Records in every format, with and without ids, and rejected input. */
#include "tests/support/records_text.h"
#include "tests/support/support.h"

#include "data/base/record_reader.h"
#include "data/base/records.h"

#include <stdlib.h>
#include <string.h>
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

static const char *read_auto(const char *dir, const char *name, const char *text)
{
    struct error err = { 0 };
    return records_text(test_file(dir, name, text), RECORDS_AUTO, &err);
}

static void ids_are_seen_to(void **state)
{
    struct error err = { 0 };
    assert_string_equal(read_auto(*state, "a.jsonl", "{\"id\":\"x\"}\n\n{\"id\":7}\n{\"id\":null}\n{}\n"),
                        "{\"id\":\"x\"};{\"id\":7};{\"id\":4};{\"id\":5};");
    assert_string_equal(read_auto(*state, "a.json", "[{}, {\"id\": -3},\n {}]"), "{\"id\":1};{\"id\":-3};{\"id\":3};");
    assert_string_equal(
        records_text(test_file(*state, "b.jsonl", "{\"id\":1.5}\n{\"id\":[]}\n{}\n"), RECORDS_AUTO, &err),
        "-;-;{\"id\":3};");
    assert_error(err, "b.jsonl: line 2", "\"id\"", "a string or an integer, got an array");
}

static void databases_are_named(void **state)
{
    assert_string_equal(read_auto(*state, "db.jsonl",
                                  "{\"id\":1,\"db\":\"zoo\"}\n{\"id\":2,\"db\":\"a\",\"db_id\":\"b\"}\n"
                                  "{\"id\":3,\"db\":7}\n"),
                        "{\"db\":\"zoo\",\"db_id\":\"zoo\",\"id\":1};{\"db\":\"a\",\"db_id\":\"b\",\"id\":2};"
                        "{\"db\":7,\"id\":3};");
}

static void formats_are_recognised(void **state)
{
    static const char text[] = "{\"id\":1,\"question\":\"a\"};{\"id\":2,\"question\":\"b\"};";
    static const char table[] = "{\"id\":\"1\",\"question\":\"a\"};{\"id\":\"2\",\"question\":\"b\"};";
    static const char *const files[][3] = {
        { "lines", text, "{\"id\":1,\"question\":\"a\"}\r\n{\"id\":2,\"question\":\"b\"}" },
        { "mark.jsonl", text, "\xef\xbb\xbf{\"id\":1,\"question\":\"a\"}\r\n{\"id\":2,\"question\":\"b\"}\r\n" },
        { "array", text, "\n [\n{\"id\":1,\"question\":\"a\"}\n,{\"id\":2,\"question\":\"b\"}\n]\n" },
        { "mark", text, "\xef\xbb\xbf[{\"id\":1,\"question\":\"a\"},{\"id\":2,\"question\":\"b\"}]" },
        { "plain", text, "a\nb" },
        { "plain.txt", text, " a \r\nb\n\n" },
        { "comma", table, "id,question\n1,a\n2,b\n" },
        { "tab", table, "question\tid\r\na\t1\r\nb\t2" },
        { "quotes", table, "\"question\",\"id\"\na,1\n\"b\",\"2\"\n" },
        { "x.csv", table, "\xef\xbb\xbfid,question\r\n1,a\r\n\r\n2,b\r\n" },
        { "x.tsv", table, "id\tquestion\n1\ta\n2\tb\n" },
    };
    for (int i = 0; i < ARRAY_LEN(files); i++)
        assert_string_equal(read_auto(*state, files[i][0], files[i][2]), files[i][1]);
    assert_string_equal(read_auto(*state, "alone", "question\na\n"), "{\"id\":2,\"question\":\"a\"};");
    assert_string_equal(read_auto(*state, "no.txt", "question,id\n"), "{\"id\":1,\"question\":\"question,id\"};");
    assert_string_equal(read_auto(*state, "none.jsonl", " \n"), "");
    assert_string_equal(read_auto(*state, "none.txt", ""), "");
    assert_string_equal(read_auto(*state, "none.json", "[ ]"), "");
    struct error err = { 0 };
    assert_string_equal(records_text(test_file(*state, "said.txt", "id,q\n4,a\n"), RECORDS_CSV, &err),
                        "{\"id\":\"4\",\"q\":\"a\"};");
}

static void fields_of_tables(void **state)
{
    assert_string_equal(
        read_auto(*state, "q.csv", "id,question,note\n\"a \"\"b\"\"\",\"one, two\r\nthree\",\n,c\"d,e \n"),
        "{\"id\":\"a \\\"b\\\"\",\"question\":\"one, two\\r\\nthree\"};"
        "{\"id\":4,\"note\":\"e \",\"question\":\"c\\\"d\"};");
    assert_string_equal(read_auto(*state, "q.tsv", "id\tq\n1\t\"a\tb\"\n2\ta,b\n"),
                        "{\"id\":\"1\",\"q\":\"a\\tb\"};{\"id\":\"2\",\"q\":\"a,b\"};");
}

static void bad_tables_are_named(void **state)
{
    static const char *const headers[][2] = {
        { "", "expected a header, got an empty file" },
        { "id,,q\n", "line 1: the header's field 2 has no name" },
        { "id;q\n1;a\n", "line 1: the header is one field, \"id;q\": expected fields separated by commas" },
        { "\nid,q,id\n", "line 2: the header names \"id\" twice" },
        { "id,caf\xe9\n", "line 1: the header's field 2 is not UTF-8 text" },
        { "id,\"q\n1,2\n", "line 1: field 2: a quote that is not closed" }
    };
    static const char *const rows[][3] = {
        { "id,q\n1\n2,b\n", "-;{\"id\":\"2\",\"q\":\"b\"};", "line 2: expected 2 fields, as in the header, got 1" },
        { "id,q\n1,a\n2,b,c\n", "{\"id\":\"1\",\"q\":\"a\"};-;", "line 3: expected 2 fields, as in the header, got 3" },
        { "id,q\n1,\"a\n\"b\n2,b\n", "-;{\"id\":\"2\",\"q\":\"b\"};", "line 2: field 2: text behind a closing quote" },
        { "id,q\n1,\"a\n2,b\n", "-;", "line 2: field 2: a quote that is not closed" },
        { "id,q\n1,caf\xe9\n", "-;", "line 2: field \"q\": expected text in UTF-8" },
    };
    struct error err = { 0 };
    for (int i = 0; i < ARRAY_LEN(headers); i++) {
        assert_null(records_text(test_file(*state, "bad.csv", headers[i][0]), RECORDS_AUTO, &err));
        assert_error(err, "bad.csv", headers[i][1]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
    }
    for (int i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(records_text(test_file(*state, "bad.csv", rows[i][0]), RECORDS_AUTO, &err), rows[i][1]);
        assert_error(err, "bad.csv", rows[i][2]);
    }
}

static void an_unknown_format_is_named(void **state)
{
    struct error err = { 0 };
    assert_null(records_text(test_file(*state, "pretty.json", "{\n  \"id\": 1\n}\n"), RECORDS_AUTO, &err));
    assert_error(err, "pretty.json: line 1", "spans lines");
    assert_null(records_text(test_file(*state, "one.json", "{\"id\": 1}"), RECORDS_JSON, &err));
    assert_error(err, "one.json: expected an array, got '{'");
    write_bytes(test_file(*state, "wide", NULL), "\xff\xfe{\0}\0", 6);
    assert_null(records_text(test_file(*state, "wide", NULL), RECORDS_AUTO, &err));
    assert_error(err, "wide: expected UTF-8, got UTF-16");
    write_bytes(test_file(*state, "database", NULL), "SQLite format 3\0\x10", 17);
    assert_null(records_text(test_file(*state, "database", NULL), RECORDS_AUTO, &err));
    assert_error(err, "database: line 1: expected text, got zero bytes");
    assert_string_equal(records_text(test_file(*state, "oops.jsonl", "oops\n{}\n"), RECORDS_AUTO, &err),
                        "-;{\"id\":2};");
    assert_string_equal(records_text(test_file(*state, "latin.txt", "caf\xe9\n"), RECORDS_AUTO, &err), "-;");
    assert_error(err, "latin.txt: line 1: expected text in UTF-8");
}

static void arrays_go_on_after_a_bad_element(void **state)
{
    static const char *const files[][3] = {
        { "[{\"a\\u0000\":1},{\"id\":2},{\"id\":\"\\u0000\"},{\"id\":4}]", "-;{\"id\":2};-;{\"id\":4};",
          "record 3: line 1, column" },
        { "[{\"a\\u0000\":1}]", "-;", "got \\u0000 in a key" },
        { "[{\"id\":1}\n{\"id\":2},\n{\"id\":3}]", "-;{\"id\":3};", "record 1: line 2" },
        { "[{\"id\":1},]", "{\"id\":1};-;", "record 2: line 1: expected an object, got ']'" },
        { "[{\"id\":1},", "{\"id\":1};-;", "record 2: line 1: expected ']'" },
        { "[{\"id\":1},{\"id\":[2]", "{\"id\":1};-;", "record 2: line 1: expected ']'" },
        { "[{\"id\":\"],\\\"\"}] x", "{\"id\":\"],\\\"\"};-;", "expected nothing after the array, got 'x'" },
        { "[{\"id\":1}},{\"id\":2}]", "-;", "record 1: line 1" },
    };
    struct error err = { 0 };
    for (int i = 0; i < ARRAY_LEN(files); i++) {
        assert_string_equal(records_text(test_file(*state, "bad.json", files[i][0]), RECORDS_AUTO, &err), files[i][1]);
        assert_error(err, "bad.json: ", files[i][2]);
        assert_null(strstr(err.text, "NUL"));
    }
}

/* Records of a pipe arrive one by one while the other end is open, and record_reader_ready does not wait. */
static void pipes_are_read_as_they_are_written(void **state)
{
    static const char *const texts[][2] = { { "{\"id\":1}\n", "{\"id\":2}\n" },
                                            { "[{\"id\":1},", "{\"id\":2}," },
                                            { "id,q\n1,a\n", "2,b\n" },
                                            { "id\tq\n1\ta\n", "2\tb\n" },
                                            { "a?\n", "b?\n" } };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = { 0 };
        char path[64];
        json_t *o;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        write(ends[1], texts[i][0], strlen(texts[i][0]));
        struct record_reader *r = record_reader_open(path, RECORDS_AUTO, &err);
        assert_non_null(r);
        assert_true(record_reader_ready(r));
        assert_int_equal(record_reader_next(r, &o, &err), 1);
        json_decref(o);
        assert_false(record_reader_ready(r));
        write(ends[1], texts[i][1], 1); /* a partial record is not a record */
        assert_false(record_reader_ready(r));
        write(ends[1], texts[i][1] + 1, strlen(texts[i][1]) - 1);
        write(ends[1], texts[i][1], strlen(texts[i][1]));
        for (int n = 0; n < 2; n++) {
            assert_true(record_reader_ready(r));
            assert_int_equal(record_reader_next(r, &o, &err), 1);
            json_decref(o);
        }
        assert_false(record_reader_ready(r));
        close(ends[1]);
        assert_true(record_reader_ready(r));
        record_reader_close(r);
        close(ends[0]);
    }
}

static void lines_without_end_end(void **state)
{
    struct error err = { 0 };
    assert_null(records_text("/dev/zero", RECORDS_AUTO, &err));
    assert_error(err, "/dev/zero: line 1: a line without end in 1073741824 bytes");
    for (int form = RECORDS_JSONL; form <= RECORDS_TEXT; form++) {
        const char *seen = records_text("/dev/zero", (enum record_format)form, &err);
        assert_true(!seen || strcmp(seen, "-;") == 0);
        assert_error(err, "/dev/zero: ");
    }
    (void)state;
}

static int64_t total(const char *path)
{
    return record_file_total(path, RECORDS_AUTO, NULL);
}

static void records_are_counted(void **state)
{
    const struct record_range range = { true, 3, 9 };
    char pipe_path[512];

    assert_int_equal(total(test_file(*state, "three.jsonl", "{\"id\":1}\n\nnot JSON\n{}")), 3);
    assert_int_equal(total(test_file(*state, "two.json", "[{}, 7]")), 2);
    assert_int_equal(total(test_file(*state, "rows.csv", "id,q\n1,\"a\nb\"\n2,c\n")), 2);
    assert_int_equal(total(test_file(*state, "lines.txt", "a\n\nb")), 2);
    assert_int_equal(total(test_file(*state, "cut.json", "[{}, {")), 0);
    assert_int_equal(total("/nowhere"), 0);
    assert_int_equal(total(NULL), 0);
    assert_int_equal(total("-"), 0);
    assert_int_equal(record_file_total("-", RECORDS_AUTO, &range), 6);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", (const char *)*state);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(total(pipe_path), 0);
}

static void a_single_question(void **state)
{
    (void)state;
    struct error err = { 0 };
    json_t *o;
    struct record_reader *r = record_reader_open_question("Who?", &err);
    assert_true(record_reader_ready(r));
    assert_int_equal(record_reader_next(r, &o, &err), 1);
    assert_string_equal(json_string_value(json_object_get(o, "question")), "Who?");
    assert_int_equal(json_integer_value(json_object_get(o, "id")), 1);
    json_decref(o);
    assert_int_equal(record_reader_next(r, &o, &err), 0);
    record_reader_close(r);
    assert_null(record_reader_open_question(" ", &err));
    assert_error(err, "blanks");
    assert_null(record_reader_open_question("caf\xe9", &err));
    assert_error(err, "UTF-8");
}

static void strings_of_tables_are_numbers(void **state)
{
    (void)state;
    struct error err = { 0 };
    char id[RECORD_ID_TEXT];
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:f}", "p", "0.5", "n", "12", "yes", "YES", "no", "0", "id",
                          -7, "bad", "maybe", "x", 0.25);
    double x = 0;
    int64_t n = 0;
    bool b = false;
    assert_int_equal(record_get_real(o, "p", 0, 1, &x, "w", &err), 0);
    assert_true(x == 0.5);
    assert_int_equal(record_get_real(o, "x", 0, 1, &x, "w", &err), 0);
    assert_true(x == 0.25);
    assert_int_equal(record_get_int(o, "n", 0, 20, &n, "w", &err), 0);
    assert_int_equal(n, 12);
    assert_int_equal(record_get_int(o, "n", 0, 5, &n, "w", &err), -1);
    assert_error(err, "\"n\"", "expected 0 to 5, got 12");
    assert_int_equal(record_get_real(o, "bad", 0, 1, &x, "w", &err), -1);
    assert_error(err, "\"bad\"", "expected a number, got a string");
    assert_int_equal(record_get_bool(o, "yes", &b, "w", &err), 0);
    assert_true(b);
    assert_int_equal(record_get_bool(o, "no", &b, "w", &err), 0);
    assert_false(b);
    assert_int_equal(record_get_bool(o, "bad", &b, "w: line 3", &err), -1);
    assert_error(err, "w: line 3", "\"bad\"", "yes or no", "maybe");
    assert_string_equal(record_id_text(o, id), "-7");
    json_object_set_new(o, "id", json_string("a"));
    assert_string_equal(record_id_text(o, id), "a");
    json_object_del(o, "id");
    assert_string_equal(record_id_text(o, id), "");
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_seen_to),
        cmocka_unit_test(databases_are_named),
        cmocka_unit_test(formats_are_recognised),
        cmocka_unit_test(fields_of_tables),
        cmocka_unit_test(bad_tables_are_named),
        cmocka_unit_test(an_unknown_format_is_named),
        cmocka_unit_test(arrays_go_on_after_a_bad_element),
        cmocka_unit_test(pipes_are_read_as_they_are_written),
        cmocka_unit_test(lines_without_end_end),
        cmocka_unit_test(records_are_counted),
        cmocka_unit_test(a_single_question),
        cmocka_unit_test(strings_of_tables_are_numbers),
    };
    return cmocka_run_group_tests_name("record_reader", tests, set_up, tear_down);
}
