/* Times and units that a question says, and the columns that hold them, with a database and without one. */
#include "tests/support/exec_world.h"
#include "tests/support/support.h"

#include "data/clarify/column_fit.h"

#include <string.h>

static int set_up(void **state)
{
    static const char script[] =
        "CREATE TABLE parcel (weight INT, price INT, sent TEXT, opened TEXT, born DATE, founding_year INT, code TEXT,"
        " year_code INT, season TEXT, empty TEXT);"
        "INSERT INTO parcel VALUES (5, 2001, '2018-05-01', '3 May 2018', NULL, 1999, '2018x', 7, '2018', NULL),"
        " (7, 2002, 'never', '1/2/2019', NULL, 2003, '2019', 8, '2019', NULL),"
        " (9, 2003, '2019-05-01 10:00', 'later', NULL, 'unknown', '2020', 9, '2020', NULL);";
    return exec_world_set_up(state, sizeof(struct exec_world), script);
}

static void test_times_of_questions(void **state)
{
    static const struct {
        const char *text;
        bool time;
    } cases[] = {
        { "parcels sent in 2019", true },
        { "parcels sent between 2010 and 2019", true },
        { "parcels since spring 2019", true },
        { "parcels of last month", true },
        { "what arrived yesterday?", true },
        { "everything sent in February", true },
        { "what came on 2019-05-01?", true },
        { "what came on 1.5.2019, and why", true },
        { "2019 parcels", false },
        { "parcels in 2019 km", false },
        { "parcels above $2019", false },
        { "the last parcel", false },
        { "parcels in 19", false },
        { "version 1.5.2.7", false },
        { "they may march", false },
        { "", false },
        { "\xff 2019 \xfe", false },
    };
    struct fit_question q;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        fit_question_read(&q, cases[i].text);
        if (q.time != cases[i].time)
            fail_msg("\"%s\": %d", cases[i].text, q.time);
    }
}

static void test_units_of_questions(void **state)
{
    static const struct {
        const char *text;
        bool unit;
    } cases[] = { { "over 50 kg", true }, { "over 50kg", true },       { "over $50", true },
                  { "over 50 %", true },  { "over 50 percent", true }, { "over 50 parcels", false },
                  { "kg over 50", false } };
    struct fit_question q;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        fit_question_read(&q, cases[i].text);
        if (q.n != 1 || (q.units[0] != NULL) != cases[i].unit)
            fail_msg("\"%s\": %d numbers, %s", cases[i].text, q.n, q.units[0] ? "a unit" : "no unit");
    }
}

/* Numbers beyond the maximum are left out. */
static void test_many_numbers(void **state)
{
    char text[400] = "";
    struct fit_question q;

    (void)state;
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d kg ", i);
    fit_question_read(&q, text);
    assert_int_equal(q.n, FIT_NUMBERS);
}

static int column_of(const struct schema *s, const char *name)
{
    int column = schema_column_find(s, 0, name);

    if (column < 0)
        fail_msg("no column %s", name);
    return column;
}

static void test_times_of_columns(void **state)
{
    static const struct {
        const char *name;
        bool with_db, without;
    } cases[] = { { "weight", false, false }, { "price", false, false },    { "sent", true, false },
                  { "opened", true, false },  { "born", true, true },       { "founding_year", true, true },
                  { "code", false, false },   { "year_code", false, true }, { "season", true, true },
                  { "empty", false, false } };
    struct exec_world *w = *state;
    const struct schema *s = w->sql.schemas.schemas;
    struct column_fit f;

    for (int with = 0; with < 2; with++) {
        column_fit_open(&f, s, with ? w->db : NULL);
        for (int i = 0; i < ARRAY_LEN(cases); i++) {
            int column = column_of(s, cases[i].name);
            bool times = column_fit_times(&f, column);
            if (times != (with ? cases[i].with_db : cases[i].without))
                fail_msg("%s, %s a database: %d", cases[i].name, with ? "with" : "without", times);
            assert_int_equal(column_fit_times(&f, column), times);
        }
        column_fit_close(&f);
    }
}

static void test_units_of_columns(void **state)
{
    struct exec_world *w = *state;
    const struct schema *s = w->sql.schemas.schemas;
    struct fit_question q;
    struct column_fit f;

    column_fit_open(&f, s, NULL);
    fit_question_read(&q, "over 50 kg for less than $20");
    assert_int_equal(q.n, 2);
    assert_true(column_fit_measures(&f, column_of(s, "weight"), q.units[0]));
    assert_false(column_fit_measures(&f, column_of(s, "price"), q.units[0]));
    assert_true(column_fit_measures(&f, column_of(s, "price"), q.units[1]));
    column_fit_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_of_questions),
        cmocka_unit_test(test_units_of_questions),
        cmocka_unit_test(test_many_numbers),
        cmocka_unit_test_setup_teardown(test_times_of_columns, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_units_of_columns, set_up, exec_world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
