/* Readings beside golds: what is kept, what covers what, what is missing; the published filter and AMBROSIA's rows. */
#include "tests/support/support.h"

#include "data/corpora/ambrosia.h"
#include "data/db/db_cache.h"
#include "data/eval/annotate.h"
#include "data/prompt/model_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char shop[] = "CREATE TABLE item (id INTEGER, name TEXT, price REAL);\n"
                           "INSERT INTO item (id,name,price) VALUES (1,'pen',2.0),(2,'cup',3.5),(3,'box',3.5);\n";

static void python_draws(void **state)
{
    /* random.seed(42), then random.getrandbits(32); the 2000th; then choices from ranges after the same seed */
    static const uint32_t first[] = { 2746317213u, 478163327u, 107420369u, 3184935163u };
    static const uint32_t ranges[] = { 1, 2, 3, 4, 5, 7, 8, 100, 1, 1, 1000 };
    static const uint32_t chosen[] = { 0, 0, 2, 2, 1, 1, 2, 94, 0, 0, 604 };
    struct python_random r;
    (void)state;
    python_random_seed(&r, 42);
    for (int i = 0; i < 4; i++)
        assert_int_equal(python_random_u32(&r), first[i]);
    for (int i = 4; i < 1999; i++)
        python_random_u32(&r);
    assert_int_equal(python_random_u32(&r), 1557724698u);
    python_random_seed(&r, 42);
    for (int i = 0; i < ARRAY_LEN(ranges); i++)
        assert_int_equal(python_random_choice(&r, ranges[i]), chosen[i]);
    python_random_seed(&r, 0);
    assert_int_equal(python_random_u32(&r), 3626764237u);
}

static void words_and_lengths(void **state)
{
    static const char *const with[] = { "SELECT it", "flights of AIRLINE", "a = b", "a <= b",
                                        "count(*)",  "by ORDER BY",        "x | y", "NOTE",
                                        "```sql",    "REGEXMATCHESALL",    "UNION", "READ" };
    static const char *const without[] = { "List all flights", "select all from here", "a=b", "A B C", "the U S", "" };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(with) - 1; i++)
        if (!annotate_has_keyword(with[i]))
            fail_msg("no keyword in \"%s\"", with[i]);
    assert_false(annotate_has_keyword(with[ARRAY_LEN(with) - 1]));
    for (int i = 0; i < ARRAY_LEN(without); i++)
        if (annotate_has_keyword(without[i]))
            fail_msg("a keyword in \"%s\"", without[i]);
    assert_int_equal(annotate_length("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"), 9);
}

/* Annotates one record given as JSON; NULL with err. */
static json_t *annotate(const char *text, bool published, struct error *err)
{
    struct annotation a;
    struct db_cache databases;
    struct python_random random;
    json_t *record = json_loads(text, 0, NULL), *found = NULL;

    if (!record)
        fail_msg("no JSON: %s", text);
    db_cache_init(&databases);
    python_random_seed(&random, 42);
    struct exec_db *db = db_cache_dump(&databases, shop, err);
    assert_non_null(db);
    if (annotation_read(&a, record, "in.jsonl: line 1", err) == 0 &&
        (published ? annotate_published(&a, db, &random, err) : annotate_honest(&a, db, err)) == 0)
        found = annotation_json(&a, err);
    annotation_release(&a);
    json_decref(record);
    db_cache_release(&databases);
    return found;
}

static json_t *annotated(const char *text, bool published)
{
    struct error err = { 0 };
    json_t *found = annotate(text, published, &err);
    if (!found)
        fail_msg("%s", err.text);
    return found;
}

/* Takes the result and compares one field, as JSON. */
static void assert_field(json_t *found, const char *field, const char *wanted)
{
    char *got = json_dumps(json_object_get(found, field), JSON_ENCODE_ANY | JSON_COMPACT);
    assert_string_equal(got, wanted);
    free(got);
}

/* The reasons, one letter each: k kept, t text, i introduction, q text is SQL, r no SQL runs, n no SQL. s same as
 * another, w keyword, h half the length, c not sampled. */
