/* Tests contrast sets, splits and the labels of Skadborg and Mortensen, on a small corpus and on the real one. */
#include "data/corpora/ambiqt_text.h"
#include "data/synth/gatekeeper_labels.h"
#include "tests/support/corpus.h"
#include "tests/support/support.h"

#include "data/synth/contrast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

static const struct contrast_options usual = { .seed = 1, .test_share = 0.2, .valid_share = 0.2 };

static void count(const struct dataset *d, enum example_slice slice, int counts[AMBIQT_TYPES][2])
{
    memset(counts, 0, AMBIQT_TYPES * sizeof *counts);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d->splits[f].n; i++)
            if (d->splits[f].items[i].slice == slice)
                counts[d->splits[f].items[i].type][d->splits[f].items[i].ambiguous]++;
}

static void every_pair_gives_four_contrast_examples_and_four_hard_negatives(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    int counts[AMBIQT_TYPES][2];

    corpus_write(*state, 5);
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), 0);
    count(&d, EXAMPLE_CONTRAST, counts);
    for (int k = 0; k < AMBIQT_TYPES; k++) {
        assert_int_equal(counts[k][true], 10);
        assert_int_equal(counts[k][false], 10);
    }
    count(&d, EXAMPLE_HARD_NEGATIVE, counts);
    for (int k = 0; k < AMBIQT_TYPES; k++) {
        assert_int_equal(counts[k][true], 0);
        assert_int_equal(counts[k][false], 20);
    }
    for (int f = 1; f < SPLITS; f++) /* one of five databases each */
        assert_int_equal(d.splits[f].n, 32);
    assert_int_equal(d.schemas.n, (5 + 3 * 3) * (1 + 8 * 2)); /* three renamed forms for each of three databases */
    dataset_release(&d);
}

/* Checks each record's contrast examples: label, SQL, and that the alternatives exist in the schema. */
static void interpretations_and_alternatives_fit(void **state)
{
    static const char *const wanted[][5] = {
        { "Which colours", "select paint from boat", "select colour from boat", "boat.hue", "boat.paint" },
        { "How many sailors", "select count(*) from team where rank = 'Captain'",
          "select count(*) from crew where rank = 'Captain'", "staff", "team" },
        { "Show wage and rank",
          "select t2.wage, t1.rank from crew as t1 join crew_wage as t2 on t1.crew_id = t2.crew_id",
          "select wage, rank from crew", "crew.wage", "crew_wage.wage" },
        { "What is paid on average", "select avg_wage from crew_wage", "select avg(wage) from crew", "crew.wage",
          "crew_wage.avg_wage" },
    };
    struct error err = { 0 };
    struct dataset d;

    corpus_write(*state, 5);
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), 0);
    for (int w = 0; w < ARRAY_LEN(wanted); w++) {
        int table, column, yes = 0, no = 0;
        for (int f = 0; f < SPLITS; f++)
            for (int i = 0; i < d.splits[f].n; i++) {
                const struct example *e = &d.splits[f].items[i];
                const struct schema *s = schema_find(&d.schemas, e->db_id);
                if (e->slice != EXAMPLE_CONTRAST || strncmp(e->question, wanted[w][0], strlen(wanted[w][0])) != 0)
                    continue;
                assert_string_equal(e->sql[e->n_sql - 1], wanted[w][e->ambiguous ? 1 : 2]);
                assert_int_equal(example_element(s, wanted[w][4], &table, &column), e->ambiguous ? 0 : -1);
                yes += e->ambiguous;
                no += !e->ambiguous;
                if (e->ambiguous) {
                    assert_string_equal(e->alternatives[0], wanted[w][3]);
                    assert_string_equal(e->alternatives[1], wanted[w][4]);
                }
            }
        assert_int_equal(yes, 5);
        assert_int_equal(no, 5);
    }
    dataset_release(&d);
}

static bool is_alternative(const struct example *e, const struct schema *s, int element)
{
    for (int i = 0; i < 2; i++) {
        int table, column;
        if (e->alternatives[i] && example_element(s, e->alternatives[i], &table, &column) == 0 &&
            element == (column < 0 ? table : s->n_tables + column))
            return true;
    }
    return false;
}

