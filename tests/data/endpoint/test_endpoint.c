/* The client of language-model servers over lm_server: faults, keys, models, dialects, the cache and its cut lines. */
#include "data/endpoint/endpoint.h"

#include "data/base/log.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/endpoint-XXXXXX", port_file[64], cache_file[64], key_file[64], url[64];

/* Starts lm_server with settings NAME=VALUE, which end with NULL.  Writes its address to url. */
static pid_t start(const char *const *settings)
{
    const char *args[16] = { LM_SERVER, port_file };
    int n = 2, port = 0;

    while (*settings)
        args[n++] = *settings++;
    unlink(port_file);
    pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(LM_SERVER, (char *const *)(uintptr_t)args);
        _exit(1);
    }
    while (access(port_file, F_OK))
        usleep(2000);
    FILE *f = fopen(port_file, "r");
    assert_int_equal(fscanf(f, "%d", &port), 1);
    fclose(f);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1/", port);
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

static struct endpoint_settings settings(void)
{
    struct endpoint_settings s = ENDPOINT_DEFAULTS("lm");

    s.url = url;
    s.wait = 0.01;
    return s;
}

static const struct endpoint_sampling one = { .samples = 1, .max_new = 8, .top_p = 1, .typical_p = 1 };
static const struct endpoint_sampling three = {
    .samples = 3, .max_new = 8, .temperature = 1, .top_p = 1, .typical_p = 1, .logprobs = true
};

/* Asks about n questions.  Returns the result of endpoint_ask; counts answers and errors. */
static int ask(struct endpoint *e, const struct endpoint_sampling *s, int n, int *answered, struct error *err)
{
    struct endpoint_prompt *list = xcalloc((size_t)n, sizeof *list);
    json_t **records = xcalloc((size_t)n, sizeof *records);
    char text[64];

    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "question %d", i);
        list[i].record = records[i] = json_pack("{s:[{s:s, s:s}]}", "messages", "role", "user", "content", text);
    }
    int rc = endpoint_ask(e, s, list, n, true, err);
    *answered = 0;
    for (int i = 0; i < n; i++) {
        assert_true(rc || (list[i].n == s->samples) == !list[i].error);
        for (int k = 0; k < list[i].n; k++)
            assert_string_equal(list[i].texts[k].text, "SELECT 1");
        *answered += list[i].n > 0;
        endpoint_prompt_release(&list[i]);
        json_decref(records[i]);
    }
    free(list);
    free(records);
    return rc;
}

