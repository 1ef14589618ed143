/*
 * The schema of the columns that a record brings along, and the place of columns in a schema.
 */
#include "data/base/strings.h"
#include "data/span/span_schema.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static const struct span_column columns[] = { { .table = "club", .name = "Late Fee", .type = COLUMN_NUMBER },
                                              { .table = "member", .name = "name", .type = COLUMN_TEXT },
                                              { .table = "club", .name = "town", .type = COLUMN_TEXT },
                                              { .table = "member", .name = "Name", .type = COLUMN_TEXT } };
enum { N = ARRAY_LEN(columns), CLUB = 0, MEMBER, LATE_FEE, TOWN, MEMBER_NAME, SECOND_NAME, ELEMENTS };

/* Columns are grouped by table, with the types, and words for the model. */
static void test_schema(void **state)
{
    struct schema s;

    (void)state;
    span_schema_init(&s, "record", columns, N, NULL, NULL);
    assert_string_equal(s.db_id, "record");
    assert_int_equal(s.n_tables, 2);
    assert_int_equal(s.n_columns, N);
    assert_string_equal(s.tables[MEMBER].name, "member");
    assert_string_equal(s.columns[LATE_FEE - s.n_tables].name, "Late Fee");
    assert_string_equal(s.columns[LATE_FEE - s.n_tables].text, "late fee");
    assert_int_equal(s.columns[LATE_FEE - s.n_tables].type, COLUMN_NUMBER);
    assert_string_equal(s.columns[TOWN - s.n_tables].name, "town");
    assert_int_equal(s.columns[SECOND_NAME - s.n_tables].table, MEMBER);
    schema_release(&s);
}

static void test_elements(void **state)
{
    const struct span_column other = { .table = "club", .name = "warranty" },
                             nowhere = { .table = "x", .name = "town" };
    const int wanted[N] = { LATE_FEE, MEMBER_NAME, TOWN, MEMBER_NAME };
    int element[N];
    struct schema s;

    (void)state;
    span_schema_init(&s, "record", columns, N, NULL, NULL);
    span_schema_elements(element, columns, N, &s);
    assert_memory_equal(element, wanted, sizeof wanted);
    span_schema_elements(element, &other, 1, &s);
    assert_int_equal(element[0], -1);
    span_schema_elements(element, &nowhere, 1, &s);
    assert_int_equal(element[0], -1);
    schema_release(&s);
}

/* Names in SQL decide, not those of the record. */
static void test_names_in_sql(void **state)
{
    const struct span_column c[] = {
        { .table = "the club", .name = "fee to pay", .sql_table = "club", .sql_name = "Late Fee" },
        { .table = "the club", .name = "town", .sql_table = "member", .sql_name = "name" },
    };
    int element[2];
    struct schema s;

    (void)state;
    span_schema_init(&s, "record", columns, N, NULL, NULL);
    span_schema_elements(element, c, 2, &s);
    assert_int_equal(element[0], LATE_FEE);
    assert_int_equal(element[1], MEMBER_NAME);
    schema_release(&s);
}

static char *first_letter(void *user, const char *name)
{
    ++*(int *)user;
    return strndup(name, 1);
}

/* Columns without a table have one of their own; a function may change names, once for each. */
static void test_one_table(void **state)
{
    const struct span_column c[] = { { .name = "fee" }, { .name = "town" } };
    struct schema s;
    int element[2], called = 0;

    (void)state;
    span_schema_init(&s, "record", c, 2, NULL, NULL);
    assert_string_equal(s.tables[0].name, SPAN_TABLE);
    span_schema_elements(element, c, 2, &s);
    assert_true(element[0] == 1 && element[1] == 2);
    schema_release(&s);
    span_schema_init(&s, "record", c, 2, first_letter, &called);
    assert_int_equal(called, 3);
    assert_string_equal(s.columns[1].name, "t");
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_schema), cmocka_unit_test(test_elements),
                                        cmocka_unit_test(test_names_in_sql), cmocka_unit_test(test_one_table) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
