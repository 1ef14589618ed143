/* Runs random queries on random databases whose names are SQL keywords. The interpretations of each record must run and
 * differ in text, and one of them must return the query's rows. AMBIT_ROUNDS sets the number of databases, AMBIT_SEED
 * the random seed. */
#include "tests/support/ambiguate_run.h"
#include "tests/support/sql_words.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, QUERIES = 60 };

/* Returns SQLite's message. */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *read_row(sqlite3_stmt *stmt)
{
    char *row = NULL;
    size_t size;
    FILE *f = open_memstream(&row, &size);

    for (int c = 0; c < sqlite3_column_count(stmt); c++) {
        const char *cell = (const char *)sqlite3_column_text(stmt, c);
        fprintf(f, "%d:%s|", sqlite3_column_type(stmt, c), cell ? cell : "");
    }
    fclose(f);
    return row;
}

/* The rows as one text, in an order of their own; NULL where the statement fails.  The caller frees. */
static char *rows_of(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    char **rows = NULL, *text = NULL;
    int n = 0, cap = 0, rc = SQLITE_ERROR;
    size_t size;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            GROW(rows, n, cap);
            rows[n++] = read_row(stmt);
        }
    if (n)
        qsort(rows, (size_t)n, sizeof *rows, by_text);
    FILE *f = rc == SQLITE_DONE ? open_memstream(&text, &size) : NULL;
    for (int i = 0; i < n; i++) {
        if (f)
            fprintf(f, "%s\n", rows[i]);
        free(rows[i]);
    }
    free(rows);
    if (f)
        fclose(f);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return text;
}

static void assert_same_rows(const json_t *records, size_t i, const char *source, const char *made, const char *field)
{
    const char *original = ambiguate_field(records, i, "orig_query"),
               *interpretation = ambiguate_field(records, i, field);
    char *want = rows_of(source, original), *got = rows_of(made, interpretation);

    if (!want || !got || strcmp(want, got) != 0)
        fail_msg("%s of %s:\n%s\n%s\nexpected: %s\ngot: %s", field, made, original, interpretation,
                 want ? want : "an error", got ? got : "an error");
    free(want);
    free(got);
}

static void assert_runs(const char *made, const char *sql, bool runs)
{
    char *rows = rows_of(made, sql);

    if ((rows != NULL) != runs)
        fail_msg("%s: %s: %s", made, runs ? "does not run" : "runs", sql);
    free(rows);
}

static void check_record(const char *dir, const json_t *records, size_t i)
{
    char source[512], made[1024];
    const char *kind = ambiguate_field(records, i, "type"), *file = ambiguate_field(records, i, "db_file");

    if (!file)
        fail_msg("no database: %s", json_dumps(json_array_get(records, i), 0));
    snprintf(source, sizeof source, "%s/%s.sqlite", dir, ambiguate_field(records, i, "db_id"));
    snprintf(made, sizeof made, "%s/made/%s", dir, file);
    if (*kind == 'D') {
        assert_runs(made, ambiguate_field(records, i, "orig_query"), false);
        return;
    }
    assert_string_not_equal(ambiguate_field(records, i, "query1"), ambiguate_field(records, i, "query2"));
    assert_same_rows(records, i, source, made, "query1");
    assert_runs(made, ambiguate_field(records, i, "query2"), true);
    if (*kind == 'J')
        assert_same_rows(records, i, source, made, "query2");
}

/* The folder holds only databases of records. */
static void check_files(const char *dir, const json_t *records)
{
    char made[512];
    struct strings files = { 0 };
    const struct dirent *entry;

    snprintf(made, sizeof made, "%s/made", dir);
    for (size_t i = 0; i < json_array_size(records); i++)
        strings_add(&files, ambiguate_field(records, i, "db_file"));
    DIR *d = opendir(made);
    assert_non_null(d);
    while ((entry = readdir(d)))
        if (*entry->d_name != '.' && strings_find(&files, entry->d_name) < 0)
            fail_msg("%s/%s is of no record", made, entry->d_name);
    closedir(d);
    strings_release(&files);
}

