/* ambit-data score --rule ambiqt: results compared, a small benchmark of our own, the published files. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/corpora/ambiqt.h"
#include "data/published/ambiqt_score.h"
#include "data/published/spider_match.h"
#include "data/schema/ambiguity_type.h"
#include "data/schema/schema_build.h"

#include <sqlite3.h>
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

static struct exec_db *memory(const char *script)
{
    struct error err = { 0 };
    struct exec_db *db = exec_open_script(script, &exec_limits_default, &err);
    if (!db)
        fail_msg("%s", err.text);
    return db;
}

static struct exec_result rows(struct exec_db *db, const char *sql)
{
    struct exec_result r = exec_run(db, sql);
    if (r.status != EXEC_OK)
        fail_msg("%s: %s", sql, r.message);
    return r;
}

static void rows_are_lists_or_sets(void **state)
{
    static const struct {
        const char *a, *b;
        bool as_list, as_set;
    } cases[] = {
        { "select 1 union all select 2", "select 2 union all select 1", false, true },
        { "select 1 union all select 1", "select 1", false, true },
        { "select 1, 'a' union all select 2.0, 'b'", "select 1.0, 'a' union all select 2, 'b'", true, true },
        { "select 1, 2", "select 2, 1", false, false },
        { "select 1", "select 1, 1", false, false },
        { "select 1 where 0", "select 1, 1 where 0", true, true },
        { "select 1 where 0", "select 1", false, false },
        { "select null", "select null", true, true },
        { "select null", "select 0", false, false },
        { "select '1'", "select 1", false, false },
        { "select 'a'", "select x'61'", false, false },
        { "select 'a'", "select 'ab'", false, false },
        { "select 'a'", "select 'A'", false, false },
        { "select 9007199254740993", "select 9007199254740992.0", false, false },
        { "select 9007199254740992", "select 9007199254740992.0", true, true },
        { "select 9223372036854775807", "select 9223372036854775808.0", false, false },
        { "select 3", "select 3.5", false, false },
        { "select -3", "select -3.5", false, false },
        { "select 0.0", "select -0.0", true, true },
    };
    struct exec_db *db = memory("create table t(x);");

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct exec_result a = rows(db, cases[i].a), b = rows(db, cases[i].b);
        if (ambiqt_same_rows(&a, &b, true) != cases[i].as_list || ambiqt_same_rows(&b, &a, false) != cases[i].as_set)
            fail_msg("%s | %s", cases[i].a, cases[i].b);
        exec_result_release(&a);
        exec_result_release(&b);
    }
    exec_close(db);
}

static const char script[] = "create table boat(id integer, name text, colour text);"
                             "insert into boat values (1, 'Ann', 'red');"
                             "insert into boat values (2, 'Bo', 'blue');"
                             "insert into boat values (3, 'Cy', 'red');";

static const char tables[] =
    "[{\"db_id\": \"harbour\", \"table_names\": [\"boat\"], \"table_names_original\": [\"boat\"],"
    "\"column_names\": [[-1, \"*\"], [0, \"id\"], [0, \"name\"], [0, \"colour\"]],"
    "\"column_names_original\": [[-1, \"*\"], [0, \"id\"], [0, \"name\"], [0, \"colour\"]],"
    "\"column_types\": [\"text\", \"number\", \"text\", \"text\"], \"primary_keys\": [1], \"foreign_keys\": []}]";

static void columns_go_by_their_keys(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "select name, id from boat", "select id, name from boat", true },
        { "select name from boat order by id", "select name from boat order by id desc", false },
        { "select max(id) from boat", "select id from boat where id = 3", true },  /* the outer aggregate is no key */
        { "select max(id), min(id) from boat", "select min(id) from boat", true }, /* the last of two counts */
        { "select max(id), min(id) from boat", "select min(id), max(id) from boat", false },
        { "select name from boat", "select colour from boat", false },
        { "select name from boat where id = 9", "select name, colour from boat where id = 9", false },
        { "select id + id from boat", "select id + id from boat", true },
        { "select id + id from boat", "select id - id from boat", false },
        { "select * from boat", "select * from boat", true },
    };
    struct exec_db *db = memory(script);
    struct error err = { 0 };
    struct schema_set set;
    struct spider_schema schema;

    assert_int_equal(schema_set_open(&set, test_file(*state, "tables.json", tables), &err), 0);
    spider_schema_init(&schema, &set.schemas[0]);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct spider_query *x = spider_query_new(&schema, cases[i].a), *y = spider_query_new(&schema, cases[i].b);
        struct exec_result a = rows(db, cases[i].a), b = rows(db, cases[i].b);
        if (ambiqt_same_columns(&a, x, &b, y) != cases[i].same || ambiqt_same_columns(&b, y, &a, x) != cases[i].same)
            fail_msg("%s | %s", cases[i].a, cases[i].b);
        exec_result_release(&a);
        exec_result_release(&b);
        spider_query_free(x);
        spider_query_free(y);
    }
    spider_schema_release(&schema);
    schema_set_close(&set);
    exec_close(db);
}

