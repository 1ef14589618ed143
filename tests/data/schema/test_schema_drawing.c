/* Drawings of schemas: marks, keys, untrusted and non-ASCII names, and a bounded size for every schema. */
#include "data/schema/schema_build.h"
#include "data/schema/schema_drawing.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static char *drawn(const struct schema *s, const uint8_t *marks)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    schema_draw(f, s, marks);
    assert_int_equal(fclose(f), 0);
    return text;
}

static int occurrences(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

/* A schema of tables "t0" ... with columns "c0" to "cN"; the first column of each refers to the first one of the table
 * before. */
static struct schema chain(int tables, int columns)
{
    struct schema_build b = { 0 };
    struct schema s;
    char name[32];

    schema_build_init(&b, "chain");
    for (int t = 0; t < tables; t++) {
        snprintf(name, sizeof name, "t%d", t);
        schema_build_table(&b, name, NULL);
        for (int c = 0; c < columns; c++) {
            snprintf(name, sizeof name, "c%d", c);
            schema_build_column(&b, t, name, NULL, COLUMN_TEXT);
        }
        if (t)
            schema_build_foreign_key(&b, t * columns, (t - 1) * columns);
    }
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    return s;
}

static void a_small_schema_is_drawn_whole(void **state)
{
    struct schema s = chain(4, 3);
    uint8_t marks[4 + 12] = { 0 };

    (void)state;
    marks[1] = SCHEMA_NAMED;               /* t1 */
    marks[4 + 3 * 2 + 1] = SCHEMA_GOLD;    /* t2.c1 */
    marks[4] = SCHEMA_NAMED | SCHEMA_GOLD; /* t0.c0 */
    char *text = drawn(&s, marks);
    assert_int_equal(occurrences(text, "class=\"box\""), 4);
    assert_int_equal(occurrences(text, "class=\"name\""), 4);
    assert_int_equal(occurrences(text, "<text x"), 12);
    assert_int_equal(occurrences(text, "class=\"key\""), 3);
    assert_int_equal(occurrences(text, "class=\"named\""), 2);
    assert_int_equal(occurrences(text, "class=\"gold\""), 2);
    assert_null(strstr(text, "more"));
    /* the mark of t1 is on its name, that of t0 on its first column */
    assert_non_null(
        strstr(text, "y=\"4\" width=\"224\" height=\"18\"/><text class=\"name\" x=\"8\" y=\"17\">t1</text>"));
    assert_non_null(strstr(text, "y=\"22\" width=\"224\" height=\"18\"/><text x=\"8\" y=\"35\">c0</text>"));
    free(text);
    text = drawn(&s, NULL);
    assert_int_equal(occurrences(text, "class=\"box\""), 4);
    assert_null(strstr(text, "class=\"named\""));
    free(text);
    schema_release(&s);
}

/* The line of a key to a column further right leaves on the right side; a line within a box runs along its left
 * side. */
static void keys_go_from_side_to_side(void **state)
{
    struct schema_build b = { 0 };
    struct schema s;

    (void)state;
    schema_build_init(&b, "keys");
    for (int t = 0; t < 2; t++) {
        schema_build_table(&b, t ? "b" : "a", NULL);
        schema_build_column(&b, t, "x", NULL, COLUMN_TEXT);
        schema_build_column(&b, t, "y", NULL, COLUMN_TEXT);
    }
    schema_build_foreign_key(&b, 1, 2);
    schema_build_foreign_key(&b, 1, 0);
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    char *text = drawn(&s, NULL);
    assert_non_null(strstr(text, "d=\"M252 59C270 59 270 41 288 41\""));
    assert_non_null(strstr(text, "d=\"M22 59C4 59 4 41 22 41\""));
    free(text);
    schema_release(&s);
}

static void a_wide_schema_is_drawn_around_its_marks(void **state)
{
    struct schema s = chain(60, 2);
    uint8_t marks[60 + 120] = { 0 };

    (void)state;
    marks[60 + 2 * 30] = SCHEMA_NAMED;
    marks[60 + 2 * 59] = SCHEMA_GOLD;
    char *text = drawn(&s, marks);
    static const char *const shown[] = { ">t29<", ">t30<", ">t31<", ">t58<", ">t59<" };
    for (int i = 0; i < ARRAY_LEN(shown); i++)
        assert_non_null(strstr(text, shown[i]));
    assert_int_equal(occurrences(text, "class=\"box\""), ARRAY_LEN(shown));
    assert_int_equal(occurrences(text, "class=\"key\""), 3);
    assert_non_null(strstr(text, ">and 55 more tables<"));
    free(text);
    text = drawn(&s, NULL);
    assert_int_equal(occurrences(text, "class=\"box\""), SCHEMA_DRAWN_TABLES);
    assert_non_null(strstr(text, ">t0<"));
    assert_non_null(strstr(text, ">and 48 more tables<"));
    free(text);
    for (int i = 0; i < 60; i++)
        marks[i] = SCHEMA_NAMED;
    text = drawn(&s, marks);
    assert_int_equal(occurrences(text, "class=\"box\""), SCHEMA_DRAWN_TABLES);
    free(text);
    schema_release(&s);
}

static void a_wide_table_shows_relevant_columns(void **state)
{
    struct schema s = chain(2, 40);
    uint8_t marks[2 + 80] = { 0 };

    (void)state;
    marks[2 + 39] = SCHEMA_GOLD;
    char *text = drawn(&s, marks);
    assert_non_null(strstr(text, ">c39<"));
    assert_int_equal(occurrences(text, ">c0<"), 2); /* keys */
    assert_int_equal(occurrences(text, ">c10<"), 2);
    assert_int_equal(occurrences(text, ">c11<"), 1); /* the key of the table without a mark */
    assert_int_equal(occurrences(text, ">and 28 more columns<"), 2);
    free(text);
    /* if all tables are marked, the line of a key ends at the row that stands for the omitted columns */
    memset(marks, SCHEMA_GOLD, sizeof marks);
    marks[2] = marks[2 + 40] = 0;
    text = drawn(&s, marks);
    assert_null(strstr(text, ">c0<"));
    assert_int_equal(occurrences(text, "class=\"key\""), 1);
    assert_non_null(strstr(text, "d=\"M288 257C270 257 270 257 252 257\""));
    free(text);
    schema_release(&s);
}

static struct schema named(const char *db_id, const char *table, const char *column)
{
    struct schema_build b = { 0 };
    struct schema s;

    schema_build_init(&b, db_id);
    schema_build_table(&b, table, NULL);
    schema_build_column(&b, 0, column, NULL, COLUMN_TEXT);
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    return s;
}

static void names_of_strangers_are_text(void **state)
{
    static const char hostile[] = "\"><script>'&\x01";
    struct schema s = named(hostile, hostile, hostile);
    char *text = drawn(&s, NULL);

    (void)state;
    assert_null(strstr(text, "<script"));
    assert_null(strchr(text, 1));
    assert_int_equal(occurrences(text, "&quot;&gt;&lt;script&gt;&#39;&amp;\xef\xbf\xbd"), 3);
    free(text);
    schema_release(&s);
}

static void long_and_foreign_names_are_shortened(void **state)
{
    char line[1000], wide[301];
    struct schema s;

    (void)state;
    memset(line, '<', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (int i = 0; i < 100; i++)
        memcpy(wide + 3 * i, "\xe6\x9d\xb1", 4); /* 東 */
    s = named("long", line, wide);
    char *text = drawn(&s, NULL);
    /* 24 characters and an ellipsis; tooltips have up to 200 columns */
    assert_int_equal(occurrences(text, "&lt;"), 24 + 199);
    assert_int_equal(occurrences(text, "\xe6\x9d\xb1"), 12 + 100);
    assert_int_equal(occurrences(text, "\xe2\x80\xa6"), 3);
    assert_int_equal(occurrences(text, "<title>"), 2);
    free(text);
    schema_release(&s);
}

static void the_size_is_bounded(void **state)
{
    struct schema_build b = { 0 };
    struct schema s;
    char name[1000];

    (void)state;
    memset(name, '\'', sizeof name);
    schema_build_init(&b, "large");
    for (int t = 0; t < 100; t++) {
        snprintf(name + 900, 100, "%d", t);
        schema_build_table(&b, name, NULL);
        for (int c = 0; c < 100; c++) {
            snprintf(name + 900, 100, "%d", c);
            schema_build_column(&b, t, name, NULL, COLUMN_TEXT);
        }
    }
    for (int i = 0; i < 100 * 100; i++)
        schema_build_foreign_key(&b, i, i % 400);
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    uint8_t *marks = xmalloc(100 + 100 * 100);
    memset(marks, SCHEMA_NAMED | SCHEMA_GOLD, 100 + 100 * 100);
    char *text = drawn(&s, marks);
    assert_int_equal(occurrences(text, "class=\"key\""), SCHEMA_DRAWN_KEYS);
    assert_true(strlen(text) < 300000);
    free(text);
    free(marks);
    schema_release(&s);
}

static void nothing_is_a_drawing_too(void **state)
{
    struct schema_build b = { 0 };
    struct schema s;

    (void)state;
    schema_build_init(&b, "empty");
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    char *text = drawn(&s, NULL);
    assert_non_null(strstr(text, "</svg></div>"));
    free(text);
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_small_schema_is_drawn_whole),
                                        cmocka_unit_test(keys_go_from_side_to_side),
                                        cmocka_unit_test(a_wide_schema_is_drawn_around_its_marks),
                                        cmocka_unit_test(a_wide_table_shows_relevant_columns),
                                        cmocka_unit_test(names_of_strangers_are_text),
                                        cmocka_unit_test(long_and_foreign_names_are_shortened),
                                        cmocka_unit_test(the_size_is_bounded),
                                        cmocka_unit_test(nothing_is_a_drawing_too) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
