/* The memory of choices: its probabilities, decay and unlearning, its file, files that are not valid, two writers. */
#include "tests/support/support.h"

#include "data/clarify/choice_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const addresses[] = { "purchase.billing_address", "purchase.shipping_address" };
static const struct choice_options address = { "shop", "address", addresses, 2 };

static void open_memory(struct choice_memory *m, const char *path)
{
    struct error err = { 0 };

    if (choice_memory_open(m, path, &err))
        fail_msg("%s", err.text);
}

static void learn(struct choice_memory *m, const struct choice_options *o, int option)
{
    struct error err = { 0 };

    if (choice_memory_learn(m, o, option, &err))
        fail_msg("%s", err.text);
}

/* Probability of an option of two that are as likely without the memory. */
static double belief(const struct choice_memory *m, int option)
{
    double p[] = { 0.5, 0.5 };

    choice_memory_weigh(p, m, &address);
    assert_true(p[0] + p[1] > 1 - 1e-12 && p[0] + p[1] < 1 + 1e-12);
    return p[option];
}

static void assert_about(double a, double b)
{
    if (a - b > 1e-9 || b - a > 1e-9)
        fail_msg("%.12g is not %.12g", a, b);
}

/* The posterior mean of a Dirichlet distribution, by hand. */
static void test_probabilities(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    struct choice_memory m;
    double p[] = { 0.2, 0.8 }, three[] = { 0.2, 0.5, 0.3 }, none[] = { 0, 1 };
    const char *const names[] = { "a.x", "a.y", "a.x" };
    const struct choice_options twice = { "shop", "x", names, 3 };

    open_memory(&m, test_file(dir, "memory", NULL));
    assert_false(choice_memory_weigh(p, &m, &address));
    assert_true(p[0] > 0.19 && p[0] < 0.21);
    learn(&m, &address, 0);
    assert_true(choice_memory_weigh(p, &m, &address));
    assert_about(p[0], (0.05 * 0.2 + 1) / 1.05);
    assert_about(p[1], 0.05 * 0.8 / 1.05);
    learn(&m, &address, 1);
    assert_about(belief(&m, 1), (0.05 * 0.5 + 1) / 1.25);
    /* the weight of an option without candidates does not count */
    assert_true(choice_memory_weigh(none, &m, &address));
    assert_about(none[0], 0);
    assert_about(none[1], 1);
    /* equal names share a weight in proportion to their probabilities */
    learn(&m, &twice, 2);
    assert_true(choice_memory_weigh(three, &m, &twice));
    assert_about(three[0] + three[2], (0.05 * 0.5 + 1) / 1.05);
    assert_about(three[0] / three[2], 2.0 / 3);
    choice_memory_close(&m);
    test_dir_remove(dir);
}

/* One answer makes a choice sure.  After any history, one other answer makes it unsure, and three make the other one
 * sure. */
static void test_unlearning(void **state)
{
    (void)state;
    for (int before = 1; before <= 20; before = 2 * before + 1) {
        char *dir = test_dir_new();
        struct choice_memory m;
        open_memory(&m, test_file(dir, "memory", NULL));
        for (int i = 0; i < before; i++) {
            learn(&m, &address, 0);
            assert_true(belief(&m, 0) >= CHOICE_SURE);
        }
        learn(&m, &address, 1);
        assert_true(belief(&m, 1) > 0.5 && belief(&m, 1) < CHOICE_SURE);
        learn(&m, &address, 1);
        learn(&m, &address, 1);
        assert_true(belief(&m, 1) >= CHOICE_SURE);
        const struct remembered_choice *old = choice_memory_find(&m, &address, 0),
                                       *new = choice_memory_find(&m, &address, 1);
        assert_int_equal(old->times, before);
        assert_int_equal(old->otherwise, 3);
        assert_int_equal(new->times, 3);
        assert_int_equal(new->otherwise, before);
        choice_memory_close(&m);
        test_dir_remove(dir);
    }
}

