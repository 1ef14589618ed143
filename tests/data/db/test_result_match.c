/* Tests of the rules of data/db/result_match.h on hand-written results. */
#include "tests/support/support.h"

#include "data/db/result_match.h"

#include <math.h>

#define NUL                                                                                                            \
    {                                                                                                                  \
        .type = CELL_NULL                                                                                              \
    }
#define INT(x)                                                                                                         \
    {                                                                                                                  \
        .type = CELL_INTEGER, .integer = (x)                                                                           \
    }
#define REAL(x)                                                                                                        \
    {                                                                                                                  \
        .type = CELL_REAL, .real = (x)                                                                                 \
    }
#define TEXT(s)                                                                                                        \
    {                                                                                                                  \
        .type = CELL_TEXT, .n = sizeof(s) - 1, .bytes = (s)                                                            \
    }
#define BLOB(s)                                                                                                        \
    {                                                                                                                  \
        .type = CELL_BLOB, .n = sizeof(s) - 1, .bytes = (s)                                                            \
    }

/* A result with `width` columns from a list of cells. */
#define RESULT(name, width, ...)                                                                                       \
    struct cell name##_cells[] = { __VA_ARGS__ };                                                                      \
    struct exec_result name = { .columns = (width), .n = ARRAY_LEN(name##_cells) / (width), .cells = name##_cells }

static void cells_have_one_order(void **state)
{
    /* ascending; step 0: equal to the previous cell */
    static const struct {
        struct cell cell;
        int step;
    } rising[] = {
        { NUL, 0 },
        { REAL(-1e300), 1 },
        { INT(INT64_MIN), 1 },
        { REAL(-0x1p63), 0 },
        { INT(-1), 1 },
        { REAL(0.0), 1 },
        { REAL(-0.0), 0 },
        { INT(0), 0 },
        { REAL(0.5), 1 },
        { INT(1), 1 },
        { REAL(1.0), 0 },
        { INT(9007199254740992), 1 },
        { REAL(9007199254740992.0), 0 },
        { INT(9007199254740993), 1 },
        { INT(INT64_MAX), 1 },
        { REAL(0x1p63), 1 },
        { TEXT(""), 1 },
        { TEXT("1"), 1 },
        { TEXT("1\0a"), 1 },
        { TEXT("a"), 1 },
        { TEXT("\xff"), 1 },
        { BLOB(""), 1 },
        { BLOB("1"), 1 },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(rising); i++)
        for (int k = i, steps = 0; k < ARRAY_LEN(rising); k++) {
            steps += k > i ? rising[k].step : 0;
            int way = cell_compare(&rising[i].cell, &rising[k].cell);
            int back = cell_compare(&rising[k].cell, &rising[i].cell);
            if ((way < 0) != (steps > 0) || (way == 0) != (steps == 0) || (back > 0) != (steps > 0))
                fail_msg("cells %d and %d compare as %d and %d", i, k, way, back);
        }
}

static void cells_of_the_whole_result(void **state)
{
    RESULT(a, 2, INT(1), TEXT("x"), INT(2), NUL);
    RESULT(turned, 2, NUL, INT(2), TEXT("x"), REAL(1));
    RESULT(one_column, 1, INT(2), INT(1), NUL, TEXT("x"));
    RESULT(twice, 2, INT(1), TEXT("x"), INT(1), NUL);
    RESULT(text, 2, TEXT("1"), TEXT("x"), INT(2), NUL);
    RESULT(fewer, 1, INT(2), INT(1), NUL);
    (void)state;
    assert_true(match_cells(&a, &turned) && match_cells(&turned, &a));
    assert_true(match_cells(&a, &one_column));
    assert_false(match_cells(&a, &twice) || match_cells(&a, &text) || match_cells(&a, &fewer));
    assert_false(match_row_cells(&a, &one_column) || match_row_cells(&a, &turned));
}

static void published_rule_follows_the_text_of_the_gold(void **state)
{
    RESULT(gold, 2, INT(1), TEXT("x"), INT(2), TEXT("y"));
    RESULT(turned_columns, 2, TEXT("x"), INT(1), TEXT("y"), INT(2));
    RESULT(turned_rows, 2, INT(2), TEXT("y"), INT(1), TEXT("x"));
    RESULT(mixed, 2, INT(1), TEXT("y"), INT(2), TEXT("x"));
    struct exec_result none = { .columns = 1 };
    (void)state;
    assert_true(match_published(&turned_columns, &gold, "SELECT a FROM t Order By a"));
    assert_false(match_published(&turned_rows, &gold, "SELECT a FROM t Order By a"));
    assert_true(match_published(&turned_rows, &gold, "SELECT a FROM t ORDER  BY a"));
    assert_true(match_published(&mixed, &gold, "SELECT 1"));
    assert_false(match_published(&mixed, &gold, "SELECT 1 WHERE 'order by'"));
    assert_false(match_published(&none, &none, "SELECT 1") || match_published(&none, &gold, "order by"));
    assert_false(match_published(&gold, &none, "order by"));
}

static void exact_rows(void **state)
{
    RESULT(a, 1, INT(1), INT(2));
    RESULT(same, 1, REAL(1), REAL(2));
    RESULT(turned, 1, INT(2), INT(1));
    RESULT(wide, 2, INT(1), INT(2));
    struct exec_result none = { .columns = 1 }, none_of_two = { .columns = 2 };
    (void)state;
    assert_true(match_exactly(&a, &same) && match_exactly(&none, &none_of_two));
    assert_false(match_exactly(&a, &turned) || match_exactly(&a, &wide) || match_exactly(&a, &none));
}

static void strict_rows(void **state)
{
    RESULT(a, 2, INT(1), TEXT("x"), INT(2), TEXT("y"), INT(2), TEXT("y"));
    RESULT(turned, 2, INT(2), TEXT("y"), REAL(1), TEXT("x"), INT(2), TEXT("y"));
    RESULT(columns, 2, TEXT("x"), INT(1), TEXT("y"), INT(2), TEXT("y"), INT(2));
    RESULT(counts, 2, INT(1), TEXT("x"), INT(1), TEXT("x"), INT(2), TEXT("y"));
    RESULT(swapped, 2, INT(2), TEXT("x"), INT(1), TEXT("y"), INT(2), TEXT("y"));
    struct exec_result none = { .columns = 2 }, none_of_one = { .columns = 1 };
    (void)state;
    assert_true(match_rows(&a, &turned, false) && match_rows(&a, &a, true));
    assert_false(match_rows(&a, &turned, true));
    assert_false(match_rows(&a, &columns, false) || match_rows(&a, &counts, false) || match_rows(&a, &swapped, false));
    assert_true(match_rows(&none, &none, false) && match_rows(&none, &none, true));
    assert_false(match_rows(&none, &none_of_one, false) || match_rows(&none, &a, false));
}

static void tolerance_of_the_strict_rule(void **state)
{
    RESULT(sum, 1, REAL(0.1 + 0.2));
    RESULT(plain, 1, REAL(0.3));
    RESULT(off, 1, REAL(0.3000001));
    RESULT(big, 1, INT(4000000000000000001));
    RESULT(next, 1, INT(4000000000000000000));
    RESULT(real, 1, REAL(4e18));
    RESULT(text, 1, TEXT("0.3"));
    RESULT(infinite, 1, REAL(INFINITY));
    (void)state;
    assert_true(match_rows(&sum, &plain, false) && match_rows(&sum, &plain, true));
    assert_false(match_rows(&off, &plain, false) || match_rows(&text, &plain, false));
    assert_false(match_rows(&big, &next, false));
    assert_true(match_rows(&big, &real, false));
    assert_true(match_rows(&infinite, &infinite, true));
    assert_false(match_rows(&infinite, &real, true));
}

/* Close rows that sort differently: a greedy merge of two sorted lists would miss them. */
static void close_rows_that_sort_apart(void **state)
{
    const double up = 1 + 1e-12;
    RESULT(a, 3, REAL(1), REAL(5), TEXT("k"), REAL(up), REAL(3), TEXT("k"));
    RESULT(b, 3, REAL(up), REAL(5), TEXT("k"), REAL(1), REAL(3), TEXT("k"));
    RESULT(c, 3, REAL(up), REAL(5), TEXT("k"), REAL(1), REAL(5), TEXT("k"));
    (void)state;
    assert_true(match_rows(&a, &b, false) && match_rows(&b, &a, false));
    assert_false(match_rows(&a, &c, false) || match_rows(&c, &a, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_have_one_order),
        cmocka_unit_test(cells_of_the_whole_result),
        cmocka_unit_test(published_rule_follows_the_text_of_the_gold),
        cmocka_unit_test(exact_rows),
        cmocka_unit_test(strict_rows),
        cmocka_unit_test(tolerance_of_the_strict_rule),
        cmocka_unit_test(close_rows_that_sort_apart),
    };
    return cmocka_run_group_tests_name("result match", tests, NULL, NULL);
}
