/* Ambiguities of a question against those of gold: names, words, what is found and what is extra, and the means. */
#include "data/base/json.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEES "{\"alternatives\": [\"gym.day_fee\", \"gym.year_fee\"], \"start\": 12, \"end\": 15}"
#define PLACES "{\"alternatives\": [\"gym.home\", \"gym.work\"], \"start\": 24, \"end\": 31}"
#define GOLD(id, db, list) "{\"id\": \"" id "\", \"db_id\": \"" db "\", \"ambiguities\": [" list "]}\n"
#define SAID(id, list) "{\"id\": \"" id "\", \"ambiguities\": [" list "]}\n"

struct scored_files {
    char *dir, *printed;
    json_t *total; /* the JSON of the command */
    json_t *lines; /* --per-example, by id */
    int code;
};

static void read_lines(struct scored_files *s)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/each.jsonl", s->dir);
    char *text = test_read(path), *rest = NULL;
    s->lines = json_object();
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *o = json_loads(line, 0, NULL);
        json_object_set_new(s->lines, json_string_value(json_object_get(o, "id")), o);
    }
    free(text);
}

static struct scored_files score(const char *gold, const char *said)
{
    struct scored_files s = { .dir = test_dir_new() };
    char command[8192];

    test_file(s.dir, "gold.jsonl", gold);
    test_file(s.dir, "said.jsonl", said);
    snprintf(
        command, sizeof command,
        "ambit-data score --rule several --json --gold %s/gold.jsonl --pred %s/said.jsonl --per-example %s/each.jsonl",
        s.dir, s.dir, s.dir);
    s.code = test_run(command, &s.printed);
    s.total = json_loads(s.printed, JSON_DISABLE_EOF_CHECK, NULL);
    read_lines(&s);
    return s;
}

static void scored_release(struct scored_files *s)
{
    json_decref(s->total);
    json_decref(s->lines);
    free(s->printed);
    test_dir_remove(s->dir);
}

/* One record with two ambiguities, and a prediction with these counts. */
static void check_one(const char *said, int predicted, int found, int right_words, int extra)
{
    static const char *const fields[] = { "predicted", "found", "right_words", "extra" };
    const int wanted[] = { predicted, found, right_words, extra };
    struct scored_files s = score(GOLD("a", "gym", FEES ", " PLACES), said);
    const json_t *line = json_object_get(s.lines, "a");

    if (s.code)
        fail_msg("%s: %s", said, s.printed);
    assert_int_equal(json_integer_value(json_object_get(line, "gold")), 2);
    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_integer_value(json_object_get(line, fields[i])) != wanted[i])
            fail_msg("%s: %s is %lld, expected %d", said, fields[i],
                     (long long)json_integer_value(json_object_get(line, fields[i])), wanted[i]);
    scored_release(&s);
}

static void predictions_find_gold(void **state)
{
    (void)state;
    check_one(SAID("a", FEES ", " PLACES), 2, 2, 2, 0);
    check_one(SAID("a", PLACES ", " FEES), 2, 2, 2, 0);
    check_one(SAID("a", ""), 0, 0, 0, 0);
    check_one(SAID("a", FEES), 1, 1, 1, 0);
    /* the same one twice is found once */
    check_one(SAID("a", FEES ", " FEES), 2, 1, 1, 1);
    /* the other order, capitals, blanks, one name more */
    check_one(SAID("a", "{\"alternatives\": [\"Gym.year fee\", \"x\", \"GYM.Day_Fee\"]}"), 1, 1, 0, 0);
    /* one name of two, or one of each */
    check_one(SAID("a", "{\"alternatives\": [\"gym.day_fee\"]}"), 1, 0, 0, 1);
    check_one(SAID("a", "{\"alternatives\": [\"gym.day_fee\", \"gym.home\"]}"), 1, 0, 0, 1);
    /* names of both in one entry find one of them */
    check_one(SAID("a", "{\"alternatives\": [\"gym.day_fee\", \"gym.year_fee\", \"gym.home\", \"gym.work\"]}"), 1, 1, 0,
              0);
    /* words that begin or end elsewhere are not right */
    check_one(SAID("a", "{\"alternatives\": [\"gym.day_fee\", \"gym.year_fee\"], \"start\": 12, \"end\": 16}"), 1, 1, 0,
              0);
    check_one(SAID("a", "{\"alternatives\": [\"gym.day_fee\", \"gym.year_fee\"], \"start\": 11, \"end\": 15}"), 1, 1, 0,
              0);
}