static void assert_dropped(const json_t *found, const char *letters)
{
    static const char *const words[] = {
        "tno text",    "iintroduction",           "qtext is SQL",         "rno SQL runs",
        "nno SQL",     "ssame result as another", "wSQL keyword or sign", "hshorter than half the question",
        "cnot sampled"
    };
    const json_t *interpretations = json_object_get(found, "readings");
    char got[64] = "";
    assert_true(json_array_size(interpretations) < sizeof got);
    for (size_t i = 0; i < json_array_size(interpretations); i++) {
        const char *why = json_string_value(json_object_get(json_array_get(interpretations, i), "dropped"));
        got[i] = why ? '?' : 'k';
        for (int k = 0; k < ARRAY_LEN(words) && why; k++)
            if (strcmp(why, words[k] + 1) == 0)
                got[i] = words[k][0];
    }
    assert_string_equal(got, letters);
}

#define RECORD(golds, interpretations)                                                                                 \
    "{\"db_id\": \"shop\", \"question\": \"Which item is the best of all?\", \"golds\": [" golds "], \"readings\": "   \
    "[" interpretations "]}"
#define CHEAP "{\"text\": \"The cheapest item?\", \"sql\": \"SELECT name FROM item ORDER BY price LIMIT 1\"}"
#define LAST "{\"text\": \"The last item?\", \"sql\": \"SELECT name FROM item ORDER BY id DESC LIMIT 1\"}"

static void honest(void **state)
{
    (void)state;
    json_t *found =
        annotated(RECORD(CHEAP "," LAST,
                         "{\"text\": \"Here they are: \"}, {\"text\": \" \", \"sql\": \"SELECT 1\"},"
                         "{\"text\": \"SELECT * FROM item\", \"sql\": \"SELECT * FROM item\"},"
                         "{\"text\": \"Lost\", \"sql\": [\"SELECT x FROM item\", \"DROP TABLE item\"]},"
                         "{\"text\": \"Bare\"}, {\"text\": \"All IN CAPITALS\", \"sql\": \"SELECT name FROM item\"},"
                         "{\"text\": \"Pen\", \"sql\": [\"SELECT y\", \"SELECT 'pen'\", \"SELECT 'box'\"]},"
                         "{\"text\": \"Every\", \"sql\": \"SELECT name FROM item ORDER BY id\"}"),
                  false);
    assert_dropped(found, "itqrnkks");
    assert_field(found, "existing", "[\"All IN CAPITALS\",\"Pen\"]");
    assert_field(found, "existing_text", "\"All IN CAPITALS\\nPen\"");
    assert_field(found, "missing", "[\"The last item?\"]");
    assert_field(found, "target", "\"The last item?\"");
    assert_field(json_array_get(json_object_get(found, "golds"), 0), "covered_by", "6");
    assert_field(json_array_get(json_object_get(found, "golds"), 1), "covered_by", "null");
    assert_field(json_array_get(json_object_get(found, "readings"), 7), "same_as", "5");
    json_decref(found);
}

static void nothing_and_everything(void **state)
{
    (void)state;
    json_t *found = annotated(RECORD("{\"sql\": \"SELECT count(*) FROM item\"}", ""), false);
    assert_field(found, "existing", "[]");
    assert_field(found, "existing_text", "\"No existing interpretations available\"");
    assert_field(found, "target", "\"Which item is the best of all?\"");
    json_decref(found);
    found = annotated(RECORD(LAST "," CHEAP, CHEAP "," LAST), false);
    assert_field(found, "missing", "[]");
    assert_field(found, "target", "\"All possible interpretations are covered\"");
    json_decref(found);
    found = annotated(RECORD(LAST "," CHEAP, ""), false);
    assert_field(found, "target", "\"The last item?\\nThe cheapest item?\"");
    json_decref(found);
}

/* The target of a record without interpretations. */
static void assert_target(enum annotate_target target, const char *golds, const char *wanted)
{
    json_t *record =
        json_pack("{s:s, s:s, s:o}", "db_id", "shop", "question", "Which?", "golds", json_loads(golds, 0, NULL));
    struct error err = { 0 };
    struct annotation a;

    assert_int_equal(annotation_read(&a, record, "in.jsonl: line 1", &err), 0);
    json_t *found = annotation_target_json(&a, target, &err);
    if (found)
        assert_string_equal(json_string_value(json_object_get(found, "target")), wanted);
    else
        assert_error(err, wanted);
    json_decref(found);
    annotation_release(&a);
    json_decref(record);
}

