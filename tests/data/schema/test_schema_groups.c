/* Groups of tables that foreign keys connect. */
#include "tests/support/support.h"

#include "data/schema/schema.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

/* `tables` tables of one column each, named "0" to "9"; keys: "ab" for a key from a to b, separated by blanks. */
static void check(int tables, const char *keys, const char *wanted)
{
    struct schema_build b;
    struct schema s;
    char name[2] = "0", found[16] = "";

    schema_build_init(&b, "groups");
    for (int t = 0; t < tables; t++, name[0]++)
        schema_build_column(&b, schema_build_table(&b, name, NULL), "id", NULL, COLUMN_NUMBER);
    for (const char *k = keys; *k; k += k[2] ? 3 : 2)
        schema_build_foreign_key(&b, k[0] - '0', k[1] - '0');
    schema_build_finish(&b, &s);
    int *group = schema_groups(&s);
    for (int t = 0; t < tables; t++) { /* the representative is the first table */
        int first = 0;
        while (group[first] != group[t])
            first++;
        assert_in_range(group[t], 0, tables - 1);
        assert_int_equal(group[group[t]], group[t]);
        found[t] = (char)('0' + first);
    }
    assert_string_equal(found, wanted);
    free(group);
    schema_release(&s);
    schema_build_release(&b);
}

static void test_groups(void **state)
{
    (void)state;
    check(1, "", "0");
    check(3, "", "000");   /* without keys there is one group */
    check(3, "11", "000"); /* a key of a table to itself joins nothing */
    check(4, "10 32", "0022");
    check(4, "10 21 32", "0000");
    check(6, "40 15", "012201");   /* 2 and 3 remain */
    check(5, "40 42 33", "01010"); /* 1 and 3 */
    check(2, "01 10", "00");
    check(9, "87 76 65 51 10", "002220000");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
