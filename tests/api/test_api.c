/* libambit, the shared library: predictions, tags, sessions, errors as values, threads, and the state of its host. */
#include "infer/api/ambit.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char shop_sql[] =
    "CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, placed_on TEXT, billing_address TEXT, shipping_address "
    "TEXT); INSERT INTO purchase VALUES (1, '2024-03-01', 'Mill Lane 2', 'Harbour 9')";
static const char ambiguous[] = "Show the address of each purchase.", clear[] = "When was purchase 1 placed?";
static const char candidates[] = "{\"db\": \"shop.sqlite\", \"record\": {\"id\": \"q1\", \"question\": \"Show the "
                                 "address of each purchase.\", \"candidates\": [\"SELECT billing_address FROM "
                                 "purchase\", \"SELECT shipping_address FROM purchase\"]}}";
static char *folder, *programs;

static void make_database(const char *path)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, shop_sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* The tests run in a folder with shop.sqlite; the library was loaded in another one. */
static int set_up(void **state)
{
    const char *bin = getenv("AMBIT_BIN");

    (void)state;
    programs = realpath(bin ? bin : "build/release/bin", NULL);
    assert_non_null(programs);
    setenv("AMBIT_BIN", programs, 1);
    folder = test_dir_new();
    assert_int_equal(chdir(folder), 0);
    make_database("shop.sqlite");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_dir_remove(folder);
    free(programs);
    return 0;
}

static struct ambit_detector *open_detector(const char *settings)
{
    struct ambit_error error;
    struct ambit_detector *d = ambit_detector_open(settings, &error);

    if (!d)
        fail_msg("%s", error.text);
    assert_int_equal(error.code, AMBIT_OK);
    return d;
}

/* Takes the text. */
static json_t *parsed(char *text)
{
    json_t *value = json_loads(text ? text : "null", JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    ambit_free(text);
    return value;
}

static json_t *detect_many(struct ambit_detector *d, const char *request)
{
    struct ambit_error error;
    char *text = ambit_detect_many(d, request, &error);

    if (!text)
        fail_msg("%s", error.text);
    return parsed(text);
}

static const char *string_of(const json_t *o, const char *field)
{
    return json_string_value(json_object_get(o, field));
}

/* Compares a result with the first line that a program prints. */
static void assert_prints(const char *command, const char *result)
{
    char *output;

    assert_int_equal(test_run(command, &output), 0);
    output[strcspn(output, "\n")] = '\0';
    assert_string_equal(result, output);
    free(output);
}

static void test_one_question(void **state)
{
    struct ambit_detector *d = open_detector(NULL);
    struct ambit_error error = { .code = 99 };
    char *text = ambit_detect(d, "shop.sqlite", ambiguous, &error);

    (void)state;
    assert_non_null(text);
    assert_int_equal(error.code, AMBIT_OK);
    assert_string_equal(error.text, "");
    assert_prints(
        "ambit-infer detect --db shop.sqlite --relevance none --question 'Show the address of each purchase.' "
        "2>/dev/null",
        text);
    json_t *p = parsed(text);
    assert_true(json_is_true(json_object_get(p, "ambiguous")));
    assert_string_equal(string_of(p, "db_id"), "shop");
    assert_int_equal(json_array_size(json_object_get(p, "alternatives")), 2);
    json_decref(p);
    p = parsed(ambit_detect(d, "shop.sqlite", clear, NULL));
    assert_true(json_is_false(json_object_get(p, "ambiguous")));
    json_decref(p);
    ambit_detector_close(d);
}

static void test_many_questions(void **state)
{
    struct ambit_detector *d = open_detector("{\"device\": \"cpu\", \"threads\": 1, \"threshold\": 0}");
    json_t *all =
        detect_many(d, "{\"db\": \"shop.sqlite\", \"relevance\": true, \"questions\": [\"Show the address.\", "
                       "{\"id\": \"b\", \"question\": 3}, {\"id\": [1], \"question\": \"When?\", \"db_id\": "
                       "\"shop\"}, {\"question\": \"When?\", \"db_id\": \"other\"}, {}]}");

    (void)state;
    assert_int_equal(json_array_size(all), 5);
    const json_t *first = json_array_get(all, 0), *third = json_array_get(all, 2);
    assert_int_equal(json_integer_value(json_object_get(first, "id")), 1);
    assert_true(json_is_true(json_object_get(first, "ambiguous"))); /* the threshold is 0 */
    assert_int_equal(json_array_size(json_object_get(first, "relevance")), 5);
    assert_string_equal(string_of(json_array_get(all, 1), "error"),
                        "questions[1]: field \"question\": expected a string, got an integer");
    assert_string_equal(string_of(third, "question"), "When?");
    assert_true(json_is_array(json_object_get(third, "id")));
    assert_non_null(strstr(string_of(json_array_get(all, 3), "error"), "other"));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 4), "id")), 5);
    assert_non_null(strstr(string_of(json_array_get(all, 4), "error"), "question"));
    json_decref(all);
    all = detect_many(d, "{\"db\": \"shop.sqlite\", \"questions\": []}");
    assert_int_equal(json_array_size(all), 0);
    json_decref(all);
    ambit_detector_close(d);
}