/* Other words, another database and options that were not offered keep their weights. */
static void test_what_decays(void **state)
{
    (void)state;
    static const char *const others[] = { "firm.home_address", "firm.work_address" };
    const struct choice_options elsewhere = { "firm", "address", others, 2 }, words = { "shop", "post", addresses, 2 };
    const struct choice_options unasked = { "shop", "address", others, 2 };
    char *dir = test_dir_new();
    struct choice_memory m;

    open_memory(&m, test_file(dir, "memory", NULL));
    learn(&m, &address, 0);
    learn(&m, &elsewhere, 1);
    learn(&m, &words, 1);
    learn(&m, &unasked, 1);
    assert_int_equal(m.n, 4);
    for (int i = 0; i < m.n; i++) {
        assert_about(m.list[i].weight, 1);
        assert_int_equal(m.list[i].otherwise, 0);
    }
    choice_memory_close(&m);
    test_dir_remove(dir);
}

static void unlearn(struct choice_memory *m, int option)
{
    struct error err = { 0 };

    if (choice_memory_unlearn(m, &address, option, &err))
        fail_msg("%s", err.text);
}

/* An answer that is taken back leaves the memory as it was, or without its count if a later one has outweighed it. */
static void test_unlearn(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    const char *path = test_file(dir, "memory", NULL);
    struct choice_memory m;

    open_memory(&m, path);
    unlearn(&m, 0); /* nothing was learnt */
    assert_int_equal(m.n, 0);
    learn(&m, &address, 0);
    learn(&m, &address, 0);
    char *before = test_read(path);
    for (int option = 0; option < 2; option++) {
        learn(&m, &address, option);
        unlearn(&m, option);
        char *after = test_read(path);
        assert_string_equal(after, before);
        free(after);
    }
    free(before);
    learn(&m, &address, 1);
    unlearn(&m, 0);
    const struct remembered_choice *old = choice_memory_find(&m, &address, 0),
                                   *new = choice_memory_find(&m, &address, 1);
    assert_int_equal(old->times, 1);
    assert_about(old->weight, 0.24);
    assert_int_equal(new->otherwise, 1);
    assert_about(new->weight, 1);
    choice_memory_close(&m);
    test_dir_remove(dir);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "the Addresses", "address" },
        { "fee of the trainer", "fee trainer" },
        { "of the", NULL },
        { "", NULL },
        { "hows fees", "fee" },
        { "Ägyptens ADRESSE", "ägypten adresse" },
        { "100 \xe2\x80\x9cmen\xe2\x80\x9d", "100 men" },
    };
    char words[CHOICE_TEXT_MAX], again[CHOICE_TEXT_MAX];

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(choice_words(words, cases[i][0]), cases[i][1] != NULL);
        if (!cases[i][1])
            continue;
        assert_string_equal(words, cases[i][1]);
        assert_true(choice_words(again, words));
        assert_string_equal(again, words);
    }
}

#define GOOD "\"db_id\": \"shop\", \"words\": \"address\", \"meant\": \"a.b\", \"times\": 1, \"otherwise\": 0, "