/* Counts the renamed elements. The example's own element is never renamed, and no element changes its table or type. */
static int count_renamed(const struct example *e, const struct schema *s, const struct schema *r)
{
    int n = 0;

    assert_int_equal(s->n_foreign_keys, r->n_foreign_keys);
    for (int i = 0; i < s->n_tables; i++)
        if (strcmp(s->tables[i].name, r->tables[i].name) != 0) {
            assert_false(is_alternative(e, s, i));
            n++;
        }
    for (int i = 0; i < s->n_columns; i++) {
        assert_int_equal(s->columns[i].table, r->columns[i].table);
        assert_int_equal(s->columns[i].type, r->columns[i].type);
        if (strcmp(s->columns[i].name, r->columns[i].name) != 0) {
            assert_false(is_alternative(e, s, s->n_tables + i));
            n++;
        }
    }
    return n;
}

static void training_schemas_have_renamed_forms(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    int renamed = 0;

    corpus_write(*state, 5);
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), 0);
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d.splits[f].n; i++) {
            const struct example *e = &d.splits[f].items[i];
            assert_int_equal(e->n_renamed > 0, f == SPLIT_TRAIN);
            for (int k = 0; k < e->n_renamed; k++)
                renamed += count_renamed(e, schema_find(&d.schemas, e->db_id), schema_find(&d.schemas, e->renamed[k]));
        }
    assert_true(renamed > 100);
    dataset_release(&d);
}

/* Records that careless pairing would mislabel are rejected, and the rest stays. */
static void doubtful_records_are_rejected(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    int counts[AMBIQT_TYPES][2];

    corpus_write(*state, 5);
    /* the same question on another schema needs the wage too, so it is ambiguous with the wage duplicated */
    corpus_append(*state, "train_spider.json",
                  "{\"db_id\": \"harbour_4\", \"question\": \"Which  colours do boats of "
                  "HARBOUR 4 have?\", \"query\": \"SELECT wage FROM crew\"}");
    /* a question of two databases would be in two splits */
    corpus_append(*state, "train_spider.json",
                  "{\"db_id\": \"harbour_1\", \"question\": \"How many sailors of harbour 2 "
                  "are captains?\", \"query\": \"SELECT rank FROM crew\"}");
    /* unresolved SQL does not show which elements the question uses */
    corpus_append(*state, "train_spider.json",
                  "{\"db_id\": \"harbour_3\", \"question\": \"Show wage and rank of all crew "
                  "in harbour 3.\", \"query\": \"SELECT nothing FROM nowhere\"}");
    /* an interpretation that does not use its alternative */
    corpus_append(
        *state, "tbl-agg.train.jsonl",
        "{\"db_id\": \"harbour_0\", \"question\": \"How long is the longest boat in harbour 0?\", \"orig_query\": "
        "\"select max(length) from boat\", \"query1\": \"select max(length) from boat\", \"query2\": \"select "
        "max(length) from boat\", \"split_map\": {\"boat\": [\"max_length\"]}, \"primary_key\": {\"boat\": "
        "\"boat_id\"}}");
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), 0);
    count(&d, EXAMPLE_CONTRAST, counts);
    assert_int_equal(counts[SIA_COLUMN][true], 8);
    assert_int_equal(counts[SIA_TABLE][true], 8);
    assert_int_equal(counts[SIA_JOIN][true], 8);
    assert_int_equal(counts[SIA_AGGREGATE][true], 10);
    dataset_release(&d);
}

static char *folder_bytes(const char *dir)
{
    static const char *const names[] = { "tables.json", "train.jsonl", "valid.jsonl", "test.jsonl" };
    char *all = NULL;
    size_t size;
    FILE *f = open_memstream(&all, &size);

    for (int i = 0; i < ARRAY_LEN(names); i++) {
        char *text = test_read(test_file(dir, names[i], NULL));
        assert_non_null(text);
        fputs(text, f);
        free(text);
    }
    fclose(f);
    return all;
}

static char *build_bytes(const char *ambiqt, const char *spider, uint64_t seed, const char *out)
{
    struct error err = { 0 };
    struct contrast_options o = usual;
    struct dataset d;

    o.seed = seed;
    assert_int_equal(contrast_build(&d, &o, ambiqt, spider, &err), 0);
    assert_int_equal(dataset_write(&d, out, true, &err), 0);
    dataset_release(&d);
    return folder_bytes(out);
}