/* Gold without words has no right words, and gold without names is never found. */
static void incomplete_gold_matches_nothing(void **state)
{
    static const char bare[] = "{\"alternatives\": [\"gym.day_fee\", \"gym.year_fee\"]}";
    char gold[1024], said[1024];

    (void)state;
    snprintf(gold, sizeof gold, "{\"id\": \"a\", \"db_id\": \"x\", \"ambiguities\": [%s]}\n", bare);
    snprintf(said, sizeof said, "{\"id\": \"a\", \"ambiguities\": [%s]}\n", bare);
    struct scored_files s = score(gold, said);
    const json_t *line = json_object_get(s.lines, "a");
    assert_int_equal(json_integer_value(json_object_get(line, "found")), 1);
    assert_int_equal(json_integer_value(json_object_get(line, "right_words")), 0);
    scored_release(&s);
    s = score(GOLD("a", "x", "{\"alternatives\": []}"), said);
    line = json_object_get(s.lines, "a");
    assert_int_equal(json_integer_value(json_object_get(line, "found")), 0);
    assert_int_equal(json_integer_value(json_object_get(line, "extra")), 1);
    scored_release(&s);
}

static void spans_are_predictions(void **state)
{
    static const char concepts[] =
        "\"alternatives\": [{\"concept\": \"gym.day fee\"}, {\"concept\": \"gym.year fee\"}]";
    char said[1024];

    (void)state;
    snprintf(said, sizeof said, "{\"id\": \"a\", \"spans\": [{\"label\": \"AMB\", \"start\": 12, \"end\": 15, %s}]}\n",
             concepts);
    check_one(said, 1, 1, 1, 0);
    snprintf(said, sizeof said, "{\"id\": \"a\", \"spans\": [{\"label\": \"COL\", \"start\": 12, \"end\": 15, %s}]}\n",
             concepts);
    check_one(said, 0, 0, 0, 0);
    /* a list of ambiguities goes before spans */
    snprintf(said, sizeof said, "{\"id\": \"a\", \"ambiguities\": [], \"spans\": [{\"label\": \"AMB\", %s}]}\n",
             concepts);
    check_one(said, 0, 0, 0, 0);
}

/* A measure of the row about this number of ambiguities. */
static const json_t *measure(const struct scored_files *s, int ambiguities, const char *name)
{
    const json_t *rows = json_object_get(s->total, "by_ambiguities");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (json_integer_value(json_object_get(row, "ambiguities")) == ambiguities)
            return json_object_get(row, name);
    }
    fail_msg("no row about %d ambiguities: %s", ambiguities, s->printed);
    return NULL;
}

static void assert_mean(const struct scored_files *s, int ambiguities, const char *name, double mean)
{
    double got = json_number_value(json_object_get(measure(s, ambiguities, name), "value"));

    if (!(fabs(got - mean) < 1e-6))
        fail_msg("%d ambiguities: %s is %g, expected %g", ambiguities, name, got, mean);
}

static void means_are_by_number(void **state)
{
    static const char gold[] = GOLD("a", "x", FEES ", " PLACES) GOLD("b", "x", FEES ", " PLACES)
        GOLD("c", "x", FEES ", " PLACES) GOLD("d", "x", FEES) GOLD("e", "x", "") GOLD("f", "x", "");
    static const char said[] =
        SAID("a", FEES ", " PLACES) SAID("b", PLACES ", {\"alternatives\": [\"p\", \"q\"]}") SAID("c", "")
            SAID("d", "{\"alternatives\": [\"gym.day_fee\", \"gym.year_fee\"]}") SAID("e", FEES) SAID("f", "");
    struct scored_files s = score(gold, said);

    (void)state;
    assert_int_equal(s.code, 0);
    assert_mean(&s, 2, "all_found", 1.0 / 3);
    assert_mean(&s, 2, "one_found", 2.0 / 3);
    assert_mean(&s, 2, "right_words", 1);
    assert_mean(&s, 2, "extra", 1.0 / 3);
    assert_mean(&s, 2, "questions", 4.0 / 3);
    assert_mean(&s, 1, "all_found", 1);
    assert_mean(&s, 1, "right_words", 0);
    assert_mean(&s, 0, "extra", 0.5);
    assert_mean(&s, 0, "questions", 0.5);
    assert_true(json_is_null(measure(&s, 0, "all_found")) && json_is_null(measure(&s, 0, "right_words")));
    assert_true(json_is_null(json_object_get(measure(&s, 2, "all_found"), "interval")));
    scored_release(&s);
}

