/* Joining the tables of several schemas: order, keys and taken names. */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"

/* Two tables of two columns each; the second's second column refers to the first's key. */
static void make(struct schema *s, const char *db_id, const char *first, const char *second)
{
    struct schema_build b;

    schema_build_init(&b, db_id);
    int one = schema_build_table(&b, first, NULL), two = schema_build_table(&b, second, "some words");
    int key = schema_build_column(&b, one, "Id", NULL, COLUMN_NUMBER);
    schema_build_column(&b, one, "title", NULL, COLUMN_TEXT);
    int own = schema_build_column(&b, two, "since", NULL, COLUMN_TIME);
    int from = schema_build_column(&b, two, "ref", "reference", COLUMN_NUMBER);
    schema_build_form(&b, two, TABLE_VIEW);
    schema_build_primary(&b, key);
    schema_build_primary(&b, own);
    schema_build_foreign_key(&b, from, key);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

static void test_order_and_keys(void **state)
{
    struct schema list[2], out;
    const struct schema *const all[] = { &list[0], &list[1] };

    (void)state;
    make(&list[0], "one", "singer", "concert");
    make(&list[1], "two", "plant", "harvest");
    schema_join(&out, all, 2);
    assert_string_equal(out.db_id, "one");
    assert_int_equal(out.n_tables, 4);
    assert_int_equal(out.n_columns, 8);
    assert_int_equal(out.n_foreign_keys, 2);
    for (int part = 0; part < 2; part++) {
        const struct schema *s = &list[part];
        for (int t = 0; t < s->n_tables; t++) {
            const struct schema_table *from = &s->tables[t], *to = &out.tables[2 * part + t];
            assert_string_equal(to->name, from->name);
            assert_string_equal(to->text, from->text);
            assert_int_equal(to->form, from->form);
            assert_int_equal(to->first_column, 4 * part + from->first_column);
            assert_int_equal(to->n_columns, from->n_columns);
        }
        for (int c = 0; c < s->n_columns; c++) {
            const struct schema_column *from = &s->columns[c], *to = &out.columns[4 * part + c];
            assert_string_equal(to->name, from->name);
            assert_string_equal(to->text, from->text);
            assert_int_equal(to->table, 2 * part + from->table);
            assert_int_equal(to->type, from->type);
            assert_int_equal(to->primary, from->primary);
        }
        assert_int_equal(out.foreign_keys[part].from, 4 * part + s->foreign_keys[0].from);
        assert_int_equal(out.foreign_keys[part].to, 4 * part + s->foreign_keys[0].to);
    }
    schema_release(&list[0]);
    schema_release(&list[1]);
    schema_release(&out);
}

/* A new name does not collide with later tables either; words stay the same. */
static void test_taken_names(void **state)
{
    static const char *const wanted[] = { "singer", "concert", "SINGER_3", "concert_2", "singer_2", "Concert_3" };
    struct schema list[3], out;
    const struct schema *const all[] = { &list[0], &list[1], &list[2] };

    (void)state;
    make(&list[0], "one", "singer", "concert");
    make(&list[1], "two", "SINGER", "concert");
    make(&list[2], "three", "singer_2", "Concert");
    schema_join(&out, all, 3);
    assert_int_equal(out.n_tables, 6);
    for (int t = 0; t < 6; t++)
        assert_string_equal(out.tables[t].name, wanted[t]);
    assert_string_equal(out.tables[2].text, "singer");
    assert_string_equal(out.tables[3].text, "some words");
    assert_int_equal(schema_table_find(&out, "Singer_3"), 2);
    for (int i = 0; i < 3; i++)
        schema_release(&list[i]);
    schema_release(&out);
}

/* A single schema is copied, and a table without columns is accepted. */
static void test_one(void **state)
{
    struct schema_build b;
    struct schema s, out;
    const struct schema *const all[] = { &s };

    (void)state;
    schema_build_init(&b, "one");
    schema_build_table(&b, "empty", NULL);
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    schema_join(&out, all, 1);
    assert_int_equal(out.n_tables, 1);
    assert_int_equal(out.n_columns, 0);
    assert_string_equal(out.tables[0].name, "empty");
    schema_release(&s);
    schema_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_keys),
        cmocka_unit_test(test_taken_names),
        cmocka_unit_test(test_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