/* Queries that SQLite accepts, with a question that names every element. */
static void put_questions(struct words_database *w, FILE *f, const char *path, const char *id)
{
    for (int i = 0; i < QUERIES; i++) {
        const char *sql = sql_words_query(w), *question = "What are";
        char *rows = rows_of(path, sql);
        for (int t = 0; t < w->n && rows; t++)
            for (int c = 0; c < w->tables[t].n; c++)
                question = strings_printf(&w->text, "%s the %s,", question, w->tables[t].columns[c]);
        json_t *o = json_pack("{ssssss}", "db_id", id, "question", question, "query", sql);
        assert_non_null(o);
        if (rows)
            json_dumpf(o, f, JSON_COMPACT);
        fputs(rows ? "\n" : "", f);
        json_decref(o);
        free(rows);
    }
}

static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

static void count_types(const json_t *records, int counts[128])
{
    for (size_t i = 0; i < json_array_size(records); i++)
        counts[(unsigned char)*ambiguate_field(records, i, "type") & 127]++;
}

/* Without databases the same records are made: the faults show without them. */
static void assert_same_interpretations(const json_t *records, const json_t *plain)
{
    for (size_t i = 0; i < json_array_size(plain); i++) {
        const char *sql = ambiguate_field(plain, i, "orig_query"), *id = ambiguate_field(plain, i, "id");
        const char *there = ambiguate_field(records, i, "orig_query");
        if (!there || strcmp(there, sql) != 0)
            fail_msg("%s of %s: made without databases alone: %s", id, ambiguate_field(plain, i, "db_id"), sql);
    }
    assert_int_equal(json_array_size(records), json_array_size(plain));
}

static void interpretations_are_right_for_all_names(void **state)
{
    int seed = number_of("AMBIT_SEED", 1), rounds = number_of("AMBIT_ROUNDS", ROUNDS), counts[128] = { 0 };
    struct words_database w = { .rng = { (uint64_t)seed, 0 } };
    FILE *f = fopen(test_file(*state, "questions.jsonl", NULL), "wb");
    char *said;

    assert_non_null(f);
    for (int i = 0; i < rounds; i++) {
        char name[64], id[32];
        snprintf(id, sizeof id, "w%d", i);
        snprintf(name, sizeof name, "%s.sqlite", id);
        const char *path = test_file(*state, name, NULL);
        sql_words_make(&w, path);
        put_questions(&w, f, path, id);
    }
    fclose(f);
    json_decref(ambiguate_run(*state, "--kinds C,T,J,P,D,R --questions $/questions.jsonl --db $ --materialise $/made",
                              0, &said));
    json_t *records = ambiguate_read(test_file(*state, "out.jsonl", NULL));
    print_message("seed %d, %d databases:\n%s", seed, rounds, said);
    for (size_t i = 0; i < json_array_size(records); i++)
        check_record(*state, records, i);
    check_files(*state, records);
    count_types(records, counts);
    for (const char *kind = "CTJPDR"; *kind; kind++)
        assert_true(counts[(unsigned char)*kind] > 0);
    json_t *train = ambiguate_run(
        *state, "--kinds P --aggregates train --questions $/questions.jsonl --db $ --materialise $/made", 0, NULL);
    assert_true(json_array_size(train) > 0);
    for (size_t i = 0; i < json_array_size(train); i++)
        check_record(*state, train, i);
    json_decref(train);
    json_t *plain = ambiguate_run(*state, "--kinds C,T,J,P,D,R --questions $/questions.jsonl --db $", 0, NULL);
    assert_same_interpretations(records, plain);
    json_decref(plain);
    json_decref(records);
    free(said);
    strings_release(&w.text);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(interpretations_are_right_for_all_names, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
