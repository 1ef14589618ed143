/*
 * ambit-sql-worker - runs untrusted SQL for the programs, which start it. sql_wire.h describes the protocol.
 *
 * The worker ends with the program, when the program kills it for its time, or when a statement crashes it. It has no
 * state to clean up.
 */
#include "data/base/log.h"
#include "data/worker/connection.h"
#include "data/worker/jail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct service {
    struct connection **dbs;
    int n;
    char *text; /* text of the request */
    size_t cap;
    struct rows rows;
};

/* Reads n bytes from the socket; its end is the end of the program. */
static void receive_bytes(void *to, size_t n)
{
    while (n) {
        ssize_t got = recv(WIRE_SOCKET, to, n, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            _exit(EXIT_CODE_OK);
        to = (char *)to + got;
        n -= (size_t)got;
    }
}

static void send_parts(struct iovec *parts, size_t n)
{
    struct msghdr m = { .msg_iov = parts, .msg_iovlen = n };

    while (m.msg_iovlen) {
        ssize_t sent = sendmsg(WIRE_SOCKET, &m, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            _exit(EXIT_CODE_OK);
        for (; m.msg_iovlen && (size_t)sent >= m.msg_iov->iov_len; m.msg_iovlen--)
            sent -= (ssize_t)m.msg_iov++->iov_len;
        if (m.msg_iovlen) {
            m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + sent;
            m.msg_iov->iov_len -= (size_t)sent;
        }
    }
}

static void send_message(enum exec_status status, enum exit_code code, const char *text, unsigned notes)
{
    char message[WIRE_MAX_MESSAGE];

    snprintf(message, sizeof message, "%s", text);
    struct wire_answer a = { .status = status, .code = code, .notes = notes, .heap = strlen(message) + 1 };
    send_parts((struct iovec[]){ { &a, sizeof a }, { message, a.heap } }, 2);
}

static void send_rows(const struct rows *r, unsigned notes)
{
    struct wire_answer a = { .notes = notes, .columns = r->columns, .rows = r->n, .heap = r->used };
    size_t cells = (size_t)r->n * (size_t)r->columns * sizeof *r->cells;

    send_parts((struct iovec[]){ { &a, sizeof a }, { r->cells, cells }, { r->heap, r->used } }, 3);
}

/* Empties the result; keeps small buffers. */
static void clear_rows(struct rows *r)
{
    enum { KEPT = 1 << 20 };

    if (r->size > KEPT || r->cap > KEPT / (int64_t)sizeof *r->cells)
        rows_release(r);
}

static void run(struct service *s, struct connection *db, const struct wire_request *q)
{
    const char *why;
    enum exec_status status = connection_run(db, &s->rows, s->text, q->n, &why);

    if (status == EXEC_OK)
        send_rows(&s->rows, connection_notes(db));
    else
        send_message(status, EXIT_CODE_DATA, why, connection_notes(db));
    clear_rows(&s->rows);
}

static struct connection *open_db(struct service *s, const struct wire_request *q)
{
    static const struct rows none;
    struct error err = { 0 };
    bool script = q->op == WIRE_OPEN_SCRIPT || q->op == WIRE_OPEN_SCRIPT_SCHEMA;
    bool schema = q->op == WIRE_OPEN_SCHEMA || q->op == WIRE_OPEN_SCRIPT_SCHEMA;
    struct connection *db = script ? connection_open_script(s->text, schema, &q->limits, &err)
                                   : connection_open(s->text, schema, &q->limits, &err);

    if (db)
        send_rows(&none, connection_notes(db));
    else
        send_message(EXEC_FAILED, err.code, err.text, 0);
    return db;
}

static void close_db(struct connection **at)
{
    connection_close(*at);
    *at = NULL;
}

static struct connection **find_slot(struct service *s, int db)
{
    for (; s->n <= db; s->n++) {
        s->dbs = xrealloc(s->dbs, (size_t)(s->n + 1) * sizeof *s->dbs);
        s->dbs[s->n] = NULL;
    }
    CHECK(s->dbs, "no connection %d", db);
    return &s->dbs[db];
}

/* Makes room for a text of n bytes; keeps small buffers. */
static void reserve_text(struct service *s, size_t n)
{
    enum { KEPT = 1 << 20 };

    if (n <= s->cap && s->cap <= KEPT)
        return;
    free(s->text);
    s->cap = n;
    s->text = xmalloc(n);
}

static void serve(struct service *s)
{
    struct wire_request q;

    receive_bytes(&q, sizeof q);
    struct connection **at = find_slot(s, q.db);
    reserve_text(s, q.n + 1);
    receive_bytes(s->text, q.n + 1);
    if (q.op == WIRE_RUN)
        run(s, *at, &q);
    else if (q.op == WIRE_CLOSE)
        close_db(at);
    else
        *at = open_db(s, &q);
}

int main(int argc, char **argv)
{
    struct service s = { 0 };
    struct error err = { 0 };

    if (argc != 2 || strcmp(argv[1], WIRE_VERSION) != 0) {
        log_error("ambit-sql-worker is for ambit's programs to start, and of another build than this one");
        return EXIT_CODE_USAGE;
    }
    if (jail_enter(&err)) {
        fprintf(stderr, "%s\n", err.text);
        close(WIRE_SOCKET); /* closes first, because the end of the message makes the program check the socket */
        return (int)err.code;
    }
    for (;;)
        serve(&s);
}