static void write_database(const char *path)
{
    sqlite3 *db;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, script, NULL, NULL, NULL) == SQLITE_OK,
          "cannot write %s", path);
    sqlite3_close(db);
}

#define JOINED "select t1.name, t2.colour from boat as t1 join boat_colour as t2 on t1.id = t2.id"
#define TURNED "select t1.name, t2.colour from boat_colour as t2 join boat as t1 on t1.id = t2.id"
#define SPLIT(gold, outs)                                                                                              \
    "{\"db_id\": \"harbour\", \"question\": \"q\", \"orig_query\": \"" gold "\", \"query1\": \"a\", \"query2\": "      \
    "\"b\", \"split_map\": {\"boat\": \"colour\"}, \"primary_key\": {\"boat\": \"id\"}, \"t2s_outs\": [" outs "]}"

static const char predictions[] =
    "[" SPLIT("select name, colour from boat", "\"select colour, name from boat\", \"" JOINED "\"") "," SPLIT(
        "select name, colour from boat",
        "\"" TURNED "\", \"select id from boat\"") "," SPLIT("select name from boat where id = 9",
                                                             "\"select x\", \"select name, name from boat where id = "
                                                             "8\"") "," SPLIT("select mast from boat",
                                                                              "\"select name from boat\"") "]";

/* Runs score with these arguments; returns the object that it prints. */
static json_t *score(const char *dir, const char *more, int wanted)
{
    char command[4096], *out;

    snprintf(command, sizeof command,
             "ambit-data score --rule ambiqt --json --pred %s/pred.json --tables %s/tables.json %s", dir, dir, more);
    int code = test_run(command, &out);
    if (code != wanted)
        fail_msg("%s: exit code %d: %s", command, code, out);
    json_t *o = json_loads(out, 0, NULL);
    if (!o)
        fail_msg("%s: %s", command, out);
    free(out);
    return o;
}

static void check_counts(const json_t *o, const char *kind, const char *measure, int either, int both)
{
    const json_t *m = json_object_get(json_object_get(json_object_get(o, "type"), kind), measure);
    int got[2] = { (int)json_integer_value(json_object_get(m, "either")),
                   (int)json_integer_value(json_object_get(m, "both")) };

    if (!m || got[0] != either || got[1] != both)
        fail_msg("%s %s: %d %d, expected %d %d", kind, measure, got[0], got[1], either, both);
}

static const char *small_benchmark(void **state)
{
    const char *dir = *state;

    test_file(dir, "tables.json", tables);
    test_file(dir, "pred.json", predictions);
    write_database(test_file(dir, "harbour.sqlite", NULL));
    return dir;
}