/* The statements of pairs are read back without their texts. */
static void targets(void **state)
{
    const char *golds = "[" CHEAP ", {\"text\": \"All?\", \"sql\": \"SELECT name\\nFROM item;\"}]";
    const char *cheap = "SELECT name FROM item ORDER BY price LIMIT 1",
               *pairs = "The cheapest item?\n"
                        "SELECT name FROM item ORDER BY price LIMIT 1;\n\nAll?\nSELECT name\nFROM item;";
    struct text_items found = { 0 };
    (void)state;

    assert_target(ANNOTATE_E2E, golds, "SELECT name FROM item ORDER BY price LIMIT 1\n\nSELECT name\nFROM item;");
    assert_target(ANNOTATE_GOLD, golds, "The cheapest item?\nAll?");
    assert_target(ANNOTATE_PAIRS, golds, pairs);
    assert_target(ANNOTATE_PAIRS, "[{\"sql\": \"SELECT 1\"}, " CHEAP "]", "gold 1: --target pairs requires a text");
    output_sql(&found, pairs, false);
    assert_int_equal(found.n, 2);
    assert_string_equal(found.items[0], cheap);
    assert_string_equal(found.items[1], "SELECT name\nFROM item");
    text_items_release(&found);
}

static void published(void **state)
{
    (void)state;
    /* 30 characters of question: 14 are too few, 15 are not */
    json_t *found = annotated(
        RECORD(CHEAP "," LAST,
               "{\"text\": \"Fourteen chars\", \"sql\": \"SELECT 1\"},"
               "{\"text\": \"Fifteen chars.. \", \"sql\": \"SELECT 2\"},"
               "{\"text\": \"All names in CAPITALS ON TOP\", \"sql\": \"SELECT 3\"},"
               "{\"text\": \"Nothing is found by this one\", \"sql\": \"SELECT 1 WHERE 0\"},"
               "{\"text\": \"Nor is anything by this one\", \"sql\": \"SELECT 2 WHERE 0\"},"
               "{\"text\": \"Two of them, pen and box by name\", \"sql\": [\"SELECT 'pen'\", \"SELECT 'box'\"]},"
               "{\"text\": \"A text whose SQL does not run\", \"sql\": \"SELECT x\"}"),
        true);
    assert_dropped(found, "hkwckkc");
    assert_field(found, "existing",
                 "[\"Fifteen chars.. \",\"Nor is anything by this one\",\"Two of them, pen and box by name\","
                 "\"Two of them, pen and box by name\"]");
    assert_field(found, "missing", "[]");
    json_decref(found);
}

