/* Questions with several ambiguities: columns, tables and repeated columns, their words, statements, rows and labels.
 */
#include "data/base/json.h"
#include "data/synth/several.h"
#include "tests/support/shop_tables.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char questions[] =
    "[{\"db_id\":\"shop\",\"question\":\"What are the price and the weight of each product?\","
    "\"query\":\"SELECT price, weight FROM products\"},"
    "{\"db_id\":\"shop\",\"question\":\"Show every date and its status.\","
    "\"query\":\"SELECT date, status FROM orders\"},"
    "{\"db_id\":\"shop\",\"question\":\"List the city and the email of all customers.\","
    "\"query\":\"SELECT city, email FROM customers\"},"
    "{\"db_id\":\"shop\",\"question\":\"Show the city of the customers and the date of their orders.\","
    "\"query\":\"SELECT T1.city, T2.date FROM customers AS T1 JOIN orders AS T2 ON T1.customer_id = T2.customer_id\"},"
    "{\"db_id\":\"shop\",\"question\":\"Which weight and which price has the dearest one?\","
    "\"query\":\"SELECT weight, price FROM products ORDER BY price DESC LIMIT 1\"},"
    "{\"db_id\":\"shop\",\"question\":\"Which customers placed orders?\","
    "\"query\":\"SELECT T1.name, T1.city FROM customers AS T1 JOIN orders AS T2 ON T1.customer_id = T2.customer_id\"},"
    "{\"db_id\":\"shop\",\"question\":\"How many are there?\",\"query\":\"SELECT count(*) FROM orders\"}]";

static const char rows[] =
    "CREATE TABLE products(product_id INTEGER PRIMARY KEY, name TEXT, price INT, weight INT);"
    "CREATE TABLE customers(customer_id INTEGER PRIMARY KEY, name TEXT, city TEXT, email TEXT);"
    "CREATE TABLE orders(order_id INTEGER PRIMARY KEY, date TEXT, status TEXT, customer_id INT REFERENCES customers, "
    "product_id INT REFERENCES products);"
    "WITH n(i) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) INSERT INTO products "
    "SELECT i, 'p' || i, 100 + 3 * i, 10 * i * i FROM n;"
    "WITH n(i) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) INSERT INTO customers "
    "SELECT i, 'c' || i, 'town' || i, 'mail' || i FROM n;"
    "WITH n(i) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) INSERT INTO orders "
    "SELECT i, 'day' || i, 'state' || i, 10 - i, i FROM n;";

/* A folder of a corpus, with rows or without. */
static char *corpus_new(bool with_rows)
{
    char *dir = test_dir_new(), path[4096];
    sqlite3 *db = NULL;

    test_file(dir, "tables.json", shop_tables);
    test_file(dir, "train_spider.json", questions);
    if (!with_rows)
        return dir;
    snprintf(path, sizeof path, "%s/db", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/db/shop.sqlite", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return dir;
}

/* Makes questions; made is the folder for their databases, or NULL. All are in the test split. */
static const struct example_list *make(struct dataset *d, char *dir, const char *made, uint64_t seed)
{
    const struct natural_options o = { .seed = seed, .test_share = 0.8, .several = 10, .materialise = made };
    struct error err = { 0 };

    if (natural_build(d, &o, &dir, 1, &err))
        fail_msg("%s", err.text);
    assert_int_equal(d->splits[SPLIT_TRAIN].n + d->splits[SPLIT_VALID].n, 0);
    return &d->splits[SPLIT_TEST];
}

static int count_ambiguities(const struct example *e)
{
    return e->ambiguous ? 1 + e->n_further : 0;
}

/* Alternative `which` of ambiguity i. */
static const char *alternative(const struct example *e, int i, int which)
{
    return i ? e->further[i - 1][which] : e->alternatives[which];
}

/* Whether the statement has the name as a whole word. */
static bool has_word(const char *sql, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    for (const char *p = sql; (p = strstr(p, name)); p++)
        if ((p == sql || !strchr(letters, p[-1])) && (!p[strlen(name)] || !strchr(letters, p[strlen(name)])))
            return true;
    return false;
}

/* Statement k of the record names the alternatives of its bits and no others. */
static void check_statement(const struct example *e, int k)
{
    for (int i = 0; i < count_ambiguities(e); i++) {
        int bit = k >> i & 1;
        const char *meant = alternative(e, i, bit), *other = alternative(e, i, !bit);
        const char *dot = strchr(meant, '.');
        if (dot && strcmp(dot, strchr(other, '.')) == 0) { /* one column in two tables */
            char table[128];
            snprintf(table, sizeof table, "%.*s", (int)(dot - meant), meant);
            assert_true(has_word(e->sql[k], table));
            snprintf(table, sizeof table, "%.*s", (int)(strchr(other, '.') - other), other);
            assert_true(bit || !has_word(e->sql[k], table));
            continue;
        }
        assert_true(has_word(e->sql[k], dot ? dot + 1 : meant));
        assert_false(has_word(e->sql[k], dot ? strchr(other, '.') + 1 : other));
    }
}

/* The entries of the list are those of the fields, in the order of the question, with their words at their places. */
static void check_list(const struct example *e)
{
    json_t *list = json_loads(e->ambiguities, 0, NULL);
    int64_t before = 0;

    assert_non_null(list);
    assert_int_equal(json_array_size(list), count_ambiguities(e));
    for (int i = 0; i < count_ambiguities(e); i++) {
        const json_t *o = json_array_get(list, (size_t)i), *names = json_object_get(o, "alternatives");
        const char *words = json_string_value(json_object_get(o, "words"));
        int64_t start = json_integer_value(json_object_get(o, "start"));
        for (int k = 0; k < 2; k++)
            assert_string_equal(json_string_value(json_array_get(names, (size_t)k)), alternative(e, i, k));
        assert_true(start >= before && strncmp(e->question + start, words, strlen(words)) == 0);
        before = json_integer_value(json_object_get(o, "end"));
        assert_int_equal(before - start, strlen(words));
    }
    if (list && e->ambiguous)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "type")), example_type_name(e));
    json_decref(list);
}

