/* Tests of custom data sets: the split of questions, and the fields of records. */
#include "tests/support/support.h"

#include "data/corpora/labels.h"

#include <stdio.h>
#include <string.h>

struct made {
    struct example_list all;
    struct dataset split;
};

static void add(struct made *m, const char *question, const char *db, bool ambiguous)
{
    struct example e = { .id = "1",
                         .question = question,
                         .db_id = db,
                         .source_db = db,
                         .ambiguous = ambiguous,
                         .slice = EXAMPLE_CUSTOM,
                         .type = SIA_TYPES };
    example_list_add(&m->all, &e);
}

static void release(struct made *m)
{
    example_list_release(&m->all);
    dataset_release(&m->split);
}

/* Makes n questions, a third of them ambiguous, with `copies` of each that differ in case and white space. */
static struct made make(int n, int databases, int copies, int64_t seed)
{
    struct made m = { 0 };
    char text[64], db[16];

    for (int c = 0; c < copies; c++)
        for (int i = 0; i < n; i++) {
            snprintf(text, sizeof text, c ? "  what IS  %d? " : "What is %d?", i);
            snprintf(db, sizeof db, "db%d", i % databases);
            add(&m, text, db, i % 3 == 0);
        }
    labels_split(&m.split, &m.all, seed, "labels.csv");
    return m;
}

static int ambiguous(const struct example_list *l)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->items[i].ambiguous;
    return n;
}

/* A fifth, a fifth and the rest of each label; small sets keep both labels in training. */
static void each_fold_has_both_labels(void **state)
{
    static const struct {
        int n, ambiguous[SPLITS], others[SPLITS];
    } cases[] = { { 60, { 12, 4, 4 }, { 24, 8, 8 } },
                  { 15, { 3, 1, 1 }, { 6, 2, 2 } },
                  { 6, { 1, 1, 0 }, { 2, 1, 1 } },
                  { 3, { 1, 0, 0 }, { 1, 1, 0 } } };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct made m = make(cases[i].n, 1, 1, 1);
        for (int f = 0; f < SPLITS; f++) {
            assert_int_equal(ambiguous(&m.split.splits[f]), cases[i].ambiguous[f]);
            assert_int_equal(m.split.splits[f].n - ambiguous(&m.split.splits[f]), cases[i].others[f]);
        }
        release(&m);
    }
}

static bool asks(const struct example_list *l, int number)
{
    char end[16];

    snprintf(end, sizeof end, " %d?", number);
    for (int i = 0; i < l->n; i++)
        if (strstr(l->items[i].question, end))
            return true;
    return false;
}

static void one_text_stands_in_one_fold(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= 3; seed++) {
        struct made m = make(40, 1, 3, seed);
        for (int k = 0; k < 40; k++) {
            int splits = 0;
            for (int f = 0; f < SPLITS; f++)
                splits += asks(&m.split.splits[f], k);
            assert_int_equal(splits, 1);
        }
        release(&m);
    }
}

static void a_seed_is_a_split(void **state)
{
    struct made a = make(60, 1, 1, 1), b = make(60, 1, 1, 1), c = make(60, 1, 1, 2);
    int same = 0;

    (void)state;
    for (int i = 0; i < a.split.splits[SPLIT_TEST].n; i++) {
        assert_string_equal(a.split.splits[SPLIT_TEST].items[i].question, b.split.splits[SPLIT_TEST].items[i].question);
        same += strcmp(a.split.splits[SPLIT_TEST].items[i].question, c.split.splits[SPLIT_TEST].items[i].question) == 0;
    }
    assert_true(same < a.split.splits[SPLIT_TEST].n);
    release(&a);
    release(&b);
    release(&c);
}

/* Of five databases, three are used for training; two databases are too few for three splits. */
static void databases_stay_together_where_they_can(void **state)
{
    (void)state;
    struct made five = make(60, 5, 1, 1), two = make(60, 2, 1, 1);
    int splits = 0;

    assert_int_equal(five.split.splits[SPLIT_TRAIN].n, 36);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < five.split.splits[f].n && f != SPLIT_TRAIN; i++)
            assert_string_equal(five.split.splits[f].items[i].db_id, five.split.splits[f].items[0].db_id);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < two.split.splits[f].n; i++)
            if (strcmp(two.split.splits[f].items[i].db_id, "db0") == 0) {
                splits++;
                break;
            }
    assert_int_equal(splits, SPLITS);
    release(&five);
    release(&two);
}

