/* Questions on schemas with distractor tables: the choice of tables, and the labels. */
#include "tests/support/practice_world.h"

#include "data/schema/schema_search.h"
#include "train/detector/gate_data.h"

#include <string.h>

enum { EVERY = 29 /* every EVERY-th example is tested */ };

struct world {
    struct practice_world practice;
    struct distractor_source all;
};

static struct world w;

static int set_up(void **state)
{
    (void)state;
    practice_world_open(&w.practice);
    distractor_source_init(&w.all, &w.practice.data, &w.practice.settings, 1, 7);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    distractor_source_release(&w.all);
    practice_world_close(&w.practice);
    return 0;
}

static const struct gate_example *example(int i)
{
    return &w.practice.data.splits[SPLIT_TRAIN].list[i];
}

/* The training record about this schema, or about one of its renamed copies. */
static const char *source_of(const char *db_id)
{
    for (int i = 0; i < w.practice.data.splits[SPLIT_TRAIN].n; i++)
        if (strcmp(example(i)->record->db_id, db_id) == 0)
            return example(i)->record->source_db;
    fail_msg("%s is no training database", db_id);
    return NULL;
}

static void check_schemas(const struct gate_example *e, const struct gate_distractors *x)
{
    const struct schema *all = w.practice.records.schemas.schemas;
    int nodes = e->item.schema->n_nodes;

    assert_true(x->n >= 1 && x->n < w.all.n_sources);
    for (int i = 0; i < x->n; i++) {
        const char *source = source_of(all[x->schemas[i]].db_id);
        assert_string_not_equal(source, e->record->source_db);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(source, source_of(all[x->schemas[k]].db_id));
        nodes += all[x->schemas[i]].n_tables + all[x->schemas[i]].n_columns;
    }
    assert_int_equal(x->input.n_nodes, nodes);
    assert_true(nodes <= SCHEMA_SEARCH_ELEMENTS);
}

/* The form's own elements are all there, in order, and no other node is one of them. */
static void check_elements(const struct gate_example *e, const struct gate_form *form, const struct gate_distractors *x)
{
    int own = 0;

    for (int node = 0; node < x->input.n_nodes; node++) {
        int was = gate_form_own(&x->form, e, node);
        if (was < 0)
            continue;
        assert_int_equal(was, own++);
        assert_string_equal(x->input.texts[node], form->schema->texts[was]);
    }
    assert_int_equal(own, e->item.schema->n_nodes);
}

static void check_pair(const struct gate_example *e, const struct gate_form *form, const struct gate_distractors *x)
{
    assert_int_equal(x->form.pair >= 0, form->pair >= 0);
    if (form->pair < 0)
        return;
    const struct schema_pair *was = &form->schema->pairs[form->pair], *is = &x->input.pairs[x->form.pair];
    assert_int_equal(gate_form_own(&x->form, e, is->u), was->u);
    assert_int_equal(gate_form_own(&x->form, e, is->v), was->v);
    assert_int_equal(is->type, was->type);
    assert_true(gate_form_duplicated(&x->form, e, is->u, is->v));
    assert_true(gate_form_duplicated(&x->form, e, is->v, is->u));
}

/* Number of duplicated elements of distractor tables among the candidates. */
static int check_duplicates(const struct gate_example *e, const struct gate_distractors *x)
{
    int own = 0, appended = 0, wanted = 0;

    for (int i = 0; i < e->item.schema->n_pairs; i++)
        wanted += gate_data_duplicated(e, e->item.schema->pairs[i].u, e->item.schema->pairs[i].v);
    for (int i = 0; i < x->input.n_pairs; i++) {
        const struct schema_pair *p = &x->input.pairs[i];
        int u = gate_form_own(&x->form, e, p->u), v = gate_form_own(&x->form, e, p->v);
        bool duplicates = gate_form_duplicated(&x->form, e, p->u, p->v);
        if (u >= 0 && v >= 0)
            assert_int_equal(duplicates, gate_data_duplicated(e, u, v));
        if ((u >= 0) != (v >= 0))
            assert_false(duplicates);
        own += duplicates && u >= 0;
        appended += duplicates && u < 0;
    }
    assert_int_equal(own, wanted);
    return appended;
}