/* More questions than one group holds: each has the prediction that it has alone. */
static void test_groups(void **state)
{
    enum { N = 150 };
    struct ambit_detector *d = open_detector(NULL);
    json_t *questions = json_array();

    (void)state;
    for (int i = 0; i < N; i++)
        json_array_append_new(questions, i % 3 ? json_sprintf("Show the address of purchase %d.", i) : json_object());
    json_t *request = json_pack("{s:s, s:o}", "db", "shop.sqlite", "questions", questions);
    char *text = json_dumps(request, 0);
    json_t *all = detect_many(d, text);
    assert_int_equal(json_array_size(all), N);
    for (int i = 0; i < N; i += 29) {
        json_t *p = json_array_get(all, (size_t)i);
        assert_int_equal(json_integer_value(json_object_get(p, "id")), i + 1);
        const char *question = json_string_value(json_array_get(questions, (size_t)i));
        if (!question) {
            assert_non_null(string_of(p, "error"));
            continue;
        }
        json_t *alone = parsed(ambit_detect(d, "shop.sqlite", question, NULL));
        assert_string_equal(string_of(p, "sentence"), string_of(alone, "sentence"));
        assert_true(json_real_value(json_object_get(p, "score")) - json_real_value(json_object_get(alone, "score")) <
                    1e-3);
        json_decref(alone);
    }
    free(text);
    json_decref(request);
    json_decref(all);
    ambit_detector_close(d);
}

static void test_schemas(void **state)
{
    static const char entry[] =
        "{\"db_id\": \"shop\", \"table_names_original\": [\"purchase\"], \"table_names\": [\"purchase\"], "
        "\"column_names_original\": [[-1, \"*\"], [0, \"purchase_id\"], [0, \"placed_on\"], [0, \"billing_address\"], "
        "[0, \"shipping_address\"]], \"column_names\": [[-1, \"*\"], [0, \"purchase id\"], [0, \"placed on\"], [0, "
        "\"billing address\"], [0, \"shipping address\"]], \"column_types\": [\"text\", \"number\", \"text\", "
        "\"text\", \"text\"], \"primary_keys\": [1], \"foreign_keys\": []}";
    char request[2048], *from_file;
    struct ambit_detector *d = open_detector(NULL);
    struct ambit_error error;
    FILE *f = fopen("tables.json", "w");

    (void)state;
    fprintf(f, "[%s]", entry);
    fclose(f);
    from_file = ambit_detect_many(d, "{\"schema\": \"tables.json\", \"questions\": [\"Show the address.\"]}", &error);
    assert_non_null(from_file);
    snprintf(request, sizeof request, "{\"schema\": %s, \"questions\": [\"Show the address.\"]}", entry);
    for (int again = 0; again < 2; again++) {
        char *given = ambit_detect_many(d, request, &error);
        assert_string_equal(given, from_file);
        ambit_free(given);
    }
    ambit_free(from_file);
    snprintf(request, sizeof request, "{\"schema\": %s, \"questions\": [{\"question\": \"?\", \"db_id\": \"x\"}]}",
             entry);
    json_t *all = detect_many(d, request);
    assert_string_equal(string_of(json_array_get(all, 0), "error"),
                        "questions[0]: field \"db_id\" is \"x\", expected \"shop\", the db_id of the schema");
    json_decref(all);
    assert_null(ambit_detect_many(d, "{\"schema\": {\"db_id\": 3}, \"questions\": []}", &error));
    assert_int_equal(error.code, AMBIT_DATA);
    ambit_detector_close(d);
}

