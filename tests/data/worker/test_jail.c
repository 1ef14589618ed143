/* Tests of the jail: every forbidden call is refused, for root and for other users, and the worker still answers SQL.
 */
#include "data/db/sql_wire.h"
#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, LEAST_PROBES = 120 };

/* The worker reads from a socket, like the one in data/db/sqlite_exec.c. */
static void become_worker(int program, int socket)
{
    char version[] = WIRE_VERSION, name[] = "ambit-sql-worker", *argv[] = { name, version, NULL };

    dup2(socket, WIRE_SOCKET);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    fexecve(program, argv, environ);
    _exit(127);
}

static void receive(int fd, void *to, size_t n)
{
    ssize_t got = recv(fd, to, n, MSG_WAITALL);
    CHECK(got == (ssize_t)n, "the worker ended: %zd of %zu bytes", got, n);
}

/* Reads a line from the probe. */
static void read_line(int fd, char *line, size_t size)
{
    size_t n = 0;

    do {
        CHECK(n + 1 < size, "a line too long");
        receive(fd, line + n, 1);
    } while (line[n++] != '\n');
    line[n] = '\0';
}

/* Returns how many calls the probe tried; counts and prints those that were allowed. */
static int read_probes(int fd, int *allowed)
{
    char line[256] = "";

    for (*allowed = 0;; ++*allowed) {
        read_line(fd, line, sizeof line);
        if (strncmp(line, "probed", 6) == 0)
            return (int)strtol(line + 6, NULL, 10);
        fputs(line, stderr);
    }
}

static int64_t ask(int fd, enum wire_op op, const char *text)
{
    const struct exec_limits limits = { .steps = 1000000, .rows = 100, .bytes = 1 << 20, .seconds = 10 };
    struct wire_request q;
    struct wire_answer a;
    struct cell cell = { 0 };
    char heap[4096];

    memset(&q, 0, sizeof q);
    q = (struct wire_request){ .op = op, .limits = limits, .n = strlen(text) };
    CHECK(send(fd, &q, sizeof q, 0) == sizeof q && send(fd, text, q.n + 1, 0) == (ssize_t)q.n + 1, "cannot send");
    receive(fd, &a, sizeof a);
    CHECK(a.rows <= 1 && a.columns <= 1 && a.heap <= sizeof heap, "another answer");
    if (a.rows)
        receive(fd, &cell, sizeof cell);
    if (a.heap)
        receive(fd, heap, a.heap);
    CHECK(a.status == EXEC_OK, "%s: %s", text, heap);
    return cell.integer;
}

/* Runs the probe in a process of its own, optionally as another user. Returns an exit code. */
static int probe(int program, const char *dir, uid_t user)
{
    int ends[2], allowed = 0;

    if (user && (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)))
        CHECK(false, "cannot become another user: %s", strerror(errno));
    CHECK(chdir(dir) == 0, "%s: %s", dir, strerror(errno));
    prctl(PR_SET_DUMPABLE, 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket");
    pid_t worker = fork();
    if (worker == 0)
        become_worker(program, ends[1]);
    close(ends[1]);
    CHECK(read_probes(ends[0], &allowed) >= LEAST_PROBES, "fewer calls than there are");
    CHECK(allowed == 0, "%d calls are allowed to %s", allowed, user ? "nobody" : "who runs this");
    ask(ends[0], WIRE_OPEN_FILE, "db.sqlite");
    CHECK(ask(ends[0], WIRE_RUN, "SELECT x FROM t WHERE date('now', 'localtime') > '2000'") == 7, "another row");
    close(ends[0]);
    CHECK(waitpid(worker, NULL, 0) == worker, "no worker");
    return 0;
}

