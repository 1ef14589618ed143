#include "tests/support/support.h"

#include "data/base/log.h"
#include "data/schema/element_name.h"
#include "data/schema/schema_build.h"
#include "data/schema/schema_pairs.h"
#include "data/synth/alter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The candidates of one schema, and the schema. */
struct fixture {
    struct schema schema;
    struct schema_pair *pairs;
    int n;
};

static void columns(struct schema_build *b, int table, const char *numbers, const char *texts)
{
    char list[256], *rest = list;

    snprintf(list, sizeof list, "%s", numbers);
    for (char *name; (name = strsep(&rest, " ")) != NULL && *name;)
        schema_build_column(b, table, name, NULL, COLUMN_NUMBER);
    snprintf(list, sizeof list, "%s", texts);
    rest = list;
    for (char *name; (name = strsep(&rest, " ")) != NULL && *name;)
        schema_build_column(b, table, name, NULL, COLUMN_TEXT);
}

static void open_pairs(struct fixture *f, struct schema_build *b)
{
    schema_build_finish(b, &f->schema);
    schema_build_release(b);
    f->pairs = schema_pairs(&f->schema, &f->n);
}

static void close_pairs(struct fixture *f)
{
    free(f->pairs);
    schema_release(&f->schema);
}

/* "table" or "table.column" -> its number */
static int element(const struct fixture *f, const char *name)
{
    char table[64];
    const char *dot = strchr(name, '.');

    snprintf(table, sizeof table, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
    int t = schema_table_find(&f->schema, table);
    assert_true(t >= 0);
    int c = dot ? schema_column_find(&f->schema, t, dot + 1) : -1;
    assert_true(!dot || c >= 0);
    return dot ? f->schema.n_tables + c : t;
}

static const struct schema_pair *find(const struct fixture *f, const char *u, const char *v)
{
    int a = element(f, u), b = element(f, v);

    for (int i = 0; i < f->n; i++)
        if (f->pairs[i].u == a && f->pairs[i].v == b)
            return &f->pairs[i];
    return NULL;
}

static int count(const struct fixture *f, enum sia_type type)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        n += f->pairs[i].type == type;
    return n;
}

#define HAS(f, u, v, k)                                                                                                \
    do {                                                                                                               \
        assert_non_null(find((f), (u), (v)));                                                                          \
        assert_int_equal(find((f), (u), (v))->type, (k));                                                              \
    } while (0)
#define NEAR(got, wanted) assert_true(fabs((double)(got) - (double)(wanted)) < 1e-6)

/* One table with two columns for the city of birth. */
static void test_columns(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "c");
    int head = schema_build_table(&b, "head", NULL);
    columns(&b, head, "head_id age", "hometown birthplace name");
    schema_build_primary(&b, 0);
    open_pairs(&f, &b);
    assert_int_equal(count(&f, SIA_COLUMN), 3); /* head_id is a key and age is not, so they are not paired */
    assert_int_equal(f.n, 3);
    HAS(&f, "head.hometown", "head.birthplace", SIA_COLUMN);
    assert_null(find(&f, "head.birthplace", "head.hometown"));
    const float *x = find(&f, "head.hometown", "head.birthplace")->features;
    NEAR(x[PAIR_IS_COLUMN] + x[PAIR_IS_TABLE] + x[PAIR_IS_JOIN] + x[PAIR_IS_AGGREGATE], 1);
    NEAR(x[PAIR_IS_COLUMN], 1);
    NEAR(x[PAIR_SAME_TYPE] * x[PAIR_TEXT], 1);
    NEAR(x[PAIR_WORDS], 0);
    NEAR(x[PAIR_LENGTHS], 0.8);
    NEAR(x[PAIR_COLUMNS_JACCARD], 0);
    NEAR(x[PAIR_COLUMNS_U], log2(6) / 8);
    NEAR(x[PAIR_RIVALS], log2(3) / 8); /* each is also paired with name */
    NEAR(x[PAIR_WORDS_U], 0.25);
    NEAR(x[PAIR_LETTERS_V], 10.0 / 24);
    NEAR(x[PAIR_FAMILY_U], 0);
    close_pairs(&f);
}

