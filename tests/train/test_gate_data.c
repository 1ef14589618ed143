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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_duplicated),
        cmocka_unit_test(labels_hold_for_renamed_schemas),
        cmocka_unit_test(alternatives_are_relevant),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
