/* The judge compares the content of completions, not their wrapping. */
#include "tests/support/support.h"
#include "train/lm/lm_judge.h"

#include <sqlite3.h>
#include <string.h>

static void write_shop(const char *dir)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(test_file(dir, "shop.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE item (name, price); INSERT INTO item VALUES ('a', 1), ('b', 3)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
}

static void test_execution(void **state)
{
    static const char *const right[] = {
        "SELECT name FROM item WHERE price > 2",
        "shop | 1 joins @ 1 selects @ select name from item where price > 2",
        "<think>SELECT price FROM item</think>```sql\nSELECT name -- all; dear\nFROM item WHERE price > 2;\n```",
        "Here it is:\nSELECT name FROM item WHERE price > 2;\nIt lists what is dear.",
    };
    static const char *const wrong[] = { "<think>SELECT name FROM item WHERE price > 2", "SELECT price FROM item", "",
                                         "SELECT name FROM item WHERE price > 2 ILIKE 'x'" };
    char *dir = test_dir_new();

    (void)state;
    write_shop(dir);
    json_t *record =
        json_pack("{s:s, s:s}", "db_id", "shop", "completion", "shop | SELECT name FROM item WHERE price > 2");
    struct lm_judge j = { .select = SELECT_EXECUTION, .runner = ambiqt_runner_new(dir, false) };
    for (int i = 0; i < ARRAY_LEN(right); i++)
        assert_true(lm_judge_correct(&j, record, right[i]));
    for (int i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(lm_judge_correct(&j, record, wrong[i]));
    lm_judge_release(&j);
    json_decref(record);
    test_dir_remove(dir);
}

/* The order of rows counts if the gold's outermost SELECT has ORDER BY, not if its text contains the words. */
static void test_order(void **state)
{
    static const struct {
        const char *gold;
        bool right;
    } cases[] = {
        { "SELECT name FROM item ORDER BY price", false },
        { "SELECT name FROM item order\n\tby price", false },
        { "SELECT name FROM item UNION SELECT 'a' ORDER /* down */ BY name", false },
        { "SELECT name FROM item", true },
        { "SELECT name FROM item WHERE price IN (SELECT price FROM item ORDER BY price LIMIT 2)", true },
        { "SELECT name FROM (SELECT name, row_number() OVER (ORDER BY price) FROM item)", true },
        { "SELECT name FROM item WHERE name <> 'order by'", true },
        { "SELECT name FROM item -- no order by", true },
    };
    char *dir = test_dir_new();

    (void)state;
    write_shop(dir);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *record = json_pack("{s:s, s:s}", "db_id", "shop", "completion", cases[i].gold);
        struct lm_judge j = { .select = SELECT_EXECUTION, .runner = ambiqt_runner_new(dir, false) };
        if (lm_judge_correct(&j, record, "SELECT name FROM item ORDER BY price DESC") != cases[i].right)
            fail_msg("%s", cases[i].gold);
        lm_judge_release(&j);
        json_decref(record);
    }
    test_dir_remove(dir);
}

static void test_template(void **state)
{
    struct lm_judge j = { .select = SELECT_TEMPLATE };
    json_t *record = json_pack("{s:s}", "completion", "shop | 1 joins @ 1 selects @ select column from table");

    (void)state;
    assert_true(lm_judge_correct(&j, record, "shop | 1 joins @ 1 selects @ select column from table"));
    assert_true(lm_judge_correct(&j, record, "<think>hm</think>1 joins @ 1 selects @ select column from table"));
    assert_false(lm_judge_correct(&j, record, "<think>1 joins @ 1 selects @ select column from table"));
    lm_judge_release(&j);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_execution),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_template),
    };
    return cmocka_run_group_tests_name("lm_judge", tests, NULL, NULL);
}