static void test_tables(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "t");
    columns(&b, schema_build_table(&b, "admin", NULL), "head_id age", "name");
    columns(&b, schema_build_table(&b, "supervisor", NULL), "age head_id", "name");
    columns(&b, schema_build_table(&b, "department", NULL), "head_id budget creation", "title");
    open_pairs(&f, &b);
    assert_int_equal(count(&f, SIA_TABLE), 3); /* all tables of a schema with few tables */
    HAS(&f, "admin", "supervisor", SIA_TABLE);
    const float *x = find(&f, "admin", "supervisor")->features;
    NEAR(x[PAIR_COLUMNS_EQUAL], 1);
    NEAR(x[PAIR_COLUMNS_JACCARD], 1);
    NEAR(x[PAIR_TABLE_EXTENDED], 0);
    assert_int_equal(count(&f, SIA_JOIN), 0);
    close_pairs(&f);
}

/* With many tables, only those that share columns, a word or a meaning are compared. */
static void test_many_tables(void **state)
{
    struct schema_build b;
    struct fixture f;
    char name[8] = "aa";

    (void)state;
    schema_build_init(&b, "many");
    columns(&b, schema_build_table(&b, "admin", NULL), "wage", "name");
    columns(&b, schema_build_table(&b, "supervisor", NULL), "wage", "name");
    for (int i = 0; i < 24; i++) {
        name[1] = (char)('a' + i);
        columns(&b, schema_build_table(&b, name, NULL), name, "");
    }
    open_pairs(&f, &b);
    assert_int_equal(count(&f, SIA_TABLE), 1);
    HAS(&f, "admin", "supervisor", SIA_TABLE);
    close_pairs(&f);
}

static void test_joins(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "j");
    columns(&b, schema_build_table(&b, "Head_Name", NULL), "head_id", "Name");
    schema_build_primary(&b, 0);
    columns(&b, schema_build_table(&b, "head", NULL), "head_id age", "name born_state");
    schema_build_primary(&b, 2);
    columns(&b, schema_build_table(&b, "department", NULL), "department_id", "name");
    open_pairs(&f, &b);
    assert_int_equal(count(&f, SIA_JOIN), 1); /* u is the original, at any position */
    HAS(&f, "head.name", "Head_Name.Name", SIA_JOIN);
    const float *x = find(&f, "head.name", "Head_Name.Name")->features;
    NEAR(x[PAIR_EQUAL], 1);
    NEAR(x[PAIR_TABLE_EXTENDED], 1);
    NEAR(x[PAIR_TABLE_BEGINS], 1);
    NEAR(x[PAIR_KEY_SHARED], 1);
    NEAR(x[PAIR_COLUMNS_CONTAINED], 1);
    NEAR(x[PAIR_NAMESAKES_U], log2(3) / 4);
    close_pairs(&f);
}

static void test_aggregates(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "p");
    columns(&b, schema_build_table(&b, "department", NULL), "department_id budget", "name");
    columns(&b, schema_build_table(&b, "department_budget", NULL), "department_id max_budget min_budget budget_count",
            "name");
    columns(&b, schema_build_table(&b, "staff", NULL), "max_age", "");
    open_pairs(&f, &b);
    assert_int_equal(count(&f, SIA_AGGREGATE), 3);
    HAS(&f, "department.budget", "department_budget.max_budget", SIA_AGGREGATE);
    HAS(&f, "department.budget", "department_budget.budget_count", SIA_AGGREGATE);
    const float *x = find(&f, "department.budget", "department_budget.max_budget")->features;
    NEAR(x[PAIR_AGGREGATE_OF], 1);
    NEAR(x[PAIR_AGGREGATE_SIBLINGS], 0.75);
    NEAR(x[PAIR_FAMILY_U], 0);
    NEAR(x[PAIR_FAMILY_V], 0.5); /* two of the other four have "budget" as well */
    NEAR(x[PAIR_AGGREGATE_WORD], 0.5);
    NEAR(x[PAIR_TABLE_EXTENDED], 1);
    NEAR(x[PAIR_CONTAINS], 1);
    NEAR(x[PAIR_HEAD], 1);
    close_pairs(&f);
}