/* More databases than stay open, all with the same name; and one that changes. */
static void test_databases(void **state)
{
    enum { N = 40 };
    struct ambit_detector *d = open_detector(NULL);
    char path[64], *want = ambit_detect(d, "shop.sqlite", ambiguous, NULL);

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "folder%d", i);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "folder%d/shop.sqlite", i);
        make_database(path);
        for (int again = 0; again < 2; again++) {
            char *got = ambit_detect(d, path, ambiguous, NULL);
            assert_string_equal(got, want);
            ambit_free(got);
        }
    }
    sqlite3 *db;
    assert_int_equal(sqlite3_open("folder0/shop.sqlite", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "ALTER TABLE purchase ADD home_address TEXT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    json_t *all = detect_many(d, "{\"db\": \"folder0/shop.sqlite\", \"questions\": [\"When?\"], \"relevance\": true}");
    assert_int_equal(json_array_size(json_object_get(json_array_get(all, 0), "relevance")), 6);
    json_decref(all);
    ambit_free(want);
    ambit_detector_close(d);
}

static void expect_error(const struct ambit_error *error, int code, const char *part)
{
    if (error->code != code || !strstr(error->text, part))
        fail_msg("code %d: %s (expected %d: %s)", error->code, error->text, code, part);
}

static void test_errors(void **state)
{
    static const struct {
        const char *settings;
        int code;
        const char *part;
    } wrong[] = {
        { "{", AMBIT_USAGE, "settings: line 1, column 1: no JSON" },
        { "[]", AMBIT_USAGE, "settings: expected an object, got an array" },
        { "{\"modle\": \"x\"}", AMBIT_USAGE, "settings: unknown field \"modle\", expected some of: model adapter" },
        { "{\"mod\": \"x\"}", AMBIT_USAGE, "unknown field \"mod\"" },
        { "{\"threshold\": 2}", AMBIT_USAGE, "threshold" },
        { "{\"threads\": 1.5}", AMBIT_USAGE, "threads" },
        { "{\"elements\": 1}", AMBIT_USAGE, "elements" },
        { "{\"device\": \"abacus\"}", AMBIT_USAGE, "expected a device" },
        { "{\"model\": \"/no/such\"}", AMBIT_MODEL, "/no/such" },
    };
    struct ambit_error error;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(ambit_detector_open(wrong[i].settings, &error));
        expect_error(&error, wrong[i].code, wrong[i].part);
        assert_null(ambit_detector_open(wrong[i].settings, NULL));
    }
    assert_null(ambit_tagger_open("{\"strategy\": \"dte\"}", &error));
    expect_error(&error, AMBIT_USAGE, "\"model\"");
    assert_null(ambit_tagger_open("{\"strategy\": \"x\"}", &error));
    expect_error(&error, AMBIT_USAGE, "expected dte, eta or heuristic");
    assert_null(ambit_detect(NULL, "shop.sqlite", clear, &error));
    expect_error(&error, AMBIT_USAGE, "NULL");
    assert_null(ambit_tag(NULL, "shop.sqlite", clear, NULL));
    assert_null(ambit_session_state(NULL, &error));
    ambit_detector_close(NULL);
    ambit_tagger_close(NULL);
    ambit_session_close(NULL);
    ambit_free(NULL);
}

static void test_request_errors(void **state)
{
    static const struct {
        const char *request;
        int code;
        const char *part;
    } wrong[] = {
        { "", AMBIT_USAGE, "request: line 1" },
        { "{\"questions\": []}", AMBIT_USAGE, "either field \"db\" or field \"schema\"" },
        { "{\"db\": \"shop.sqlite\"}", AMBIT_USAGE, "questions" },
        { "{\"db\": 3, \"questions\": []}", AMBIT_USAGE, "field \"db\" is an integer" },
        { "{\"schema\": 3, \"questions\": []}", AMBIT_USAGE, "field \"schema\" is an integer" },
        { "{\"db\": \"shop.sqlite\", \"questions\": [3]}", AMBIT_USAGE, "questions[0] is an integer" },
        { "{\"db\": \"shop.sqlite\", \"questions\": [], \"relevant\": true}", AMBIT_USAGE, "\"relevant\"" },
        { "{\"db\": \"none.sqlite\", \"questions\": []}", AMBIT_DATA, "none.sqlite" },
        { "{\"db\": \"shop.sqlite\", \"questions\": [], \"questions\": []}", AMBIT_USAGE, "duplicate" },
    };
    struct ambit_detector *d = open_detector(NULL);
    struct ambit_error error;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(ambit_detect_many(d, wrong[i].request, &error));
        expect_error(&error, wrong[i].code, wrong[i].part);
    }
    assert_null(ambit_detect(d, NULL, clear, &error));
    expect_error(&error, AMBIT_USAGE, "db: ");
    assert_null(ambit_detect(d, "shop.sqlite", "\xff", &error));
    expect_error(&error, AMBIT_USAGE, "question: ");
    assert_null(ambit_detect(d, "/etc/passwd", clear, &error));
    expect_error(&error, AMBIT_DATA, "/etc/passwd");
    ambit_detector_close(d);
}

