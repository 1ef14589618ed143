/* Predictions brought back to the original schema, as published and as ours; prediction files read. */
#include "tests/support/support.h"

#include "data/published/ambiqt_cases.h"
#include "data/published/ambiqt_map.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

static struct schema harbour;

static int set_up_schema(void **state)
{
    static const char *const tables[][4] = { { "boat", "id", "name", "colour" }, { "crew", "id", "name", "age" } };
    struct schema_build b;

    (void)state;
    schema_build_init(&b, "harbour");
    for (int t = 0; t < 2; t++) {
        schema_build_table(&b, tables[t][0], NULL);
        for (int c = 1; c < 4; c++)
            schema_build_column(&b, t, tables[t][c], NULL, COLUMN_TEXT);
    }
    schema_build_finish(&b, &harbour);
    return 0;
}

static int tear_down_schema(void **state)
{
    (void)state;
    schema_release(&harbour);
    return 0;
}

static const struct ambiqt_record column = { .type = SIA_COLUMN,
                                             .db_id = "harbour",
                                             .original = "select name from boat",
                                             .table = "boat",
                                             .column = "name",
                                             .names = { "title", "Lift-Off" } };
static const struct ambiqt_record table = { .type = SIA_TABLE,
                                            .db_id = "harbour",
                                            .original = "select name from boat",
                                            .table = "boat",
                                            .names = { "Ship", "vessel" } };
static const struct ambiqt_record join = { .type = SIA_JOIN,
                                           .db_id = "harbour",
                                           .original = "select name, colour from boat",
                                           .table = "boat",
                                           .column = "colour",
                                           .key = "id",
                                           .new_table = "boat_colour" };
static const struct ambiqt_record aggregate = {
    .type = SIA_AGGREGATE,
    .db_id = "harbour",
    .original = "select t1.name, count(*), avg(t1.age) from crew as t1 group by t1.name having avg(t1.age) > 30",
    .table = "crew",
    .column = "age",
    .new_table = "crew_age",
    .new_columns = { "name", "number", "sum_age", "avg_age", "min_age", "max_age" },
    .n_new_columns = 6,
};

/* A prediction and its mapped form; NULL: it is no such interpretation. */
struct mapping {
    const char *prediction, *interpretations[2];
};

static void check_interpretation(const struct mapping *m, int k, const char *got)
{
    if ((got != NULL) != (m->interpretations[k] != NULL) || (got && strcmp(got, m->interpretations[k]) != 0))
        fail_msg("interpretation %d of \"%s\":\n  %s\nexpected\n  %s", k, m->prediction, got ? got : "none",
                 m->interpretations[k] ? m->interpretations[k] : "none");
}

static void check(const struct ambiqt_record *r, bool published, const struct mapping *m, int n)
{
    for (int i = 0; i < n; i++) {
        struct ambiqt_interpretations got =
            published ? ambiqt_map_published(r, m[i].prediction) : ambiqt_map(r, &harbour, m[i].prediction);
        for (int k = 0; k < 2; k++)
            check_interpretation(&m[i], k, got.sql[k]);
        ambiqt_interpretations_release(&got);
    }
}

static void columns_as_published(void **state)
{
    static const struct mapping cases[] = {
        { "SELECT Title FROM boat", { "select name from boat", "select title from boat" } },
        { "select t1.title from boat as t1", { "select t1.name from boat as t1", "select t1.title from boat as t1" } },
        { "select boat.title from boat", { "select boat.title from boat", "select boat.title from boat" } },
        { "select name from crew", { "select title from crew", "select lift-off from crew" } },
        { "1 joins @ select lift-off from boat ", { "select lift-off from boat", "select name from boat" } },
        { "select max(id) from boat", { "select max(id) from boat", "select max(id) from boat" } },
        { "", { "", "" } },
    };
    (void)state;
    check(&column, true, cases, ARRAY_LEN(cases));
}

/* The column is called as a function is. */
static void columns_called_as_functions(void **state)
{
    static const struct ambiqt_record count = { .type = SIA_COLUMN,
                                                .db_id = "harbour",
                                                .original = "select count(count) from boat",
                                                .table = "boat",
                                                .column = "count",
                                                .names = { "max", "order" } };
    static const struct mapping cases[] = {
        { "select count(max), max(max) from boat", { "select count(count), max(count) from boat", NULL } },
        { "select count(order) from boat order by order", { NULL, "select count(count) from boat order by count" } },
    };
    (void)state;
    check(&count, false, cases, ARRAY_LEN(cases));
}

