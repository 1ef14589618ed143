/* Tests of the readers of xz files, Spider's questions, synonym dictionaries, AmbiQT records and data folders, and of
 * the input that they refuse. */
#include "tests/support/support.h"

#include "data/corpora/ambiqt.h"
#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void write_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, "cannot write %s", path);
}

/* Writes a text as an xz file. */
static void write_xz(const char *path, const char *text, uint8_t *bytes, size_t room)
{
    size_t n = 0;
    lzma_ret ret =
        lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, strlen(text), bytes, &n, room);
    CHECK(ret == LZMA_OK, "lzma_easy_buffer_encode: %d", (int)ret);
    write_bytes(path, bytes, n);
}

static const char two_lines[] = "{\"db_id\": \"a\", \"question\": \"b\", \"query\": \"c\"}\n"
                                "{\"db_id\": \"a\", \"question\": \"d\", \"query\": \"e\"}\n";

static void xz_files_are_read(void **state)
{
    struct error err = { 0 };
    struct spider_corpus c;
    uint8_t bytes[4096];
    const char *path = test_file(*state, "two.jsonl.xz", NULL);

    write_xz(path, two_lines, bytes, sizeof bytes);
    assert_int_equal(spider_read(&c, path, &err), 0);
    assert_int_equal(c.n, 2);
    assert_string_equal(c.items[1].question, "d");
    spider_release(&c);
}

static void spider_fields_are_checked(void **state)
{
    static const char *const bad[][2] = {
        { "[{\"question\": \"b\", \"query\": \"c\"}]", "db_id" },
        { "[{\"db_id\": \"a\", \"query\": \"c\"}]", "question" },
        { "[{\"db_id\": \"a\", \"question\": \"b\", \"query\": 7}]", "query" },
        { "[3]", "record 1" },
        { "[{\"db_id\": \"a\",", "line 1" },
    };
    struct spider_corpus c;

    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = { 0 };
        assert_int_equal(spider_read(&c, test_file(*state, "bad.json", bad[i][0]), &err), -1);
        assert_error(err, "bad.json", bad[i][1]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        spider_release(&c);
    }
}

static void synonyms_are_found_in_any_case(void **state)
{
    struct error err = { 0 };
    struct synonyms s;

    assert_int_equal(synonyms_read(&s,
                                   test_file(*state, "s.json",
                                             "{\"Port\": {\"Boat\": {\"Colour\": [\"Hue\", \"paint\"]},"
                                             " \"Crew\": [\"Staff\", \"team\"]}}"),
                                   &err),
                     0);
    assert_string_equal(synonyms_find(&s, "port", "BOAT", "colour")[0], "hue");
    assert_string_equal(synonyms_find(&s, "port", "crew", NULL)[1], "team");
    assert_null(synonyms_find(&s, "port", "boat", NULL));
    assert_null(synonyms_find(&s, "port", "boat", "length"));
    synonyms_release(&s);
}

static void odd_synonyms_are_refused(void **state)
{
    static const char *const bad[][2] = {
        { "[]", "object of databases" },
        { "{\"port\": 3}", "port" },
        { "{\"port\": {\"boat\": 3}}", "boat" },
        { "{\"port\": {\"boat\": {\"colour\": [\"hue\"]}}}", "boat.colour" },
        { "{\"port\": {\"boat\": {\"colour\": [\"hue\", 4]}}}", "boat.colour" },
        { "{\"port\": {\"boat\": [\"ship\", \"\"]}}", "boat" },
    };
    struct synonyms s;

    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = { 0 };
        assert_int_equal(synonyms_read(&s, test_file(*state, "s.json", bad[i][0]), &err), -1);
        assert_error(err, "s.json", bad[i][1]);
        synonyms_release(&s);
    }
}

#define START "{\"db_id\": \"port\", \"question\": \"q\", \"orig_query\": \"o\", \"query1\": \"a\", \"query2\": \"b\", "

static struct ambiqt_record read_one(void **state, enum sia_type type, const char *rest, struct ambiqt_corpus *c)
{
    struct error err = { 0 };
    char line[1024];

    snprintf(line, sizeof line, "%s%s}\n", START, rest);
    *c = (struct ambiqt_corpus){ 0 };
    assert_int_equal(ambiqt_read(c, type, test_file(*state, "one.jsonl", line), &err), 0);
    assert_int_equal(c->n, 1);
    return c->items[0];
}

