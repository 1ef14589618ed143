/* The HTTP service: hosts, framing, slow clients, large bodies, long work and signals.  The service runs in its own
 * process; the functions below answer its requests. */
#include "data/base/log.h"
#include "data/base/stop.h"
#include "infer/http/http_connections.h"
#include "infer/http/http_origin.h"

#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct process {
    pid_t pid;
    int port;
};

/* Works until its time is over, or answers at once. */
static void answer(void *user, struct http_reply *reply, const struct http_request *r)
{
    (void)user;
    while (strcmp(r->path, "/work") == 0 && !work_limit_ended())
        usleep(10000);
    while (strcmp(r->path, "/deaf") == 0)
        usleep(10000);
    char *text = NULL;
    assert_true(asprintf(&text, "{\"bytes\":%zu}", r->n) > 0);
    *reply = (struct http_reply){ .status = 200, .text = text };
}

static void tell(void *user, struct http_reply *reply)
{
    (void)user;
    *reply = (struct http_reply){ .status = 200, .text = xstrdup("{\"told\":true}") };
}

static void serve(const struct http_settings *settings, int log)
{
    static const char *const paths[] = { "/quick", "/work", "/deaf", NULL };
    static const struct http_page pages[] = { { "/health", "application/json", "{}", 2 } };
    static const struct http_told told[] = { { "/told", tell } };
    const struct http_service service = {
        .pages = pages, .n_pages = 1, .told = told, .n_told = 1, .paths = paths, .answer = answer
    };
    struct error err = { 0 };

    dup2(log, STDERR_FILENO);
    log_set_level(LOG_INFO);
    int rc = http_serve(settings, &service, &err);
    fprintf(stderr, "%s\n", err.text);
    _exit(rc > 0 ? (int)stop_exit_code() : (int)err.code);
}

static bool is_said(const char *said)
{
    const char *line = strstr(said, "listening on ");

    line = line ? line : strstr(said, "--serve");
    return line && strchr(line, '\n');
}

/* Reads the port, or the error, that the process logs; warnings may come first. */
static struct process start_within(const struct http_settings *settings, int resource, rlim_t most)
{
    struct process p = { 0 };
    char said[512] = { 0 };
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    p.pid = fork();
    if (!p.pid) {
        const struct rlimit limit = { most, most };
        setrlimit((__rlimit_resource_t)resource, &limit);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails ends its service too */
        serve(settings, ends[1]);
    }
    close(ends[1]);
    for (size_t n = 0; n < sizeof said - 1 && !is_said(said) && read(ends[0], said + n, 1) == 1; n++)
        continue;
    close(ends[0]);
    if (strstr(said, "no libmicrohttpd")) {
        print_message("built without libmicrohttpd\n");
        exit(77);
    }
    const char *colon = strrchr(said, ':');
    p.port = strstr(said, "listening on ") && colon ? (int)strtol(colon + 1, NULL, 10) : 0;
    return p;
}

static struct process start(const struct http_settings *settings)
{
    struct process p = start_within(settings, RLIMIT_AS, RLIM_INFINITY);
    assert_true(p.port > 0);
    return p;
}