static void columns_as_ours(void **state)
{
    static const struct mapping cases[] = {
        { "SELECT Title FROM boat", { "select name from boat", NULL } },
        { "harbour | select b.title from boat as b", { "select b.name from boat as b", NULL } },
        { "select b.title from boat b where b.name = 3", { "select b.name from boat b where b.title = 3", NULL } },
        { "select boat.title from boat", { "select boat.name from boat", NULL } },
        { "select \"title\" from boat", { "select name from boat", NULL } },
        { "select title from boat where colour = 'title a,b'",
          { "select name from boat where colour = 'title a,b'", NULL } },
        { "select lift-off from boat", { NULL, "select name from boat" } },
        { "0 joins @ 1 selects @ select title from boat", { "select name from boat", NULL } },
        { "select t2.name, t1.title from boat as t1 join crew as t2 on t1.id = t2.id",
          { "select t2.name, t1.name from boat as t1 join crew as t2 on t1.id = t2.id", NULL } },
        { "select title from boat union select name from crew",
          { "select name from boat union select name from crew", NULL } },
        { "select title from boat where name = 'x'", { "select name from boat where title = 'x'", NULL } },
        { "select title from crew", { NULL, NULL } },
        { "select name from boat", { NULL, NULL } },
        { "", { NULL, NULL } },
    };
    (void)state;
    check(&column, false, cases, ARRAY_LEN(cases));
}

static void tables_as_published(void **state)
{
    static const struct mapping cases[] = {
        { "select name from ship", { "select name from boat", "select name from ship" } },
        { "select ship.name from vessel", { "select boatship from vessel", "select ship.name from boat" } },
        { "select boat.name from boat", { "select shipboat from ship", "select vesselboat from vessel" } },
        { "a @ select t1.name from ship as t1",
          { "a @ select t1.name from boat as t1", "a @ select t1.name from ship as t1" } },
    };
    (void)state;
    check(&table, true, cases, ARRAY_LEN(cases));
}

static void tables_as_ours(void **state)
{
    static const struct mapping cases[] = {
        { "select name from ship", { "select name from boat", NULL } },
        { "select SHIP.name from Ship where ship = 1", { "select boat.name from boat where ship = 1", NULL } },
        { "select name from vessel join boat", { NULL, "select name from boat join vessel" } },
        { "select name from boat", { NULL, NULL } },
    };
    (void)state;
    check(&table, false, cases, ARRAY_LEN(cases));
}

#define ON " on t1.id = t2.id"

static void joins_as_published(void **state)
{
    static const struct mapping cases[] = {
        { "select t1.name, t2.colour from boat as t1 join boat_colour as t2" ON,
          { "select t1.name, t2.colour from boat as t1 join boat_colour as t2" ON, "select name, colour from boat" } },
        { "x @ select t2.colour from boat as t1 join boat_colour as t2 on t2.id = t1.id ",
          { "select t2.colour from boat as t1 join boat_colour as t2 on t2.id = t1.id", "select colour from boat" } },
        { "select t1.colour from boat_colour as t1 join boat as t2" ON,
          { "select t1.colour from boat_colour as t1 join boat as t2" ON,
            "select colour from boat_colour as t1 join boat as t2 on id = id" } },
        { "select t1.name from boat as t1", { "select t1.name from boat as t1", "select name from boat as t1" } },
        { "select count( * ) from boat where id in (1 , 2)",
          { "select count( * ) from boat where id in (1 , 2)", "select count(*) from boat where id in (1, 2)" } },
    };
    (void)state;
    check(&join, true, cases, ARRAY_LEN(cases));
}

static void joins_as_ours(void **state)
{
    static const struct mapping cases[] = {
        { "select t1.name, t2.colour from boat as t1 join boat_colour as t2" ON,
          { NULL, "select name, colour from boat" } },
        { "select t1.colour from boat_colour as t1 join boat as t2 on t2.id = t1.id order by t2.name",
          { NULL, "select colour from boat order by name" } },
        { "select name, c.colour from boat inner join boat_colour c using (id)",
          { NULL, "select name, colour from boat" } },
        { "select boat.name, boat_colour.colour from boat join boat_colour on boat.id = boat_colour.id",
          { NULL, "select name, colour from boat" } },
        { "select name, colour from boat natural join boat_colour where id = 3",
          { NULL, "select name, colour from boat where id = 3" } },
        { "select name from boat where id = (select max(t2.id) from boat as t1 join boat_colour as t2" ON ")",
          { NULL, "select name from boat where id = (select max(id) from boat)" } },
        { "select boat_colour.colour from boat_colour", { NULL, "select boat.colour from boat" } },
        { "select t1.name from boat as t1 join boat_colour as t2 on t1.id = t2.colour",
          { NULL, "select t1.name from boat as t1 join boat as t2 on t1.id = t2.colour" } },
        { "select t1.name from boat as t1", { "select t1.name from boat as t1", NULL } },
        { "harbour | select 'boat_colour'", { "select 'boat_colour'", NULL } },
    };
    (void)state;
    check(&join, false, cases, ARRAY_LEN(cases));
}

