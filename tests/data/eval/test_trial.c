/* Trials on a small database: the statements that the three rules call equal, and the scores that follow. */
#include "tests/support/support.h"

#include "data/db/db_cache.h"
#include "data/eval/dfpl.h"

#include <stdlib.h>
#include <string.h>

static const char shop[] = "CREATE TABLE item (id INTEGER, name TEXT, price REAL);\n"
                           "INSERT INTO item (id,name,price) VALUES (1,'pen',2.0),(2,'cup',3.5),(3,'box',3.5);\n";

#define TEXTS(...)                                                                                                     \
    ((struct trial_text){ (const char *[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *[]){ __VA_ARGS__ })) })
#define NO_TEXTS ((struct trial_text){ 0 })

static struct db_cache databases;

static struct trial run(enum trial_rule rule, struct trial_text golds, struct trial_text queries)
{
    struct trial t;
    struct error err;
    struct exec_db *db = db_cache_dump(&databases, shop, &err);
    if (!db)
        fail_msg("%s", err.text);
    trial_run(&t, rule, db, golds, queries);
    return t;
}

/* One gold and one query: whether they are the same. */
static bool same(enum trial_rule rule, const char *gold, const char *query)
{
    struct trial t = run(rule, TEXTS(gold), TEXTS(query));
    if (t.why)
        fail_msg("%s: %s", gold, t.why);
    bool hit = t.hits[0];
    trial_release(&t);
    return hit;
}

static void statements_that_the_rules_call_equal(void **state)
{
    static const struct {
        const char *gold, *query;
        bool published, cells, strict;
    } cases[] = {
        { "SELECT name FROM item", "SELECT name FROM item ORDER BY id DESC", true, true, true },
        { "SELECT id, name FROM item", "SELECT name, id FROM item", true, true, false },
        { "SELECT id, name FROM item", "SELECT id, name FROM item ORDER BY 2", true, true, true },
        { "SELECT 1, 2", "SELECT 2 UNION SELECT 1", true, true, false },
        { "SELECT id FROM item", "SELECT id * 1.0 FROM item", true, true, true },
        { "SELECT id FROM item", "SELECT id || '' FROM item", false, false, false },
        { "SELECT 0.1 + 0.2", "SELECT 0.3", false, false, true },
        { "SELECT name FROM item ORDER BY id", "SELECT name FROM item ORDER BY id DESC", false, false, false },
        { "SELECT name FROM item ORDER  BY id", "SELECT name FROM item ORDER BY id DESC", true, false, false },
        { "SELECT count(*) FROM (SELECT name FROM item ORDER BY id)", "SELECT 3", true, true, true },
        { "SELECT * FROM (SELECT name FROM item ORDER BY id)", "SELECT name FROM item ORDER BY id DESC", false, true,
          true },
        { "SELECT name FROM item WHERE id > 9", "SELECT name FROM item WHERE id > 8", false, true, true },
        { "SELECT name FROM item WHERE id > 9", "SELECT id, name FROM item WHERE id > 8", false, true, false },
        { "SELECT name FROM item", "SELECT name FROM items", false, false, false },
        { "SELECT NULL", "SELECT NULL", true, true, true },
        { "SELECT NULL", "SELECT ''", false, false, false },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        bool found[3] = { same(TRIAL_PUBLISHED, cases[i].gold, cases[i].query),
                          same(TRIAL_CELLS, cases[i].gold, cases[i].query),
                          same(TRIAL_STRICT, cases[i].gold, cases[i].query) };
        if (found[0] != cases[i].published || found[1] != cases[i].cells || found[2] != cases[i].strict)
            fail_msg("%s / %s: published %d, cells %d, strict %d", cases[i].gold, cases[i].query, found[0], found[1],
                     found[2]);
    }
}

static void assert_score(struct trial_score s, double recall, double precision, double f1)
{
    const double got[] = { s.recall, s.precision, s.f1 }, want[] = { recall, precision, f1 };
    for (int i = 0; i < 3; i++)
        if (!(got[i] > want[i] - 1e-12 && got[i] < want[i] + 1e-12))
            fail_msg("recall %g, precision %g, f1 %g; expected %g, %g, %g", s.recall, s.precision, s.f1, recall,
                     precision, f1);
}

#define PEN "SELECT name FROM item WHERE id = 1"
#define CUP "SELECT name FROM item WHERE id = 2"
#define BOX "SELECT name FROM item WHERE id = 3"
#define BAD "SELECT nowhere"

static void scores(void **state)
{
    struct trial_text queries = TEXTS(PEN, PEN, "SELECT 'pen'", BOX, BAD);
    (void)state;
    struct trial t = run(TRIAL_STRICT, TEXTS(PEN, CUP), queries);
    struct trial_score covered = trial_score_covered(&t, queries), paired = trial_score_paired(&t, queries);
    assert_score(covered, 0.5, 0.5, 0.5); /* two of four distinct queries say pen */
    assert_score(paired, 0.5, 0.25, 1 / 3.0);
    assert_int_equal(covered.queries, 5);
    assert_int_equal(covered.unique, 4);
    assert_int_equal(covered.failed, 1);
    assert_true(covered.one_found && !covered.all_found && paired.one_found && !paired.all_found);
    assert_score(trial_score_covered(&t, TEXTS(BOX)), 0, 0, 0);
    assert_score(trial_score_covered(&t, NO_TEXTS), 0, 0, 0);
    assert_int_equal(trial_find(&t, BOX), 2);
    assert_int_equal(trial_find(&t, CUP), -1);
    trial_release(&t);
    t = run(TRIAL_STRICT, TEXTS(PEN, CUP), TEXTS(CUP, PEN));
    assert_true(trial_score_paired(&t, TEXTS(PEN, CUP)).all_found);
    trial_release(&t);
}

