/* Tests edited schemas: every statement runs on its schema, labels form contrast sets, and modifiers decide. */
#include "data/schema/schema_build.h"
#include "data/synth/lexicon.h"
#include "data/synth/schema_ask.h"
#include "data/synth/schema_edit.h"
#include "tests/support/shop_tables.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct spider_question questions[] = {
    { "shop", "What is the price of each product?", "SELECT price FROM products" },
    { "shop", "Which products have a price above 10?", "SELECT name FROM products WHERE price > 10" },
    { "shop", "List the weight of all products.", "SELECT weight FROM products" },
    { "shop", "How many orders are there?", "SELECT count(*) FROM orders" },
    { "shop", "Show the date of every order.", "SELECT T1.date FROM orders AS T1" },
    { "shop", "What is the status of the latest order?", "SELECT status FROM orders ORDER BY date DESC LIMIT 1" },
    { "shop", "What are the emails of all customers?", "SELECT email FROM customers" },
    { "shop", "How many customers live in each city?", "SELECT city, count(*) FROM customers GROUP BY city" },
    { "shop", "Show the names of customers with their number of orders.",
      "SELECT T1.name, count(*) FROM customers AS T1 JOIN orders AS T2 ON T1.customer_id = T2.customer_id GROUP BY "
      "T1.customer_id" },
    { "shop", "This one has a statement that nobody understands.", "SELECT nothing FROM nowhere" },
};

static void make(struct dataset *d, uint64_t seed)
{
    const struct natural_options options = { .seed = seed, .edits = 40 };
    struct natural n = { .options = &options, .out = d, .rng = { .seed = seed } };
    struct natural_corpus c = { .name = "hand" };
    enum data_split split = SPLIT_TRAIN;
    struct error err = { 0 };
    json_t *v = json_loads(shop_tables, 0, NULL);

    *d = (struct dataset){ 0 };
    assert_non_null(v);
    c.questions.items = (struct spider_question *)(uintptr_t)questions;
    c.questions.n = ARRAY_LEN(questions);
    c.split = &split;
    assert_int_equal(schema_set_from_json(&c.schemas, v, "tables", &err), 0);
    assert_int_equal(arena_init(&n.sql, 1 << 24, &err), 0);
    assert_int_equal(schema_edit_make(&n, &c, &err), 0);
    arena_release(&n.sql);
    schema_set_close(&c.schemas);
    strings_release(&n.questions);
    free(n.split_of);
    json_decref(v);
}

/* Returns an empty database of the schema. */
static sqlite3 *open_database(const struct schema *s)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (int t = 0; t < s->n_tables; t++) {
        char sql[4096];
        int n = snprintf(sql, sizeof sql, "CREATE TABLE \"%s\" (", s->tables[t].name);
        for (int i = 0; i < s->tables[t].n_columns; i++)
            n += snprintf(sql + n, sizeof sql - (size_t)n, "%s\"%s\"", i ? ", " : "",
                          s->columns[s->tables[t].first_column + i].name);
        snprintf(sql + n, sizeof sql - (size_t)n, ")");
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    return db;
}

static void every_statement_runs(void **state)
{
    struct dataset d;

    (void)state;
    make(&d, 1);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d.splits[f].n; i++) {
            const struct example *e = &d.splits[f].items[i];
            const struct schema *s = schema_find(&d.schemas, e->db_id);
            assert_non_null(s);
            sqlite3 *db = open_database(s);
            for (int k = 0; k < e->n_sql; k++)
                if (sqlite3_exec(db, e->sql[k], NULL, NULL, NULL) != SQLITE_OK)
                    fail_msg("%s: %s: %s", e->question, e->sql[k], sqlite3_errmsg(db));
            sqlite3_close(db);
        }
    dataset_release(&d);
}