static void seeds_decide_every_byte(void **state)
{
    char out[4096];

    corpus_write(*state, 8);
    snprintf(out, sizeof out, "%s/out", (const char *)*state);
    char *one = build_bytes(*state, *state, 1, out), *again = build_bytes(*state, *state, 1, out);
    char *two = build_bytes(*state, *state, 2, out);
    assert_string_equal(one, again);
    assert_string_not_equal(one, two);
    free(one);
    free(again);
    free(two);
}

/* Test T14 of the specification. */
static void leaking_folds_are_rejected(void **state)
{
    struct error err = { 0 };
    struct dataset d;

    corpus_write(*state, 5);
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), 0);
    assert_int_equal(dataset_check_splits(&d, &err), 0);
    assert_int_equal(dataset_check_balance(&d, &err), 0);
    struct example *e = &d.splits[SPLIT_TEST].items[0], kept = *e;
    e->source_db = d.splits[SPLIT_TRAIN].items[0].source_db;
    assert_int_equal(dataset_check_splits(&d, &err), -1);
    assert_error(err, "database", e->source_db, "train and test");
    *e = kept;
    e->question = d.splits[SPLIT_VALID].items[0].question;
    assert_int_equal(dataset_check_splits(&d, &err), -1);
    assert_error(err, "question", e->question, "valid and test");
    *e = kept;
    for (e = d.splits[SPLIT_TEST].items; e->slice != EXAMPLE_CONTRAST; e++)
        ;
    e->ambiguous = !e->ambiguous;
    assert_int_equal(dataset_check_balance(&d, &err), -1);
    assert_error(err, "test", "the question", e->question);
    dataset_release(&d);
}

static void bad_folders_are_rejected(void **state)
{
    static const char *const files[] = {
        "tables.json",           "train_spider.json",  "col-synonyms.train.jsonl", "tbl-synonyms.train.jsonl",
        "tbl-split.train.jsonl", "tbl-agg.train.jsonl"
    };
    struct dataset d;

    for (int i = 0; i < ARRAY_LEN(files); i++) {
        struct error err = { 0 };
        corpus_write(*state, 2);
        assert_int_equal(remove(test_file(*state, files[i], NULL)), 0);
        assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), -1);
        assert_error(err, files[i]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        dataset_release(&d);
        corpus_write(*state, 2);
        corpus_append(*state, files[i], "{\"db_id\": ");
        assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), -1);
        assert_error(err, files[i], "line");
        dataset_release(&d);
    }
    struct error err = { 0 };
    corpus_write(*state, 2);
    corpus_append(*state, "train_spider.json", "{\"db_id\": \"dock\", \"question\": \"q\", \"query\": \"select 1\"}");
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), -1);
    assert_error(err, "expected a database of tables.json, got \"dock\"");
    dataset_release(&d);
    corpus_write(*state, 1);
    test_file(*state, "train_spider.json",
              "[{\"db_id\": \"harbour_0\", \"question\": \"q\", \"query\": \"select 1\"}]");
    for (int i = 2; i < ARRAY_LEN(files); i++)
        test_file(*state, files[i], "");
    assert_int_equal(contrast_build(&d, &usual, *state, *state, &err), -1);
    assert_error(err, "expected two records that can be paired, got none");
    dataset_release(&d);
}