static void labels_move_with_elements(void **state)
{
    int duplicates = 0, pairs = 0, renamed = 0, least = 1000, most = 0;

    (void)state;
    for (int i = 0; i < w.practice.data.splits[SPLIT_TRAIN].n; i += EVERY) {
        const struct gate_example *e = example(i);
        const struct gate_form *form = &e->forms[i % e->n_forms];
        struct gate_distractors *x = gate_distractors_new(&w.all, e, form, (uint64_t)i);
        assert_non_null(x);
        check_schemas(e, x);
        check_elements(e, form, x);
        check_pair(e, form, x);
        duplicates += check_duplicates(e, x);
        pairs += form->pair >= 0;
        renamed += form != e->forms;
        int tables = x->schema.n_tables - e->item.schema->schema->n_tables;
        least = tables < least ? tables : least;
        most = tables > most ? tables : most;
        gate_distractors_free(x);
    }
    assert_true(duplicates > 100 && pairs > 20 && renamed > 50);
    assert_true(least <= 4 && most >= 30);
}

/* The same sample gives the same tables, other samples give others. */
static void draws_repeat(void **state)
{
    const struct gate_example *e = example(3);
    struct gate_distractors *a = gate_distractors_new(&w.all, e, e->forms, 5),
                            *b = gate_distractors_new(&w.all, e, e->forms, 5);
    int differ = 0;

    (void)state;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->schemas, b->schemas, (size_t)a->n * sizeof *a->schemas);
    for (uint64_t draw = 6; draw < 16; draw++) {
        struct gate_distractors *c = gate_distractors_new(&w.all, e, e->forms, draw);
        differ += c->n != a->n || memcmp(c->schemas, a->schemas, (size_t)a->n * sizeof *a->schemas) != 0;
        gate_distractors_free(c);
    }
    assert_int_equal(differ, 10);
    gate_distractors_free(a);
    gate_distractors_free(b);
}

/* In frozen stages, a share of the questions has distractors, chosen by the seed. The number of their elements is
 * known in advance. */
static void a_share_always_has_some(void **state)
{
    struct distractor_source none = w.all, some = w.all, other = w.all;
    int n = w.practice.data.splits[SPLIT_TRAIN].n, chosen = 0, alike = 0;
    uint64_t draw, again;

    (void)state;
    none.share = 0;
    some.share = other.share = 0.25;
    other.seed++;
    for (int i = 0; i < n; i++) {
        const struct gate_example *e = example(i);
        assert_false(gate_distractors_fixed(&none, e, &draw));
        assert_int_equal(gate_distractors_nodes(&none, e), e->item.schema->n_nodes);
        bool one = gate_distractors_fixed(&some, e, &draw);
        assert_int_equal(gate_distractors_fixed(&some, e, &again), one);
        assert_true(draw == again);
        chosen += one;
        alike += one && gate_distractors_fixed(&other, e, &draw);
        if (i % EVERY)
            continue;
        assert_true(gate_distractors_fixed(&w.all, e, &draw));
        struct gate_distractors *x = gate_distractors_new(&w.all, e, e->forms, draw);
        assert_int_equal(gate_distractors_nodes(&w.all, e), x->input.n_nodes);
        assert_int_equal(gate_distractors_item(e, x).schema->n_nodes, x->input.n_nodes);
        gate_distractors_free(x);
    }
    assert_in_range(chosen, n / 5, n * 3 / 10);
    assert_in_range(alike, chosen / 8, chosen / 2);
}

/* A question's own database is no distractor, so that a single database has none. */
static void one_database_stays_alone(void **state)
{
    const struct gate_example *e = example(0);
    struct distractor_source lone = w.all;
    uint64_t draw;

    (void)state;
    lone.n_sources = 1;
    assert_string_equal(lone.sources[0].source_db, e->record->source_db);
    assert_null(gate_distractors_new(&lone, e, e->forms, 1));
    assert_true(gate_distractors_fixed(&lone, e, &draw));
    assert_int_equal(gate_distractors_nodes(&lone, e), e->item.schema->n_nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_move_with_elements),
        cmocka_unit_test(draws_repeat),
        cmocka_unit_test(a_share_always_has_some),
        cmocka_unit_test(one_database_stays_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