static void test_tags(void **state)
{
    struct ambit_error error;
    struct ambit_tagger *t = ambit_tagger_open(NULL, &error);
    char *text;

    (void)state;
    assert_non_null(t);
    text = ambit_tag(t, "shop.sqlite", ambiguous, &error);
    assert_non_null(text);
    assert_prints(
        "ambit-infer tag --strategy heuristic --db shop.sqlite --question 'Show the address of each purchase.' "
        "2>/dev/null",
        text);
    ambit_free(text);
    json_t *all =
        parsed(ambit_tag_many(t, "{\"db\": \"shop.sqlite\", \"questions\": [{\"id\": 7}, \"When?\"]}", &error));
    assert_int_equal(json_array_size(all), 2);
    assert_non_null(string_of(json_array_get(all, 0), "error"));
    assert_null(string_of(json_array_get(all, 1), "error"));
    json_decref(all);
    ambit_tagger_close(t);
}

static struct ambit_session *open_session(const char *request)
{
    struct ambit_error error;
    struct ambit_session *s = ambit_session_open(request, &error);

    if (!s)
        fail_msg("%s", error.text);
    return s;
}

static void test_session(void **state)
{
    struct ambit_session *s = open_session(candidates);
    struct ambit_error error;
    json_t *now = parsed(ambit_session_state(s, &error)), *options;

    (void)state;
    options = json_object_get(json_object_get(now, "ask"), "options");
    assert_int_equal(json_array_size(options), 2);
    assert_non_null(strstr(string_of(json_array_get(options, 0), "text"), "Mill Lane 2"));
    json_decref(now);
    assert_null(ambit_session_undo(s, &error));
    expect_error(&error, AMBIT_UNDO, "");
    assert_null(ambit_session_answer(s, "9", &error));
    expect_error(&error, AMBIT_ANSWER, "");
    assert_null(ambit_session_answer(s, NULL, &error));
    expect_error(&error, AMBIT_USAGE, "answer");
    now = parsed(ambit_session_answer(s, "2", &error));
    assert_string_equal(string_of(now, "best"), "SELECT shipping_address FROM purchase");
    assert_true(json_is_null(json_object_get(now, "ask")));
    assert_null(ambit_session_answer(s, "1", &error));
    expect_error(&error, AMBIT_ENDED, "ended");
    json_t *request = json_pack("{s:s, s:O}", "db", "shop.sqlite", "session", json_object_get(now, "session"));
    char *text = json_dumps(request, 0);
    struct ambit_session *again = open_session(text);
    json_decref(now);
    now = parsed(ambit_session_state(again, &error));
    assert_string_equal(string_of(now, "best"), "SELECT shipping_address FROM purchase");
    json_decref(now);
    now = parsed(ambit_session_undo(again, &error));
    assert_true(json_is_object(json_object_get(now, "ask")));
    json_decref(now);
    json_decref(request);
    free(text);
    ambit_session_close(s);
    ambit_session_close(again);
}

static void test_session_errors(void **state)
{
    static const struct {
        const char *request;
        int code;
        const char *part;
    } wrong[] = {
        { "{\"db\": \"shop.sqlite\"}", AMBIT_USAGE, "either field \"record\" or field \"session\"" },
        { "{\"record\": {}}", AMBIT_USAGE, "\"db\"" },
        { "{\"db\": \"shop.sqlite\", \"record\": 3}", AMBIT_USAGE, "record" },
        { "{\"db\": \"shop.sqlite\", \"record\": {\"question\": \"?\"}}", AMBIT_DATA, "candidates" },
        { "{\"db\": \"shop.sqlite\", \"session\": {\"version\": 9}}", AMBIT_DATA, "version" },
        { "{\"db\": \"shop.sqlite\", \"record\": {\"question\": \"?\", \"candidates\": [\"SELECT 1\"]}, \"rules\": "
          "{\"noise\": 9}}",
          AMBIT_DATA, "noise" },
    };
    struct ambit_error error;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(ambit_session_open(wrong[i].request, &error));
        expect_error(&error, wrong[i].code, wrong[i].part);
    }
}

