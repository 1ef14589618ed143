/* clarify on databases, with the pairs of clarify_pairs.json: equivalent pairs are merged, different pairs with the
 * same rows on the database are not. */
#include "tests/support/support.h"

#include "data/base/json.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pairs_path[] = "tests/data/clarify/clarify_pairs.json";

enum { SEEDS = 5 };

struct fixture {
    char *dir, *records;
    json_t *all, *pairs;
};

static void make_database(const struct fixture *f, const char *name, const json_t *statements)
{
    char file[64], *why = NULL;
    sqlite3 *db;

    snprintf(file, sizeof file, "%s.sqlite", name);
    assert_int_equal(sqlite3_open(test_file(f->dir, file, NULL), &db), SQLITE_OK);
    for (size_t i = 0; i < json_array_size(statements); i++)
        if (sqlite3_exec(db, json_string_value(json_array_get(statements, i)), NULL, NULL, &why) != SQLITE_OK)
            fail_msg("%s: %s", name, why);
    sqlite3_close(db);
}

static void write_records(struct fixture *f)
{
    size_t size, i;
    json_t *pair;
    FILE *out = open_memstream(&f->records, &size);

    assert_non_null(out);
    json_array_foreach(f->pairs, i, pair)
    {
        char id[24];
        snprintf(id, sizeof id, "%zu", i);
        json_t *record = json_pack("{s:s, s:O, s:s, s:[{s:O, s:f}, {s:O, s:f}]}", "id", id, "db_id",
                                   json_object_get(pair, "db"), "question", "Which?", "candidates", "sql",
                                   json_object_get(pair, "a"), "p", 0.6, "sql", json_object_get(pair, "b"), "p", 0.4);
        assert_non_null(record);
        assert_int_equal(json_dumpf(record, out, 0), 0);
        fputc('\n', out);
        json_decref(record);
    }
    fclose(out);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    json_error_t why;
    const char *name;
    json_t *statements;

    f->dir = test_dir_new();
    f->all = json_load_file(pairs_path, 0, &why);
    if (!f->all)
        fail_msg("%s: line %d: %s", pairs_path, why.line, why.text);
    f->pairs = json_object_get(f->all, "pairs");
    json_object_foreach(json_object_get(f->all, "databases"), name, statements) make_database(f, name, statements);
    write_records(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    json_decref(f->all);
    free(f->records);
    test_dir_remove(f->dir);
    free(f);
    return 0;
}

/* Checks the record of a pair; prints a wrong one. */
static bool is_right(const struct fixture *f, const json_t *line, int seed)
{
    const char *id = json_string_value(json_object_get(line, "id"));
    const json_t *pair = json_array_get(f->pairs, strtoul(id ? id : "", NULL, 10));
    bool same = json_integer_value(json_object_get(line, "candidates")) == 1;
    const json_t *rejected = json_object_get(line, "rejected");

    if (json_array_size(rejected) == 0 && same == json_is_true(json_object_get(pair, "same")))
        return true;
    char *text = json_dumps(line, 0);
    print_message("seed %d: %s %s\n  %s\n  %s\n  %.400s\n", seed, json_string_value(json_object_get(pair, "db")),
                  same ? "taken for the same" : "kept apart", json_string_value(json_object_get(pair, "a")),
                  json_string_value(json_object_get(pair, "b")), text);
    free(text);
    return false;
}

/* Number of correct pairs with one seed. */
static int count_right(const struct fixture *f, int seed)
{
    char *command = NULL, *output, *line = NULL;
    size_t size = 0;
    int right = 0;
    const char *in = test_file(f->dir, "in.jsonl", f->records), *out = test_file(f->dir, "out.jsonl", NULL);

    CHECK(asprintf(&command, "ambit-infer clarify --candidates %s --db %s --seed %d -o %s", in, f->dir, seed, out) >= 0,
          "cannot format a command");
    if (test_run(command, &output) != 0)
        fail_msg("%s: %s", command, output);
    free(command);
    free(output);
    FILE *lines = fopen(out, "r");
    assert_non_null(lines);
    while (getline(&line, &size, lines) > 0) {
        json_t *record = json_loads(line, 0, NULL);
        right += is_right(f, record, seed);
        json_decref(record);
    }
    fclose(lines);
    free(line);
    return right;
}

static void test_merged_pairs(void **state)
{
    const struct fixture *f = *state;
    int n = (int)json_array_size(f->pairs), same = 0;

    for (int i = 0; i < n; i++)
        same += json_is_true(json_object_get(json_array_get(f->pairs, (size_t)i), "same"));
    assert_in_range(same, 30, n - 30);
    for (int seed = 1; seed <= SEEDS; seed++)
        assert_int_equal(count_right(f, seed), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_merged_pairs) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
