#include "data/db/sqlite_exec.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/strings.h"
#include "data/db/sql_wire.h"
#include "kernels/module_path.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct sql_worker;

enum sql_worker_end {
    WORKER_ANSWERS,
    WORKER_GONE,    /* it had ended before the request */
    WORKER_STOPPED, /* out of time, or killed by another process */
    WORKER_CRASHED  /* crashed, or its answer is invalid */
};

/* A worker enforces its own time limit. If it is stuck, the program kills it KILL_DELAY seconds later. */
static const double KILL_DELAY = 0.5, MAX_TRANSFER = 30;

/* Seconds between two checks whether the answer is still needed. */
static const double CHECK_INTERVAL = 0.2;

struct sql_worker {
    struct sql_worker *next;
    pthread_mutex_t lock;
    pthread_t owner; /* the thread whose databases it opens */
    bool *numbers;   /* true for numbers of open connections */
    int n_numbers, n_connections;
    /* the process */
    pid_t pid; /* 0 if there is none */
    int fd;
    int64_t age;
    /* the exchange */
    enum wire_op op;
    double seconds, deadline;
    bool answering;
    size_t begin, end; /* range of received bytes not yet taken */
    char received[1 << 16];
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static struct sql_worker *pool;

/* --- Workers of threads --- */

static struct sql_worker *new_worker(void)
{
    struct sql_worker *w = xcalloc(1, sizeof *w);

    CHECK(pthread_mutex_init(&w->lock, NULL) == 0, "no lock to be had");
    w->next = pool;
    return pool = w;
}

/* Returns the thread's own worker, else an unused one. */
static struct sql_worker *find_worker(void)
{
    struct sql_worker *unused = NULL;