static void aggregates_as_published(void **state)
{
    static const struct mapping cases[] = {
        { "select name, number, avg_age from crew_age where avg_age > 30",
          { "select name, number, avg_age from crew_age where avg_age > 30",
            "select t1.name, count(*), avg(t1.age) from crew as t1 group by t1.name having avg(t1.age) > 30" } },
        { "select avg_age from crew_age order by name",
          { "select avg_age from crew_age order by name", "select avg(t1.age) from crew as t1 order by t1.name" } },
        { "select name from crew_age group by name",
          { "select name from crew_age group by name",
            "select t1.name from crew as t1 group by t1.name group by t1.name" } },
        { "nothing", { "nothing", "nothing group by n" } }, /* the cut of a text without SELECT and FROM */
    };
    (void)state;
    check(&aggregate, true, cases, ARRAY_LEN(cases));
}

static void aggregates_as_ours(void **state)
{
    static const struct mapping cases[] = {
        { "select name, number, avg_age from crew_age where avg_age > 30",
          { NULL, "select t1.name, count(*), avg(t1.age) from crew as t1 group by t1.name having avg(t1.age) > 30" } },
        { "select c.avg_age from crew_age as c order by c.name limit 1",
          { NULL, "select avg(t1.age) from crew as t1 group by t1.name order by t1.name limit 1" } },
        { "select crew_age.count_age from crew_age x",
          { NULL, "select count(t1.age) from crew as t1 group by t1.name" } },
        { "select max_age from crew_age group by name",
          { NULL, "select max(t1.age) from crew as t1 group by t1.name" } },
        { "select avg(avg_age) from crew_age", { "select avg(avg_age) from crew_age", NULL } },
        { "select avg_age from crew", { "select avg_age from crew", NULL } },
    };
    (void)state;
    check(&aggregate, false, cases, ARRAY_LEN(cases));
}

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

#define RECORD(question, rest)                                                                                         \
    "{\"db_id\": \"harbour\", \"question\": \"" question "\", \"orig_query\": \"o\", \"query1\": \"a\", \"query2\": "  \
    "\"b\", \"split_map\": {\"boat\": \"colour\"}, \"primary_key\": {\"boat\": \"id\"}" rest "}"

static void predictions_find_their_gold(void **state)
{
    struct error err = { 0 };
    struct ambiqt_cases c;
    const char *gold =
        test_file(*state, "gold.jsonl", RECORD("one", "") "\n" RECORD("two", "") "\n" RECORD("three", ""));
    const char *pred = test_file(
        *state, "pred.json",
        "[" RECORD("two", ", \"t2s_outs\": [\"x\", \"y\", \"z\"]") "," RECORD(
            "one", ", \"chatgpt_out\": [[\"a\", \"b\", \"c\"], [\"d\"]]") ","
                                                                          "{\"db_id\": \"harbour\", \"question\": "
                                                                          "\"four\", \"flan_direct_outs\": []}]");

    assert_int_equal(ambiqt_cases_read(&c, gold, pred, 2, &err), 0);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.items[0].row, 0);
    assert_string_equal(c.items[0].predictions.items[1], "b");
    assert_int_equal(c.items[1].predictions.n, 2);
    assert_string_equal(c.items[1].predictions.items[0], "x");
    assert_int_equal(c.items[2].predictions.n, 0);
    assert_string_equal(c.corpus.items[c.items[0].record].question, "one");
    assert_int_equal(json_array_size(c.skipped), 2);
    ambiqt_cases_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_as_published),
        cmocka_unit_test(columns_as_ours),
        cmocka_unit_test(columns_called_as_functions),
        cmocka_unit_test(tables_as_published),
        cmocka_unit_test(tables_as_ours),
        cmocka_unit_test(joins_as_published),
        cmocka_unit_test(joins_as_ours),
        cmocka_unit_test(aggregates_as_published),
        cmocka_unit_test(aggregates_as_ours),
        cmocka_unit_test_setup_teardown(predictions_find_their_gold, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, set_up_schema, tear_down_schema);
}
