/* Infilling with models that answer from a table, and known SQL of interpretations. */
#include "data/base/json.h"
#include "data/prompt/interpretation_sql.h"
#include "infer/infill/infill.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Completions by a part of the prompt; the first match counts, NULL: none. */
struct answer {
    const char *part, *text;
};

struct table {
    const struct answer *answers;
    int n;
    int64_t calls, prompts;
};

static int look_up(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err)
{
    struct table *t = self;

    t->calls++;
    t->prompts += n;
    for (int64_t i = 0; i < n; i++) {
        const json_t *messages = json_object_get(prompts[i], "messages"), *user = json_array_get(messages, 0);
        const char *prompt = json_string_value(json_object_get(user, "content"));
        assert_int_equal(json_array_size(messages), 1);
        assert_non_null(json_object_get(prompts[i], "id"));
        assert_string_equal(json_string_value(json_object_get(user, "role")), "user");
        int k = 0;
        while (k < t->n && !strstr(prompt, t->answers[k].part))
            k++;
        if (k == t->n)
            return error_set(err, EXIT_CODE_DEVICE, "no answer to %s", prompt);
        texts[i] = t->answers[k].text ? xstrdup(t->answers[k].text) : NULL;
    }
    return 0;
}

static struct infill_generator model(struct table *t)
{
    return (struct infill_generator){ look_up, t, 1 };
}

static const char shop[] = "CREATE TABLE item (name TEXT, price REAL, cost REAL);"
                           "INSERT INTO item VALUES ('pen', 2, 1), ('cup', 3, 5), ('box', 4, 2);";

static const char questions[] =
    "{\"id\":\"a\",\"db_id\":\"shop\",\"question\":\"What is dear?\",\"golds\":[{\"sql\":\"SELECT name FROM item WHERE "
    "price > 3\"},{\"sql\":\"SELECT name FROM item WHERE cost > 3\"}]}\n"
    "{\"id\":2,\"db_id\":\"shop\",\"question\":\"What is there?\"}\n"
    "{\"id\":\"c\",\"db_id\":\"nowhere\",\"question\":\"What is there?\"}\n";

static const struct answer defaults[] = {
    { "What is dear?", "Here they are:\n1. Which price is above 3?\n2. What costs the most?\n- Is the price over 3?" },
    { "What is there?", "All names" },
};
static const struct answer sqls[] = {
    { "Which price is above 3?\n", "```sql\nSELECT name FROM item WHERE price > 3;\n```" },
    { "What costs the most?\n", "WITH m AS (SELECT max(nothing) FROM item) SELECT * FROM m" },
    { "Is the price over 3?\n", "SELECT name FROM item WHERE 3 < price" },
    { "Which cost is above 3?\n", "SELECT name FROM item WHERE cost > 3" },
    { "Whose price is greater than 3?\n", "SELECT name FROM item WHERE price >= 4" },
    { "All names\n", "SELECT name FROM item" },
};
static const struct answer fills[] = {
    { "Existing interpretations:\n\nWhich price is above 3?\n\nProvide",
      "Which cost is above 3?\n\nWhose price is greater than 3?" },
    { "Existing interpretations:\n\nAll names\n\nProvide", "All possible interpretations are covered." },
};

struct world {
    char *dir, *input, *out;
    struct table read, sql, fill;
    struct infill_request q;
    struct infill_counts counts;
};

static void world_init(struct world *w)
{
    sqlite3 *db;

    *w = (struct world){ .dir = test_dir_new(),
                         .read = { defaults, ARRAY_LEN(defaults), 0, 0 },
                         .sql = { sqls, ARRAY_LEN(sqls), 0, 0 },
                         .fill = { fills, ARRAY_LEN(fills), 0, 0 } };
    w->input = xstrdup(test_file(w->dir, "in.jsonl", questions));
    w->out = xstrdup(test_file(w->dir, "out.jsonl", NULL));
    assert_int_equal(sqlite3_open(test_file(w->dir, "shop.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, shop, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    w->q = (struct infill_request){ .input = w->input,
                                    .db = w->dir,
                                    .out = w->out,
                                    .prompt = PROMPTER_DEFAULTS,
                                    .window = 100,
                                    .read = model(&w->read),
                                    .sql = model(&w->sql),
                                    .fill = model(&w->fill) };
}

static void world_release(struct world *w)
{
    test_dir_remove(w->dir);
    free(w->input);
    free(w->out);
}

/* The n-th line of the output; a new reference. */
static json_t *line(const struct world *w, int n)
{
    struct error err = { 0 };
    struct json_reader *in = json_reader_open(w->out, &err);
    json_t *record = NULL;

    assert_non_null(in);
    for (int i = 0; i <= n; i++) {
        json_decref(record);
        assert_int_equal(json_reader_next(in, &record, &err), 1);
    }
    json_reader_close(in);
    return record;
}

/* Texts of a list, each after its "from", separated by |. */
static void check_list(const json_t *record, const char *field, const char *wanted)
{
    char text[1000] = "";
    const json_t *o;
    size_t i;

    json_array_foreach(json_object_get(record, field), i, o)
    {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s:%s", n ? "|" : "", json_string_value(json_object_get(o, "from")),
                 json_string_value(json_object_get(o, "text")));
    }
    assert_string_equal(text, wanted);
}

static const char *field_of(const json_t *record, const char *list, size_t i, const char *field)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(record, list), i), field));
}