/* Waits for the exit code; -1 after the given seconds. */
static int end_of(struct process p, double seconds)
{
    double until = now_seconds() + seconds;
    int status;

    while (waitpid(p.pid, &status, WNOHANG) == 0) {
        if (now_seconds() > until)
            return -1;
        usleep(10000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void stop(struct process p)
{
    kill(p.pid, SIGTERM);
    assert_int_equal(end_of(p, 5), EXIT_CODE_SIGTERM);
}

static int dial(int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* Status of a reply within the given seconds; 0: none, -1: the connection was closed without one. */
static int heard(int fd, double seconds, char *text, size_t size)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char buffer[4096];

    if (poll(&p, 1, (int)(seconds * 1000)) == 0)
        return 0;
    ssize_t n = recv(fd, buffer, sizeof buffer - 1, 0);
    if (n <= 0)
        return -1;
    buffer[n] = 0;
    if (text)
        snprintf(text, size, "%s", buffer);
    return (int)strtol(buffer + 9, NULL, 10);
}

static int status_of(int port, const char *request, double seconds, char *text, size_t size)
{
    int fd = dial(port);

    say(fd, request);
    int status = heard(fd, seconds, text, size);
    close(fd);
    return status;
}

#define HEAD "HTTP/1.1\r\nHost: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"
static const char health[] = "GET /health " HEAD "\r\n";

static int ask(int port, const char *path)
{
    char text[256];
    int fd = dial(port);

    snprintf(text, sizeof text, "POST %s " HEAD JSON "Content-Length: 2\r\n\r\n{}", path);
    say(fd, text);
    return fd;
}

static const struct http_settings usual = {
    .address = "127.0.0.1:0", .connections = 250, .seconds = 30, .whole_seconds = 30, .request_seconds = 30
};

static void test_hosts(void **state)
{
    static const char *const local[] = { "localhost",    "LOCALHOST:80",  "127.0.0.1:8080", "127.0.0.2",
                                         "127.1.2.3:9",  "[::1]",         "[::1]:80",       "[0:0:0:0:0:0:0:1]:80",
                                         "localhost \t", "localhost:80 ", "localhost:" };
    static const char *const others[] = { "",
                                          " ",
                                          ":80",
                                          "example.org",
                                          "localhost.example.org",
                                          "localhost:80@evil",
                                          "localhost:8x",
                                          "localhost :80",
                                          "user@localhost",
                                          "127.0.0.1.example.org",
                                          "127.0.0.1@evil:80",
                                          "127.0.0.1:80:80",
                                          "127.1",
                                          "128.0.0.1",
                                          "0.0.0.0",
                                          "[::1",
                                          "::1",
                                          "[::2]",
                                          "[::1]x",
                                          "[::1]:x",
                                          "[]",
                                          "[",
                                          "[::1]@evil:80",
                                          "localhost,evil",
                                          "localhost/",
                                          "localhost#" };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(local); i++)
        if (!http_host_is_local(local[i]))
            fail_msg("\"%s\" is not local", local[i]);
    for (int i = 0; i < ARRAY_LEN(others); i++)
        if (http_host_is_local(others[i]))
            fail_msg("\"%s\" is local", others[i]);
    assert_false(http_host_is_local(NULL));
}

static void test_lists_of_origins(void **state)
{
    static const char list[] = "https://example.org,http://localhost:3000,http://[::1]:8080";
    static const char *const listed[] = { "https://example.org", "HTTPS://EXAMPLE.org", "http://localhost:3000",
                                          "http://[::1]:8080" };
    static const char *const others[] = { "",
                                          "null",
                                          "*",
                                          "https://example.or",
                                          "https://example.org.evil",
                                          "https://example.org,http://localhost:3000",
                                          "http://example.org",
                                          "https://example.org:443",
                                          "https://example.org/",
                                          "http://localhost:30000",
                                          "http://localhost",
                                          "example.org" };
    static const char *const wrong[] = { "",
                                         "*",
                                         "null",
                                         "example.org",
                                         "https://",
                                         "https://*.example.org",
                                         "https://example.org/",
                                         "https://example.org/page",
                                         "https://example.org:443",
                                         "http://example.org:80",
                                         "ftp://example.org",
                                         "https://user@example.org",
                                         "https://:8080",
                                         "https://example.org,",
                                         "https://example.org, http://localhost",
                                         "https://example.org\r\nX: y" };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(http_origins_check(list, &err), 0);
    assert_int_equal(http_origins_check(NULL, &err), 0);
    for (int i = 0; i < ARRAY_LEN(listed); i++)
        assert_true(http_origins_contain(list, listed[i]));
    for (int i = 0; i < ARRAY_LEN(others); i++)
        if (http_origins_contain(list, others[i]) || http_origins_contain(NULL, others[i]))
            fail_msg("\"%s\" is listed", others[i]);
    for (int i = 0; i < ARRAY_LEN(wrong); i++)
        if (http_origins_check(wrong[i], &err) == 0)
            fail_msg("\"%s\" is taken as a list of origins", wrong[i]);
    assert_int_equal(err.code, EXIT_CODE_USAGE);
}

static void test_own_origin(void **state)
{
    (void)state;
    assert_true(http_origin_is_own("http://localhost:8080", "localhost:8080"));
    assert_true(http_origin_is_own("https://ambit.example.org", "AMBIT.example.org"));
    assert_false(http_origin_is_own("http://localhost:8080", "localhost"));
    assert_false(http_origin_is_own("http://localhost:8080@evil", "localhost:8080"));
    assert_false(http_origin_is_own("null", "null"));
    assert_false(http_origin_is_own("ftp://localhost", "localhost"));
    assert_false(http_origin_is_own("http://localhost", NULL));
}

/* A page of a listed origin may read replies, refused ones too, and send JSON and a token.  Others are refused. */
static void test_pages_of_other_origins(void **state)
{
    static const struct {
        int status;
        const char *request;
        bool shared;
    } cases[] = {
        { 200, "GET /told " HEAD "Origin: http://localhost\r\n\r\n", false },
        { 200, "GET /told " HEAD "Origin: https://example.org\r\n\r\n", true },
        { 200, "POST /quick " HEAD JSON "Origin: https://example.org\r\nContent-Length: 2\r\n\r\n{}", true },
        { 404, "GET /nothing " HEAD "Origin: https://example.org\r\n\r\n", true },
        { 204, "OPTIONS /quick " HEAD "Origin: https://example.org\r\nAccess-Control-Request-Method: POST\r\n\r\n",
          true },
        { 405, "OPTIONS /quick " HEAD "Origin: https://example.org\r\n\r\n", true },
        { 405, "OPTIONS /quick " HEAD "\r\n", false },
        { 403, "GET /told " HEAD "Origin: https://evil.example\r\n\r\n", false },
        { 403, "GET /told " HEAD "Origin: null\r\n\r\n", false },
        { 403, "GET /told " HEAD "Origin: \r\n\r\n", false },
        { 403, "POST /quick " HEAD JSON "Origin: http://localhost:1\r\nContent-Length: 2\r\n\r\n{}", false },
        { 403, "OPTIONS /quick " HEAD "Origin: null\r\nAccess-Control-Request-Method: POST\r\n\r\n", false },
        { 400, "GET /told " HEAD "Origin: https://example.org\r\nOrigin: null\r\n\r\n", true },
    };
    struct http_settings settings = usual;
    char text[4096];

    (void)state;
    settings.origins = "http://localhost:3000,https://example.org";
    struct process p = start(&settings);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        int status = status_of(p.port, cases[i].request, 5, text, sizeof text);
        if (status != cases[i].status || !strstr(text, "Allow-Origin: https://example.org\r\n") == cases[i].shared)
            fail_msg("expected %d, got: %s", cases[i].status, text);
    }
    stop(p);
}

/* A request that a proxy might read in another way is refused, and its connection closed. */
static void test_framing(void **state)
{
    static const struct {
        int status;
        const char *request;
    } cases[] = {
        { 200, "POST /quick " HEAD JSON "Content-Length: 2\r\n\r\n{}" },
        { 200, "POST /quick " HEAD JSON "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" },
        { 200, "GET /told " HEAD "\r\n" },
        { 200, "GET /health HTTP/1.1\r\nHost: 127.0.0.2:80 \r\n\r\n" },
        { 400, "POST /quick " HEAD JSON "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" },
        { 400, "POST /quick " HEAD JSON "Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}" },
        { 400, "POST /quick " HEAD JSON "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" },
        { 400, "POST /quick " HEAD JSON "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
        { 400, "POST /quick " HEAD JSON "Transfer-Encoding: gzip\r\n\r\n{}" },
        { 400, "POST /quick " HEAD JSON "Transfer-Encoding: chunked, gzip\r\n\r\n{}" },
        { 400, "POST /quick " HEAD JSON "Content-Length: +2\r\n\r\n{}" },
        { 400, "GET /health " HEAD "Host: localhost\r\n\r\n" },
        { 400, "GET /health " HEAD "host: evil\r\n\r\n" },
        { 400, "GET /health " HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\n" },
        { 400, "GET /health HTTP/1.1\r\n\r\n" },
        { 403, "GET /health HTTP/1.0\r\n\r\n" },
        { 403, "GET /health HTTP/1.1\r\nHost: localhost:80@evil\r\n\r\n" },
        { 404, "GET /told/x " HEAD "\r\n" },
        { 405, "POST /told " HEAD JSON "Content-Length: 2\r\n\r\n{}" },
    };
    struct process p = start(&usual);
    char text[4096];

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        int status = status_of(p.port, cases[i].request, 5, text, sizeof text);
        if (status != cases[i].status)
            fail_msg("status %d, expected %d: %s", status, cases[i].status, cases[i].request);
    }
    stop(p);
}

/* One connection serves many requests, of either method. */
static void test_kept_alive(void **state)
{
    struct process p = start(&usual);
    int fd = dial(p.port);

    (void)state;
    for (int i = 0; i < 3; i++) {
        say(fd, health);
        assert_int_equal(heard(fd, 5, NULL, 0), 200);
        say(fd, "POST /quick " HEAD JSON "Content-Length: 2\r\n\r\n{}");
        assert_int_equal(heard(fd, 5, NULL, 0), 200);
    }
    close(fd);
    stop(p);
}

/* Half of the clients send a head slowly, the others a body. */
static void begin_slowly(int port, int *held, int n)
{
    for (int i = 0; i < n; i++) {
        held[i] = dial(port);
        say(held[i], i % 2 ? "POST /quick " HEAD JSON "Content-Length: 99\r\n\r\n{" : "GET /health HTTP/1.1\r\nX: ");
    }
}

static void send_a_byte(const int *held, int n)
{
    usleep(1000000);
    for (int i = 0; i < n; i++)
        send(held[i], "a", 1, MSG_NOSIGNAL);
}

/* Slow clients hold all connections, and others still get replies. */
static void test_slow_clients(void **state)
{
    enum { HELD = 300 };
    struct process p = start(&usual);
    int held[HELD];

    (void)state;
    begin_slowly(p.port, held, HELD);
    for (int second = 0; second < 5; second++) {
        send_a_byte(held, HELD);
        assert_int_equal(status_of(p.port, health, 3, NULL, 0), 200);
    }
    for (int i = 0; i < HELD; i++)
        close(held[i]);
    stop(p);
}

/* Slow clients are closed after their time even if there is room. */
static void test_slow_clients_end(void **state)
{
    enum { HELD = 10 };
    struct http_settings settings = usual;
    settings.whole_seconds = 3;
    struct process p = start(&settings);
    int held[HELD];

    (void)state;
    begin_slowly(p.port, held, HELD);
    send_a_byte(held, HELD);
    for (int i = 0; i < HELD; i++)
        assert_int_equal(heard(held[i], 0, NULL, 0), 0);
    for (int second = 0; second < 3; second++)
        send_a_byte(held, HELD);
    for (int i = 0; i < HELD; i++) {
        assert_int_equal(heard(held[i], 2, NULL, 0), -1);
        close(held[i]);
    }
    stop(p);
}

/* Clients that wait for work do not count as slow, here more of them than connections. */
static void test_waiting_is_not_slow(void **state)
{
    struct http_settings few = usual;
    few.connections = 2;
    few.request_seconds = 3;
    struct process p = start(&few);
    int first = ask(p.port, "/work"), second = ask(p.port, "/quick");
    char text[4096];

    (void)state;
    assert_int_equal(heard(first, 5, text, sizeof text), 503);
    assert_non_null(strstr(text, "\"type\":\"time\""));
    assert_non_null(strstr(text, "more than 3 seconds (--request-seconds)"));
    assert_int_equal(heard(second, 5, text, sizeof text), 200);
    close(first);
    close(second);
    stop(p);
}

/* When all connections wait, a further request gets 503, and /health is answered. */
static void test_all_wait(void **state)
{
    struct http_settings few = usual;
    few.connections = 3;
    few.request_seconds = 5;
    struct process p = start(&few);
    int fds[4];

    (void)state;
    for (int i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = ask(p.port, i ? "/quick" : "/work");
        usleep(100000);
    }
    assert_int_equal(status_of(p.port, health, 2, NULL, 0), 200);
    assert_int_equal(heard(fds[3], 2, NULL, 0), 503);
    for (int i = 0; i < 3; i++)
        assert_int_equal(heard(fds[i], 7, NULL, 0), i ? 200 : 503);
    for (int i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    stop(p);
}

/* With fewer descriptors than connections, slow clients do not hold all of them. */
static void test_few_descriptors(void **state)
{
    struct process p = start_within(&usual, RLIMIT_NOFILE, 40);
    int held[40];

    (void)state;
    assert_true(p.port > 0);
    for (int i = 0; i < ARRAY_LEN(held); i++) {
        held[i] = dial(p.port);
        say(held[i], "GET /health HTTP/1.1\r\nX: ");
    }
    usleep(1500000);
    for (int i = 0; i < 5; i++)
        assert_int_equal(status_of(p.port, health, 8, NULL, 0), 200);
    for (int i = 0; i < ARRAY_LEN(held); i++)
        close(held[i]);
    stop(p);
}

/* Seconds until the next reply, after more clients than connections have left while the process was stopped. */
static double seconds_after_all_left(const struct http_settings *settings)
{
    struct process p = start(settings);
    int n = (int)settings->connections + HTTP_SPARE + 44, *fds = xcalloc((size_t)n, sizeof *fds);

    for (int i = 0; i < n; i++)
        fds[i] = dial(p.port);
    usleep(100000);
    kill(p.pid, SIGSTOP);
    for (int i = 0; i < n; i++)
        close(fds[i]);
    kill(p.pid, SIGCONT);
    usleep(100000);
    double begun = now_seconds();
    assert_int_equal(status_of(p.port, health, 5, NULL, 0), 200);
    double seconds = now_seconds() - begun;
    free(fds);
    stop(p);
    return seconds;
}

/* The reply does not wait for the check of slow clients.  One slow trial may be due to other processes. */
static void test_all_leave(void **state)
{
    static const int limits[] = { 128, 250, 256 };

    (void)state;
    for (int k = 0; k < ARRAY_LEN(limits); k++) {
        struct http_settings settings = usual;
        double least = 5;
        settings.connections = limits[k] - HTTP_SPARE; /* the library's limit is this one */
        for (int i = 0; i < 3; i++)
            least = fmin(least, seconds_after_all_left(&settings));
        if (least > 0.4)
            fail_msg("%d connections: %g seconds", limits[k], least);
    }
}

#ifdef __SANITIZE_ADDRESS__
static const rlim_t little_memory = RLIM_INFINITY;
#else
static const rlim_t little_memory = (rlim_t)1 << 30;
#endif
static const char large_head[] = "POST /quick " HEAD JSON "Content-Length: 4194304\r\n\r\n";

/* Sends most of a large body, or the part that is read within a second. */
static int send_most(int port, const char *filler, size_t n)
{
    const struct timeval second = { 1, 0 };
    int fd = dial(port);

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    say(fd, large_head);
    for (size_t sent = 0; sent < n;) {
        ssize_t some = send(fd, filler, n - sent < 65536 ? n - sent : 65536, MSG_NOSIGNAL);
        if (some <= 0)
            break;
        sent += (size_t)some;
    }
    return fd;
}

/* All incomplete bodies share a bound on memory; requests above it get 503. */
static void test_large_bodies(void **state)
{
    struct process p = start_within(&usual, RLIMIT_AS, little_memory);
    char *filler = xcalloc(65536, 1), text[4096];
    int fds[40], refused = 0, taken = 0;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = send_most(p.port, filler, HTTP_MAX_BODY - 4);
    assert_int_equal(status_of(p.port, health, 5, NULL, 0), 200);
    for (int i = 0; i < ARRAY_LEN(fds); i++) {
        say(fds[i], "abcd");
        int status = heard(fds[i], 5, text, sizeof text);
        refused += status == 503 && strstr(text, "no memory is left for this body");
        taken += status == 200 && strstr(text, "{\"bytes\":4194304}");
        close(fds[i]);
    }
    assert_int_equal(refused + taken, ARRAY_LEN(fds));
    assert_in_range(taken, 10, HTTP_MAX_BODIES / HTTP_MAX_BODY);
    int fd = send_most(p.port, filler, HTTP_MAX_BODY); /* all that was held is free again */
    assert_int_equal(heard(fd, 5, NULL, 0), 200);
    close(fd);
    free(filler);
    stop(p);
}

/* A request whose client has left is not worked on. */
static void test_client_leaves(void **state)
{
    struct process p = start(&usual);
    double begun = now_seconds();

    (void)state;
    close(ask(p.port, "/work"));
    close(ask(p.port, "/work"));
    int fd = ask(p.port, "/quick");
    assert_int_equal(heard(fd, 5, NULL, 0), 200);
    assert_true(now_seconds() - begun < 2);
    close(fd);
    stop(p);
}

/* A signal stops the work; its client and the waiting clients get a reply. */
static void test_signal(void **state)
{
    struct process p = start(&usual);
    int first = ask(p.port, "/work"), second = ask(p.port, "/quick");
    char text[4096];

    (void)state;
    usleep(300000);
    kill(p.pid, SIGTERM);
    assert_int_equal(heard(first, 5, text, sizeof text), 503);
    assert_non_null(strstr(text, "the service stops"));
    assert_int_equal(heard(second, 5, text, sizeof text), 503);
    close(first);
    close(second);
    assert_int_equal(end_of(p, 5), EXIT_CODE_SIGTERM);
}

/* Work that never checks for a signal ends with the process; a second signal ends it at once. */
static void test_signal_in_deaf_work(void **state)
{
    (void)state;
    for (int signals = 1; signals <= 2; signals++) {
        struct process p = start(&usual);
        int fd = ask(p.port, "/deaf");
        double begun;
        usleep(300000);
        begun = now_seconds();
        kill(p.pid, SIGINT);
        usleep(100000);
        if (signals == 2)
            kill(p.pid, SIGINT);
        assert_int_equal(end_of(p, 6), EXIT_CODE_SIGINT);
        assert_true(now_seconds() - begun < (signals == 2 ? 1 : 5));
        close(fd);
    }
}

/* A port belongs to one service, and is free after its end even with open connections. */
static void test_port(void **state)
{
    struct process p = start(&usual);
    struct http_settings same = usual;
    char address[64];

    (void)state;
    snprintf(address, sizeof address, "127.0.0.1:%d", p.port);
    same.address = address;
    struct process second = start_within(&same, RLIMIT_AS, RLIM_INFINITY);
    assert_int_equal(second.port, 0);
    assert_int_equal(end_of(second, 5), EXIT_CODE_FAILURE);
    int fd = dial(p.port);
    say(fd, health);
    assert_int_equal(heard(fd, 5, NULL, 0), 200);
    kill(p.pid, SIGKILL);
    waitpid(p.pid, NULL, 0);
    second = start(&same);
    assert_int_equal(second.port, p.port);
    close(fd);
    stop(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_lists_of_origins),
        cmocka_unit_test(test_own_origin),
        cmocka_unit_test(test_pages_of_other_origins),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_kept_alive),
        cmocka_unit_test(test_slow_clients),
        cmocka_unit_test(test_slow_clients_end),
        cmocka_unit_test(test_waiting_is_not_slow),
        cmocka_unit_test(test_all_leave),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_all_wait),

        cmocka_unit_test(test_large_bodies),
        cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_signal_in_deaf_work),
        cmocka_unit_test(test_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