/* --- Threads --- */

enum { THREADS = 4, ROUNDS = 3 };
struct thread_work {
    pthread_t thread;
    struct ambit_detector *shared;
    const char *want_clear, *want_tag; /* of a single thread */
    int wrong;
};

static void note_difference(struct thread_work *w, char *got, const char *want)
{
    w->wrong += !got || strcmp(got, want) != 0;
    ambit_free(got);
}

static void hold_dialogue(struct thread_work *w)
{
    struct ambit_session *s = ambit_session_open(candidates, NULL);
    char *text = ambit_session_answer(s, "2", NULL);

    w->wrong += !text || !strstr(text, "\"best\":\"SELECT shipping_address FROM purchase\"");
    ambit_free(text);
    ambit_session_close(s);
}

/* Uses handles of its own, and one that all threads share. */
static void *use_library(void *of)
{
    struct thread_work *w = of;
    struct ambit_error error;

    for (int i = 0; i < ROUNDS; i++) {
        struct ambit_detector *own = ambit_detector_open("{\"threads\": 1}", NULL);
        struct ambit_tagger *tagger = ambit_tagger_open(NULL, NULL);
        note_difference(w, ambit_detect(own, "shop.sqlite", clear, NULL), w->want_clear);
        note_difference(w, ambit_detect(w->shared, "shop.sqlite", clear, NULL), w->want_clear);
        note_difference(w, ambit_tag(tagger, "shop.sqlite", ambiguous, NULL), w->want_tag);
        w->wrong += ambit_detect(own, "none.sqlite", clear, &error) != NULL || error.code != AMBIT_DATA;
        hold_dialogue(w);
        ambit_tagger_close(tagger);
        ambit_detector_close(own);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct thread_work work[THREADS];
    struct ambit_detector *shared = open_detector("{\"threads\": 1}");
    struct ambit_tagger *tagger = ambit_tagger_open(NULL, NULL);
    char *want_clear = ambit_detect(shared, "shop.sqlite", clear, NULL);
    char *want_tag = ambit_tag(tagger, "shop.sqlite", ambiguous, NULL);

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct thread_work){ .shared = shared, .want_clear = want_clear, .want_tag = want_tag };
        assert_int_equal(pthread_create(&work[i].thread, NULL, use_library, &work[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(work[i].thread, NULL);
        assert_int_equal(work[i].wrong, 0);
    }
    ambit_free(want_clear);
    ambit_free(want_tag);
    ambit_tagger_close(tagger);
    ambit_detector_close(shared);
}

/* Each thread of a parallel region may use a handle of one thread, and no other. */
static void test_parallel_region(void **state)
{
    int wrong = 0;

    (void)state;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        struct ambit_error error;
        struct ambit_detector *d = ambit_detector_open("{\"threads\": 1}", NULL);
        char *text = ambit_detect(d, "shop.sqlite", clear, NULL);
        wrong += !text || (omp_in_parallel() && ambit_detector_open(NULL, &error));
        ambit_free(text);
        ambit_detector_close(d);
    }
    assert_int_equal(wrong, 0);
}

/* --- The host --- */

/* A forked child gets an error, and its end leaves the worker of its parent alone. */
static void test_fork(void **state)
{
    struct ambit_tagger *t = ambit_tagger_open(NULL, NULL);
    char *before = ambit_tag(t, "shop.sqlite", ambiguous, NULL);
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        struct ambit_error error = { 0 };
        bool good = !ambit_tag(t, "shop.sqlite", ambiguous, &error) && error.code == AMBIT_FAILURE &&
                    !ambit_detector_open(NULL, NULL) && strstr(error.text, "fork");
        ambit_tagger_close(t);
        fclose(stdout); /* drops the buffer of the parent */
        exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *after = ambit_tag(t, "shop.sqlite", ambiguous, NULL);
    assert_string_equal(after, before);
    make_database("forked.sqlite"); /* the worker answers: this one was not open before */
    ambit_free(after);
    after = ambit_tag(t, "forked.sqlite", ambiguous, NULL);
    assert_non_null(after);
    ambit_free(after);
    ambit_free(before);
    ambit_tagger_close(t);
}

static void use_everything(void)
{
    struct ambit_detector *d = open_detector(NULL);
    struct ambit_tagger *t = ambit_tagger_open(NULL, NULL);
    struct ambit_session *s = open_session(candidates);

    ambit_free(ambit_detect(d, "shop.sqlite", clear, NULL));
    ambit_free(ambit_detect(d, "none.sqlite", clear, NULL));
    ambit_free(ambit_tag(t, "shop.sqlite", clear, NULL));
    ambit_free(ambit_session_answer(s, "1", NULL));
    ambit_session_close(s);
    ambit_tagger_close(t);
    ambit_detector_close(d);
}

/* Runs with standard output and error in a file, whose size it returns. */
static long bytes_written_by(void (*use)(void))
{
    int saved[] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) }, fd = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct stat said;

    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    use();
    fflush(stdout);
    dup2(saved[0], STDOUT_FILENO);
    dup2(saved[1], STDERR_FILENO);
    fstat(fd, &said);
    close(saved[0]);
    close(saved[1]);
    close(fd);
    return (long)said.st_size;
}