static void labels_form_contrast_sets(void **state)
{
    struct error err = { 0 };
    int counts[2] = { 0 }, beside = 0;
    struct dataset d;

    (void)state;
    make(&d, 2);
    assert_int_equal(dataset_check_balance(&d, &err), 0);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d.splits[f].n; i++) {
            const struct example *e = &d.splits[f].items[i];
            assert_int_equal(e->n_sql, e->ambiguous ? 2 : 1);
            counts[e->ambiguous] += e->slice == EXAMPLE_CONTRAST;
            beside += e->slice == EXAMPLE_HARD_NEGATIVE;
            assert_true(e->slice == EXAMPLE_CONTRAST || !e->ambiguous);
        }
    assert_true(counts[1] >= 8 && beside >= 2);
    dataset_release(&d);
}

/* The last words of two column names or tables differ only in a modifier. Each statement uses one alternative. */
static void statements_read_their_alternatives(void **state)
{
    struct dataset d;

    (void)state;
    make(&d, 3);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d.splits[f].n; i++) {
            const struct example *e = &d.splits[f].items[i];
            /* counted rows are identified by a key that the statement need not name */
            for (int k = e->type == SIA_AGGREGATE; e->ambiguous && k < 2; k++) {
                const char *dot = strrchr(e->alternatives[k], '.'), *name = dot ? dot + 1 : e->alternatives[k];
                assert_non_null(strcasestr(e->sql[k], name));
                assert_string_not_equal(e->sql[0], e->sql[1]);
            }
        }
    dataset_release(&d);
}

static bool says(const struct dataset *d, const char *question, bool ambiguous)
{
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d->splits[f].n; i++)
            if (d->splits[f].items[i].ambiguous == ambiguous && strcmp(d->splits[f].items[i].question, question) == 0)
                return true;
    return false;
}

static void a_modifier_makes_a_question_clear(void **state)
{
    bool plain = false, modified = false;

    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++) {
        struct dataset d;
        make(&d, seed);
        plain = plain || says(&d, "What is the price of each product?", true);
        modified = modified || says(&d, "What is the sale price of each product?", false) ||
                   says(&d, "What is the net price of each product?", false) ||
                   says(&d, "What is the list price of each product?", false);
        assert_false(says(&d, "This one has a statement that nobody understands.", false));
        dataset_release(&d);
    }
    assert_true(plain && modified);
}

/* On the original schema, customers and products are neighbours of orders, and both have a name. */
static void template_questions_know_their_schema(void **state)
{
    struct strings text = { 0 };
    struct schema_asks asks = { .text = &text };
    struct schema_set schemas;
    json_t *v = json_loads(shop_tables, 0, NULL);
    int neighbours = 0, roles = 0;

    (void)state;
    assert_int_equal(schema_set_from_json(&schemas, v, "tables", NULL), 0);
    schema_asks_find(&asks, &schemas.schemas[0]);
    for (int i = 0; i < asks.n; i++) {
        const struct schema_ask *a = &asks.items[i];
        assert_int_equal(a->ambiguous, a->sql[1] != NULL);
        if (strcmp(a->reason, "column of two neighbours") == 0 && a->ambiguous) {
            assert_string_equal(a->alternatives[0], "customers.name");
            assert_string_equal(a->alternatives[1], "products.name");
            neighbours++;
        }
        assert_false(strcmp(a->reason, "stored aggregate") == 0 && a->ambiguous);
        roles += strcmp(a->reason, "two roles") == 0;
    }
    assert_int_equal(neighbours, 1);
    assert_true(roles >= 2);
    free(asks.items);
    strings_release(&text);
    schema_set_close(&schemas);
    json_decref(v);
}

/* Builds two tables of persons, of which one stores the sum of its orders. */
static void open_shop(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "shop");
    for (int t = 0; t < 2; t++) {
        int table = schema_build_table(&b, t ? "employees" : "customers", NULL);
        schema_build_primary(&b,
                             schema_build_column(&b, table, t ? "employee_id" : "customer_id", NULL, COLUMN_NUMBER));
        schema_build_column(&b, table, "name", NULL, COLUMN_TEXT);
        schema_build_column(&b, table, "email", NULL, COLUMN_TEXT);
        schema_build_column(&b, table, "phone", NULL, COLUMN_TEXT);
        schema_build_column(&b, table, t ? "age" : "overall_amount", NULL, COLUMN_NUMBER);
    }
    int orders = schema_build_table(&b, "orders", NULL);
    schema_build_primary(&b, schema_build_column(&b, orders, "order_id", NULL, COLUMN_NUMBER));
    schema_build_foreign_key(&b, schema_build_column(&b, orders, "customer_id", NULL, COLUMN_NUMBER), 0);
    schema_build_column(&b, orders, "amount", NULL, COLUMN_NUMBER);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