/* A stored number of rows and keys of these rows. */
static void test_counts(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "n");
    columns(&b, schema_build_table(&b, "customer", NULL),
            "customer_id num_sales_orders no_of_sales_orders orders_count", "name");
    columns(&b, schema_build_table(&b, "sales_orders", NULL), "order_id customer_id amount", "note");
    schema_build_primary(&b, 0);
    schema_build_foreign_key(&b, 6, 0);
    open_pairs(&f, &b);
    HAS(&f, "sales_orders.order_id", "customer.num_sales_orders", SIA_AGGREGATE);
    HAS(&f, "sales_orders.customer_id", "customer.no_of_sales_orders", SIA_AGGREGATE);
    assert_null(find(&f, "sales_orders.amount", "customer.num_sales_orders"));
    assert_null(find(&f, "sales_orders.order_id", "customer.orders_count")); /* possibly of other orders */
    close_pairs(&f);
}

/* Columns of two tables. */
static void test_across(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "x");
    columns(&b, schema_build_table(&b, "staff", NULL), "staff_id wage", "name status");
    columns(&b, schema_build_table(&b, "project", NULL), "project_id manager_id budget", "status city name");
    columns(&b, schema_build_table(&b, "task", NULL), "task_id project_id assigned_to cost", "status");
    columns(&b, schema_build_table(&b, "island", NULL), "height price", "city");
    schema_build_primary(&b, 0);
    schema_build_primary(&b, 4);
    schema_build_foreign_key(&b, 5, 0);
    schema_build_foreign_key(&b, 12, 0);
    open_pairs(&f, &b);
    HAS(&f, "staff.status", "task.status", SIA_COLUMN);
    HAS(&f, "project.city", "island.city", SIA_COLUMN);            /* same name, no join between the tables */
    HAS(&f, "project.budget", "task.cost", SIA_COLUMN);            /* same meaning, over an undeclared key */
    HAS(&f, "project.manager_id", "task.assigned_to", SIA_COLUMN); /* two keys to the same table */
    assert_null(find(&f, "project.project_id", "task.project_id"));
    HAS(&f, "staff.wage", "project.budget", SIA_COLUMN);
    assert_null(find(&f, "staff.wage", "island.price"));
    const float *x = find(&f, "project.budget", "task.cost")->features;
    NEAR(x[PAIR_ACROSS] * x[PAIR_ONE_JOIN] * x[PAIR_SAME_MEANING] * x[PAIR_MONEY], 1);
    NEAR(x[PAIR_TWO_JOINS] + x[PAIR_SAME_TARGET], 0);
    NEAR(find(&f, "project.manager_id", "task.assigned_to")->features[PAIR_SAME_TARGET], 1);
    close_pairs(&f);
}

/* A stored number beside the numbers of the rows that refer to it, and contacts of tables far from each other. */
static void test_stored(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "s");
    columns(&b, schema_build_table(&b, "concert", NULL), "concert_id proceeds", "venue");
    columns(&b, schema_build_table(&b, "seat", NULL), "seat_id concert_id paid", "row_letter");
    columns(&b, schema_build_table(&b, "usher", NULL), "usher_id height", "phone");
    columns(&b, schema_build_table(&b, "supplier", NULL), "supplier_id", "telephone");
    schema_build_primary(&b, 0);
    schema_build_primary(&b, 3);
    schema_build_foreign_key(&b, 4, 0);
    open_pairs(&f, &b);
    HAS(&f, "concert.proceeds", "seat.paid", SIA_COLUMN);
    HAS(&f, "usher.phone", "supplier.telephone", SIA_COLUMN);
    assert_null(find(&f, "concert.proceeds", "usher.height"));
    assert_null(find(&f, "concert.venue", "seat.row_letter"));
    close_pairs(&f);
}

/* The order of tables and columns does not count, since altered schemas put duplicated elements side by side. */
static void test_order_does_not_matter(void **state)
{
    struct schema_build b;
    struct fixture f, g;

    (void)state;
    schema_build_init(&b, "a");
    columns(&b, schema_build_table(&b, "shop", NULL), "opened size", "name city town");
    open_pairs(&f, &b);
    schema_build_init(&b, "b");
    columns(&b, schema_build_table(&b, "shop", NULL), "size opened", "town name city");
    open_pairs(&g, &b);
    assert_int_equal(f.n, g.n);
    assert_memory_equal(find(&f, "shop.name", "shop.city")->features, find(&g, "shop.name", "shop.city")->features,
                        sizeof f.pairs->features);
    close_pairs(&f);
    close_pairs(&g);
}