static void test_bad_files(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "[1", "line 1" },
        { "7\n", "line 1" },
        { "{\"db_id\": \"shop\"}\n", "line 1: field \"words\" is missing" },
        { "{" GOOD "\"weight\": 1, \"last\": \"2026-01-31\"}\n{" GOOD "\"weight\": 1, \"last\": \"2026-01-31\"}\n",
          "line 2: expected each choice once" },
        { "{" GOOD "\"weight\": 9, \"last\": \"2026-01-31\"}\n", "line 1: field \"weight\"" },
        { "{" GOOD "\"weight\": 1, \"last\": \"yesterday\"}\n", "line 1: field \"last\": expected a date" },
        { "{" GOOD "\"weight\": 1, \"last\": \"2026-01-310\"}\n", "line 1: field \"last\": expected a date" },
        { "{\"db_id\": \"shop\", \"words\": \"the Addresses\", \"meant\": \"a.b\", \"times\": 1, \"otherwise\": 0, "
          "\"weight\": 1, \"last\": \"2026-01-31\"}\n",
          "line 1: field \"words\": expected words in lower case and singular, without words such as \"the\": "
          "\"address\"" },
        { "{\"db_id\": \"\", \"words\": \"address\", \"meant\": \"a.b\", \"times\": 1, \"otherwise\": 0, \"weight\": 1, "
          "\"last\": \"2026-01-31\"}\n",
          "line 1: field \"db_id\": expected 1 to 999 bytes" },
        { "{\"db_id\": \"shop\", \"words\": \"address\", \"meant\": \"a.b\", \"times\": -1, \"otherwise\": 0, \"weight\": 1, "
          "\"last\": \"2026-01-31\"}\n",
          "line 1: field \"times\"" },
        { "\xff\xfe", "bad: expected UTF-8" },
    };
    char *dir = test_dir_new();
    struct choice_memory m;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        const char *path = test_file(dir, "bad", cases[i][0]);
        assert_int_equal(choice_memory_open(&m, path, &err), -1);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        if (!strstr(err.text, cases[i][1]) || !strstr(err.text, "/bad"))
            fail_msg("\"%s\" does not have \"%s\"", err.text, cases[i][1]);
        choice_memory_close(&m);
        /* a change refuses the file as well, and leaves it */
        m = (struct choice_memory){ .path = path };
        assert_int_equal(choice_memory_learn(&m, &address, 0, &err), -1);
        choice_memory_close(&m);
        char *left = test_read(path);
        assert_string_equal(left, cases[i][0]);
        free(left);
    }
    struct error err = { 0 };
    assert_int_equal(choice_memory_open(&m, dir, &err), -1);
    assert_non_null(strstr(err.text, "expected a plain file"));
    test_dir_remove(dir);
}

/* The file keeps its access rights, a link stays a link, and a file changed by another program is read again. */
static void test_file_of_choices(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    const char *path = test_file(dir, "memory", NULL), *link = test_file(dir, "link", NULL);
    struct choice_memory m, other;
    struct error err = { 0 };
    struct stat st;

    open_memory(&m, path);
    open_memory(&other, path);
    learn(&m, &address, 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("memory", link), 0);
    assert_null(choice_memory_find(&other, &address, 1));
    assert_int_equal(choice_memory_refresh(&other, &err), 0);
    assert_non_null(choice_memory_find(&other, &address, 1));
    other.path = link;
    learn(&other, &address, 1);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    const struct choice_filter none = { .words = "post" }, all = { .db_id = "shop", .words = "address" };
    assert_int_equal(choice_memory_delete(&m, &none, &err), 0);
    assert_int_equal(m.list[0].times, 2);
    assert_int_equal(choice_memory_delete(&m, &all, &err), 1);
    assert_false(choice_memory_weigh((double[]){ 0.5, 0.5 }, &m, &address));
    assert_int_equal(choice_memory_refresh(&other, &err), 0);
    assert_int_equal(other.n, 0);
    choice_memory_close(&m);
    choice_memory_close(&other);
    test_dir_remove(dir);
}

enum { WRITERS = 4, ANSWERS = 25 };

static void write_answers(const char *path)
{
    struct choice_memory m = { .path = path };
    struct error err = { 0 };
    int failed = 0;

    for (int i = 0; i < ANSWERS; i++)
        failed += choice_memory_learn(&m, &address, i % 2, &err) != 0;
    choice_memory_close(&m);
    _exit(failed > 0);
}

/* Processes that learn at the same time lose no answer. */
static void test_many_writers(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    const char *path = test_file(dir, "memory", NULL);
    struct choice_memory m;

    for (int i = 0; i < WRITERS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_answers(path);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    open_memory(&m, path);
    assert_int_equal(m.n, 2);
    assert_int_equal(m.list[0].times + m.list[1].times, WRITERS * ANSWERS);
    assert_int_equal(m.list[0].otherwise + m.list[1].otherwise, WRITERS * ANSWERS);
    choice_memory_close(&m);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probabilities),   cmocka_unit_test(test_unlearning),   cmocka_unit_test(test_what_decays),
        cmocka_unit_test(test_unlearn),         cmocka_unit_test(test_words),        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_file_of_choices), cmocka_unit_test(test_many_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