static void test_host(void **state)
{
    int threads = omp_get_max_threads(), dynamic = omp_get_dynamic();
    struct sigaction before[NSIG], after;

    (void)state;
    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &before[i]);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    assert_int_equal(bytes_written_by(use_everything), 0);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    assert_int_equal(omp_get_max_threads(), threads);
    assert_int_equal(omp_get_dynamic(), dynamic);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &after) == 0)
            assert_true(after.sa_handler == before[i].sa_handler && after.sa_flags == before[i].sa_flags);
}

/* A host whose decimal point is a comma gets and keeps its own. */
static void test_locale(void **state)
{
    locale_t comma, before;
    char number[16], *text;
    FILE *localedef;

    (void)state;
    assert_non_null(localedef = popen("localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 >log 2>&1", "w"));
    if (pclose(localedef) == 0)
        setenv("LOCPATH", folder, 1);
    comma = newlocale(LC_ALL_MASK, "de_DE.UTF-8", NULL);
    if (!comma)
        skip();
    before = uselocale(comma);
    struct ambit_detector *d = open_detector("{\"threshold\": 0.5}");
    text = ambit_detect(d, "shop.sqlite", clear, NULL);
    snprintf(number, sizeof number, "%.1f", 0.5);
    uselocale(before);
    assert_string_equal(number, "0,5");
    json_t *p = parsed(text);
    assert_true(json_is_real(json_object_get(p, "score")));
    json_decref(p);
    ambit_detector_close(d);
    freelocale(comma);
}

static void count_message(void *user, int level, const char *text)
{
    assert_true(level >= 0 && level <= 3 && *text);
    __atomic_add_fetch((int *)user, 1, __ATOMIC_RELAXED);
}

/* A database with a writer gives a message once. */
static void test_log(void **state)
{
    int messages = 0;
    struct ambit_error error;
    struct ambit_tagger *t = ambit_tagger_open(NULL, NULL);
    sqlite3 *writer;

    (void)state;
    assert_int_equal(sqlite3_open("busy.sqlite", &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "PRAGMA journal_mode = WAL", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, shop_sql, NULL, NULL, NULL), SQLITE_OK);
    ambit_set_log(count_message, &messages);
    assert_null(ambit_detector_open("{\"model\": \"/no/such\"}", &error)); /* an error is no message */
    assert_int_equal(messages, 0);
    ambit_free(ambit_tag(t, "busy.sqlite", clear, NULL));
    ambit_set_log(NULL, NULL);
    assert_int_equal(messages, 1);
    sqlite3_close(writer);
    ambit_tagger_close(t);
}

/* An argument selects the tests of that name, with wildcards. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host), /* first: most messages appear once in a process */
        cmocka_unit_test(test_one_question),   cmocka_unit_test(test_many_questions),
        cmocka_unit_test(test_groups),         cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_databases),      cmocka_unit_test(test_errors),
        cmocka_unit_test(test_request_errors), cmocka_unit_test(test_tags),
        cmocka_unit_test(test_session),        cmocka_unit_test(test_session_errors),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_parallel_region),
        cmocka_unit_test(test_fork),           cmocka_unit_test(test_log),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