    for (struct sql_worker *w = pool; w; w = w->next) {
        if (pthread_equal(w->owner, pthread_self()))
            return w;
        if (!w->n_connections)
            unused = w;
    }
    return unused ? unused : new_worker();
}

static int take_number(struct sql_worker *w)
{
    int i = 0;

    while (i < w->n_numbers && w->numbers[i])
        i++;
    if (i == w->n_numbers)
        w->numbers = xrealloc(w->numbers, (size_t)++w->n_numbers * sizeof *w->numbers);
    w->numbers[i] = true;
    w->n_connections++;
    return i;
}

/* Returns the calling thread's worker, and the number of a new connection in *db. Workers are never freed. */
static struct sql_worker *worker_join(int *db)
{
    pthread_mutex_lock(&pool_lock);
    struct sql_worker *w = find_worker();
    w->owner = pthread_self();
    *db = take_number(w);
    pthread_mutex_unlock(&pool_lock);
    return w;
}

/* Encloses a request and its answer, because threads share a worker when connections change hands. */
static void worker_lock(struct sql_worker *w)
{
    pthread_mutex_lock(&w->lock);
}

static void worker_unlock(struct sql_worker *w)
{
    pthread_mutex_unlock(&w->lock);
}

static enum sql_worker_end worker_ask(struct sql_worker *w, const struct wire_request *q, const char *text,
                                      struct error *err);

/* Frees a connection number and closes the connection of that number in the process. */
static void worker_leave(struct sql_worker *w, int db, int64_t age)
{
    struct wire_request close = { .op = WIRE_CLOSE, .db = db };

    worker_lock(w);
    if (w->pid && w->age == age)
        worker_ask(w, &close, "", NULL);
    worker_unlock(w);
    pthread_mutex_lock(&pool_lock);
    w->numbers[db] = false;
    w->n_connections--;
    pthread_mutex_unlock(&pool_lock);
}

/* --- The worker's process --- */

/* Keeps only variables that a worker needs: the path of its libraries, and the time zone of SQL's local time. */
static char **clean_environment(void)
{
    static const char *const kept[] = { "LD_LIBRARY_PATH", "TZ", "TZDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS" };
    char **list = xcalloc(ARRAY_LEN(kept) + 1, sizeof *list);

    for (int i = 0, n = 0; i < ARRAY_LEN(kept); i++) {
        const char *value = getenv(kept[i]);
        if (value)
            CHECK(asprintf(&list[n++], "%s=%s", kept[i], value) >= 0, "no memory for the environment");
    }
    return list;
}

static void free_environment(char **list)
{
    for (char **at = list; *at; at++)
        free(*at);
    free(list);
}

/* A process to start, with its ends of the socket and of the pipe for messages. */
struct worker_start {
    char *path;
    int socket, messages;
    pid_t pid;
    int failed; /* an errno */
    bool over;
};

/* Starts the process with the socket as its standard input. The process closes other inherited descriptors. */
static int spawn(struct worker_start *s)
{
    char version[] = WIRE_VERSION, *argv[] = { s->path, version, NULL }, **environment = clean_environment();
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, s->socket, WIRE_SOCKET);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (s->messages >= 0)
        posix_spawn_file_actions_adddup2(&actions, s->messages, STDERR_FILENO);
    int failed = posix_spawn(&s->pid, s->path, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free_environment(environment);
    return failed;
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct worker_start *wanted;
} starter = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Starts all workers. The kernel kills a worker when the thread that started it ends (jail.c), and this thread ends
 * with the program. */
static void *start_workers(void *unused)
{
    pthread_mutex_lock(&starter.lock);
    for (;;) {
        while (!starter.wanted)
            pthread_cond_wait(&starter.changed, &starter.lock);
        starter.wanted->failed = spawn(starter.wanted);
        starter.wanted->over = true;
        starter.wanted = NULL;
        pthread_cond_broadcast(&starter.changed);
    }
    return unused;
}

static void request_start(struct worker_start *s)
{
    pthread_mutex_lock(&starter.lock);
    while (starter.wanted)
        pthread_cond_wait(&starter.changed, &starter.lock);
    starter.wanted = s;
    pthread_cond_broadcast(&starter.changed);
    while (!s->over)
        pthread_cond_wait(&starter.changed, &starter.lock);
    pthread_mutex_unlock(&starter.lock);
}

/* Kills the process and returns its status from waitpid, or 0 if that is unknown. */
static int kill_process(struct sql_worker *w)
{
    int status = 0;

    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(w->fd);
    w->pid = 0;
    return status;
}

static pid_t owner; /* the process that started the workers */

/* Kills all workers when the program ends.  A forked child leaves the workers of its parent alone. */
static void kill_all_workers(void)
{
    if (getpid() != owner)
        return;
    for (struct sql_worker *w = pool; w; w = w->next)
        if (w->pid)
            kill_process(w);
}

/* Prevents a worker under foreign control from reading the program's memory. AMBIT_DUMPABLE=1 disables this for
 * debuggers. A library leaves it to its host. */
static void protect_memory(void)
{
#ifndef AMBIT_SANITIZE /* a leak checker attaches to the program */
    const char *wanted = getenv("AMBIT_DUMPABLE");

    if (!base_is_guest && (!wanted || strcmp(wanted, "1") != 0))
        prctl(PR_SET_DUMPABLE, 0);
#endif
}

static void initialise(void)
{
    pthread_t thread;
    sigset_t all, before;

    owner = getpid();
    protect_memory();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&thread, NULL, start_workers, NULL) == 0, "no thread to be had");
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK(atexit(kill_all_workers) == 0, "no room for what is done at the end");
}

/* Reads the messages of a process until its jail holds, which closes the pipe. A process that can serve writes none.
 * Returns false if the process is late. */
static bool read_messages(int fd, char *said, size_t size)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    double deadline = now_seconds() + MAX_TRANSFER;
    size_t n = 0;

    for (;;) {
        double left = deadline - now_seconds();
        char byte;
        int ready = poll(&p, 1, left > 0 ? (int)(left * 1e3 + 1) : 0);
        ssize_t got = ready > 0 ? read(fd, &byte, 1) : -1;
        if (got > 0 && n + 1 < size)
            said[n++] = byte;
        said[n] = '\0';
        if (got == 0)
            return true;
        if (left <= 0 || (ready < 0 && errno != EINTR))
            return false;
    }
}

