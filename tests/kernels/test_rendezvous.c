/* Ranks that meet at a port of rank 0, each a process of its own here: what they tell each other arrives whole,
 * strangers are sent away, and who is missing, doubled or of another run is named. */
#include "kernels/mpi/rendezvous.h"

#include "tests/support/support.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3, ROUNDS = 3 };

static char port[8];
static uint16_t port_number;

static int listener(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_return_code(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_return_code(listen(fd, 8), 0);
    assert_return_code(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    port_number = ntohs(a.sin_port);
    snprintf(port, sizeof port, "%d", port_number);
    return fd;
}

/* A port that was free a moment ago. */
static void find_port(void)
{
    close(listener());
}

static int reach(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons(port_number) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    for (int i = 0; i < 500 && connect(fd, (struct sockaddr *)&a, sizeof a); i++)
        usleep(10000);
    return fd;
}

static uint32_t bytes_of(int rank, int round)
{
    static const uint32_t sizes[] = { 0, 5, RENDEZVOUS_BYTES_MAX, 1, 70000 };

    return sizes[(rank + round) % ARRAY_LEN(sizes)];
}

static char byte_of(int rank, int round, uint32_t i)
{
    return (char)((uint32_t)(rank + 7 * round) + i * 31 + (i >> 9));
}

static struct rendezvous_words words_of(int rank, int round)
{
    struct rendezvous_words w = { .bytes = bytes_of(rank, round) };

    w.data = xmalloc(w.bytes + 1);
    for (uint32_t i = 0; i < w.bytes; i++)
        w.data[i] = byte_of(rank, round, i);
    return w;
}

static int is_whole(const struct rendezvous_words *w, int rank, int round)
{
    struct rendezvous_words want = words_of(rank, round);
    int same = w->bytes == want.bytes && !memcmp(w->data, want.data, want.bytes);

    free(want.data);
    return same;
}

/* What a rank does: its exit code, or 100 where something that it was told is not what the other gave. */
static int be(int rank, int size, int seconds, struct error *err)
{
    struct rendezvous r;
    struct rendezvous_words all[SIZE];
    int code = 0;

    if (rendezvous_open(&r, "127.0.0.1", port, rank, size, seconds, err))
        return (int)err->code;
    for (int round = 0; round < ROUNDS && !code; round++) {
        struct rendezvous_words mine = words_of(rank, round);
        if (rendezvous_share(&r, mine, all, err))
            code = (int)err->code;
        for (int k = 0; !code && k < size; k++)
            code = is_whole(&all[k], k, round) ? 0 : 100;
        for (int k = 0; (!code || code == 100) && k < size; k++)
            free(all[k].data);
        free(mine.data);
    }
    rendezvous_close(&r);
    return code;
}

/* Another process that is a rank. */
static pid_t start(int rank, int size, int seconds)
{
    struct error err;
    pid_t child = fork();

    if (!child)
        _exit(be(rank, size, seconds, &err));
    return child;
}

static int code_of(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_all_hear_all(void **state)
{
    struct error err;

    (void)state;
    find_port();
    pid_t last = start(2, SIZE, 20), first = start(0, SIZE, 20);
    assert_int_equal(be(1, SIZE, 20, &err), 0);
    assert_int_equal(code_of(first), 0);
    assert_int_equal(code_of(last), 0);
}

static void test_strangers_are_sent_away(void **state)
{
    static const char other[sizeof(uint32_t) * 4 + 16] = "GET / HTTP/1.1";

    (void)state;
    find_port();
    pid_t first = start(0, 2, 20);
    int shy = reach(), rude = reach();
    assert_int_equal(send(rude, other, sizeof other, MSG_NOSIGNAL), sizeof other);
    assert_int_equal(send(shy, other, 3, MSG_NOSIGNAL), 3);
    close(shy);
    struct error err;
    assert_int_equal(be(1, 2, 20, &err), 0);
    assert_int_equal(code_of(first), 0);
    close(rude);
}

static void test_who_is_missing_is_named(void **state)
{
    struct error err;

    (void)state;
    find_port();
    pid_t last = start(2, SIZE, 20);
    assert_int_equal(be(0, SIZE, 2, &err), EXIT_CODE_FAILURE);
    assert_non_null(strstr(err.text, "1 of 3 ranks did not come to 127.0.0.1:"));
    assert_non_null(strstr(err.text, "within 2 seconds, among them rank 1"));
    assert_int_equal(code_of(last), EXIT_CODE_FAILURE);
}

static void test_no_first(void **state)
{
    struct error err;

    (void)state;
    find_port();
    assert_int_equal(be(1, 2, 1, &err), EXIT_CODE_FAILURE);
    assert_non_null(strstr(err.text, "rank 0 was not to be reached at 127.0.0.1:"));
}

static void test_who_is_there_twice(void **state)
{
    struct error err;

    (void)state;
    find_port();
    pid_t one = start(1, SIZE, 20), again = start(1, SIZE, 20);
    assert_int_equal(be(0, SIZE, 20, &err), EXIT_CODE_USAGE);
    assert_string_equal(err.text, "RANK: two processes have 1, expected 0 to 2 once each");
    assert_int_equal(code_of(one), EXIT_CODE_FAILURE);
    assert_int_equal(code_of(again), EXIT_CODE_FAILURE);
}

static void test_another_number_of_ranks(void **state)
{
    struct error err;

    (void)state;
    find_port();
    pid_t other = start(1, 2, 20);
    assert_int_equal(be(0, SIZE, 20, &err), EXIT_CODE_USAGE);
    assert_string_equal(err.text, "rank 1: WORLD_SIZE: expected 3 as rank 0 has, got 2");
    assert_int_equal(code_of(other), EXIT_CODE_FAILURE);
}

static void test_a_port_that_is_taken(void **state)
{
    struct error err;
    int fd = listener();

    (void)state;
    assert_int_equal(be(0, 2, 1, &err), EXIT_CODE_USAGE);
    assert_non_null(strstr(err.text, "Address already in use"));
    close(fd);
}

/* A listener of something else, which answers with bytes and closes. */
static pid_t start_other(int fd, const void *answer, size_t bytes)
{
    pid_t child = fork();

    if (child)
        return child;
    int from = accept(fd, NULL, NULL);
    char hello[32];
    ssize_t n = recv(from, hello, sizeof hello, MSG_WAITALL);
    _exit(n == sizeof hello && send(from, answer, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : 1);
}

static void other_first(const void *answer, size_t bytes, enum exit_code code, const char *text)
{
    struct error err;
    int fd = listener();
    pid_t other = start_other(fd, answer, bytes);

    assert_int_equal(be(1, 2, 20, &err), code);
    assert_non_null(strstr(err.text, text));
    assert_int_equal(code_of(other), 0);
    close(fd);
}

static void test_something_else_at_the_port(void **state)
{
    static const char page[33] = "HTTP/1.1 400 Bad Request\r\n\r\n    ";
    /* a welcome, then words of 4 GiB */
    struct {
        char name[16];
        uint32_t order, rank, size, run, bytes;
    } huge = { .name = "ambit ranks 1", .order = 0x01020304, .size = 2, .bytes = UINT32_MAX };

    (void)state;
    other_first(page, 32, EXIT_CODE_USAGE, "expected rank 0 there, got an answer of something else");
    other_first(page, 8, EXIT_CODE_FAILURE, "went away before the run began");
    other_first(&huge, sizeof huge, EXIT_CODE_FAILURE, "rank 0 is lost: it went away from 127.0.0.1:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hear_all),
        cmocka_unit_test(test_strangers_are_sent_away),
        cmocka_unit_test(test_who_is_missing_is_named),
        cmocka_unit_test(test_no_first),
        cmocka_unit_test(test_who_is_there_twice),
        cmocka_unit_test(test_another_number_of_ranks),
        cmocka_unit_test(test_a_port_that_is_taken),
        cmocka_unit_test(test_something_else_at_the_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
