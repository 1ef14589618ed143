/* Tests on gold queries of Spider and AmbiQT. All are parsed and resolved, and their printed form has the same meaning
 * in SQLite. The queries that SQLite refuses are listed. */
#include "tests/support/explain.h"
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/sql/sql.h"
#include "data/sql/sql_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct schema_set schemas;
    struct arena arena;
    sqlite3 *db; /* database of db_id, or NULL */
    char db_id[128];
    int records, resolved, same, without_database, refused_by_sqlite;
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    const char *tables = test_shared("data/spider/tables.json");
    struct error err = { 0 };
    *state = w;
    if (tables && schema_set_open(&w->schemas, tables, &err))
        fail_msg("%s", err.text);
    return arena_init(&w->arena, 16 << 20, NULL);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    sqlite3_close(w->db);
    schema_set_close(&w->schemas);
    arena_release(&w->arena);
    free(w);
    return 0;
}

static sqlite3 *database(struct world *w, const char *db_id)
{
    char name[256];
    if (strcmp(w->db_id, db_id) == 0)
        return w->db;
    sqlite3_close(w->db);
    snprintf(w->db_id, sizeof w->db_id, "%s", db_id);
    snprintf(name, sizeof name, "data/spider/db/%s.sqlite", db_id);
    const char *path = test_shared(name);
    return w->db = path ? explain_open(path, NULL) : NULL;
}

/* Prints, parses and prints again: text and number of uses are equal. */
static const char *print_twice(struct world *w, const char *text, const struct schema *s, struct sql_query *q, int uses)
{
    struct error err = { 0 };
    struct sql_uses again;
    const char *printed = sql_print(&w->arena, q);
    struct sql_query *second = sql_parse(&w->arena, printed, &err);
    if (!second || (s && sql_resolve(&w->arena, second, s, &again, &err)))
        fail_msg("%s\n%s\n%s", text, printed, err.text);
    assert_string_equal(sql_print(&w->arena, second), printed);
    if (s)
        assert_int_equal(again.n, uses);
    return printed;
}

/* taken: the verdict of sql_check. */
static void compare(struct world *w, const char *text, const char *printed, bool taken, const struct error *why)
{
    bool good, again;
    char *program = explain(w->db, text, &good);

    if (good != taken)
        fail_msg("%s: %s, SQLite %s", text, why->text, good ? "takes it" : program);
    if (!good) {
        print_message("SQLite refuses: %s\n  %s\n  here: %s\n", text, program,
                      printed ? "read and resolved" : why->text);
        w->refused_by_sqlite++;
    } else if (!printed) {
        fail_msg("%s: %s", text, why->text);
    } else {
        char *second = explain(w->db, printed, &again);
        assert_true(again);
        assert_string_equal(second, program);
        w->same++;
        free(second);
    }
    free(program);
}

static void check_query(struct world *w, const char *db_id, const char *text)
{
    const struct schema *s = schema_find(&w->schemas, db_id);
    struct error err = { 0 };
    struct sql_uses uses;
    const char *printed = NULL;

    assert_non_null(s);
    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, text, &err);
    if (!q)
        fail_msg("%s: %s", text, err.text);
    w->records++;
    if (sql_resolve(&w->arena, q, s, &uses, &err) == 0) {
        w->resolved++;
        printed = print_twice(w, text, s, q, uses.n);
    }
    if (database(w, db_id)) {
        bool taken = printed && sql_check(q, s, &err) == 0;
        compare(w, text, printed, taken, &err);
    } else {
        w->without_database++;
        assert_non_null(printed);
    }
}

/* Calls the callback with the fields of every record. */
static void each_record(struct world *w, const char *name, const char *const *fields,
                        void (*fn)(struct world *w, const char *db_id, const char *text))
{
    struct error err = { 0 };
    struct json_reader *r = json_reader_open(test_shared(name), &err);
    json_t *record;

    if (!r)
        fail_msg("%s", err.text);
    while (json_reader_next(r, &record, &err) > 0) {
        for (const char *const *f = fields; *f; f++) {
            const char *text = json_string_value(json_object_get(record, *f));
            if (text)
                fn(w, json_string_value(json_object_get(record, "db_id")), text);
        }
        json_decref(record);
    }
    assert_int_equal(err.code, 0);
    json_reader_close(r);
}

static void spider(void **state)
{
    static const char *const fields[] = { "query", NULL };
    struct world *w = *state;

    if (!test_shared("data/spider/dev.json"))
        skip();
    each_record(w, "data/spider/train_spider.json", fields, check_query);
    assert_int_equal(w->records, 7000);
    each_record(w, "data/spider/dev.json", fields, check_query);
    assert_int_equal(w->records, 8034);
    print_message("%d resolved, %d the same program, %d without a database\n", w->resolved, w->same,
                  w->without_database);
    /* one names a table that its schema lacks; two have ORDER BY and LIMIT before INTERSECT */
    assert_int_equal(w->resolved, 8033);
    assert_int_equal(w->refused_by_sqlite, 3);
    assert_int_equal(w->same + w->refused_by_sqlite + w->without_database, 8034);
    assert_int_equal(w->without_database, 100);
}

/* AmbiQT's altered schemas are not available here, so only the text is checked. Some of its texts are not SQL. */
static void check_text(struct world *w, const char *db_id, const char *text)
{
    struct error err = { 0 };
    (void)db_id;
    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, text, &err);
    w->records++;
    if (q) {
        print_twice(w, text, NULL, q, 0);
        return;
    }
    bool good;
    char *message = explain(w->db, text, &good);
    if (good || !(strstr(message, "syntax error") || strstr(message, "unrecognized token")))
        fail_msg("%s: %s; SQLite: %s", text, err.text, message);
    free(message);
    w->refused_by_sqlite++;
}

static void ambiqt(void **state)
{
    static const char *const fields[] = { "query1", "query2", "orig_query", NULL };
    static const char *const files[] = {
        "data/ambiqt/tbl-agg.train.jsonl",         "data/ambiqt/tbl-split.train.jsonl",
        "data/ambiqt/tbl-agg.validation.jsonl",    "data/ambiqt/tbl-split.validation.jsonl",
        "data/ambiqt/col-synonyms.train.jsonl.xz", "data/ambiqt/tbl-synonyms.train.jsonl.xz"
    };
    struct world *w = *state;

    if (!test_shared(files[0]))
        skip();
    w->records = w->refused_by_sqlite = 0;
    sqlite3_close(w->db);
    w->db = explain_open(NULL, NULL);
    w->db_id[0] = 0;
    for (int i = 0; i < ARRAY_LEN(files); i++)
        each_record(w, files[i], fields, check_text);
    print_message("%d queries, %d of them no SQL\n", w->records, w->refused_by_sqlite);
    assert_true(w->records > 40000);
    assert_true(w->refused_by_sqlite < w->records / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(spider), cmocka_unit_test(ambiqt) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
