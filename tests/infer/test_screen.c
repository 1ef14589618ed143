/* Tables at a terminal: aligned columns, numbers to the right, wide characters and cut cells. */
#include "infer/clarify/interactive.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static void check(int width, char *const *cells, const bool *numeric, int rows, int columns, const char *wanted)
{
    char *text = NULL;
    size_t n = 0;
    struct screen s = { open_memstream(&text, &n), width };

    screen_table(&s, "Rows: ", "      ", cells, numeric, rows, columns);
    fclose(s.out);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_table(void **state)
{
    (void)state;
    static const bool numeric[] = { false, true };
    char *cells[] = { "name", "price", "Tent", "142.0", "\xe7\xbe\x8e\xe5\x92\xb2 \xc3\xa9", "9.5" };

    check(80, cells, numeric, 3, 2,
          "Rows: name    price\n"
          "      Tent    142.0\n"
          "      \xe7\xbe\x8e\xe5\x92\xb2 \xc3\xa9    9.5\n");
    check(14, cells, numeric, 3, 2,
          "Rows: name |\n      price\n"
          "      Tent |\n      142.0\n"
          "      \xe7\xbe\x8e\xe5\x92\xb2 \xc3\xa9 |\n      9.5\n");
}

static void test_cells(void **state)
{
    (void)state;
    static const bool numeric[] = { false, false };
    char *cells[] = { "a\nb\tc\x1b[31m", "x", "0123456789012345678901234567890123456789\xc3\xa9", "y" };

    check(80, cells, numeric, 2, 2,
          "Rows: a b c[31m                                    x\n"
          "      0123456789012345678901234567890123456789...  y\n");
    check(80, cells, numeric, 0, 2, "");
    check(80, cells, numeric, 2, 0, "Rows: \n      \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
