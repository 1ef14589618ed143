/* Which answers are right, by what a model's answer says and not by how it is wrapped. */
#include "tests/support/support.h"
#include "train/lm/lm_judge.h"

#include <sqlite3.h>
#include <string.h>

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
    sqlite3 *db;

    (void)state;
    assert_int_equal(sqlite3_open(test_file(dir, "shop.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE item (name, price); INSERT INTO item VALUES ('a', 1), ('b', 3)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    json_t *record =
        json_pack("{s:s, s:s}", "db_id", "shop", "completion", "shop | SELECT name FROM item WHERE price > 2");
    struct lm_judge j = { .select = SELECT_EXECUTION, .runner = ambiqt_runner_new(dir, false) };
    for (int i = 0; i < ARRAY_LEN(right); i++)
        assert_true(lm_judge_says(&j, record, right[i]));
    for (int i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(lm_judge_says(&j, record, wrong[i]));
    lm_judge_release(&j);
    json_decref(record);
    test_dir_remove(dir);
}

static void test_template(void **state)
{
    struct lm_judge j = { .select = SELECT_TEMPLATE };
    json_t *record = json_pack("{s:s}", "completion", "shop | 1 joins @ 1 selects @ select column from table");

    (void)state;
    assert_true(lm_judge_says(&j, record, "shop | 1 joins @ 1 selects @ select column from table"));
    assert_true(lm_judge_says(&j, record, "<think>hm</think>1 joins @ 1 selects @ select column from table"));
    assert_false(lm_judge_says(&j, record, "<think>1 joins @ 1 selects @ select column from table"));
    lm_judge_release(&j);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_execution),
        cmocka_unit_test(test_template),
    };
    return cmocka_run_group_tests_name("lm_judge", tests, NULL, NULL);
}
