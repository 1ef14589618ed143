/* Records as training examples: their schemas with all sets of names, and the labels. */
#include "tests/support/practice_world.h"

#include <string.h>

static struct practice_world w;

static int set_up(void **state)
{
    (void)state;
    practice_world_open(&w);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    practice_world_close(&w);
    return 0;
}

static int count_duplicates(const struct gate_example *e, const struct schema_input *in)
{
    int n = 0;
    for (int i = 0; i < in->n_pairs; i++)
        n += gate_data_duplicated(e, in->pairs[i].u, in->pairs[i].v);
    return n;
}

/* The schema of a contrast example has duplicated elements, whether or not the question refers to them. Other
 * schemas have none. */
static void elements_are_duplicated(void **state)
{
    int asked = 0, not_asked = 0;

    (void)state;
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < w.data.splits[f].n; i++) {
            const struct gate_example *e = &w.data.splits[f].list[i];
            bool contrast = e->record->slice == EXAMPLE_CONTRAST;
            for (int k = 0; k < e->n_forms; k++)
                assert_int_equal(count_duplicates(e, e->forms[k].schema) > 0, contrast);
            asked += contrast && e->record->ambiguous;
            not_asked += contrast && !e->record->ambiguous;
        }
    assert_true(asked > 500 && asked == not_asked);
}

/* In each set of names, the alternatives are the same two elements, and duplicated. */
static void labels_hold_for_renamed_schemas(void **state)
{
    int forms = 0;

    (void)state;
    for (int i = 0; i < w.data.splits[SPLIT_TRAIN].n; i++) {
        const struct gate_example *e = &w.data.splits[SPLIT_TRAIN].list[i];
        assert_int_equal(e->forms[0].pair, e->pair);
        assert_ptr_equal(e->forms[0].schema, e->item.schema);
        for (int k = 0; k < e->n_forms; k++) {
            const struct gate_form *form = &e->forms[k];
            assert_int_equal(form->pair >= 0, e->record->ambiguous);
            if (form->pair < 0)
                continue;
            const struct schema_pair *p = &form->schema->pairs[form->pair], *own = &e->item.schema->pairs[e->pair];
            assert_int_equal(p->u + p->v, own->u + own->v);
            assert_true(gate_data_duplicated(e, p->u, p->v));
            assert_int_equal(p->type, e->record->type);
            forms += k > 0;
        }
    }
    assert_true(forms > 500);
}

/* Both interpretations of an ambiguous question use their alternative, so that both are relevant. */
static void alternatives_are_relevant(void **state)
{
    (void)state;
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < w.data.splits[f].n; i++) {
            const struct gate_example *e = &w.data.splits[f].list[i];
            if (e->pair < 0)
                continue;
            const struct schema_pair *p = &e->item.schema->pairs[e->pair];
            assert_true(e->relevant[p->u] && e->relevant[p->v]);
        }
}

/* Two databases, one with two pairs of columns. */
static const char tables[] =
    "[{\"db_id\": \"gym\", \"table_names_original\": [\"trainer\"], \"table_names\": [\"trainer\"], "
    "\"column_names_original\": [[-1, \"*\"], [0, \"id\"], [0, \"day_fee\"], [0, \"year_fee\"], "
    "[0, \"home_address\"], [0, \"work_address\"]], "
    "\"column_names\": [[-1, \"*\"], [0, \"id\"], [0, \"day fee\"], [0, \"year fee\"], [0, \"home address\"], "
    "[0, \"work address\"]], \"column_types\": [\"text\", \"number\", \"number\", \"number\", \"text\", \"text\"], "
    "\"primary_keys\": [1], \"foreign_keys\": []}, "
    "{\"db_id\": \"port\", \"table_names_original\": [\"boat\"], \"table_names\": [\"boat\"], "
    "\"column_names_original\": [[-1, \"*\"], [0, \"paint\"], [0, \"hue\"]], "
    "\"column_names\": [[-1, \"*\"], [0, \"paint\"], [0, \"hue\"]], "
    "\"column_types\": [\"text\", \"text\", \"text\"], \"primary_keys\": [], \"foreign_keys\": []}]";

#define FEES "[\"trainer.day_fee\", \"trainer.year_fee\"]"
static const char both[] =
    "{\"id\": \"1\", \"db_id\": \"gym\", \"source_db\": \"gym\", \"question\": \"fee and address?\", "
    "\"sql\": [\"SELECT day_fee, home_address FROM trainer\", \"SELECT year_fee, work_address FROM trainer\"], "
    "\"slice\": \"contrast\", \"type\": \"C\", \"ambiguous\": true, \"alternatives\": " FEES ", "
    "\"ambiguities\": [{\"alternatives\": " FEES "}, "
    "{\"alternatives\": [\"trainer.work_address\", \"trainer.home_address\"]}]}\n";
static const char clear[] =
    "{\"id\": \"2\", \"db_id\": \"port\", \"source_db\": \"port\", \"question\": \"which paint?\", "
    "\"sql\": [\"SELECT paint FROM boat\"], \"slice\": \"contrast\", \"type\": \"C\", \"ambiguous\": false, "
    "\"alternatives\": [], \"ambiguities\": []}\n";

/* The number of candidate pairs that are meant; each is one of the two. */
static int count_meant(const struct gate_example *e, const struct gate_form *form)
{
    int n = 0;

    for (int p = 0; p < form->schema->n_pairs; p++) {
        if (!gate_form_meant(form, e, p))
            continue;
        int u = gate_form_own(form, e, form->schema->pairs[p].u), v = gate_form_own(form, e, form->schema->pairs[p].v);
        assert_true((u + v == 5 && u * v == 6) || (u + v == 9 && u * v == 20)); /* fees 2, 3; addresses 4, 5 */
        n++;
    }
    assert_false(gate_form_meant(form, e, -1));
    return n;
}

/* A question with two ambiguities means two candidate pairs, also beside distractor tables. */
static void all_ambiguities_are_meant(void **state)
{
    struct dataset records;
    struct gate_data data;
    struct distractor_source source;
    struct error err = { 0 };
    char text[4096], *dir = test_dir_new();

    (void)state;
    snprintf(text, sizeof text, "%s%s", both, clear);
    test_file(dir, "tables.json", tables);
    test_file(dir, "train.jsonl", text);
    test_file(dir, "valid.jsonl", clear);
    test_file(dir, "test.jsonl", clear);
    assert_int_equal(dataset_read(&records, dir, &err), 0);
    assert_int_equal(gate_data_init(&data, &records, &w.settings, &err), 0);
    const struct gate_example *e = &data.splits[SPLIT_TRAIN].list[0], *other = &data.splits[SPLIT_TRAIN].list[1];
    assert_int_equal(count_meant(e, &e->forms[0]), 2);
    assert_int_equal(count_meant(other, &other->forms[0]), 0);
    assert_int_equal(count_duplicates(e, e->item.schema), 2);

    distractor_source_init(&source, &data, &w.settings, 1, 7);
    struct gate_distractors *x = gate_distractors_new(&source, e, &e->forms[0], 1);
    assert_non_null(x);
    assert_int_equal(count_meant(e, &x->form), 2);
    gate_distractors_free(x);
    distractor_source_release(&source);
    gate_data_release(&data);
    dataset_release(&records);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_duplicated),
        cmocka_unit_test(labels_hold_for_renamed_schemas),
        cmocka_unit_test(alternatives_are_relevant),
        cmocka_unit_test(all_ambiguities_are_meant),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