static void four_kinds_of_records(void **state)
{
    struct ambiqt_corpus c;

    struct ambiqt_record r =
        read_one(state, SIA_COLUMN, "\"extra_map\": {\"boat\": {\"colour\": [\"hue\", \"paint\"]}}", &c);
    assert_string_equal(r.table, "boat");
    assert_string_equal(r.column, "colour");
    assert_string_equal(r.names[1], "paint");
    ambiqt_release(&c);
    r = read_one(state, SIA_TABLE, "\"extra_table_map\": {\"boat\": [\"ship\", \"vessel\"]}", &c);
    assert_null(r.column);
    assert_string_equal(r.names[0], "ship");
    ambiqt_release(&c);
    r = read_one(state, SIA_JOIN, "\"split_map\": {\"boat\": \"colour\"}, \"primary_key\": {\"boat\": \"id\"}", &c);
    assert_string_equal(r.new_table, "boat_colour");
    assert_string_equal(r.key, "id");
    ambiqt_release(&c);
    r = read_one(
        state, SIA_AGGREGATE,
        "\"split_map\": {\"boat\": [\"max_sail_area\", \"total_sail_area\"]}, \"primary_key\": {\"boat\": \"id\"}", &c);
    assert_string_equal(r.column, "sail_area");
    assert_string_equal(r.new_table, "boat_sail_area");
    assert_int_equal(r.n_new_columns, 2);
    ambiqt_release(&c);
    r = read_one(
        state, SIA_AGGREGATE,
        "\"new_table_name\": \"boat_age\", \"all_cols\": [\"name\", \"avg_age\"], \"all_raw_cols\": [\"age\"], "
        "\"tables_with_pkeys\": [[\"boat\", null]]",
        &c);
    assert_string_equal(r.new_table, "boat_age");
    assert_string_equal(r.new_columns[1], "avg_age");
    assert_null(r.key);
    ambiqt_release(&c);
}

static void odd_records_are_refused(void **state)
{
    static const struct {
        enum sia_type type;
        const char *rest, *word;
    } bad[] = {
        { SIA_COLUMN, "\"x\": 1", "extra_map" },
        { SIA_COLUMN, "\"extra_map\": {}", "one key" },
        { SIA_COLUMN, "\"extra_map\": {\"a\": {\"b\": [\"c\", \"d\"]}, \"e\": {}}", "one key" },
        { SIA_COLUMN, "\"extra_map\": {\"a\": \"b\"}", "one key" },
        { SIA_COLUMN, "\"extra_map\": {\"a\": {\"b\": [\"c\"]}}", "two names" },
        { SIA_TABLE, "\"extra_table_map\": {\"a\": [\"c\", null]}", "two names" },
        { SIA_JOIN, "\"split_map\": {\"a\": \"b\"}", "primary_key" },
        { SIA_JOIN, "\"split_map\": {\"a\": 1}, \"primary_key\": {\"a\": \"id\"}", "split_map" },
        { SIA_JOIN, "\"split_map\": {\"a\": \"b\"}, \"primary_key\": {\"z\": \"id\"}", "primary_key" },
        { SIA_AGGREGATE, "\"split_map\": {\"a\": []}, \"primary_key\": {\"a\": \"id\"}", "columns, got 0" },
        { SIA_AGGREGATE, "\"split_map\": {\"a\": [\"max\"]}, \"primary_key\": {\"a\": \"id\"}", "\"max\"" },
        { SIA_AGGREGATE, "\"split_map\": {\"a\": [\"max_b\", \"min_c\"]}, \"primary_key\": {\"a\": \"id\"}", "min_c" },
        { SIA_AGGREGATE,
          "\"new_table_name\": \"t\", \"all_cols\": [1], \"all_raw_cols\": [\"c\"], "
          "\"tables_with_pkeys\": [[\"a\", null]]",
          "all_cols" },
        { SIA_AGGREGATE,
          "\"new_table_name\": \"t\", \"all_cols\": [\"b\"], \"all_raw_cols\": [], "
          "\"tables_with_pkeys\": [[\"a\", null]]",
          "all_raw_cols" },
    };

    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = { 0 };
        struct ambiqt_corpus c = { 0 };
        char text[1024];
        snprintf(text, sizeof text, "%s%s}\n", START, bad[i].rest);
        assert_int_equal(ambiqt_read(&c, bad[i].type, test_file(*state, "bad.jsonl", text), &err), -1);
        assert_error(err, "bad.jsonl: line 1", bad[i].word);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        ambiqt_release(&c);
    }
}

static void missing_training_files_are_named(void **state)
{
    struct error err = { 0 };
    struct ambiqt_corpus c = { 0 };
    assert_int_equal(ambiqt_read_train(&c, SIA_JOIN, *state, &err), -1);
    assert_error(err, "tbl-split.train.jsonl", ".xz");
    ambiqt_release(&c);
}

