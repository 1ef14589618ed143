/* Schemas from tables.json: keys, names, unusual files and rejected files. */
#include "tests/support/support.h"

#include "data/schema/schema.h"

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

/* An entry of a tables.json whose parts may be replaced. */
static json_t *entry(const char *part, const char *value)
{
    json_t *e = json_loads(
        "{\"db_id\": \"d\", \"table_names\": [\"thing\", \"part of it\"], \"table_names_original\": [\"Thing\", "
        "\"Part\"], \"column_names\": [[-1, \"*\"], [1, \"id\"], [0, \"id\"], [0, \"full name\"], [1, \"thing id\"]], "
        "\"column_names_original\": [[-1, \"*\"], [1, \"ID\"], [0, \"ID\"], [0, \"fullName\"], [1, \"thing_id\"]], "
        "\"column_types\": [\"text\", \"number\", \"number\", \"text\", \"time\"], \"primary_keys\": [2, [1, 4]], "
        "\"foreign_keys\": [[4, 2]]}",
        0, NULL);
    json_t *new = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    assert_non_null(e);
    if (part && value) {
        assert_non_null(new);
        json_object_set_new(e, part, new);
    } else if (part) {
        json_object_del(e, part);
    }
    return e;
}

static int read_entry(struct schema_set *s, const char *part, const char *value, struct error *err)
{
    json_t *list = json_pack("[o]", entry(part, value));
    int rc = schema_set_from_json(s, list, "tables.json", err);
    json_decref(list);
    return rc;
}

static void columns_stand_by_table(void **state)
{
    struct schema_set set;
    (void)state;
    assert_int_equal(read_entry(&set, NULL, NULL, NULL), 0);
    const struct schema *s = schema_find(&set, "d");
    assert_non_null(s);
    assert_null(schema_find(&set, "D"));
    assert_int_equal(s->n_tables, 2);
    assert_int_equal(s->n_columns, 4);
    assert_int_equal(s->tables[1].first_column, 2);
    assert_int_equal(s->tables[1].n_columns, 2);
    assert_string_equal(s->tables[1].text, "part of it");
    assert_string_equal(s->columns[1].name, "fullName");
    assert_string_equal(s->columns[1].text, "full name");
    assert_int_equal(s->columns[3].type, COLUMN_TIME);
    /* thing.id; part.id and part.thing_id as a composite key */
    for (int c = 0; c < 4; c++)
        assert_int_equal(s->columns[c].primary, c != 1);
    assert_int_equal(s->n_foreign_keys, 1);
    assert_int_equal(s->foreign_keys[0].from, 3);
    assert_int_equal(s->foreign_keys[0].to, 0);
    assert_int_equal(schema_table_find(s, "PART"), 1);
    assert_int_equal(schema_table_find(s, "parts"), -1);
    assert_int_equal(schema_column_find(s, 1, "Thing_Id"), 3);
    assert_int_equal(schema_column_find(s, 0, "thing_id"), -1);
    schema_set_close(&set);
    schema_set_close(&set);
}

static void written_as_it_was_read(void **state)
{
    struct schema_set set, again;
    (void)state;
    assert_int_equal(read_entry(&set, NULL, NULL, NULL), 0);
    json_t *written = schema_to_json(set.schemas);
    json_t *wanted = json_loads("[1, [3, 4]]", 0, NULL), *list = json_pack("[O]", written);
    assert_true(json_equal(json_object_get(written, "primary_keys"), wanted));
    assert_int_equal(schema_set_from_json(&again, list, "again", NULL), 0);
    json_t *second = schema_to_json(again.schemas);
    assert_true(json_equal(written, second));
    json_decref(written);
    json_decref(second);
    json_decref(wanted);
    json_decref(list);
    schema_set_close(&set);
    schema_set_close(&again);
}

static void names_in_another_order_are_derived(void **state)
{
    struct schema_set set;
    (void)state;
    assert_int_equal(read_entry(&set, "column_names",
                                "[[-1, \"*\"], [0, \"wrong\"], [0, \"wrong\"], [1, \"wrong\"], [1, \"wrong\"]]", NULL),
                     0);
    assert_string_equal(set.schemas[0].tables[1].text, "part");
    assert_string_equal(set.schemas[0].columns[1].text, "full name");
    schema_set_close(&set);
}