/* The last gold names a missing column: published, every query that runs matches it; ours, none. */
static void a_small_benchmark(void **state)
{
    const char *dir = small_benchmark(state);
    char more[1024];

    snprintf(more, sizeof more, "--db %s --published -k 2", dir);
    json_t *o = score(dir, more, 7);
    check_counts(o, "J", "em", 2, 1);
    check_counts(o, "J", "exm", 3, 1);
    check_counts(o, "J", "direct", 3, 0);
    assert_int_equal(json_array_size(json_object_get(o, "skipped")), 2);
    json_decref(o);
    snprintf(more, sizeof more, "--db %s -k 2", dir);
    o = score(dir, more, 7);
    check_counts(o, "J", "em", 2, 1);
    check_counts(o, "J", "exm", 3, 1);
    check_counts(o, "J", "direct", 3, 0);
    json_decref(o);
    o = score(dir, "-k 1", 7);
    check_counts(o, "J", "em", 2, 0);
    assert_null(json_object_get(json_object_get(json_object_get(o, "type"), "J"), "exm"));
    json_decref(o);
}

static void evidence_has_a_line_a_row(void **state)
{
    const char *dir = small_benchmark(state);
    struct error err = { 0 };
    char more[1024], path[256];
    json_t *line;

    snprintf(path, sizeof path, "%s/rows.jsonl", dir);
    snprintf(more, sizeof more, "--db %s -k 2 --per-example %s", dir, path);
    json_decref(score(dir, more, 7));
    struct json_reader *r = json_reader_open(path, &err);
    for (int i = 0; json_reader_next(r, &line, &err) > 0; i++) {
        assert_int_equal(json_integer_value(json_object_get(line, "row")), i);
        assert_int_equal(json_object_size(line), 8);
        assert_int_equal(json_is_true(json_object_get(line, "em_alt")), i < 2);
        json_decref(line);
    }
    json_reader_close(r);
}

/* The published evaluator reads text as Python does: a query that gives other bytes fails, and everything that runs
 * meets a gold query that fails. */