static void records_that_fail(void **state)
{
    static const struct {
        const char *record, *word;
    } cases[] = {
        { "{\"question\": \"q\", \"golds\": []}", "\"db_id\" is missing" },
        { "{\"db_id\": \"d\", \"golds\": []}", "\"question\" is missing" },
        { "{\"db_id\": \"d\", \"question\": \"q\", \"golds\": {}}", "\"golds\": expected an array, got an object" },
        { "{\"db_id\": \"d\", \"question\": \"q\", \"golds\": []}", "\"golds\" is empty" },
        { RECORD("7", ""), "gold 1: expected an object" },
        { RECORD("{\"sql\": [\"SELECT 1\"]}", ""), "gold 1: field \"sql\": expected a string, got an array" },
        { RECORD("{\"sql\": \"SELECT 1\", \"text\": 3}", ""),
          "gold 1: field \"text\": expected a string, got an integer" },
        { RECORD(CHEAP, "{\"sql\": \"SELECT 1\"}"), "reading 1: field \"text\" is missing" },
        { RECORD(CHEAP, "{\"text\": \"a\", \"sql\": [3]}"), "reading 1: field \"sql\": expected a string" },
        { RECORD(CHEAP ",{\"sql\": \"SELECT x\"}", ""), "gold 2 does not execute" },
        { RECORD(CHEAP ",{\"sql\": \"SELECT 'pen'\"}", ""), "golds 1 and 2 give the same result" },
        { RECORD(CHEAP ",{\"sql\": \"SELECT 7\"}", ""), "gold 2: expected a text, since no reading covers it" },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        for (int way = 0; way < 2; way++) {
            struct error err = { 0 };
            assert_null(annotate(cases[i].record, way, &err));
            assert_error(err, cases[i].word);
            assert_int_equal(err.code, EXIT_CODE_DATA);
        }
}

static void ambrosia_rows(void **state)
{
    struct error err;
    json_t *row = json_loads("{\"db\": \"D__s\", \"question\": \"Which?\", \"ambig_type\": \"attachment\", "
                             "\"gold_queries\": [\"SELECT 1\", \"SELECT 2\"], \"gold_interpretations\": [{\"sql\": "
                             "\"SELECT 1\", \"questions\": [\"One? Show them in one table.\", \"1?\"]}, {\"sql\": "
                             "\"SELECT 2\", \"questions\": [\"Two?\"]}]}",
                             0, NULL);
    (void)state;
    assert_true(ambrosia_is_row(row));
    json_t *record = ambrosia_record(row, 7, "q.jsonl: line 8", &err);
    assert_field(record, "id", "7");
    assert_field(record, "db_id", "\"D__s\"");
    assert_field(record, "question", "\"Which? Show them in one table.\"");
    assert_field(
        record, "golds",
        "[{\"sql\":\"SELECT 1\",\"text\":\"One? Show them in one table.\"},{\"sql\":\"SELECT 2\",\"text\":\"Two? "
        "Show them in one table.\"}]");
    json_decref(record);
    json_object_set_new(row, "ambig_type", json_string("scope"));
    json_object_set_new(row, "id", json_string("x"));
    json_array_remove(json_object_get(row, "gold_interpretations"), 1);
    assert_null(ambrosia_record(row, 7, "q.jsonl: line 8", &err));
    assert_error(err, "q.jsonl: line 8, gold_interpretations 2");
    json_object_del(row, "gold_interpretations");
    record = ambrosia_record(row, 7, "q.jsonl: line 8", &err);
    assert_field(record, "id", "\"x\"");
    assert_field(record, "question", "\"Which?\"");
    assert_field(record, "golds", "[{\"sql\":\"SELECT 1\"},{\"sql\":\"SELECT 2\"}]");
    json_decref(record);
    json_object_set_new(row, "gold_queries", json_pack("[i]", 3));
    assert_null(ambrosia_record(row, 7, "q.jsonl: line 8", &err));
    assert_error(err, "\"gold_queries\": entry 1 is not a string");
    json_decref(row);
}

/* The rows at hand with the readings at hand, against the list of missing golds that came with them. */
static void ambrosia_at_hand(void **state)
{
    const char *dir = test_shared("data/ambrosia");
    struct annotate_interpretations interpretations;
    struct db_cache databases;
    struct error err = { 0 };
    int same = 0, more = 0, n = 0;
    json_t *row, *known;

    (void)state;
    if (!dir || !test_shared("data/dfpl"))
        skip();
    if (annotate_interpretations_open(&interpretations,
                                      test_shared("data/dfpl/gemma2_ambrosia_resplit_validation.json"), &err))
        fail_msg("%s", err.text);
    db_cache_init(&databases);
    struct json_reader *rows = json_reader_open(test_shared("data/ambrosia/questions_validation.jsonl"), &err);
    struct json_reader *lists = json_reader_open(test_shared("data/ambrosia/infilling_validation.jsonl"), &err);
    assert_true(rows && lists);
    for (; json_reader_next(rows, &row, &err) > 0 && json_reader_next(lists, &known, &err) > 0; n++) {
        struct annotation a;
        char path[256];
        json_t *record = ambrosia_record(row, n, "row", &err);
        const char *db = json_string_value(json_object_get(record, "db_id"));
        json_t *list =
            annotate_interpretations_find(&interpretations, db, json_string_value(json_object_get(record, "question")));
        assert_non_null(list);
        json_object_set(record, "readings", list);
        snprintf(path, sizeof path, "data/ambrosia/db/%s.sqlite", db);
        struct exec_db *open = db_cache_file(&databases, test_shared(path), &err);
        if (!open || annotation_read(&a, record, "row", &err) || annotate_honest(&a, open, &err))
            fail_msg("%s", err.text);
        json_t *found = annotation_json(&a, &err);
        size_t ours = json_array_size(json_object_get(found, "missing"));
        size_t theirs = json_array_size(json_object_get(known, "missing"));
        same += ours == theirs;
        more += ours == theirs + 1;
        annotation_release(&a);
        json_decref(found);
        json_decref(record);
        json_decref(row);
        json_decref(known);
    }
    json_reader_close(rows);
    json_reader_close(lists);
    db_cache_release(&databases);
    annotate_interpretations_release(&interpretations);
    assert_int_equal(n, 396);
    assert_int_equal(same, 395);
    assert_int_equal(more, 1); /* rows that tie in the order of the gold */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_draws),
        cmocka_unit_test(words_and_lengths),
        cmocka_unit_test(honest),
        cmocka_unit_test(targets),
        cmocka_unit_test(nothing_and_everything),
        cmocka_unit_test(published),
        cmocka_unit_test(records_that_fail),
        cmocka_unit_test(ambrosia_rows),
        cmocka_unit_test(ambrosia_at_hand),
    };
    return cmocka_run_group_tests_name("annotate", tests, NULL, NULL);
}
