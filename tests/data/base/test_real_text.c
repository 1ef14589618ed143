/* Shortest decimal texts: they read back as the same double, and common ones are as SQLite writes them. */
#include "data/base/real_text.h"
#include "kernels/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(double x, const char *text, const char *literal)
{
    char shown[REAL_TEXT];

    assert_string_equal(real_text(shown, x), text);
    assert_string_equal(real_literal(shown, x), literal);
}

static void test_values(void **state)
{
    (void)state;
    check(565.2, "565.2", "565.2");
    check(0.1, "0.1", "0.1");
    check(0.1 + 0.2, "0.30000000000000004", "0.30000000000000004");
    check(3, "3", "3.0");
    check(-3, "-3", "-3.0");
    check(0, "0", "0.0");
    check(-0.0, "-0", "-0.0");
    check(100, "100", "100.0");
    check(1234567890.12, "1234567890.12", "1234567890.12");
    check(123456789012345, "123456789012345", "123456789012345.0");
    check(1e16, "1e+16", "1e+16");
    check(1.0 / 3, "0.3333333333333333", "0.3333333333333333");
    check(5e-324, "5e-324", "5e-324");
    check(1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308");
    check(INFINITY, "inf", "inf");
    check(-INFINITY, "-inf", "-inf");
}

/* No text with one digit less reads back as the same double. */
static void test_shortest(void **state)
{
    (void)state;
    struct rng rng = { .seed = 5 };
    char shown[REAL_TEXT], shorter[REAL_TEXT];

    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)rng_u32(&rng) << 32 | rng_u32(&rng);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        real_text(shown, x);
        assert_true(strtod(shown, NULL) == x);
        int seen = 0, digits = 0; /* digits without zeros at either end */
        for (const char *p = shown; *p && *p != 'e'; p++) {
            seen += *p >= (seen ? '0' : '1') && *p <= '9';
            digits = *p >= '1' && *p <= '9' ? seen : digits;
        }
        snprintf(shorter, sizeof shorter, "%.*e", digits > 1 ? digits - 2 : 0, x);
        assert_true(digits == 1 || strtod(shorter, NULL) != x);
    }
}

/* Amounts with up to three decimals, as users store them. */
static void test_sqlite(void **state)
{
    (void)state;
    struct rng rng = { .seed = 6 };
    char shown[REAL_TEXT];
    sqlite3_stmt *stmt;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT ?", -1, &stmt, NULL), SQLITE_OK);
    for (int i = 0; i < 20000; i++) {
        static const double scales[] = { 1, 10, 100, 1000 };
        double x = (double)rng_below(&rng, 100000000) / scales[i % 4];
        sqlite3_bind_double(stmt, 1, x);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_string_equal(real_literal(shown, x), (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_sqlite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
