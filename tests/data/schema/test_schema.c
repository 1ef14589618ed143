/* Schemas from tables.json and from SQLite files: keys, names, odd files, and what is refused. */
#include "tests/support/explain.h"
#include "tests/support/support.h"

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

/* A tables.json entry whose parts may be replaced. */
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
    /* thing.id; part.id and part.thing_id together */
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
      "table 2, there are 2" },
    { "column_names_original", "[[-1, \"*\"], [1, \"a\"], [-1, \"b\"], [0, \"c\"], [0, \"d\"]]", "column 2 (b)",
      "table -1" },
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

static void sqlite_file(void **state)
{
    sqlite3 *db = explain_open(
        NULL,
        "CREATE TABLE [Home Town] (\"Town_ID\" INTEGER PRIMARY KEY, townName VARCHAR(20), born DATE, HTTPCode1 REAL);"
        "CREATE TABLE stay (Town INT REFERENCES \"home town\", day TEXT, ok BOOLEAN, thing, n BLOB, "
        "twice INT GENERATED ALWAYS AS (Town * 2), PRIMARY KEY (Town, day), "
        "FOREIGN KEY (day) REFERENCES gone (day));"
        "CREATE TABLE note (Town INT, day TEXT, k INTEGER PRIMARY KEY AUTOINCREMENT, "
        "FOREIGN KEY (Town, day) REFERENCES stay);"
        "CREATE VIEW seen AS SELECT no_such_column FROM no_such_table; INSERT INTO note VALUES (1, 'a', NULL);");
    struct schema_set set;
    explain_schema(&set, db, *state);
    const struct schema *s = schema_find(&set, "db");
    assert_non_null(s);
    assert_int_equal(s->n_tables, 3);
    static const char *const names[] = { "Town_ID", "townName", "born",  "HTTPCode1", "Town", "day", "ok",
                                         "thing",   "n",        "twice", "Town",      "day",  "k" };
    static const char *const texts[] = { "town id", "town name", "born",  "http code1", "town", "day", "ok",
                                         "thing",   "n",         "twice", "town",       "day",  "k" };
    static const enum column_type types[] = { COLUMN_NUMBER, COLUMN_TEXT,    COLUMN_TIME,  COLUMN_NUMBER, COLUMN_NUMBER,
                                              COLUMN_TEXT,   COLUMN_BOOLEAN, COLUMN_TEXT,  COLUMN_OTHERS, COLUMN_NUMBER,
                                              COLUMN_NUMBER, COLUMN_TEXT,    COLUMN_NUMBER };
    static const bool primary[] = { true,  false, false, false, true,  true, false,
                                    false, false, false, false, false, true };
    assert_int_equal(s->n_columns, ARRAY_LEN(names));
    for (int c = 0; c < s->n_columns; c++) {
        assert_string_equal(s->columns[c].name, names[c]);
        assert_string_equal(s->columns[c].text, texts[c]);
        assert_string_equal(column_type_name(s->columns[c].type), column_type_name(types[c]));
        assert_int_equal(s->columns[c].primary, primary[c]);
    }
    /* both without naming the columns; the key to a table that is not there is none */
    static const struct schema_foreign_key keys[] = { { 4, 0 }, { 10, 4 }, { 11, 5 } };
    assert_int_equal(s->n_foreign_keys, ARRAY_LEN(keys));
    assert_memory_equal(s->foreign_keys, keys, sizeof keys);
    schema_set_close(&set);
    sqlite3_close(db);
}

/* Whatever SQLite selects from is a table; its own tables and those in which a virtual one keeps its rows are not. */
static void tables_of_every_form(void **state)
{
    static const struct {
        const char *name, *columns;
        enum table_form form;
    } tables[] = {
        { "item", "id:number+ name:text price:number twice:number half:number", TABLE_PLAIN },
        { "key", "k:text+ v:number", TABLE_WITHOUT_ROWID },
        { "docs_extra", "n:number", TABLE_PLAIN },
        { "without rowid", "n:number", TABLE_PLAIN },
        { "cheap", "name:text price:number", TABLE_VIEW },
        { "per \"name\"", "name:text n:text", TABLE_VIEW },
        { "over", "name:text", TABLE_VIEW },
        { "words", "w:text", TABLE_VIRTUAL },
    };
    sqlite3 *db = explain_open(
        NULL, "CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, price REAL, "
              "twice INT AS (price * 2), half REAL AS (price / 2) STORED) STRICT;"
              "CREATE VIEW cheap AS SELECT name, price FROM item WHERE price < 5;"
              "CREATE VIEW \"per \"\"name\"\"\" (name, n) AS SELECT name, count(*) FROM item GROUP BY name;"
              "CREATE VIEW over AS SELECT name FROM cheap AS c WHERE EXISTS (SELECT 1 FROM item);"
              "CREATE TABLE key (k TEXT PRIMARY KEY, v INT) STRICT, WITHOUT ROWID;"
              "CREATE VIRTUAL TABLE words USING fts4 (w);"
              "CREATE TABLE docs_extra (n INT);"
              "CREATE TABLE \"without rowid\" (n INT DEFAULT 'without rowid' /* ) WITHOUT ROWID */);"
              "INSERT INTO item (name, price) VALUES ('a', 1); CREATE INDEX by_price ON item (price); ANALYZE;");
    struct schema_set set;
    explain_schema(&set, db, *state);
    const struct schema *s = set.schemas;
    assert_int_equal(s->n_tables, ARRAY_LEN(tables));
    for (int t = 0; t < s->n_tables; t++) {
        char columns[256] = "";
        for (int c = s->tables[t].first_column; c < s->tables[t].first_column + s->tables[t].n_columns; c++) {
            size_t n = strlen(columns);
            snprintf(columns + n, sizeof columns - n, "%s%s:%s%s", n ? " " : "", s->columns[c].name,
                     column_type_name(s->columns[c].type), s->columns[c].primary ? "+" : "");
        }
        assert_string_equal(s->tables[t].name, tables[t].name);
        assert_string_equal(columns, tables[t].columns);
        assert_int_equal(s->tables[t].form, tables[t].form);
        assert_int_equal(schema_table_is_stored(s, t), tables[t].form < TABLE_VIEW);
    }
    schema_set_close(&set);
    sqlite3_close(db);
}