/* A stored sum is asked for in several ways: for every row, the largest one, or those above a bound. */
static void check_sum(const struct schema_ask *a, int rows[3])
{
    bool top = strstr(a->sql[0], "ORDER BY sum(T2.amount) DESC LIMIT 1"), above = strstr(a->sql[0], "HAVING");

    assert_string_equal(a->alternatives[0], "orders.amount");
    assert_string_equal(a->alternatives[1], "customers.overall_amount");
    assert_int_equal(top, strstr(a->sql[1], "ORDER BY overall_amount DESC LIMIT 1") != NULL);
    assert_int_equal(above, strstr(a->sql[1], "WHERE overall_amount > 100") != NULL);
    rows[top ? 1 : above ? 2 : 0]++;
}

static void sums_and_persons_are_asked_in_several_ways(void **state)
{
    struct strings text = { 0 };
    struct schema_asks asks = { .text = &text };
    struct schema s;
    int rows[3] = { 0 }, full = 0, last = 0;

    (void)state;
    open_shop(&s);
    schema_asks_find(&asks, &s);
    for (int i = 0; i < asks.n; i++) {
        const struct schema_ask *a = &asks.items[i];
        if (strcmp(a->reason, "stored aggregate") == 0 && a->ambiguous)
            check_sum(a, rows);
        if (strcmp(a->reason, "person of two tables") == 0 && a->ambiguous)
            *(strstr(a->sql[0], "name LIKE '% ") ? &last : &full) += 1;
    }
    assert_true((rows[0] > 0) + (rows[1] > 0) + (rows[2] > 0) >= 2);
    assert_true(full > 0 && last > 0);
    free(asks.items);
    strings_release(&text);
    schema_release(&s);
}

static void the_same_seed_gives_the_same_examples(void **state)
{
    struct dataset a, b;

    (void)state;
    make(&a, 7);
    make(&b, 7);
    for (int f = 0; f < SPLITS; f++) {
        assert_int_equal(a.splits[f].n, b.splits[f].n);
        for (int i = 0; i < a.splits[f].n; i++) {
            assert_string_equal(a.splits[f].items[i].question, b.splits[f].items[i].question);
            assert_string_equal(a.splits[f].items[i].sql[0], b.splits[f].items[i].sql[0]);
        }
    }
    dataset_release(&a);
    dataset_release(&b);
}

static void entries_give_two_members(void **state)
{
    struct rng rng = { .seed = 1 };
    struct lexicon_member m[2];
    const struct lexicon_entry *e = lexicon_column("price", noun_classes("products"), NULL);

    (void)state;
    assert_non_null(e);
    for (; e; e = lexicon_column("price", noun_classes("products"), e)) {
        lexicon_draw(m, e, "price", &rng);
        assert_string_not_equal(m[0].name, m[1].name);
        assert_non_null(strstr(m[0].phrase, "price"));
    }
    assert_null(lexicon_column("no such head", ~0U, NULL));
    assert_int_equal(noun_classes("archived companies"), NOUN_COMPANY);
    assert_int_equal(noun_classes("zzz"), NOUN_OTHER);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(every_statement_runs),
        cmocka_unit_test(labels_form_contrast_sets),
        cmocka_unit_test(statements_read_their_alternatives),
        cmocka_unit_test(a_modifier_makes_a_question_clear),
        cmocka_unit_test(template_questions_know_their_schema),
        cmocka_unit_test(sums_and_persons_are_asked_in_several_ways),
        cmocka_unit_test(the_same_seed_gives_the_same_examples),
        cmocka_unit_test(entries_give_two_members),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