/* Drops introductions, failing SQL and repeated results, with one call for each stage. */
static void with_models(void **state)
{
    struct world w;
    struct error err = { 0 };
    (void)state;

    world_init(&w);
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    assert_int_equal(w.counts.records, 3);
    assert_int_equal(w.counts.failed, 1);
    assert_int_equal(w.counts.defaults, 2);
    assert_int_equal(w.counts.added, 1);
    assert_int_equal(w.read.calls + w.fill.calls, 2);
    assert_int_equal(w.sql.calls, 2);
    assert_int_equal(w.sql.prompts, 6);
    json_t *record = line(&w, 0);
    check_list(record, "readings", "default:Which price is above 3?|infilled:Which cost is above 3?");
    check_list(record, "dropped",
               "default:What costs the most?|default:Is the price over 3?|infilled:Whose price is greater than 3?");
    assert_string_equal(field_of(record, "dropped", 0, "reason"), "no SQL runs");
    assert_string_equal(field_of(record, "dropped", 2, "same_as"), "Which price is above 3?");
    assert_string_equal(field_of(record, "readings", 1, "sql_from"), "model");
    assert_true(json_is_true(json_object_get(record, "ambiguous")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(record, "provenance"), "infilled")), "model");
    json_decref(record);
    record = line(&w, 1);
    check_list(record, "readings", "default:All names");
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(json_object_get(record, "readings"), 0), "rows")), 3);
    json_decref(record);
    record = line(&w, 2);
    assert_non_null(strstr(json_string_value(json_object_get(record, "error")), "no database nowhere"));
    json_decref(record);
    world_release(&w);
}

/* As published: added lines stay, even empty ones, and WITH is dropped. */
static void as_published(void **state)
{
    static const struct answer more[] = { { "All names\n", "SELECT name FROM item" }, { "Answer the", "SELECT 1" } };
    static const struct answer existing[] = {
        { "What is dear?\n\nExisting interpretations:\n\n", "All possible interpretations are covered" },
        { "What is there?\n\nExisting interpretations:\n\nNo existing", "\nThe names\nNo interpretation" },
    };
    struct world w;
    struct error err = { 0 };
    (void)state;

    world_init(&w);
    w.q.published = true;
    w.sql = (struct table){ more, ARRAY_LEN(more), 0, 0 };
    w.fill = (struct table){ existing, ARRAY_LEN(existing), 0, 0 };
    static const struct answer start[] = { { "", "Show all of the SET" } };
    w.read = (struct table){ start, 1, 0, 0 };
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    json_t *record = line(&w, 1);
    check_list(record, "readings", "infilled:|infilled:The names");
    check_list(record, "dropped", "default:Show all of the SET|infilled:No interpretation");
    json_decref(record);
    world_release(&w);
}

/* Files in place of models; a missing completion fails its record alone. */
static void with_files(void **state)
{
    struct world w;
    struct error err = { 0 };
    (void)state;

    world_init(&w);
    struct infill_generator none = { 0 };
    w.q.read = w.q.sql = w.q.fill = none;
    w.q.defaults =
        xstrdup(test_file(w.dir, "defaults.jsonl",
                          "{\"id\":\"a\",\"text\":\"Which price is above 3?\"}\n"
                          "{\"db_id\":\"shop\",\"question\":\"What is there?\",\"readings\":[{\"text\":\"x\","
                          "\"sql\":[\"SELECT 1\"]},{\"text\":\"y\"}]}\n"));
    w.q.sqls = xstrdup(test_file(w.dir, "sqls.jsonl",
                                 "{\"db_id\":\"shop\",\"text\":\" which  PRICE is above 3\",\"sql\":\"SELECT name FROM "
                                 "item WHERE price > 3\"}\n"
                                 "{\"db_id\":\"shop\",\"golds\":[{\"text\":\"Which cost is above 3\",\"sql\":\"SELECT "
                                 "name FROM item WHERE cost > 3\"}]}\n"));
    w.q.infilled = xstrdup(test_file(w.dir, "infilled.jsonl", "{\"id\":\"a\",\"text\":\"Which cost is above 3?\"}\n"));
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    assert_int_equal(w.counts.failed, 2);
    json_t *record = line(&w, 0);
    check_list(record, "readings", "default:Which price is above 3?|infilled:Which cost is above 3?");
    assert_string_equal(field_of(record, "readings", 0, "sql_from"), "file");
    json_decref(record);
    record = line(&w, 1);
    assert_non_null(strstr(json_string_value(json_object_get(record, "error")), "infilled.jsonl has no readings"));
    json_decref(record);
    free((void *)(uintptr_t)w.q.infilled);
    w.q.infilled = NULL;
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    record = line(&w, 1);
    check_list(record, "readings", "default:x");
    check_list(record, "dropped", "default:y");
    assert_string_equal(field_of(record, "dropped", 0, "reason"), "no SQL");
    json_decref(record);
    free((void *)(uintptr_t)w.q.defaults);
    free((void *)(uintptr_t)w.q.sqls);
    world_release(&w);
}