static void odd_sqlite_files(void **state)
{
    struct schema_set set;
    struct error err = { 0 };
    assert_int_equal(schema_set_open_sqlite(&set, test_file(*state, "none.sqlite", NULL), &err), -1);
    assert_error(err, "none.sqlite", "unable to open");
    assert_int_equal(
        schema_set_open_sqlite(&set, test_file(*state, "text.sqlite", "no database at all, just text"), &err), -1);
    assert_error(err, "text.sqlite", "not a database");
    assert_int_equal(schema_set_open_sqlite(&set, *state, &err), -1);
    assert_int_equal(schema_set_open_sqlite(&set, test_file(*state, "empty.sqlite", ""), &err), -1);
    assert_error(err, "empty.sqlite", "holds no table");
}

/* The path goes into a URI, where some of these signs mean something. */
static void oddly_named_files(void **state)
{
    sqlite3 *db = explain_open(NULL, "CREATE TABLE a (x INT)");
    struct schema_set set;
    explain_schema(&set, db, *state);
    schema_set_close(&set);
    sqlite3_close(db);
    const char *path = test_file(*state, "a ?b%41#c.x.db", NULL);
    assert_int_equal(rename(test_file(*state, "db.sqlite", NULL), path), 0);
    assert_int_equal(schema_set_open_sqlite(&set, path, NULL), 0);
    assert_string_equal(set.schemas[0].db_id, "a ?b%41#c.x");
    schema_set_close(&set);
}

static void damaged_sqlite_files(void **state)
{
    sqlite3 *db =
        explain_open(NULL, "CREATE TABLE a (x INT PRIMARY KEY, y TEXT); CREATE TABLE b (z INT REFERENCES a);");
    struct schema_set set;
    struct error err = { 0 };
    explain_schema(&set, db, *state);
    schema_set_close(&set);
    sqlite3_close(db);
    const char *path = test_file(*state, "db.sqlite", NULL);
    FILE *f = fopen(path, "rb");
    unsigned char bytes[32768];
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    const char *copy = test_file(*state, "damaged.sqlite", NULL);
    for (size_t at = 0; at < size; at += at < 1024 ? 7 : 211) {
        unsigned char was = bytes[at];
        bytes[at] ^= 0xff;
        f = fopen(copy, "wb");
        assert_int_equal(fwrite(bytes, 1, size, f), size);
        fclose(f);
        if (schema_set_open_sqlite(&set, copy, &err))
            assert_error(err, "damaged.sqlite");
        schema_set_close(&set);
        bytes[at] = was;
    }
}

/* The same tables, columns and single keys as tables.json, for every database at hand. */
static void spider_files(void **state)
{
    struct schema_set listed, file;
    const char *tables = test_shared("data/spider/tables.json");
    struct error err = { 0 };
    char name[256];
    int n = 0;
    (void)state;
    if (!tables)
        skip();
    assert_int_equal(schema_set_open(&listed, tables, &err), 0);
    assert_int_equal(listed.n, 166);
    for (int i = 0; i < listed.n; i++) {
        const struct schema *a = &listed.schemas[i];
        snprintf(name, sizeof name, "data/spider/db/%s.sqlite", a->db_id);
        const char *path = test_shared(name);
        if (!path)
            continue;
        if (schema_set_open_sqlite(&file, path, &err))
            fail_msg("%s", err.text);
        const struct schema *b = schema_find(&file, a->db_id);
        assert_non_null(b);
        for (int c = 0; c < b->n_columns; c++) {
            int t = schema_table_find(a, b->tables[b->columns[c].table].name);
            assert_true(t >= 0 && schema_column_find(a, t, b->columns[c].name) >= 0);
        }
        schema_set_close(&file);
        n++;
    }
    assert_int_equal(n, 161);
    schema_set_close(&listed);
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
        cmocka_unit_test_setup_teardown(sqlite_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_of_every_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_sqlite_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(oddly_named_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_sqlite_files, set_up, tear_down),
        cmocka_unit_test(spider_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