/* Waits until the worker is in its jail. Messages before that may be warnings of the dynamic linker. */
static int await_jail(struct sql_worker *w, const char *path, int messages, struct error *err)
{
    char said[512] = "", byte;

    if (!read_messages(messages, said, sizeof said)) {
        kill_process(w);
        return error_set(err, EXIT_CODE_FAILURE, "%s: not ready after %g seconds", path, MAX_TRANSFER);
    }
    if (recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
        return 0;
    int status = kill_process(w);
    said[strcspn(said, "\n")] = '\0';
    if (*said)
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", path, said);
    return error_set(err, EXIT_CODE_FAILURE, "%s: ended during start-up (%s %d)", path,
                     WIFSIGNALED(status) ? "signal" : "exit code",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Opens a socket pair for requests and a pipe for messages. */
static int open_ends(int ends[2], int messages[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    if (pipe2(messages, O_CLOEXEC) == 0)
        return 0;
    int why = errno;
    close_both(ends);
    errno = why;
    return -1;
}

static int start_at(struct sql_worker *w, char *path, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int ends[2], messages[2];

    pthread_once(&once, initialise);
    if (open_ends(ends, messages))
        return error_set(err, EXIT_CODE_FAILURE, "no socket for %s: %s", path, strerror(errno));
    struct worker_start s = { .path = path, .socket = ends[1], .messages = messages[1] };
#ifdef AMBIT_SANITIZE /* sanitizer reports go to standard error */
    s.messages = -1;
#endif
    request_start(&s);
    close(ends[1]);
    close(messages[1]);
    w->pid = s.failed ? 0 : s.pid;
    w->fd = ends[0];
    w->age++;
    w->begin = w->end = 0;
    int rc = s.failed ? error_set(err, EXIT_CODE_FAILURE, "cannot start %s: %s", path, strerror(s.failed))
                      : await_jail(w, path, messages[0], err);
    if (s.failed)
        close(ends[0]);
    close(messages[0]);
    return rc;
}

/* Returns the number of the current process, from 1, and starts one if none runs. Connections of earlier processes are
 * gone. Returns 0 with EXIT_CODE_FAILURE if the process cannot be started. */
static int64_t worker_age(struct sql_worker *w, struct error *err)
{
    if (w->pid)
        return w->age;
    char *path = sql_worker_path(err);
    int rc = path ? start_at(w, path, err) : -1;
    free(path);
    return rc ? 0 : w->age;
}

/* --- Requests and answers --- */

static const char *statement_suffix(const struct sql_worker *w)
{
    return w->op == WIRE_RUN ? " on this statement" : "";
}

static enum sql_worker_end end_late(struct sql_worker *w, struct error *err)
{
    kill_process(w);
    error_set(err, EXIT_CODE_DATA, "more than %.3g seconds", w->seconds);
    return WORKER_STOPPED;
}

/* Kills a worker because of an invalid answer. */
static enum sql_worker_end worker_refuse(struct sql_worker *w, struct error *err)
{
    kill_process(w);
    error_set(err, EXIT_CODE_DATA, "the SQL worker sent an invalid answer%s", statement_suffix(w));
    return WORKER_CRASHED;
}

/* Handles a worker that has closed its end. */
static enum sql_worker_end end_closed(struct sql_worker *w, struct error *err)
{
    int status = kill_process(w), signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (signal == SIGKILL)
        error_set(err, EXIT_CODE_DATA, "the SQL worker was killed%s (signal %d)", statement_suffix(w), signal);
    else if (signal)
        error_set(err, EXIT_CODE_DATA, "the SQL worker crashed%s (signal %d)", statement_suffix(w), signal);
    else
        error_set(err, EXIT_CODE_DATA, "the SQL worker crashed%s (exit code %d)", statement_suffix(w),
                  WEXITSTATUS(status));
    return signal == SIGKILL ? WORKER_STOPPED : WORKER_CRASHED;
}

/* Waits until the socket can be read or written. Returns false if the time is over or nobody needs the answer. */
static bool await(const struct sql_worker *w, short events)
{
    struct pollfd p = { .fd = w->fd, .events = events };

    for (;;) {
        double left = fmin(w->deadline - now_seconds(), CHECK_INTERVAL);
        int n = poll(&p, 1, left > 0 ? (int)(left * 1e3 + 1) : 0);
        if (n > 0)
            return true;
        if ((n == 0 && w->deadline <= now_seconds()) || (n < 0 && errno != EINTR) || work_limit_abandoned())
            return false;
    }
}

static void skip_sent(struct msghdr *m, size_t n)
{
    for (; m->msg_iovlen && n >= m->msg_iov->iov_len; m->msg_iovlen--)
        n -= m->msg_iov++->iov_len;
    if (m->msg_iovlen) {
        m->msg_iov->iov_base = (char *)m->msg_iov->iov_base + n;
        m->msg_iov->iov_len -= n;
    }
}

/* The worker knows only its own limit. The program kills it at the limit of the calling thread's work. */
static void set_deadline(struct sql_worker *w, const struct wire_request *q)
{
    double left = q->op == WIRE_CLOSE ? INFINITY : work_limit_left();

    w->op = q->op;
    w->seconds = fmin(q->limits.seconds, left);
    w->deadline = now_seconds() + fmin(q->limits.seconds + KILL_DELAY, left);
}

/* Sends a request. err has a reason for every other result than WORKER_ANSWERS. */
static enum sql_worker_end worker_ask(struct sql_worker *w, const struct wire_request *q, const char *text,
                                      struct error *err)
{
    struct iovec parts[] = { { (void *)(uintptr_t)q, sizeof *q }, { (void *)(uintptr_t)text, q->n + 1 } };
    struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
    bool begun = false;

    if (q->op != WIRE_CLOSE && work_limit_ended()) {
        error_set(err, EXIT_CODE_DATA, "no time is left for the statement");
        return WORKER_STOPPED;
    }
    set_deadline(w, q);
    w->answering = false;
    while (m.msg_iovlen) {
        ssize_t n = sendmsg(w->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            skip_sent(&m, (size_t)n);
            begun = true;
        } else if (errno == EAGAIN || errno == EINTR) {
            if (!await(w, POLLOUT))
                return end_late(w, err);
        } else {
            enum sql_worker_end end = end_closed(w, err);
            return begun ? end : WORKER_GONE;
        }
    }
    return WORKER_ANSWERS;
}

/* Receives between 1 and n bytes. */
static enum sql_worker_end receive(struct sql_worker *w, void *to, size_t n, size_t *got, struct error *err)
{
    ssize_t k = 0;

    do {
        if (!await(w, POLLIN))
            return end_late(w, err);
        k = recv(w->fd, to, n, 0);
    } while (k < 0 && errno == EINTR);
    if (k <= 0)
        return end_closed(w, err);
    if (!w->answering)
        w->deadline = now_seconds() + fmin(MAX_TRANSFER, work_limit_left());
    w->answering = true;
    *got = (size_t)k;
    return WORKER_ANSWERS;
}

/* Takes the next n bytes of the answer. Large blocks are received in place. */
static enum sql_worker_end worker_take(struct sql_worker *w, void *to, size_t n, struct error *err)
{
    while (n) {
        size_t got = w->end - w->begin;
        enum sql_worker_end end = WORKER_ANSWERS;
        if (got) {
            got = got < n ? got : n;
            memcpy(to, w->received + w->begin, got);
            w->begin += got;
        } else if (n >= sizeof w->received) {
            end = receive(w, to, n, &got, err);
        } else {
            w->begin = w->end = 0;
            end = receive(w, w->received, sizeof w->received, &w->end, err);
        }
        if (end != WORKER_ANSWERS)
            return end;
        to = (char *)to + got;
        n -= got;
    }
    return WORKER_ANSWERS;
}

/* --- Connections and results --- */

/* A database that is open in a worker, with the data to open it again in another one. */
struct exec_db {
    struct sql_worker *worker;
    int number;
    int64_t age; /* of the worker process that has it open */
    enum wire_op how;
    char *text; /* path or script */
    struct exec_limits limits;
};

const struct exec_limits exec_limits_default = {
    .steps = 500000000, .rows = 1000000, .bytes = 256 << 20, .seconds = 120
};

const struct exec_limits exec_limits_preview = { .steps = 20000000, .rows = 20000, .bytes = 1 << 20, .seconds = 5 };

const char *exec_status_name(enum exec_status s)
{
    static const char *const names[] = { "ok", "refused", "failed", "stopped" };
    return names[s];
}

const char *exec_sqlite_version(void)
{
    return sqlite3_libversion();
}

/* Finds the column names, at the start of the heap. */
static bool find_names(struct exec_result *r, size_t heap)
{
    char *at = r->block, *end = at + heap;

    for (int i = 0; i < r->columns; i++) {
        char *nul = memchr(at, '\0', (size_t)(end - at));
        if (!nul)
            return false;
        r->names[i] = at;
        at = nul + 1;
    }
    return true;
}

/* Converts offsets in the heap into pointers. */
static bool find_bytes(struct exec_result *r, size_t heap)
{
    const char *block = r->block;

    for (int64_t i = 0; i < r->n * r->columns; i++) {
        struct cell *c = &r->cells[i];
        uint64_t at = (uint64_t)c->integer;
        if ((unsigned)c->type > CELL_BLOB)
            return false;
        if (c->type != CELL_TEXT && c->type != CELL_BLOB)
            continue;
        if (c->n < 0 || at >= heap || (uint64_t)c->n >= heap - at || block[at + (uint64_t)c->n])
            return false;
        c->bytes = block + at;
    }
    return true;
}

static bool can_be(const struct exec_limits *limits, const struct wire_answer *a)
{
    int64_t row = a->columns * (int64_t)sizeof(struct cell);

    if (a->status != EXEC_OK)
        return a->status > EXEC_OK && a->status <= EXEC_STOPPED && a->rows == 0 && a->columns == 0 && a->heap > 0 &&
               a->heap <= WIRE_MAX_MESSAGE;
    return a->columns >= 0 && a->columns <= WIRE_MAX_COLUMNS && a->rows >= 0 && a->rows <= limits->rows &&
           (a->rows == 0 || (row > 0 && a->rows <= limits->bytes / row)) &&
           a->heap <= (size_t)limits->bytes + WIRE_MAX_NAMES;
}

static enum sql_worker_end take_rows(struct exec_db *db, struct exec_result *r, size_t heap, struct error *err)
{
    size_t cells = (size_t)r->n * (size_t)r->columns * sizeof *r->cells;

    r->cells = xmalloc(cells + 1);
    r->names = xcalloc((size_t)r->columns, sizeof *r->names);
    r->block = xmalloc(heap + 1);
    enum sql_worker_end end = worker_take(db->worker, r->cells, cells, err);
    if (end == WORKER_ANSWERS)
        end = worker_take(db->worker, r->block, heap, err);
    if (end == WORKER_ANSWERS && !(find_names(r, heap) && find_bytes(r, heap)))
        end = worker_refuse(db->worker, err);
    r->bytes = (int64_t)(cells + heap);
    return end;
}

static enum sql_worker_end take_message(struct exec_db *db, struct exec_result *r, size_t heap, struct error *err)
{
    r->message = xcalloc(heap + 1, 1);
    return worker_take(db->worker, r->message, heap, err);
}

/* Logs a message once per file. */
static void log_once(const char *path, const char *what)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct strings told;
    char *text;

    CHECK(asprintf(&text, "%s: %s", path, what) >= 0, "out of memory");
    pthread_mutex_lock(&lock);
    int n = told.n;
    if (strings_add(&told, text) == n)
        log_info("%s", text);
    pthread_mutex_unlock(&lock);
    free(text);
}

static void log_notes(const struct exec_db *db, unsigned notes)
{
    if (notes & VIEW_WITH_WAL)
        log_once(db->text, "read together with the commits in its -wal file");
    if (notes & VIEW_ROLLED_BACK)
        log_once(db->text, "an unfinished transaction in its -journal file was rolled back in memory; the file itself "
                           "is unchanged");
}

/* Sends a request and takes the answer into r. If a database cannot be opened, the error has the worker's code. */
static enum sql_worker_end exchange(struct exec_db *db, enum wire_op op, const char *text, size_t n,
                                    struct exec_result *r, struct error *err)
{
    struct wire_request q;
    struct wire_answer a;

    memset(&q, 0, sizeof q); /* padding is sent too */
    q = (struct wire_request){ .op = op, .db = db->number, .limits = db->limits, .n = n };
    enum sql_worker_end end = worker_ask(db->worker, &q, text, err);
    if (end == WORKER_ANSWERS)
        end = worker_take(db->worker, &a, sizeof a, err);
    if (end != WORKER_ANSWERS)
        return end;
    if (!can_be(&db->limits, &a))
        return worker_refuse(db->worker, err);
    log_notes(db, a.notes);
    *r = (struct exec_result){ .status = a.status, .columns = a.columns, .n = a.rows };
    if (a.status == EXEC_OK)
        return take_rows(db, r, a.heap, err);
    end = take_message(db, r, a.heap, err);
    if (end == WORKER_ANSWERS && op != WIRE_RUN)
        error_set(err, a.code, "%s", r->message);
    return end;
}

/* Opens the database in the worker, and retries once if the worker has died. Returns -1 with an error. */
static int open_in_worker(struct exec_db *db, struct error *err)
{
    enum sql_worker_end end = WORKER_GONE;
    struct exec_result r = { 0 };

    for (int tries = 0; tries < 2 && end == WORKER_GONE; tries++) {
        db->age = worker_age(db->worker, err);
        if (!db->age)
            return -1;
        end = exchange(db, db->how, db->text, strlen(db->text), &r, err);
    }
    bool open = end == WORKER_ANSWERS && r.status == EXEC_OK;
    exec_result_release(&r);
    if (!open)
        db->age = 0;
    if (end != WORKER_ANSWERS)
        error_prefix(err, "%s",
                     db->how == WIRE_OPEN_SCRIPT || db->how == WIRE_OPEN_SCRIPT_SCHEMA ? "a database in memory"
                                                                                       : db->text);
    return open ? 0 : -1;
}

static struct exec_db *open_db(enum wire_op how, const char *text, const struct exec_limits *limits, struct error *err)
{
    struct exec_db *db = xcalloc(1, sizeof *db);

    db->how = how;
    db->text = xstrdup(text);
    db->limits = *limits;
    db->worker = worker_join(&db->number);
    worker_lock(db->worker);
    int rc = open_in_worker(db, err);
    worker_unlock(db->worker);
    if (rc == 0)
        return db;
    exec_close(db);
    return NULL;
}

struct exec_db *exec_open(const char *path, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_FILE, path, limits, err);
}

struct exec_db *exec_open_schema(const char *path, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_SCHEMA, path, limits, err);
}

struct exec_db *exec_open_script(const char *script, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_SCRIPT, script, limits, err);
}