static const char *const refused[][4] = {
    { "db_id", NULL, "schema 0", "db_id" },
    { "db_id", "7", "schema 0", "a string" },
    { "table_names", NULL, "tables.json: d", "table_names" },
    { "table_names", "[\"one\"]", "table_names has 1", "table_names_original has 2" },
    { "table_names", "[\"one\", 2]", "table 1", "strings" },
    { "table_names_original", "{}", "table_names_original", "an array" },
    { "column_names", "[]", "column_names has 0", "has 5" },
    { "column_names", "[[-1, \"*\"], [1, 2], [0, \"id\"], [0, \"full name\"], [1, \"x\"]]", "column 1",
      "[table, name]" },
    { "column_names", "[[-1, \"*\"], 3, [0, \"id\"], [0, \"full name\"], [1, \"x\"]]", "column 1", "[table, name]" },
    { "column_names_original", "[[-1, \"*\"], [1, \"a\"], [2, \"b\"], [0, \"c\"], [0, \"d\"]]", "column 2 (b)",
      "expected a table number below 2, got 2" },
    { "column_names_original", "[[-1, \"*\"], [1, \"a\"], [-1, \"b\"], [0, \"c\"], [0, \"d\"]]", "column 2 (b)",
      "expected a table number below 2, got -1" },
    { "column_types", "[\"text\"]", "column_types has 1", "has 5" },
    { "column_types", "[\"text\", 1, 2, 3, 4]", "column_types: entry 1", "a string" },
    { "primary_keys", NULL, "primary_keys", "tables.json: d" },
    { "primary_keys", "[0]", "primary_keys: entry 0", "not \"*\"" },
    { "primary_keys", "[1, [2, 5]]", "primary_keys: entry 1", "0 to 4" },
    { "primary_keys", "[\"1\"]", "primary_keys: entry 0", "a column number" },
    { "foreign_keys", "[[1, 2], [3]]", "foreign_keys: entry 1", "[column, column]" },
    { "foreign_keys", "[[1, -1]]", "foreign_keys: entry 0", "0 to 4" },
    { "foreign_keys", "[[1, 99999999999]]", "foreign_keys: entry 0", "0 to 4" },
};

static void bad_entries_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        struct schema_set set;
        struct error err = { 0 };
        if (read_entry(&set, refused[i][0], refused[i][1], &err) == 0)
            fail_msg("taken: %s %s", refused[i][0], refused[i][1]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, "tables.json", refused[i][2], refused[i][3]);
    }
}

static void bad_files_are_named(void **state)
{
    struct schema_set set;
    struct error err = { 0 };
    assert_int_equal(schema_set_open(&set, test_file(*state, "none.json", NULL), &err), -1);
    assert_error(err, "none.json");
    assert_int_equal(schema_set_open(&set, test_file(*state, "map.json", "{}"), &err), -1);
    assert_error(err, "map.json", "an array of schemas");
    json_t *twice = json_pack("[o, o]", entry(NULL, NULL), entry(NULL, NULL));
    assert_int_equal(schema_set_from_json(&set, twice, "tables.json", &err), -1);
    assert_error(err, "tables.json", "db_id d appears twice");
    json_decref(twice);
}

static void many_are_found(void **state)
{
    struct schema_set set;
    json_t *list = json_array();
    char id[32];
    (void)state;
    for (int i = 0; i < 3000; i++) {
        json_t *e = entry(NULL, NULL);
        snprintf(id, sizeof id, "db%d", i);
        json_object_set_new(e, "db_id", json_string(id));
        json_array_append_new(list, e);
    }
    assert_int_equal(schema_set_from_json(&set, list, "many", NULL), 0);
    for (int i = 0; i < 3000; i++) {
        snprintf(id, sizeof id, "db%d", i);
        assert_ptr_equal(schema_find(&set, id), &set.schemas[i]);
    }
    assert_null(schema_find(&set, "db3000"));
    json_decref(list);
    schema_set_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_by_table),
        cmocka_unit_test(written_as_it_was_read),
        cmocka_unit_test(names_in_another_order_are_derived),
        cmocka_unit_test(bad_entries_are_named),
        cmocka_unit_test_setup_teardown(bad_files_are_named, set_up, tear_down),
        cmocka_unit_test(many_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