/* A query that could stand for two golds gives way to one that can stand for one of them only. */
static void pairing_is_the_largest(void **state)
{
    struct trial t = { .n_golds = 3, .n_queries = 3, .listed_golds = 3 };
    struct trial_query queries[] = { { .sql = "a" }, { .sql = "b" }, { .sql = "c" } };
    uint8_t hits[] = { 1, 1, 0, 1, 0, 0, 1, 1, 1 };
    (void)state;
    t.queries = queries;
    t.hits = hits;
    assert_true(trial_score_paired(&t, TEXTS("a", "b", "c")).all_found);
    assert_score(trial_score_paired(&t, TEXTS("a", "b")), 2 / 3.0, 1, 0.8);
    hits[8] = 0;
    assert_score(trial_score_paired(&t, TEXTS("a", "b", "c")), 2 / 3.0, 2 / 3.0, 2 / 3.0);
}

static void golds_that_cannot_be_scored(void **state)
{
    static const struct {
        enum trial_rule rule;
        const char *golds[2];
        const char *why;
    } cases[] = {
        { TRIAL_STRICT, { PEN, BAD }, "gold 2 does not execute: no such column: nowhere" },
        { TRIAL_PUBLISHED, { BAD, PEN }, "gold 1 does not execute" },
        { TRIAL_STRICT, { "DELETE FROM item", PEN }, "gold 1 does not execute" },
        { TRIAL_PUBLISHED, { PEN, "SELECT 'pen'" }, "golds 1 and 2 give the same result" },
        { TRIAL_CELLS, { "SELECT 1, 2", "SELECT 2, 1" }, "golds 1 and 2 give the same result" },
        { TRIAL_STRICT, { "SELECT id FROM item", "SELECT id FROM item ORDER BY id DESC" }, "the same result" },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t = run(cases[i].rule, (struct trial_text){ cases[i].golds, 2 }, TEXTS(PEN));
        if (!t.why || !strstr(t.why, cases[i].why))
            fail_msg("%s / %s: %s, expected %s", cases[i].golds[0], cases[i].golds[1], t.why, cases[i].why);
        assert_score(trial_score_covered(&t, TEXTS(PEN)), 0, 0, 0);
        assert_score(trial_score_paired(&t, TEXTS(PEN)), 0, 0, 0);
        trial_release(&t);
    }
    struct trial t = run(TRIAL_STRICT, NO_TEXTS, TEXTS(PEN));
    assert_string_equal(t.why, "no gold");
    trial_release(&t);
}

/* Two orders of the same rows are two golds; one gold twice is one, except to the published rule. */
static void golds_that_are_distinguished(void **state)
{
    (void)state;
    struct trial t = run(TRIAL_STRICT, TEXTS("SELECT id FROM item ORDER BY id", "SELECT id FROM item ORDER BY id DESC"),
                         TEXTS("SELECT id FROM item ORDER BY -id"));
    assert_null(t.why);
    assert_false(t.hits[0]);
    assert_true(t.hits[1]);
    trial_release(&t);
    t = run(TRIAL_STRICT, TEXTS(PEN, PEN), TEXTS(PEN));
    assert_score(trial_score_paired(&t, TEXTS(PEN)), 1, 1, 1);
    trial_release(&t);
    t = run(TRIAL_PUBLISHED, TEXTS(PEN, PEN, CUP), TEXTS(PEN, CUP));
    assert_score(trial_score_covered(&t, TEXTS(PEN, CUP)), 2 / 3.0, 1, 0.8);
    assert_false(trial_score_covered(&t, TEXTS(PEN, CUP)).all_found);
    trial_release(&t);
}

static void groups_of_like_results(void **state)
{
    static const char *const queries[] = {
        PEN,
        "SELECT 'pen'",
        CUP,
        BAD,
        "SELECT worse",
        "SELECT 1 WHERE 0",
        "SELECT 2, 3 WHERE 0",
        "SELECT id FROM item",
        "SELECT id FROM item ORDER BY id DESC",
    };
    (void)state;
    struct trial t = run(TRIAL_PUBLISHED, TEXTS(PEN), (struct trial_text){ queries, ARRAY_LEN(queries) });
    assert_int_equal(dfpl_groups(&t), 6); /* pen, cup, failed, empty, and two orders of ids */
    trial_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_that_the_rules_call_equal),
        cmocka_unit_test(scores),
        cmocka_unit_test(pairing_is_the_largest),
        cmocka_unit_test(golds_that_cannot_be_scored),
        cmocka_unit_test(golds_that_are_distinguished),
        cmocka_unit_test(groups_of_like_results),
    };
    db_cache_init(&databases);
    int failed = cmocka_run_group_tests_name("trial", tests, NULL, NULL);
    db_cache_release(&databases);
    return failed;
}