struct exec_db *exec_open_script_schema(const char *script, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_SCRIPT_SCHEMA, script, limits, err);
}

void exec_close(struct exec_db *db)
{
    if (!db)
        return;
    worker_leave(db->worker, db->number, db->age);
    free(db->text);
    free(db);
}

static struct exec_result run(struct exec_db *db, const char *sql, size_t n)
{
    enum sql_worker_end end = WORKER_GONE;
    struct exec_result r = { 0 };
    struct error err;

    for (int tries = 0; tries < 2 && end == WORKER_GONE; tries++) {
        int64_t age = worker_age(db->worker, &err);
        if (!age || (age != db->age && open_in_worker(db, &err)))
            break;
        end = exchange(db, WIRE_RUN, sql, n, &r, &err);
    }
    if (end == WORKER_ANSWERS)
        return r;
    exec_result_release(&r);
    bool stopped = end == WORKER_STOPPED || work_limit_ended();
    return (struct exec_result){ .status = stopped ? EXEC_STOPPED : EXEC_FAILED, .message = xstrdup(err.text) };
}

struct exec_result exec_run_bytes(struct exec_db *db, const char *sql, size_t n)
{
    worker_lock(db->worker);
    struct exec_result r = run(db, sql, n);
    worker_unlock(db->worker);
    return r;
}

struct exec_result exec_run(struct exec_db *db, const char *sql)
{
    return exec_run_bytes(db, sql, strlen(sql));
}

void exec_result_release(struct exec_result *r)
{
    free(r->cells);
    free(r->names);
    free(r->block);
    free(r->message);
    *r = (struct exec_result){ 0 };
}