static void test_wide(void **state)
{
    struct schema_build b;
    struct fixture f;
    char name[64];

    (void)state;
    schema_build_init(&b, "wide");
    for (int t = 0; t < 5; t++) {
        snprintf(name, sizeof name, "table_%d", t);
        int table = schema_build_table(&b, name, NULL);
        for (int c = 0; c < 400; c++) {
            snprintf(name, sizeof name, "%s_%d", c % 3 ? "amount" : "total_amount", c / 3 + 200 * t);
            schema_build_column(&b, table, name, NULL, COLUMN_NUMBER);
        }
    }
    double start = now_seconds();
    open_pairs(&f, &b);
    assert_true(now_seconds() - start < 2);
    assert_true(f.n > 2000 && f.n <= SCHEMA_PAIRS_MAX);
    assert_true(count(&f, SIA_COLUMN) <= 2000 * 8);
    for (int i = 0; i < f.n; i++)
        for (int k = 0; k < SCHEMA_PAIR_FEATURES; k++)
            assert_true(f.pairs[i].features[k] >= 0 && f.pairs[i].features[k] <= 4);
    close_pairs(&f);
}

static void test_empty(void **state)
{
    struct schema_build b;
    struct fixture f;

    (void)state;
    schema_build_init(&b, "none");
    open_pairs(&f, &b);
    assert_int_equal(f.n, 0);
    close_pairs(&f);
    schema_build_init(&b, "bare");
    schema_build_table(&b, "a", NULL);
    schema_build_table(&b, "b", NULL);
    open_pairs(&f, &b);
    assert_int_equal(f.n, 0);
    close_pairs(&f);
}

static void compare(const char *a, const char *b, struct name_similarity *s)
{
    struct element_name x, y;

    element_name_read(&x, a);
    element_name_read(&y, b);
    *s = element_name_compare(&x, &y);
}

static void test_names(void **state)
{
    struct name_similarity s;

    (void)state;
    compare("Birth Dates", "birth_date", &s);
    NEAR(s.equal, 1);
    NEAR(s.edit, 1 - 1.0 / 10);
    compare("date of birth", "birth date", &s);
    NEAR(s.equal, 0);
    NEAR(s.words, 2.0 / 3);
    NEAR(s.contains, 1);
    NEAR(s.head, 0);
    compare("cat", "cut", &s);
    NEAR(s.edit, 2.0 / 3);
    NEAR(s.prefix, 1.0 / 3);
    NEAR(s.suffix, 1.0 / 3);
    NEAR(s.trigrams, 2.0 / 8); /* c and t have five columns each */
    compare("", "name", &s);
    NEAR(s.equal + s.words + s.trigrams + s.edit + s.contains, 0);
    compare("stra\xc3\x9f"
            "e",
            "stra\xc3\x9f"
            "e",
            &s);
    NEAR(s.equal, 1);
    compare("a_very_long_name_a_very_long_name_a_very_long_name_a_very_long_name_a_very_long_name", "a", &s);
    NEAR(s.contains, 1);
}

/* Counts over real schemas with one duplicated element: how often the duplicated pair is found, and the number of
 * candidates. */
struct recall {
    int n, found, pairs;
};

static void look_up(struct recall *r, const struct schema *altered, const struct schema *s, const struct alteration *a)
{
    struct strings text = { 0 };
    int n, element[2];

    for (int k = 0; k < 2; k++) {
        int table, column;
        assert_int_equal(example_element(altered, alter_name(&text, s, a, k, 0), &table, &column), 0);
        element[k] = column < 0 ? table : altered->n_tables + column;
    }
    struct schema_pair *pairs = schema_pairs(altered, &n);
    r->n++;
    r->pairs += n;
    for (int i = 0; i < n; i++)
        if (pairs[i].type == a->type &&
            ((pairs[i].u == element[0] && pairs[i].v == element[1]) ||
             (a->type <= SIA_TABLE && pairs[i].u == element[1] && pairs[i].v == element[0])))
            r->found++;
    free(pairs);
    strings_release(&text);
}

/* Clinics and their staff, joined by a key; staff has two candidates. */
static void build_clinics(struct schema_build *b)
{
    schema_build_init(b, "clinics");
    columns(b, schema_build_table(b, "clinic", NULL), "clinic_id", "name");
    columns(b, schema_build_table(b, "staff", NULL), "staff_id works_at", "surname hometown");
    schema_build_primary(b, 0);
    schema_build_foreign_key(b, 3, 0);
}