/* Databases with only one label cannot form the training split. */
static void training_has_both_labels(void **state)
{
    struct made m = { 0 };
    char text[32], db[8];

    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "What is %d?", i);
        snprintf(db, sizeof db, "db%d", i % 3);
        add(&m, text, db, i % 3 == 0);
    }
    labels_split(&m.split, &m.all, 1, "labels.csv");
    for (int f = 0; f < SPLITS; f++)
        assert_true(ambiguous(&m.split.splits[f]) > 0 && ambiguous(&m.split.splits[f]) < m.split.splits[f].n);
    release(&m);
}

static const struct example *named(const struct example_list *l, const char *id)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->items[i].id, id) == 0)
            return &l->items[i];
    fail_msg("no example %s", id);
    return NULL;
}

/* A published row beside a custom label: types, golds as SQL, and the last sentence of attachment questions. Invalid
 * SQL of a published row is dropped; that of a custom label is an error. */
static void rows_of_ambrosia_are_labels(void **state)
{
    static const char rows[] =
        "{\"db\":\"shop\",\"question\":\"Show toys and games at 5\",\"is_ambiguous\":true,\"ambig_type\":\"attachment\","
        "\"gold_queries\":[\"SELECT name FROM shop\",\"SELECT price FROM shop\"]}\n"
        "{\"db\":\"shop\",\"question\":\"What is common to all?\",\"is_ambiguous\":false,\"ambig_type\":\"scope\","
        "\"gold_queries\":[\"SELECT nothing FROM nowhere\"]}\n"
        "{\"id\":\"own\",\"db_id\":\"shop\",\"question\":\"What is it worth?\",\"ambiguous\":\"yes\",\"type\":\"vague\"}\n"
        "{\"id\":\"twin\",\"db_id\":\"shop\",\"question\":\"What is its price?\",\"ambiguous\":\"no\",\"type\":\"C\"}\n";
    static const char tables[] =
        "[{\"db_id\":\"shop\",\"table_names_original\":[\"shop\"],\"table_names\":[\"shop\"],\"column_names_original\":"
        "[[-1,\"*\"],[0,\"name\"],[0,\"price\"]],\"column_names\":[[-1,\"*\"],[0,\"name\"],[0,\"price\"]],\"column_types\":"
        "[\"text\",\"text\",\"number\"],\"primary_keys\":[],\"foreign_keys\":[]}]";
    char *dir = test_dir_new();
    char *path = xstrdup(test_file(dir, "rows.jsonl", rows)), *schema = xstrdup(test_file(dir, "tables.json", tables));
    struct labels_request q = { .path = path, .schema = schema, .whole = true };
    struct dataset d;
    struct error err;

    (void)state;
    if (labels_read(&d, &q, &err))
        fail_msg("%s", err.text);
    const struct example_list *l = &d.splits[SPLIT_TEST];
    assert_int_equal(l->n, 4);
    const struct example *e = named(l, "1");
    assert_true(e->ambiguous);
    assert_int_equal(e->linguistic, LINGUISTIC_ATTACHMENT);
    assert_int_equal(e->type, SIA_TYPES);
    assert_int_equal(e->n_sql, 2);
    assert_string_equal(e->question, "Show toys and games at 5 Show them in one table.");
    e = named(l, "2");
    assert_false(e->ambiguous);
    assert_int_equal(e->linguistic, LINGUISTIC_SCOPE);
    assert_int_equal(e->n_sql, 0);
    assert_int_equal(named(l, "own")->linguistic, LINGUISTIC_VAGUE);
    assert_int_equal(named(l, "twin")->linguistic, LINGUISTIC_NONE);
    assert_int_equal(named(l, "twin")->type, SIA_COLUMN);
    dataset_release(&d);
    free(path);
    free(schema);
    test_dir_remove(dir);
}

/* The joined data set has the schemas and questions of both. */
static void datasets_are_joined(void **state)
{
    struct made a = make(60, 1, 1, 1), b = make(60, 1, 1, 1);
    int train = a.split.splits[SPLIT_TRAIN].n, test = a.split.splits[SPLIT_TEST].n;
    struct error err;

    (void)state;
    assert_int_equal(dataset_join(&a.split, &b.split, &err), 0);
    assert_int_equal(a.split.splits[SPLIT_TRAIN].n, 2 * train);
    assert_int_equal(a.split.splits[SPLIT_TEST].n, 2 * test);
    assert_string_equal(a.split.splits[SPLIT_TRAIN].items[2 * train - 1].question,
                        b.split.splits[SPLIT_TRAIN].items[train - 1].question);
    release(&a);
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fold_has_both_labels), cmocka_unit_test(one_text_stands_in_one_fold),
        cmocka_unit_test(a_seed_is_a_split),         cmocka_unit_test(databases_stay_together_where_they_can),
        cmocka_unit_test(training_has_both_labels),  cmocka_unit_test(rows_of_ambrosia_are_labels),
        cmocka_unit_test(datasets_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