static const char tables[] =
    "[{\"db_id\": \"port\", \"table_names\": [\"boat\", \"crew\"], \"table_names_original\": [\"boat\", \"crew\"],"
    "\"column_names\": [[-1, \"*\"], [0, \"hue\"], [0, \"paint\"], [1, \"name\"]],"
    "\"column_names_original\": [[-1, \"*\"], [0, \"hue\"], [0, \"paint\"], [1, \"name\"]],"
    "\"column_types\": [\"text\", \"text\", \"text\", \"text\"], \"primary_keys\": [], \"foreign_keys\": []}]";

static const char record[] =
    "{\"id\": \"1\", \"db_id\": \"port\", \"source_db\": \"port\", \"question\": \"q\", \"sql\": [\"select hue from "
    "boat\","
    "\"select paint from boat\"], \"slice\": \"contrast\", \"type\": \"C\", \"ambiguous\": true,"
    "\"alternatives\": [\"boat.hue\", \"boat.paint\"]}\n";

static void folders_come_back_as_written(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    char copy[4096];

    test_file(*state, "tables.json", tables);
    for (int f = 0; f < SPLITS; f++) {
        snprintf(copy, sizeof copy, "%s.jsonl", split_name((enum data_split)f));
        test_file(*state, copy, record);
    }
    assert_int_equal(dataset_read(&d, *state, &err), 0);
    assert_int_equal(d.splits[SPLIT_TEST].n, 1);
    const struct example *e = &d.splits[SPLIT_TEST].items[0];
    assert_true(e->ambiguous && e->type == SIA_COLUMN && e->slice == EXAMPLE_CONTRAST && e->n_sql == 2);
    snprintf(copy, sizeof copy, "%s/copy/of", (const char *)*state);
    assert_int_equal(dataset_write(&d, copy, false, &err), 0);
    dataset_release(&d);
    assert_int_equal(dataset_read(&d, copy, &err), 0);
    assert_string_equal(d.splits[SPLIT_VALID].items[0].alternatives[1], "boat.paint");
    int table, column;
    assert_int_equal(example_element(&d.schemas.schemas[0], "BOAT.paint", &table, &column), 0);
    assert_true(table == 0 && column == 1);
    assert_int_equal(example_element(&d.schemas.schemas[0], "crew", &table, &column), 0);
    assert_true(table == 1 && column == -1);
    assert_int_equal(example_element(&d.schemas.schemas[0], "crew.hue", &table, &column), -1);
    assert_int_equal(example_element(&d.schemas.schemas[0], "ship", &table, &column), -1);
    dataset_release(&d);
}

/* Makes one change of the record after the other; each gives its message. */
static void check_changes(const char *dir, const char *record_text, const char *const changes[][3], int n)
{
    struct dataset d;

    test_file(dir, "tables.json", tables);
    test_file(dir, "valid.jsonl", record);
    test_file(dir, "test.jsonl", record);
    for (int i = 0; i < n; i++) {
        struct error err = { 0 };
        char text[2048];
        const char *at = strstr(record_text, changes[i][0]);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - record_text), record_text, changes[i][1],
                 at + strlen(changes[i][0]));
        test_file(dir, "train.jsonl", text);
        assert_int_equal(dataset_read(&d, dir, &err), -1);
        assert_error(err, "train.jsonl", changes[i][2]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        dataset_release(&d);
    }
}

static void odd_examples_are_refused(void **state)
{
    static const char *const changes[][3] = {
        { "\"port\", \"source", "\"bay\", \"source", "\"bay\" is not in tables.json" },
        { "boat.paint", "boat.name", "no element \"boat.name\"" },
        { "\"contrast\"", "\"contrasts\"",
          "expected one of contrast, hard-negative, skadborg-mortensen, custom, got \"contrasts\"" },
        { "\"type\": \"C\"", "\"type\": \"X\"", "expected one of C, T, J, P" },
        { "\"type\": \"C\"", "\"type\": 3", "type" },
        { "true", "1", "ambiguous" },
        { ", \"boat.paint\"", "", "alternatives" },
        { "true", "false", "alternatives" },
        { "\"question\": \"q\"", "\"question\": null", "question" },
        { "\"select paint from boat\"", "5", "sql" },
        { "\"id\": \"1\"", "\"id\": 1", "id" },
        { "{\"id\"", "[\"id\"", "line 1" },
    };
    check_changes(*state, record, changes, ARRAY_LEN(changes));
}

/* A record with two ambiguities. */
static const char two[] =
    "{\"id\": \"1\", \"db_id\": \"port\", \"source_db\": \"port\", \"question\": \"q\", \"sql\": [\"a\", \"b\"],"
    "\"slice\": \"contrast\", \"type\": \"C\", \"ambiguous\": true, \"alternatives\": [\"boat.hue\", \"boat.paint\"],"
    "\"ambiguities\": [{\"alternatives\": [\"boat.hue\", \"boat.paint\"]},"
    "{\"alternatives\": [\"crew.name\", \"boat.hue\"], \"words\": \"q\"}]}\n";