/* Checks that all of n questions are answered by a server with these settings. */
static void expect_all(const char *const *server, const struct endpoint_sampling *s, int n)
{
    struct endpoint_settings set = settings();
    struct error err = { 0 };
    pid_t pid = start(server);
    int answered;

    set.timeout = 1;
    struct endpoint *e = endpoint_open(&set, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(ask(e, s, n, &answered, &err), 0);
    assert_int_equal(answered, n);
    endpoint_close(e);
    stop(pid);
}

static void test_answers(void **state)
{
    (void)state;
    expect_all((const char *[]){ NULL }, &one, 100);
    expect_all((const char *[]){ NULL }, &three, 30);
    expect_all((const char *[]){ "single=1", NULL }, &three, 30);
}

static void test_dialects(void **state)
{
    (void)state;
    expect_all((const char *[]){ "logprobs=0", NULL }, &three, 20);
    expect_all((const char *[]){ "tokens=new", "logprobs=0", "single=1", NULL }, &three, 20);
}

static void test_faults(void **state)
{
    static const char *const kinds[] = { "fault=429", "fault=500", "fault=cut", "fault=nonsense", "fault=empty" };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        expect_all((const char *[]){ kinds[i], "every=5", NULL }, &one, 25);
    expect_all((const char *[]){ "fault=slow", "every=20", NULL }, &one, 20);
    expect_all((const char *[]){ "fault=all", "every=9", NULL }, &three, 60);
    expect_all((const char *[]){ "fault=503", "first=4", NULL }, &one, 2);
}

/* Checks the error of a server that cannot be asked at all. */
static void expect_failure(const char *const *server, const struct endpoint_settings *set, enum exit_code code,
                           const char *text)
{
    struct error err = { 0 };
    pid_t pid = start(server);
    struct endpoint *e = endpoint_open(set, &err);

    assert_null(e);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, err.text);
    assert_null(strstr(err.text, "sesame"));
    stop(pid);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void test_refusals(void **state)
{
    struct endpoint_settings set = settings();

    (void)state;
    expect_failure((const char *[]){ "key=open", NULL }, &set, EXIT_CODE_FAILURE, "answered 401");
    write_file(key_file, "sesame\n");
    set.key_file = key_file;
    expect_failure((const char *[]){ "key=open-sesame", NULL }, &set, EXIT_CODE_FAILURE,
                   "wrong key, expected open-******");
    write_file(key_file, "with blank\n");
    expect_failure((const char *[]){ NULL }, &set, EXIT_CODE_DATA, "printable ASCII");
    set.key_file = NULL;
    expect_failure((const char *[]){ "models=3", NULL }, &set, EXIT_CODE_USAGE,
                   "tiny-0, tiny-1, tiny-2; name one by --lm-model");
    expect_failure((const char *[]){ "models=0", NULL }, &set, EXIT_CODE_USAGE, "lists 0 models");
    set.url = "http://127.0.0.1:1";
    expect_failure((const char *[]){ NULL }, &set, EXIT_CODE_FAILURE, "is the server running?");
    set.url = "http://me:sesame@127.0.0.1:1/v1";
    expect_failure((const char *[]){ NULL }, &set, EXIT_CODE_USAGE, "neither user name nor query");
    set.url = "file:///etc/passwd";
    expect_failure((const char *[]){ NULL }, &set, EXIT_CODE_USAGE, "expected an address");
}

static void test_lasting_faults(void **state)
{
    struct endpoint_settings set = settings();
    struct error err = { 0 };
    pid_t pid = start((const char *[]){ "fault=400", "every=4", NULL });
    int answered;

    (void)state;
    struct endpoint *e = endpoint_open(&set, &err);
    assert_int_equal(ask(e, &one, 40, &answered, &err), 0);
    assert_int_equal(answered, 30);
    stop(pid);
    assert_int_equal(ask(e, &one, 3, &answered, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_FAILURE);
    assert_non_null(strstr(err.text, "after 6 tries"));
    endpoint_close(e);
}

static void test_cache(void **state)
{
    struct endpoint_settings set = settings();
    struct error err = { 0 };
    pid_t pid = start((const char *[]){ NULL });
    int answered;

    (void)state;
    set.cache = cache_file;
    struct endpoint *e = endpoint_open(&set, &err);
    assert_int_equal(ask(e, &three, 20, &answered, &err), 0);
    endpoint_close(e);
    FILE *f = fopen(cache_file, "a");
    assert_true(f && fputs("{\"key\":\"00", f) >= 0 && fclose(f) == 0);
    e = endpoint_open(&set, &err);
    assert_non_null(e);
    stop(pid); /* all answers come from the cache */
    assert_int_equal(ask(e, &three, 20, &answered, &err), 0);
    assert_int_equal(answered, 20);
    endpoint_close(e);
}

static void test_foreign_cache(void **state)
{
    struct endpoint_settings set = settings();

    (void)state;
    write_file(cache_file, "{\"id\":1}");
    set.cache = cache_file;
    expect_failure((const char *[]){ NULL }, &set, EXIT_CODE_DATA, "byte 0: expected a line that --cache has written");
    write_file(cache_file, "hello\n");
    expect_failure((const char *[]){ NULL }, &set, EXIT_CODE_DATA, "choose another file");
}

static int set_up(void **state)
{
    (void)state;
    if (access(LM_SERVER, X_OK)) {
        print_message("built without libmicrohttpd\n");
        exit(77);
    }
    log_set_level(LOG_ERROR);
    unsetenv("AMBIT_LM_KEY");
    assert_non_null(mkdtemp(folder));
    snprintf(port_file, sizeof port_file, "%s/port", folder);
    snprintf(cache_file, sizeof cache_file, "%s/cache", folder);
    snprintf(key_file, sizeof key_file, "%s/key", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(port_file);
    unlink(cache_file);
    unlink(key_file);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers),        cmocka_unit_test(test_dialects),
                                        cmocka_unit_test(test_faults),         cmocka_unit_test(test_refusals),
                                        cmocka_unit_test(test_lasting_faults), cmocka_unit_test(test_cache),
                                        cmocka_unit_test(test_foreign_cache) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