static void check_probe(const char *dir, uid_t user)
{
    int program = open(JAIL_PROBE, O_RDONLY | O_CLOEXEC), status = 0;

    assert_true(program >= 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(probe(program, dir, user));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(program);
}

static void write_files(const char *dir, uid_t user)
{
    const char *file = test_file(dir, "file", "a file of the user\n");
    sqlite3 *db;

    setenv("JAIL_FILE", file, 1);
    unlink(test_file(dir, "db.sqlite", NULL));
    assert_int_equal(sqlite3_open(test_file(dir, "db.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES (7)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    if (user) {
        assert_int_equal(chown(dir, user, user), 0);
        assert_int_equal(chown(file, user, user), 0);
        assert_int_equal(chown(test_file(dir, "db.sqlite", NULL), user, user), 0);
    }
}

static void a_stranger_is_held(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    char *dir = test_dir_new();
    (void)state;

    write_files(dir, 0);
    check_probe(dir, 0);
    if (geteuid() == 0) {
        write_files(dir, NOBODY);
        check_probe(dir, NOBODY);
    }
    test_dir_remove(dir);
}

/* Simulates a kernel without a system call, or without one of its options if `option` is not 0. */
static void lose_call(unsigned call, unsigned option, int why)
{
    struct sock_filter items[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, option ? UINT32_MAX : 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, option, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)why),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = ARRAY_LEN(items), .filter = items };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "no filter: %s", strerror(errno));
}

/* Returns exit code 0 if a statement ran. */
static int run_statement(const char *refusal)
{
    const struct exec_limits limits = { .steps = 1000000, .rows = 100, .bytes = 1 << 20, .seconds = 10 };
    struct error err = { 0 };
    struct exec_db *db = exec_open_script("CREATE TABLE t(x); INSERT INTO t VALUES (7)", &limits, &err);

    if (!db) {
        CHECK(refusal && err.code == EXIT_CODE_FAILURE && strstr(err.text, refusal), "%s", err.text);
        return 1;
    }
    struct exec_result r = exec_run(db, "SELECT x FROM t");
    CHECK(r.status == EXEC_OK && r.n == 1, "%s", r.message);
    exec_result_release(&r);
    exec_close(db);
    return 0;
}

static int run_without(unsigned call, unsigned option, int why, const char *refusal)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        lose_call(call, option, why);
        _exit(run_statement(refusal));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Without the filter or a limit, no SQL runs. Landlock is optional. */
static void kernels_differ(void **state)
{
    enum { LANDLOCK_CREATE_RULESET = 444 };
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    assert_int_equal(run_without(SYS_prctl, PR_SET_SECCOMP, EINVAL, "CONFIG_SECCOMP_FILTER"), 1);
    assert_int_equal(run_without(SYS_capset, 0, EPERM, "the kernel refuses a limit"), 1);
    assert_int_equal(run_without(LANDLOCK_CREATE_RULESET, 0, ENOSYS, NULL), 0);
}

/* A process that cannot raise its limit, as after "ulimit -v", runs SQL within that limit. */
static void a_lower_limit_stays(void **state)
{
    const struct rlimit gib = { 1 << 30, 1 << 30 };
    int status = 0;
    pid_t pid;
    (void)state;

#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    if ((pid = fork()) == 0) {
        CHECK(setrlimit(RLIMIT_AS, &gib) == 0, "%s", strerror(errno));
        CHECK(geteuid() || setresuid(NOBODY, NOBODY, NOBODY) == 0, "%s", strerror(errno));
        _exit(run_statement(NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A program whose worker is in the middle of a statement. */
static void run_for_ever(int ready)
{
    const struct exec_limits limits = { .steps = INT64_MAX, .rows = 1, .bytes = 1 << 20, .seconds = 60 };
    struct error err = { 0 };
    struct exec_db *db = exec_open_script("CREATE TABLE t(x)", &limits, &err);

    CHECK(db && write(ready, "x", 1) == 1, "%s", err.text);
    exec_run(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT count(*) FROM c");
    _exit(0);
}

/* The worker dies however the program ends. The test adopts and reaps the orphan. */
static void a_worker_ends_with_its_program(void **state)
{
    int ready[2], status = 0;
    pid_t program, worker = 0;
    char byte;
    (void)state;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ready), 0);
    if ((program = fork()) == 0)
        run_for_ever(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    usleep(200000);
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, &status, 0), program);
    for (int i = 0; i < 3000 && worker == 0; i++, usleep(1000))
        worker = waitpid(-1, &status, WNOHANG);
    assert_true(worker > 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_worker_ends_with_its_program),
                                        cmocka_unit_test(a_stranger_is_held), cmocka_unit_test(kernels_differ),
                                        cmocka_unit_test(a_lower_limit_stays) };
    return cmocka_run_group_tests_name("jail", tests, NULL, NULL);
}
