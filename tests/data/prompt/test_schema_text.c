/* Schemas out of AmbiQT's texts: types and keys of the original, fragments of values left out. */
#include "tests/support/support.h"

#include "data/prompt/schema_text.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

/* singer(id key, name), song(title, singer_id -> singer.id) */
static void make_original(struct schema *s)
{
    struct schema_build b = { 0 };

    schema_build_init(&b, "choir");
    int singer = schema_build_table(&b, "Singer", NULL), song = schema_build_table(&b, "Song", NULL);
    int id = schema_build_column(&b, singer, "ID", NULL, COLUMN_NUMBER);
    schema_build_column(&b, singer, "Name", NULL, COLUMN_TEXT);
    schema_build_column(&b, song, "Title", NULL, COLUMN_TEXT);
    schema_build_primary(&b, id);
    schema_build_foreign_key(&b, schema_build_column(&b, song, "Singer_ID", NULL, COLUMN_NUMBER), id);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

static const struct schema *read_text(struct schema_set *set, const char *text, const struct schema *original)
{
    struct error err = { 0 };

    *set = (struct schema_set){ 0 };
    if (schema_of_text(set, "choir", text, original, &err))
        fail_msg("%s", err.text);
    return set->schemas;
}

/* "table.column" is there; its number. */
static int column(const struct schema *s, const char *table, const char *name)
{
    int t = schema_table_find(s, table), c = t < 0 ? -1 : schema_column_find(s, t, name);

    if (c < 0)
        fail_msg("no %s.%s", table, name);
    return c;
}

static void text_alone(void **state)
{
    struct schema_set set;
    const struct schema *s =
        read_text(&set, "singer : id , name , -555-1 ) , \"x  | song : title , title | song : x", NULL);

    (void)state;
    assert_int_equal(s->n_tables, 2);
    assert_int_equal(s->n_columns, 3);
    assert_int_equal(s->columns[column(s, "song", "title")].type, COLUMN_OTHERS);
    assert_int_equal(s->n_foreign_keys, 0);
    schema_set_close(&set);
}

/* As AmbiQT's records have them. */
static void names_before_fragments(void **state)
{
    struct schema_set set;
    const struct schema *s = read_text(
        &set, "car : make \", \"amc hornet sportabout \", model , home_phone 997-7627\", \"+49 30\", score  6-2 8-6\"",
        NULL);

    (void)state;
    column(s, "car", "make");
    column(s, "car", "home_phone");
    column(s, "car", "score");
    assert_int_equal(s->n_columns, 4);
    schema_set_close(&set);
}

static void keys_of_the_original(void **state)
{
    struct schema original;
    struct schema_set set;

    (void)state;
    make_original(&original);
    const struct schema *s = read_text(&set, "song : singer_id , title | singer : name , id", &original);
    assert_int_equal(s->n_foreign_keys, 1);
    assert_int_equal(s->foreign_keys[0].from, column(s, "song", "singer_id"));
    assert_int_equal(s->foreign_keys[0].to, column(s, "singer", "id"));
    assert_true(s->columns[column(s, "singer", "id")].primary);
    assert_int_equal(s->columns[column(s, "singer", "id")].type, COLUMN_NUMBER);
    schema_set_close(&set);
    schema_release(&original);
}

/* A table that stands twice under other names is joined by both; a part of a table is not it. */
static void keys_of_renamed_tables(void **state)
{
    struct schema original;
    struct schema_set set;

    (void)state;
    make_original(&original);
    const struct schema *s =
        read_text(&set, "song : singer_id , title | Artist : name , id | vocalist : id , name", &original);
    assert_int_equal(s->n_foreign_keys, 2);
    assert_int_equal(s->foreign_keys[0].to, column(s, "artist", "id"));
    assert_int_equal(s->foreign_keys[1].to, column(s, "vocalist", "id"));
    schema_set_close(&set);
    s = read_text(&set, "song : singer_id , title | singer : name , id | singer_name : id , name", &original);
    assert_int_equal(s->n_foreign_keys, 1);
    assert_false(s->columns[column(s, "singer_name", "id")].primary);
    schema_set_close(&set);
    schema_release(&original);
}

static void bad_texts(void **state)
{
    static const char *const texts[] = { "", "singer", "singer : id | song", " : id" };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(texts); i++) {
        struct schema_set set = { 0 };
        struct error err = { 0 };
        assert_int_equal(schema_of_text(&set, "choir", texts[i], NULL, &err), -1);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_non_null(strstr(err.text, "expected \"table : column"));
        schema_set_close(&set);
    }
}

static void hidden_elements(void **state)
{
    (void)state;
    static const char plain[] = "a : x, y | b : z | c : x, y, w", spaced[] = "a : x , y  | b : z  | c : x , y , w ";
    static const char *const cases[][4] = {
        { plain, "A", "X", "a : y | b : z | c : x, y, w" },
        { plain, "a", "y", "a : x | b : z | c : x, y, w" },
        { plain, "c", "y", "a : x, y | b : z | c : x, w" },
        { plain, "b", "z", "a : x, y | c : x, y, w" },
        { plain, "a", NULL, "b : z | c : x, y, w" },
        { plain, "c", NULL, "a : x, y | b : z" },
        { plain, "b", "x", plain },
        { plain, "d", NULL, plain },
        { spaced, "a", "x", "a : y  | b : z  | c : x , y , w " },
        { spaced, "a", "y", "a : x  | b : z  | c : x , y , w " },
        { spaced, "c", "w", "a : x , y  | b : z  | c : x , y " },
        { spaced, "b", NULL, "a : x , y  | c : x , y , w " },
        { spaced, "c", NULL, "a : x , y  | b : z " },
        { "a : x", "a", "x", "" },
        { "a", "a", "x", "a" },
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *left = schema_text_without(cases[i][0], cases[i][1], cases[i][2]);
        assert_string_equal(left, cases[i][3]);
        free(left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_alone),
        cmocka_unit_test(names_before_fragments),
        cmocka_unit_test(keys_of_the_original),
        cmocka_unit_test(keys_of_renamed_tables),
        cmocka_unit_test(bad_texts),
        cmocka_unit_test(hidden_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
