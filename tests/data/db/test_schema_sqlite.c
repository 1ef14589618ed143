/* Tests of schemas of SQLite files: all tables that a SELECT can name, unusual files and names, and views that cannot
 * be resolved. */
#include "tests/support/explain.h"
#include "tests/support/support.h"

#include "data/base/log.h"
#include "data/db/schema_sqlite.h"

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
    /* both references name no columns; a key to a missing table is ignored */
    static const struct schema_foreign_key keys[] = { { 4, 0 }, { 10, 4 }, { 11, 5 } };
    assert_int_equal(s->n_foreign_keys, ARRAY_LEN(keys));
    assert_memory_equal(s->foreign_keys, keys, sizeof keys);
    schema_set_close(&set);
    sqlite3_close(db);
}

/* Records how a column stored '5.0' and 5, and which texts it considers equal to 'a'. */
static void witness_column(sqlite3 *db, const char *name, char seen[64])
{
    char *sql =
        sqlite3_mprintf("SELECT (SELECT typeof(\"%w\") FROM odd WHERE rowid = 1) || ' ' || (SELECT typeof(\"%w\") FROM "
                        "odd WHERE rowid = 2) || ' ' || total(\"%w\" = 'a') FROM odd WHERE rowid > 2",
                        name, name, name);
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    snprintf(seen, 64, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
}

/* Compares with SQLite: rows 3 to 5 contain 'a', 'A' and 'a '. */
static void affinities_and_collations(void **state)
{
    static const char *const made[] = { [AFFINITY_NONE] = "text integer",
                                        [AFFINITY_TEXT] = "text text",
                                        [AFFINITY_NUMERIC] = "integer integer",
                                        [AFFINITY_INTEGER] = "integer integer",
                                        [AFFINITY_REAL] = "real real" };
    static const char *const equal[] = { "", "1.0", "2.0", "2.0" };
    sqlite3 *db = explain_open(
        NULL,
        "CREATE TABLE odd (a INT, b \"FLOATING POINT\", c CHARINT, d VARCHAR(20) COLLATE NOCASE, e CLOB, f BLOB, g, "
        "h REAL CHECK (h COLLATE rtrim <> 'x,' COLLATE nocase), i DOUBLE PRECISION DEFAULT ('a' COLLATE nocase), "
        "j FLOAT COLLATE \"rtrim\", k DECIMAL(10, 5) COLLATE /* not , */ [NoCase], l \"REAL BLOB\", m \"BLOB REAL\", "
        "n DATE COLLATE rtrim COLLATE nocase, o STRING, \"p, COLLATE nocase\" TEXT, q NUMBER NOT NULL COLLATE NOCASE, "
        "CHECK (a COLLATE nocase <> ''));"
        "ALTER TABLE odd ADD COLUMN r TEXT COLLATE rtrim; ALTER TABLE odd DROP COLUMN e;"
        "CREATE VIEW v AS SELECT a, d FROM odd; CREATE TABLE later AS SELECT d FROM odd;"
        "CREATE VIRTUAL TABLE box USING rtree (id, x0, x1);");
    struct schema_set set;
    char *values = NULL;
    size_t size;
    explain_schema(&set, db, *state);
    const struct schema *s = set.schemas;
    FILE *out = open_memstream(&values, &size);
    static const char *const rows[] = { "'5.0'", "5", "'a'", "'A'", "'a '" };
    for (int r = 0; r < ARRAY_LEN(rows); r++)
        for (int c = 0; c < s->tables[0].n_columns; c++)
            fprintf(out, "%s%s%s",
                    c   ? ", "
                    : r ? "), ("
                        : "INSERT INTO odd VALUES (",
                    rows[r], r + 1 == ARRAY_LEN(rows) && c + 1 == s->tables[0].n_columns ? ")" : "");
    fclose(out);
    assert_int_equal(sqlite3_exec(db, "PRAGMA ignore_check_constraints = 1", NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(db, values, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", values, sqlite3_errmsg(db));
    for (int c = 0; c < s->tables[0].n_columns; c++) {
        const struct schema_column *column = &s->columns[c];
        char seen[64], told[64];
        witness_column(db, column->name, seen);
        snprintf(told, sizeof told, "%s %s", made[column->affinity], equal[column->collation]);
        if (strcmp(seen, told) != 0)
            fail_msg("%s: SQLite %s, the schema %s", column->name, seen, told);
    }
    for (int c = s->tables[0].n_columns; c < s->n_columns; c++) {
        bool stored = schema_table_is_stored(s, s->columns[c].table);
        assert_int_equal(s->columns[c].affinity, stored ? AFFINITY_TEXT : AFFINITY_UNKNOWN);
        assert_int_equal(s->columns[c].collation, stored ? COLLATION_BINARY : COLLATION_UNKNOWN);
    }
    free(values);
    schema_set_close(&set);
    sqlite3_close(db);
}

/* Everything that SQLite can select from is a table, except internal tables and the shadow tables of virtual tables. */
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
        { "per \"name\"", "name:text n:number", TABLE_VIEW },
        { "over", "name:text", TABLE_VIEW },
        { "words", "w:text", TABLE_FTS4 },
        { "docs", "title:text body:text", TABLE_FTS5 },
        { "box", "id:number x0:number x1:number", TABLE_VIRTUAL },
    };
    sqlite3 *db = explain_open(
        NULL, "CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, price REAL, "
              "twice INT AS (price * 2), half REAL AS (price / 2) STORED) STRICT;"
              "CREATE VIEW cheap AS SELECT name, price FROM item WHERE price < 5;"
              "CREATE VIEW \"per \"\"name\"\"\" (name, n) AS SELECT name, count(*) FROM item GROUP BY name;"
              "CREATE VIEW over AS SELECT name FROM cheap AS c WHERE EXISTS (SELECT 1 FROM item);"
              "CREATE TABLE key (k TEXT PRIMARY KEY, v INT) STRICT, WITHOUT ROWID;"
              "CREATE VIRTUAL TABLE words USING fts4 (w); CREATE VIRTUAL TABLE docs USING fts5 (title, body);"
              "CREATE VIRTUAL TABLE box USING rtree (id, x0, x1); CREATE TABLE docs_extra (n INT);"
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

/* Runs a script that edits the stored schema text, including statements that this SQLite would refuse. */
static void rewrite_schema(const char *dir, sqlite3 *db, const char *script, struct schema_set *set, struct error *err)
{
    sqlite3 *file = NULL;
    const char *path = test_file(dir, "db.sqlite", NULL);

    explain_schema(set, db, dir);
    schema_set_close(set);
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    sqlite3_db_config(file, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    assert_int_equal(sqlite3_exec(file, "PRAGMA writable_schema = ON", NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(file, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(file));
    sqlite3_close(file);
    if (schema_set_open_sqlite(set, path, false, err))
        fail_msg("%s", err->text);
}

static void unresolved_views_are_dropped(void **state)
{
    sqlite3 *db =
        explain_open(NULL, "CREATE TABLE kept (a TEXT, b TEXT); CREATE TABLE other (c);"
                           "CREATE VIEW good AS SELECT a FROM kept; CREATE VIEW lost AS SELECT c FROM gone;"
                           "CREATE VIEW worse AS SELECT * FROM lost; CREATE VIEW mine AS SELECT f(a) FROM kept;"
                           "CREATE VIEW ring AS SELECT a FROM ringed; CREATE VIEW ringed AS SELECT a FROM ring");
    struct schema_set set;
    struct error err = { 0 };
    rewrite_schema(
        *state, db,
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE kept (a TEXT COLLATE german, b TEXT)' WHERE name = 'kept';"
        "INSERT INTO sqlite_schema VALUES ('table', 'far', 'far', 0, 'CREATE VIRTUAL TABLE far USING elsewhere(x)')",
        &set, &err);
    assert_int_equal(set.n, 1);
    const struct schema *s = set.schemas;
    assert_int_equal(s->n_tables, 3);
    assert_int_equal(s->tables[schema_table_find(s, "kept")].n_columns, 2);
    assert_true(schema_table_find(s, "other") >= 0 && schema_table_find(s, "good") >= 0);
    schema_set_close(&set);
    sqlite3_close(db);
}

/* Each view uses the previous one twice, so resolving the last one would take years. */
static void views_that_double_end(void **state)
{
    sqlite3 *db = explain_open(NULL, "CREATE TABLE t (a INT); CREATE VIEW v0 AS SELECT a FROM t");
    struct schema_set set;
    char sql[256];

    for (int i = 1; i <= 40; i++) {
        snprintf(sql, sizeof sql, "CREATE VIEW v%d AS SELECT x.a FROM v%d AS x JOIN v%d AS y", i, i - 1, i - 1);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    double start = now_seconds();
    explain_schema(&set, db, *state);
    double seconds = now_seconds() - start;
    assert_true(schema_table_find(set.schemas, "t") >= 0 && schema_table_find(set.schemas, "v8") >= 0);
    assert_int_equal(schema_table_find(set.schemas, "v40"), -1);
    if (seconds > 30)
        fail_msg("%g seconds", seconds);
    schema_set_close(&set);
    sqlite3_close(db);
}

static void odd_names(void **state)
{
    static const char *const names[] = { "", "a \"quoted\" one", "it's", "select", "caf\xc3\xa9", "%Q", "x]y" };
    sqlite3 *db = explain_open(NULL, "CREATE TABLE \"\" (\"\" INT, \"a \"\"b\"\" c\" TEXT);"
                                     "CREATE TABLE \"a \"\"quoted\"\" one\" (x); CREATE TABLE [it's] (x);"
                                     "CREATE TABLE \"select\" (x); CREATE TABLE caf\xc3\xa9 (x);"
                                     "CREATE TABLE \"%Q\" (x); CREATE TABLE \"x]y\" (x)");
    struct schema_set set;
    struct error err = { 0 };
    explain_schema(&set, db, *state);
    assert_int_equal(set.schemas->n_tables, ARRAY_LEN(names));
    for (int t = 0; t < ARRAY_LEN(names); t++)
        assert_string_equal(set.schemas->tables[t].name, names[t]);
    assert_string_equal(set.schemas->columns[1].name, "a \"b\" c");
    schema_set_close(&set);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE caf\xe9 (x)", NULL, NULL, NULL), SQLITE_OK);
    char *copy = sqlite3_mprintf("VACUUM INTO %Q", test_file(*state, "latin.db", NULL));
    assert_int_equal(sqlite3_exec(db, copy, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(copy);
    assert_int_equal(schema_set_open_sqlite(&set, test_file(*state, "latin.db", NULL), false, &err), -1);
    assert_error(err, "latin.db: expected names in UTF-8, got \"caf\\xe9\"");
    sqlite3_close(db);
}

static void odd_sqlite_files(void **state)
{
    struct schema_set set;
    struct error err = { 0 };
    assert_int_equal(schema_set_open_sqlite(&set, test_file(*state, "none.sqlite", NULL), false, &err), -1);
    assert_error(err, "none.sqlite", "unable to open");
    assert_int_equal(
        schema_set_open_sqlite(&set, test_file(*state, "text.sqlite", "no database at all, just text"), false, &err),
        -1);
    assert_error(err, "text.sqlite", "not a database");
    assert_int_equal(schema_set_open_sqlite(&set, *state, false, &err), -1);
    assert_int_equal(schema_set_open_sqlite(&set, test_file(*state, "empty.sqlite", ""), false, &err), -1);
    assert_error(err, "empty.sqlite", "the database has no tables");
}

/* The path becomes part of a URI, in which some characters have a meaning. */
static void oddly_named_files(void **state)
{
    sqlite3 *db = explain_open(NULL, "CREATE TABLE a (x INT)");
    struct schema_set set;
    explain_schema(&set, db, *state);
    schema_set_close(&set);
    sqlite3_close(db);
    const char *path = test_file(*state, "a ?b%41#c.x.db", NULL);
    assert_int_equal(rename(test_file(*state, "db.sqlite", NULL), path), 0);
    assert_int_equal(schema_set_open_sqlite(&set, path, false, NULL), 0);
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
        if (schema_set_open_sqlite(&set, copy, false, &err))
            assert_error(err, "damaged.sqlite");
        schema_set_close(&set);
        bytes[at] = was;
    }
}

/* Every available database has the same tables, columns and single keys as in tables.json. */
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
        if (schema_set_open_sqlite(&file, path, false, &err))
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
        cmocka_unit_test_setup_teardown(sqlite_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(affinities_and_collations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_of_every_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unresolved_views_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_that_double_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_sqlite_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(oddly_named_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_sqlite_files, set_up, tear_down),
        cmocka_unit_test(spider_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