/* Two databases of equal size, one all found and one without: means of resampled databases are 0, 1/2 and 1. */
static void intervals_resample_databases(void **state)
{
    static const char gold[] = GOLD("a", "x", FEES) GOLD("b", "x", FEES) GOLD("c", "y", FEES) GOLD("d", "y", FEES);
    static const char sources[] =
        "{\"id\": \"a\", \"db_id\": \"x1\", \"source_db\": \"x\", \"ambiguities\": [" FEES "]}\n"
        "{\"id\": \"b\", \"db_id\": \"x2\", \"source_db\": \"x\", \"ambiguities\": [" FEES "]}\n";
    static const char said[] = SAID("a", FEES) SAID("b", FEES) SAID("c", "") SAID("d", "");
    struct scored_files s = score(gold, said);

    (void)state;
    assert_mean(&s, 1, "all_found", 0.5);
    const json_t *interval = json_object_get(measure(&s, 1, "all_found"), "interval");
    assert_true(json_number_value(json_array_get(interval, 0)) == 0 &&
                json_number_value(json_array_get(interval, 1)) == 1);
    assert_int_equal(json_integer_value(json_object_get(s.total, "databases")), 2);
    scored_release(&s);
    s = score(sources, SAID("a", FEES) SAID("b", ""));
    assert_int_equal(json_integer_value(json_object_get(s.total, "databases")), 1);
    scored_release(&s);
}

/* Bad predictions are skipped with the reason, the others count. */
static void bad_predictions_are_skipped(void **state)
{
    static const char *const bad[][2] = {
        { SAID("z", ""), "its id is none of the gold records'" },
        { SAID("b", ""), "its id came before" },
        { "{\"id\": \"a\", \"error\": \"no\"}\n", "it is an error" },
        { "{\"id\": \"a\", \"ambiguities\": 7}\n", "field \"ambiguities\": expected an array, got an integer" },
        { "{\"id\": \"a\"}\n", "field \"spans\" is missing" },
        { SAID("a", "{\"alternatives\": [7]}"), "ambiguities[0]" },
        { SAID("a", "{\"alternatives\": [\"x\"], \"start\": -1, \"end\": 2}"), "start" },
        { SAID("a", "{\"alternatives\": [\"x\"], \"start\": 3, \"end\": 3}"), "end" },
        { SAID("a", "{\"alternatives\": [\"x\"], \"start\": 3}"), "end" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        char said[2048];
        snprintf(said, sizeof said, "%s%s", SAID("b", FEES), bad[i][0]);
        struct scored_files s = score(GOLD("a", "x", FEES) GOLD("b", "x", FEES), said);
        char *skipped = json_dumps(json_object_get(s.total, "skipped"), JSON_ENCODE_ANY);
        assert_int_equal(s.code, 7);
        json_t *reasons = json_loads(skipped, 0, NULL);
        const char *reason = json_string_value(json_object_get(json_array_get(reasons, 0), "reason"));
        if (!reason || !strstr(reason, bad[i][1]))
            fail_msg("%s: skipped: %s, expected %s", bad[i][0], skipped, bad[i][1]);
        assert_mean(&s, 1, "all_found", 1);
        json_decref(reasons);
        free(skipped);
        scored_release(&s);
    }
}

static void bad_gold_is_refused(void **state)
{
    static const char *const bad[][2] = {
        { GOLD("a", "x", FEES) GOLD("a", "x", FEES), "gold.jsonl: line 2: field \"id\": expected each id once" },
        { "{\"id\": \"a\", \"ambiguities\": []}\n", "field \"db_id\"" },
        { "{\"id\": \"a\", \"db_id\": \"x\"}\n", "field \"ambiguities\"" },
        { GOLD("a", "x", "{\"alternatives\": 1}"), "ambiguities[0]: field \"alternatives\"" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct scored_files s = score(bad[i][0], SAID("a", FEES));
        assert_int_equal(s.code, 3);
        if (!strstr(s.printed, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], s.printed);
        scored_release(&s);
    }
}

/* A hostile list is bounded. */
static void long_lists_are_refused(void **state)
{
    char *said = NULL;
    size_t size;
    FILE *f = open_memstream(&said, &size);

    (void)state;
    assert_non_null(f);
    fputs("{\"id\": \"a\", \"ambiguities\": [" FEES, f);
    for (int i = 0; i < 64; i++)
        fputs(", {\"alternatives\": [\"x\", \"y\"]}", f);
    fputs("]}\n" SAID("b", FEES), f);
    fclose(f);
    struct scored_files s = score(GOLD("a", "x", FEES) GOLD("b", "x", FEES), said);
    assert_int_equal(s.code, 7);
    assert_non_null(strstr(s.printed, "expected at most 64 ambiguities"));
    free(said);
    scored_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_find_gold),        cmocka_unit_test(incomplete_gold_matches_nothing),
        cmocka_unit_test(spans_are_predictions),        cmocka_unit_test(means_are_by_number),
        cmocka_unit_test(intervals_resample_databases), cmocka_unit_test(bad_predictions_are_skipped),
        cmocka_unit_test(bad_gold_is_refused),          cmocka_unit_test(long_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