/* Values within a group do not depend on other tables. */
static void test_groups(void **state)
{
    struct schema_build b;
    struct fixture f;
    struct schema clinics, plants, farm;
    const struct schema *const both[] = { &clinics, &plants }, *const three[] = { &plants, &clinics, &farm };

    (void)state;
    build_clinics(&b);
    schema_build_finish(&b, &clinics);
    schema_build_init(&b, "plants");
    columns(&b, schema_build_table(&b, "plant", NULL), "plant_id", "name colour kind");
    schema_build_finish(&b, &plants);
    schema_build_init(&b, "farm");
    columns(&b, schema_build_table(&b, "plant", NULL), "plant_id", "colour kind");
    schema_build_finish(&b, &farm);

    build_clinics(&b);
    open_pairs(&f, &b);
    struct schema_pair alone = *find(&f, "staff.surname", "staff.hometown");
    NEAR(alone.features[PAIR_GROUP_TABLES], log2(3) / 8);
    NEAR(alone.features[PAIR_GROUP_COLUMNS], log2(7) / 8);
    close_pairs(&f);

    schema_join(&f.schema, both, 2);
    f.pairs = schema_pairs(&f.schema, &f.n);
    assert_memory_equal(find(&f, "staff.surname", "staff.hometown")->features, alone.features, sizeof alone.features);
    NEAR(find(&f, "plant.colour", "plant.kind")->features[PAIR_GROUP_TABLES], log2(2) / 8);
    NEAR(find(&f, "plant.colour", "plant.kind")->features[PAIR_GROUP_COLUMNS], log2(5) / 8);
    close_pairs(&f);

    schema_join(&f.schema, three, 3); /* both groups count */
    f.pairs = schema_pairs(&f.schema, &f.n);
    NEAR(find(&f, "plant", "plant_2")->features[PAIR_GROUP_TABLES], log2(3) / 8);
    NEAR(find(&f, "plant", "plant_2")->features[PAIR_GROUP_COLUMNS], log2(8) / 8);
    close_pairs(&f);
    schema_release(&clinics);
    schema_release(&plants);
    schema_release(&farm);
}

static struct recall recall_of(const struct schema_set *set, enum sia_type type, const char *dir)
{
    struct ambiqt_corpus corpus = { 0 };
    struct rng rng = { .seed = 1 };
    struct recall r = { 0 };
    struct error err;

    assert_int_equal(ambiqt_read_train(&corpus, type, dir, &err), 0);
    for (int i = 0; i < corpus.n; i += 5) {
        const struct schema *s = schema_find(set, corpus.items[i].db_id);
        struct schema altered;
        struct alteration a;
        if (!s || alteration_find(&a, s, &corpus.items[i]) ||
            alter_schema(&altered, s, &a, ALTER_BOTH, "altered", &rng))
            continue;
        look_up(&r, &altered, s, &a);
        schema_release(&altered);
    }
    ambiqt_release(&corpus);
    return r;
}

static void test_recall(void **state)
{
    struct schema_set set = { 0 };
    struct error err;
    char dir[4096];

    (void)state;
    if (!test_shared("data/ambiqt/tbl-agg.train.jsonl"))
        skip();
    assert_int_equal(schema_set_open(&set, test_shared("data/spider/tables.json"), &err), 0);
    snprintf(dir, sizeof dir, "%s", test_shared("data/ambiqt"));
    for (enum sia_type type = SIA_COLUMN; type < AMBIQT_TYPES; type++) {
        struct recall r = recall_of(&set, type, dir);
        print_message("%s: %d of %d duplicated pairs found, %.1f candidates per schema\n", sia_type_letter(type),
                      r.found, r.n, (double)r.pairs / r.n);
        assert_true(r.n >= 70);
        assert_true(r.found >= 0.99 * r.n);
        assert_true(r.pairs < 300 * r.n); /* all tables of a small schema are compared */
    }
    schema_set_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns), cmocka_unit_test(test_tables), cmocka_unit_test(test_joins),
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_across), cmocka_unit_test(test_aggregates),
        cmocka_unit_test(test_wide),    cmocka_unit_test(test_empty),  cmocka_unit_test(test_many_tables),
        cmocka_unit_test(test_stored),  cmocka_unit_test(test_names),  cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_groups),  cmocka_unit_test(test_recall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