static void all_ambiguities_come_back(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    char copy[4096];

    test_file(*state, "tables.json", tables);
    for (int f = 0; f < SPLITS; f++) {
        snprintf(copy, sizeof copy, "%s.jsonl", split_name((enum data_split)f));
        test_file(*state, copy, f ? record : two);
    }
    snprintf(copy, sizeof copy, "%s/copy", (const char *)*state);
    assert_int_equal(dataset_read(&d, *state, &err), 0);
    assert_int_equal(dataset_write(&d, copy, false, &err), 0);
    dataset_release(&d);
    assert_int_equal(dataset_read(&d, copy, &err), 0);
    const struct example *e = &d.splits[SPLIT_TRAIN].items[0];
    assert_int_equal(e->n_further, 1);
    assert_string_equal(e->further[0][0], "crew.name");
    assert_string_equal(e->further[0][1], "boat.hue");
    assert_non_null(strstr(e->ambiguities, "\"words\":\"q\""));
    assert_int_equal(d.splits[SPLIT_TEST].items[0].n_further, 0);
    assert_null(d.splits[SPLIT_TEST].items[0].ambiguities);
    dataset_release(&d);
}

static void odd_ambiguities_are_refused(void **state)
{
    static const char *const changes[][3] = {
        { "[{\"alternatives\"", "7, \"was\": [{\"alternatives\"", "field \"ambiguities\": expected an array" },
        { "{\"alternatives\": [\"crew", "7, {\"alternatives\": [\"crew", "ambiguities[1]" },
        { "\"crew.name\", ", "", "ambiguities[1]: field \"alternatives\": expected 2 to 2 elements, got 1" },
        { "\"crew.name\"", "7", "ambiguities[1]: field \"alternatives\": element 0 is not a string" },
        { "crew.name", "crew.hue", "no element \"crew.hue\"" },
        { "\"alternatives\": [\"boat.hue\"", "\"alternatives\": [\"crew.name\"",
          "ambiguities[0]: expected the record's own alternative \"crew.name\", got \"boat.hue\"" },
        { "{\"alternatives\": [\"crew",
          "{\"alternatives\": [\"a\", \"b\"]}, {\"alternatives\": [\"a\", \"b\"]}, {\"alternatives\": [\"crew",
          "field \"ambiguities\": expected at most 3 elements, got 4" },
        { "true, \"alternatives\": [\"boat.hue\", \"boat.paint\"]", "false, \"alternatives\": []",
          "ambiguities[0]: expected the record's own alternative \"none\"" },
    };

    check_changes(*state, two, changes, ARRAY_LEN(changes));
}

static void schema_indexes_out_of_range_are_refused(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    char text[2048];
    const char *at = strstr(tables, "[1, \"name\"]],\"column_types"); /* the last column; its table number becomes 2 */

    snprintf(text, sizeof text, "%.*s[2, \"name\"]]%s", (int)(at - tables), tables, at + strlen("[1, \"name\"]]"));
    test_file(*state, "tables.json", text);
    assert_int_equal(dataset_read(&d, *state, &err), -1);
    assert_error(err, "tables.json", "port", "column 3", "expected a table number below 2, got 2");
    dataset_release(&d);
}

/* The numbers of records are the published ones. */
static void shared_records_are_read(void **state)
{
    static const int wanted[AMBIQT_TYPES] = { 8360, 9931, 1532, 426 };
    struct error err = { 0 };
    const char *dir = test_shared("data/ambiqt");

    (void)state;
    if (!dir)
        skip();
    for (int k = 0; k < AMBIQT_TYPES; k++) {
        struct ambiqt_corpus c = { 0 };
        assert_int_equal(ambiqt_read_train(&c, (enum sia_type)k, dir, &err), 0);
        assert_int_equal(c.n, wanted[k]);
        ambiqt_release(&c);
    }
    struct ambiqt_corpus c = { 0 };
    assert_int_equal(ambiqt_read(&c, SIA_JOIN, test_shared("data/ambiqt/tbl-split.validation.jsonl"), &err), 0);
    assert_int_equal(c.n, 288);
    assert_int_equal(ambiqt_read(&c, SIA_AGGREGATE, test_shared("data/ambiqt/tbl-agg.validation.jsonl"), &err), 0);
    assert_int_equal(c.n, 288 + 101);
    ambiqt_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(xz_files_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spider_fields_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(synonyms_are_found_in_any_case, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_synonyms_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(four_kinds_of_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_records_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_training_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_come_back_as_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_examples_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_ambiguities_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_ambiguities_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schema_indexes_out_of_range_are_refused, set_up, tear_down),
        cmocka_unit_test(shared_records_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
