/* Tests of mixtures: several data folders as one data set. */
#include "tests/support/support.h"

#include "data/corpora/mixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tables[] =
    "[{\"db_id\": \"shop\", \"table_names\": [\"shop\"], \"table_names_original\": [\"shop\"], "
    "\"column_names\": [[-1, \"*\"], [0, \"city\"], [0, \"town\"]], "
    "\"column_names_original\": [[-1, \"*\"], [0, \"city\"], [0, \"town\"]], "
    "\"column_types\": [\"text\", \"text\", \"text\"], \"primary_keys\": [], "
    "\"foreign_keys\": []}]";

/* Writes a split with one example for each word of `questions`, all about one source database. */
static void write_split(const char *dir, const char *name, const char *source, const char *questions)
{
    char text[4096] = "", list[256], *rest = list;
    size_t n = 0;

    snprintf(list, sizeof list, "%s", questions);
    for (char *q; (q = strsep(&rest, " ")) != NULL && *q;)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "{\"id\": \"%s\", \"db_id\": \"shop\", \"source_db\": \"%s\", \"question\": \"%s\", \"sql\": "
            "[\"SELECT city FROM shop\"], \"slice\": \"hard-negative\", \"type\": \"C\", \"ambiguous\": false, "
            "\"alternatives\": []}\n",
            q, source, q);
    assert_true(n < sizeof text);
    test_file(dir, name, text);
}

static char *new_folder(const char *const *sources, const char *const *questions)
{
    char *dir = test_dir_new();

    test_file(dir, "tables.json", tables);
    write_split(dir, "train.jsonl", sources[SPLIT_TRAIN], questions[SPLIT_TRAIN]);
    write_split(dir, "valid.jsonl", sources[SPLIT_VALID], questions[SPLIT_VALID]);
    write_split(dir, "test.jsonl", sources[SPLIT_TEST], questions[SPLIT_TEST]);
    return dir;
}

static void write_mixture(char text[4096], const char *format, const char *a, const char *b)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, 4096, format, a, b);
#pragma GCC diagnostic pop
}

struct folders {
    char *a, *b, *own;
};

static int open_folders(void **state)
{
    struct folders *f = xcalloc(1, sizeof *f);

    f->a = new_folder((const char *const[]){ "east", "west", "south" }, (const char *const[]){ "a b", "c", "d" });
    /* b's training database is a's test database, and b's test question c is a's validation question */
    f->b =
        new_folder((const char *const[]){ "south", "north", "middle" }, (const char *const[]){ "f g", "h i", "c k" });
    f->own = test_dir_new();
    *state = f;
    return 0;
}

static int close_folders(void **state)
{
    struct folders *f = *state;

    test_dir_remove(f->a);
    test_dir_remove(f->b);
    test_dir_remove(f->own);
    free(f);
    return 0;
}

static void two_folders(void **state)
{
    const struct folders *f = *state;
    char text[4096];
    struct mixture m;
    struct dataset d;
    struct error err;

    write_mixture(text, "{\"data\": \"%s\", \"name\": \"one\", \"share\": 2}\n{\"data\": \"%s/\", \"name\": \"two\"}\n",
                  f->a, f->b);
    assert_int_equal(mixture_read(&m, &d, test_file(f->own, "mix.jsonl", text), 1, &err), 0);
    assert_int_equal(m.n, 2);
    assert_string_equal(m.parts[1].name, "two");
    assert_string_equal(m.parts[1].metric, "valid_ap/two");
    assert_int_equal(m.parts[0].left_out, 0);
    assert_int_equal(m.parts[1].left_out, 3);
    assert_int_equal(d.splits[SPLIT_TRAIN].n, 4); /* a and b, each twice */
    assert_int_equal(d.splits[SPLIT_VALID].n, 3);
    assert_int_equal(d.splits[SPLIT_TEST].n, 2);
    assert_int_equal(d.schemas.n, 2);
    assert_non_null(schema_find(&d.schemas, "one/shop"));
    const struct example *e = &d.splits[SPLIT_VALID].items[1];
    assert_string_equal(e->id, "two/h");
    assert_string_equal(e->db_id, "two/shop");
    assert_string_equal(e->part, "two");
    assert_string_equal(e->source_db, "north");
    assert_int_equal(dataset_check_splits(&d, &err), 0);
    dataset_release(&d);
    mixture_release(&m);
}

static int n_train(const struct folders *f, const char *share)
{
    char text[4096];
    struct mixture m;
    struct dataset d;
    struct error err;

    write_mixture(text, "{\"data\": \"%s\", \"share\": %s}\n", f->a, share);
    assert_int_equal(mixture_read(&m, &d, test_file(f->own, "share.jsonl", text), 3, &err), 0);
    int n = d.splits[SPLIT_TRAIN].n;
    assert_int_equal(d.splits[SPLIT_VALID].n, 1);
    dataset_release(&d);
    mixture_release(&m);
    return n;
}

static void shares(void **state)
{
    assert_int_equal(n_train(*state, "0"), 0);
    assert_int_equal(n_train(*state, "1"), 2);
    assert_int_equal(n_train(*state, "50"), 100);
    assert_in_range(n_train(*state, "50.5"), 100, 102);
}

static void refused(void **state)
{
    const struct folders *f = *state;
    static const struct {
        const char *format, *says;
    } cases[] = {
        { "", "got no line" },
        { "{\"folder\": \"%s\"}\n", "data" },
        { "{\"data\": \"%s\", \"share\": -1}\n", "share" },
        { "{\"data\": \"%s\", \"share\": \"2\"}\n", "share" },
        { "{\"data\": \"%s\", \"name\": \"\"}\n", "name" },
        { "{\"data\": \"%s/none\"}\n", "line 1" },
        { "{\"data\": \"%1$s\", \"name\": \"x\"}\n{\"data\": \"%1$s\", \"name\": \"x\"}\n",
          "two folders are named \"x\"" },
    };

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char text[4096];
        struct mixture m;
        struct dataset d;
        struct error err;

        write_mixture(text, cases[i].format, f->a, f->b);
        assert_int_equal(mixture_read(&m, &d, test_file(f->own, "bad.jsonl", text), 1, &err), -1);
        assert_error(err, "bad.jsonl", cases[i].says);
        dataset_release(&d);
        mixture_release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_folders), cmocka_unit_test(shares),
                                        cmocka_unit_test(refused) };
    return cmocka_run_group_tests(tests, open_folders, close_folders);
}