static void text_that_is_no_utf8_fails_as_published(void **state)
{
    static const char *const modes[] = { "", "--published" };
    const char *dir = *state, *rows_file = test_file(dir, "rows.jsonl", NULL);
    struct error err = { 0 };
    char more[1024];
    sqlite3 *db;

    small_benchmark(state);
    test_file(dir, "pred.json",
              "[" SPLIT("select name from boat", "\"select name from boat\"") "," SPLIT("select name from boat",
                                                                                        "\"select id from boat\"") "]");
    assert_int_equal(sqlite3_open(test_file(dir, "harbour.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "update boat set name = cast(x'4afc' as text) where id = 3", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    for (int published = 0; published < 2; published++) {
        snprintf(more, sizeof more, "--db %s --per-example %s %s", dir, rows_file, modes[published]);
        json_t *o = score(dir, more, published ? 7 : 0), *line;
        check_counts(o, "J", "em", 1, 0);
        struct json_reader *r = json_reader_open(rows_file, &err);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(json_reader_next(r, &line, &err), 1);
            assert_int_equal(json_is_true(json_object_get(line, "exm_orig")), i == published);
            assert_int_equal(json_is_true(json_object_get(line, "direct_orig")), i == published);
            json_decref(line);
        }
        json_reader_close(r);
        json_decref(o);
    }
}

/* The gold's own ORDER BY makes the order count; the published evaluator takes one anywhere in the text. */
static void only_the_golds_own_order_counts(void **state)
{
    static const struct {
        const char *gold, *prediction;
        bool ours, published;
    } cases[] = {
        { "select name from boat where id in (select id from boat order by id limit 2)",
          "select name from boat where id < 3 order by id desc", true, false },
        { "select name from boat where name != ' order by '", "select name from boat order by id desc", true, false },
        { "select name from boat order by id", "select name from boat order by id desc", false, false },
        { "select name from boat ORDER\\n BY id", "select name from boat order by id desc", false, false },
    };
    const char *dir = small_benchmark(state);
    char pred[4096], more[1024];

    for (int i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        bool published = i % 2;
        snprintf(pred, sizeof pred, "[" SPLIT("%s", "\"%s\"") "]", cases[i / 2].gold, cases[i / 2].prediction);
        test_file(dir, "pred.json", pred);
        snprintf(more, sizeof more, "--db %s %s", dir, published ? "--published" : "");
        json_t *o = score(dir, more, 0);
        check_counts(o, "J", "direct", published ? cases[i / 2].published : cases[i / 2].ours, 0);
        json_decref(o);
    }
}

/* One published file: records, then exact set match (either, both), then execution match without wta_1. */
struct published {
    const char *method, *folder, *gold, *kind;
    int em[2], exm[2];
};
static const struct published files[] = {
    { "logical-beam", "join-ambiguity", "tbl-split", "J", { 257, 165 }, { 245, 169 } },
    { "t5-3b-bw10", "join-ambiguity", "tbl-split", "J", { 246, 70 }, { 240, 77 } },
    { "chatgpt", "join-ambiguity", "tbl-split", "J", { 129, 12 }, { 146, 11 } },
    { "logical-beam", "precomputed-aggregates", "tbl-agg", "P", { 82, 23 }, { 55, 22 } },
    { "t5-3b-bw10", "precomputed-aggregates", "tbl-agg", "P", { 79, 17 }, { 49, 15 } },
    { "chatgpt", "precomputed-aggregates", "tbl-agg", "P", { 52, 8 }, { 52, 9 } },
};

static char *shared_folder(void)
{
    return test_shared("data/ambiqt/outputs") && test_shared("data/spider/db") ? xstrdup(test_shared("data")) : NULL;
}

static void check_published(const char *data, const char *dir, const struct published *f)
{
    struct error err = { 0 };
    char command[4096], path[512], *out;
    int exm[2] = { 0, 0 };
    json_t *line;

    snprintf(path, sizeof path, "%s/rows.jsonl", dir);
    snprintf(command, sizeof command,
             "ambit-data score --rule ambiqt --published --json -k 5 --gold %s/ambiqt/%s.validation.jsonl "
             "--pred %s/ambiqt/outputs/%s/%s.json --tables %s/spider/tables.json --db %s/spider/db --per-example %s",
             data, f->gold, data, f->folder, f->method, data, data, path);
    if (test_run(command, &out))
        fail_msg("%s: %s", command, out);
    json_t *o = json_loads(out, 0, NULL);
    check_counts(o, f->kind, "em", f->em[0], f->em[1]);
    json_decref(o);
    free(out);
    struct json_reader *r = json_reader_open(path, &err);
    while (json_reader_next(r, &line, &err) > 0) {
        bool wta = strcmp(json_string_value(json_object_get(line, "db_id")), "wta_1") == 0;
        bool first = json_is_true(json_object_get(line, "exm_orig")),
             second = json_is_true(json_object_get(line, "exm_alt"));
        exm[0] += !wta && (first || second);
        exm[1] += !wta && first && second;
        json_decref(line);
    }
    json_reader_close(r);
    if (exm[0] != f->exm[0] || exm[1] != f->exm[1])
        fail_msg("%s %s: execution match of %d, %d, expected %d, %d", f->method, f->kind, exm[0], exm[1], f->exm[0],
                 f->exm[1]);
}

static void published_counts_are_exact(void **state)
{
    char *data = shared_folder();

    if (!data)
        skip();
    for (int i = 0; i < ARRAY_LEN(files); i++)
        check_published(data, *state, &files[i]);
    free(data);
}

/* Records of one kind with both golds as predictions, as pred.json of the folder. */
static void write_golds(const char *records, const char *kind, const char *dir)
{
    struct error err = { 0 };
    json_t *record, *all = json_array();

    struct json_reader *r = json_reader_open(records, &err);
    while (json_reader_next(r, &record, &err) > 0) {
        if (*sia_type_letter((enum sia_type)ambiqt_kind(record)) == *kind) {
            json_object_set_new(
                record, "t2s_outs",
                json_pack("[O, O]", json_object_get(record, "query1"), json_object_get(record, "query2")));
            json_array_append(all, record);
        }
        json_decref(record);
    }
    json_reader_close(r);
    assert_int_equal(json_write_file(test_file(dir, "pred.json", NULL), all, &err), 0);
    json_decref(all);
}

/* Records of all kinds made from Spider's dev.json, as records.jsonl of the folder. */
static void make_records(const char *data, const char *dir)
{
    char command[8192], *said;
    const char *out = test_file(dir, "records.jsonl", NULL);

    snprintf(command, sizeof command,
             "ambit-data ambiguate --spider %s/spider --synonyms %s/ambiqt/two_col_synonyms.json --table-synonyms "
             "%s/ambiqt/two_tbl_synonyms.json -o %s",
             data, data, data, out);
    if (test_run(command, &said))
        fail_msg("%s: %s", command, said);
    free(said);
}

struct ceiling {
    const char *kind;
    int n;
    struct {
        int em[2], exm[2]; /* either, both */
    } published, ours;
};

static void check_ceiling(const char *data, const char *dir, const struct ceiling *c)
{
    char more[1024];

    write_golds(test_file(dir, "records.jsonl", NULL), c->kind, dir);
    snprintf(more, sizeof more, "--published --db %s/spider/db --tables %s/spider/tables.json", data, data);
    json_t *published = score(dir, more, 0);
    json_t *ours = score(dir, more + strlen("--published "), 0);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(json_object_get(ours, "type"), c->kind), "rows")), c->n);
    check_counts(published, c->kind, "em", c->published.em[0], c->published.em[1]);
    check_counts(published, c->kind, "exm", c->published.exm[0], c->published.exm[1]);
    check_counts(ours, c->kind, "em", c->ours.em[0], c->ours.em[1]);
    check_counts(ours, c->kind, "exm", c->ours.exm[0], c->ours.exm[1]);
    check_counts(ours, c->kind, "direct", c->ours.exm[0], c->ours.exm[1]);
    json_decref(published);
    json_decref(ours);
}