static void statements_follow_their_bits(void **state)
{
    static const char *const names[] = { "\"type\":\"C\"", "\"type\":\"T\"", "\"type\":\"J\"" };
    int types[ARRAY_LEN(names)] = { 0 }, by_number[SEVERAL_MAX + 1] = { 0 };
    char *dir = corpus_new(true);

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct dataset d;
        const struct example_list *l = make(&d, dir, NULL, seed);
        for (int i = 0; i < l->n; i++) {
            const struct example *e = &l->items[i];
            assert_int_equal(e->n_sql, 1 << count_ambiguities(e));
            for (int k = 0; k < e->n_sql; k++)
                check_statement(e, k);
            check_list(e);
            for (int type = 0; type < ARRAY_LEN(names); type++)
                types[type] += strstr(e->ambiguities, names[type]) != NULL;
            by_number[count_ambiguities(e)] += e->slice == EXAMPLE_CONTRAST;
        }
        dataset_release(&d);
    }
    assert_true(types[0] > 20 && types[1] > 5 && types[2] > 3);
    assert_true(by_number[2] > 10);
    assert_int_equal(by_number[0], 2 * (by_number[2] + by_number[3]));
    assert_int_equal(by_number[1], by_number[2] + by_number[3]);
    test_dir_remove(dir);
}

/* Each question is ambiguous in half of its records, and of the two records of a schema one is. */
static void labels_are_balanced(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    char *dir = corpus_new(false);

    (void)state;
    const struct example_list *l = make(&d, dir, NULL, 5);
    assert_true(l->n >= 8);
    assert_int_equal(dataset_check_balance(&d, &err), 0);
    for (int i = 0; i < l->n; i++) {
        int of_question = 0, of_schema = 0;
        for (int j = 0; j < l->n; j++) {
            const int value = l->items[j].slice != EXAMPLE_CONTRAST ? 0 : l->items[j].ambiguous ? 1 : -1;
            of_question += strcmp(l->items[i].question, l->items[j].question) ? 0 : value;
            of_schema += strcmp(l->items[i].db_id, l->items[j].db_id) ? 0 : value;
        }
        assert_int_equal(of_question, 0);
        assert_int_equal(of_schema, 0);
    }
    dataset_release(&d);
    test_dir_remove(dir);
}

/* The ambiguous question on the schema of a hard negative. */
static const struct example *question_of(const struct example_list *l, const struct example *said)
{
    for (int i = 0; i < l->n; i++)
        if (l->items[i].ambiguous && strcmp(l->items[i].db_id, said->db_id) == 0)
            return &l->items[i];
    fail_msg("%s: no ambiguous question", said->db_id);
    return NULL;
}

/* Counts the words of a name that the other one lacks and that stand in the text. */
static int count_own_words(const char *text, const char *name, const char *other)
{
    char *copy = xstrdup(name), *rest = NULL;
    int n = 0;

    for (char *word = strtok_r(copy, "._", &rest); word; word = strtok_r(NULL, "._", &rest))
        n += !strcasestr(other, word) && strcasestr(text, word);
    free(copy);
    return n;
}

/* The statement is one of the question's, and the words that were added are those of the alternatives that it uses. */
static void check_said(const struct example *said, const struct example *q, int statements[SEVERAL_SQL], int *words)
{
    int k = 0;

    assert_true(!said->ambiguous && said->n_sql == 1 && strcmp(said->ambiguities, "[]") == 0);
    assert_true(q->n_further >= 1 && strcmp(said->question, q->question) != 0);
    while (k < q->n_sql && strcmp(q->sql[k], said->sql[0]) != 0)
        k++;
    assert_true(k < q->n_sql);
    statements[k]++;
    for (int i = 0; i < count_ambiguities(q); i++) {
        const char *used = alternative(q, i, k >> i & 1), *other = alternative(q, i, !(k >> i & 1));
        int own = count_own_words(said->question, used, other); /* "net weight and gross price" has words of both */
        assert_true(own >= count_own_words(said->question, other, used));
        *words += own;
    }
}