static void columns_match_the_published_generator(void **state)
{
    static const char *const wanted[][2] = {
        { "SELECT Name , Age FROM Singer ;", "singer.name singer.age " },
        { "SELECT count(*) FROM singer", "" },
        { "SELECT DISTINCT T2.name, max ( T1.Age ) FROM a AS T1 JOIN b AS T2 ON T1.x = T2.x", "b.name a.age " },
        { "SELECT name FROM t UNION SELECT age FROM u", "t.name " },
        { "SELECT avg(age - 3), 'Name' FROM t", "t.3 t.'Name' " }, /* no column has such names */
        { "SELECT name, name FROM t", "t.name " },
        { "SELECT date_from, date_to FROM t", "" }, /* "from" inside a name ends its list */
        { "SELECT singer.name FROM singer", "" },
        { "no query", "" },
        { "", "" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(wanted); i++) {
        struct strings text = { 0 };
        struct gatekeeper_column columns[8];
        char found[256] = "", *sql = ambiqt_normalize(wanted[i][0]);
        int n = gatekeeper_columns(sql, &text, columns, 8);
        for (int k = 0; k < n; k++) {
            size_t at = strlen(found);
            snprintf(found + at, sizeof found - at, "%s.%s ", columns[k].table, columns[k].column);
        }
        assert_string_equal(found, wanted[i][1]);
        free(sql);
        strings_release(&text);
    }
    char *sql = ambiqt_normalize("SELECT  Count (*) ,  x  FROM t WHERE a = 'It  IS' ;");
    assert_string_equal(sql, "select count(*), x from t where a = 'It IS'");
    free(sql);
}

static void gatekeeper_labels_count_questions(void **state)
{
    struct error err = { 0 };
    struct gatekeeper_counts counts[2];
    struct dataset d;

    corpus_write(*state, 3);
    /* colour alone twice, colour and length once, length alone once */
    assert_int_equal(gatekeeper_labels_build(&d, counts, &usual, *state, *state, &err), 0);
    assert_int_equal(counts[0].records, 4);
    assert_int_equal(counts[0].ambiguous, 2);
    assert_int_equal(counts[1].records, 4);
    assert_int_equal(d.splits[SPLIT_TRAIN].n + d.splits[SPLIT_VALID].n, 4);
    assert_int_equal(d.splits[SPLIT_TEST].n, 4);
    dataset_release(&d);
}

/* Tests T1 and T14 of the specification, and that question and schema alone are at chance. */
static void shared_corpora_form_contrast_sets(void **state)
{
    char *ambiqt = test_shared("data/ambiqt") ? xstrdup(test_shared("data/ambiqt")) : NULL;
    char *spider = test_shared("data/spider") ? xstrdup(test_shared("data/spider")) : NULL;
    struct error err = { 0 };
    struct gatekeeper_counts counts[2];
    struct dataset d;
    int contrast[AMBIQT_TYPES][2], total = 0;

    if (!ambiqt || !spider) {
        free(ambiqt);
        free(spider);
        skip();
    }
    assert_int_equal(gatekeeper_labels_build(&d, counts, &usual, ambiqt, spider, &err), 0);
    assert_int_equal(counts[0].records, 8360);
    assert_int_equal(counts[0].ambiguous, 3909);
    assert_int_equal(counts[1].records, 1240);
    assert_int_equal(counts[1].ambiguous, 627);
    dataset_release(&d);
    const struct contrast_options o = { 7, 0.2, 0.1 };
    assert_int_equal(contrast_build(&d, &o, ambiqt, spider, &err), 0);
    count(&d, EXAMPLE_CONTRAST, contrast);
    for (int k = 0; k < AMBIQT_TYPES; k++) {
        assert_int_equal(contrast[k][false], contrast[k][true]);
        total += contrast[k][false] + contrast[k][true];
    }
    assert_true(total > 26000);
    assert_int_equal(dataset_check_splits(&d, &err), 0);
    assert_int_equal(dataset_check_balance(&d, &err), 0);
    struct strings dbs[SPLITS] = { { 0 } };
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d.splits[f].n; i++)
            strings_add(&dbs[f], d.splits[f].items[i].source_db);
    assert_true(5 * dbs[SPLIT_TEST].n >= dbs[SPLIT_TRAIN].n + dbs[SPLIT_VALID].n + dbs[SPLIT_TEST].n);
    for (int f = 0; f < SPLITS; f++)
        strings_release(&dbs[f]);
    dataset_release(&d);
    free(ambiqt);
    free(spider);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_pair_gives_four_contrast_examples_and_four_hard_negatives, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(interpretations_and_alternatives_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(training_schemas_have_renamed_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(doubtful_records_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seeds_decide_every_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaking_folds_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_folders_are_rejected, set_up, tear_down),
        cmocka_unit_test(columns_match_the_published_generator),
        cmocka_unit_test_setup_teardown(gatekeeper_labels_count_questions, set_up, tear_down),
        cmocka_unit_test(shared_corpora_form_contrast_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