/*
 * The golds' own scores by the published evaluator, in percent of either / both: C has 93.47 / 92.98 in exact match and
 * 93.31 / 92.82 in execution match.  T has 99.86 and 99.58, J has 100, P has 100 / 98.02 and 100 / 94.06.  Our mapping
 * loses no gold of T, J and P.  Of C it loses two queries that name a table after the column, and one interpretation
 * each of two questions where a synonym is a column of another table.  By execution it loses two more, because AmbiQT's
 * generator has put a blank into their strings.
 */
static void golds_reach_the_ceilings(void **state)
{
    static const struct ceiling ceilings[] = {
        { "C", 1240, { { 1159, 1153 }, { 1157, 1151 } }, { { 1238, 1236 }, { 1236, 1234 } } },
        { "T", 1417, { { 1415, 1415 }, { 1411, 1411 } }, { { 1417, 1417 }, { 1417, 1417 } } },
        { "J", 288, { { 288, 288 }, { 288, 288 } }, { { 288, 288 }, { 288, 288 } } },
        { "P", 101, { { 101, 99 }, { 101, 95 } }, { { 101, 101 }, { 101, 101 } } },
    };
    char *data = shared_folder();

    if (!data)
        skip();
    make_records(data, *state);
    for (int i = 0; i < ARRAY_LEN(ceilings); i++)
        check_ceiling(data, *state, &ceilings[i]);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_lists_or_sets),
        cmocka_unit_test_setup_teardown(columns_go_by_their_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_small_benchmark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(evidence_has_a_line_a_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_that_is_no_utf8_fails_as_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_golds_own_order_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(published_counts_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(golds_reach_the_ceilings, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