static void hard_negatives_say_their_statement(void **state)
{
    int statements[SEVERAL_SQL] = { 0 }, words = 0, n = 0;
    char *dir = corpus_new(true);

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct dataset d;
        const struct example_list *l = make(&d, dir, NULL, seed);
        for (int i = 0; i < l->n; i++)
            if (l->items[i].slice == EXAMPLE_HARD_NEGATIVE) {
                check_said(&l->items[i], question_of(l, &l->items[i]), statements, &words);
                n++;
            }
        dataset_release(&d);
    }
    for (int k = 0; k < 4; k++)
        assert_true(statements[k] > 0);
    assert_true(n > 20 && words > n);
    test_dir_remove(dir);
}

/* Returns all cells of a statement's rows, sorted by SQLite's own order of the whole row. The caller frees. */
static char *run(sqlite3 *db, const char *sql)
{
    char *text = NULL, order[8192];
    size_t size;
    sqlite3_stmt *stmt = NULL;
    FILE *f = open_memstream(&text, &size);

    snprintf(order, sizeof order, "SELECT * FROM (%s) ORDER BY 1, 2", sql);
    if (sqlite3_prepare_v2(db, order, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", order, sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW)
        for (int c = 0; c < sqlite3_column_count(stmt); c++)
            fprintf(f, "%s;", sqlite3_column_text(stmt, c) ? (const char *)sqlite3_column_text(stmt, c) : "NULL");
    sqlite3_finalize(stmt);
    fclose(f);
    return text;
}

/* The tables and columns of the written database are those of the schema. */
static void check_columns(sqlite3 *db, const struct schema *s)
{
    for (int c = 0; c < s->n_columns; c++) {
        char sql[4096], *found;
        snprintf(sql, sizeof sql, "SELECT count(*), '' FROM pragma_table_info('%s') WHERE name = '%s'",
                 s->tables[s->columns[c].table].name, s->columns[c].name);
        found = run(db, sql);
        assert_string_equal(found, "1;;");
        free(found);
    }
}

static void check_rows(const char *made, const struct dataset *d, const struct example *e)
{
    char path[8192], *results[SEVERAL_SQL];
    sqlite3 *db = NULL;

    snprintf(path, sizeof path, "%s/%s.sqlite", made, e->db_id);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    check_columns(db, schema_find(&d->schemas, e->db_id));
    for (int k = 0; k < e->n_sql; k++) {
        results[k] = run(db, e->sql[k]);
        assert_true(*results[k] != 0);
        for (int j = 0; j < k; j++)
            assert_string_not_equal(results[k], results[j]);
    }
    for (int k = 0; k < e->n_sql; k++)
        free(results[k]);
    sqlite3_close(db);
}

static void rows_of_all_statements_differ(void **state)
{
    char *dir = corpus_new(true), made[4096];
    int checked = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct dataset d;
        snprintf(made, sizeof made, "%s/made%d", dir, (int)seed);
        const struct example_list *l = make(&d, dir, made, seed);
        for (int i = 0; i < l->n; i++)
            check_rows(made, &d, &l->items[i]);
        checked += l->n;
        dataset_release(&d);
    }
    assert_true(checked >= 24);
    test_dir_remove(dir);
}

/* A record gives the same bytes by the same seed, and other edits by another one. */
static void seeds_repeat(void **state)
{
    struct dataset a, b, c;
    char *dir = corpus_new(true);
    int same = 0;

    (void)state;
    const struct example_list *x = make(&a, dir, NULL, 3), *y = make(&b, dir, NULL, 3), *z = make(&c, dir, NULL, 4);
    assert_int_equal(x->n, y->n);
    for (int i = 0; i < x->n; i++) {
        assert_string_equal(x->items[i].question, y->items[i].question);
        assert_string_equal(x->items[i].ambiguities, y->items[i].ambiguities);
        assert_string_equal(x->items[i].sql[0], y->items[i].sql[0]);
        same += i < z->n && strcmp(x->items[i].ambiguities, z->items[i].ambiguities) == 0;
    }
    assert_true(same < x->n);
    dataset_release(&a);
    dataset_release(&b);
    dataset_release(&c);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_follow_their_bits),
        cmocka_unit_test(labels_are_balanced),
        cmocka_unit_test(hard_negatives_say_their_statement),
        cmocka_unit_test(rows_of_all_statements_differ),
        cmocka_unit_test(seeds_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