static void bad_models(void **state)
{
    static const struct answer silent[] = { { "What is dear?", NULL }, { "", "All names" } };
    struct world w;
    struct error err = { 0 };
    (void)state;

    world_init(&w);
    w.read = (struct table){ silent, ARRAY_LEN(silent), 0, 0 };
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    assert_int_equal(w.counts.failed, 2);
    json_t *record = line(&w, 0);
    assert_non_null(strstr(json_string_value(json_object_get(record, "error")), "no answer to def.txt"));
    json_decref(record);
    w.read.n = 0;
    assert_int_equal(infill(&w.q, &w.counts, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DEVICE);
    world_release(&w);
}

/* Windows of any size make the same lines.  A resumed run asks nothing twice. */
static void in_windows(void **state)
{
    struct world w;
    struct error err = { 0 };
    char *whole;
    (void)state;

    world_init(&w);
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    whole = test_read(w.out);
    w.q.window = 1;
    w.fill.n = 1; /* it does not know the second question */
    assert_int_equal(infill(&w.q, &w.counts, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DEVICE);
    assert_non_null(strstr(err.text, "out.jsonl.part keeps the finished results: add --resume to continue"));
    w.fill.n = 2;
    w.q.resume = true;
    w.read.prompts = 0;
    w.counts = (struct infill_counts){ 0 };
    assert_int_equal(infill(&w.q, &w.counts, &err), 0);
    assert_int_equal(w.counts.resumed, 1);
    assert_int_equal(w.counts.records, 3);
    assert_int_equal(w.counts.defaults, 2);
    assert_int_equal(w.counts.added, 1);
    assert_int_equal(w.read.prompts, 1);
    char *resumed = test_read(w.out);
    assert_string_equal(resumed, whole);
    free(resumed);
    free(whole);
    world_release(&w);
}

static void known_sql(void **state)
{
    struct interpretation_sql r;
    struct error err = { 0 };
    char *dir = test_dir_new();
    (void)state;

    assert_int_equal(
        interpretation_sql_open(&r,
                                test_file(dir, "a.jsonl",
                                          "{\"db_id\":\"d\",\"text\":\"All Names.\",\"sql\":\"SELECT 1\"}\n"
                                          "{\"db_id\":\"d\",\"text\":\"all names\",\"sql\":\"SELECT 2\"}\n"
                                          "{\"db_id\":\"d\",\"readings\":[{\"text\":\"x\",\"sql\":[]},{\"text\":"
                                          "\"y\"}],\"golds\":[{\"sql\":\"SELECT 3\"}]}\n"
                                          "{\"id\":\"sql-3e287d068fb21e66\",\"text\":\"```SELECT 4;```\"}\n"
                                          "{\"id\":\"sql-0000000000000000\",\"error\":\"too long\"}\n"),
                                false, &err),
        0);
    assert_string_equal(json_string_value(interpretation_sql_find(&r, "d", "\tall   NAMES?\n")), "SELECT 1");
    assert_string_equal(json_string_value(json_array_get(interpretation_sql_find(&r, "shop", "All names"), 0)),
                        "SELECT 4");
    assert_null(interpretation_sql_find(&r, "shop", "all names"));
    assert_null(interpretation_sql_find(&r, "d", "all, names"));
    assert_null(interpretation_sql_find(&r, "e", "all names"));
    assert_null(interpretation_sql_find(&r, "d", "x"));
    assert_null(interpretation_sql_find(&r, "d", ""));
    interpretation_sql_release(&r);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_models), cmocka_unit_test(as_published), cmocka_unit_test(with_files),
        cmocka_unit_test(bad_models),  cmocka_unit_test(in_windows),   cmocka_unit_test(known_sql),
    };
    return cmocka_run_group_tests_name("infill", tests, NULL, NULL);
}
