#include "kernels/mpi/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HELLO_SECONDS = 5, RETRY_US = 100000 };

struct hello {
    char name[16]; /* also identifies the byte order and the protocol version */
    uint32_t order, rank, size, run;
};

static const struct hello expected = { .name = "ambit ranks 1", .order = 0x01020304 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool ready(int fd, short events, double deadline)
{
    double left = deadline - now();
    struct pollfd p = { .fd = fd, .events = events };

    return left > 0 && poll(&p, 1, (int)(left * 1e3) + 1) > 0;
}

/* Sends or receives bytes on a non-blocking socket.  Returns -1 if it was closed or the deadline passed. */
static int pass(int fd, void *data, size_t bytes, bool out, double deadline)
{
    for (size_t at = 0; at < bytes;) {
        if (!ready(fd, out ? POLLOUT : POLLIN, deadline))
            return -1;
        char *p = (char *)data + at;
        ssize_t n = out ? send(fd, p, bytes - at, MSG_NOSIGNAL) : recv(fd, p, bytes - at, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return -1;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static bool is_hello(const struct hello *h)
{
    return !memcmp(h->name, expected.name, sizeof h->name) && h->order == expected.order;
}

static void unblock(int fd)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* --- rank 0 --- */

static int listen_at(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype, 0), on = 1, off = 0;

    if (fd < 0)
        return -1;
    unblock(fd);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Listens on all addresses of this machine, because its public name may belong to a gateway. */
static int listen_on(const char *port, struct error *err)
{
    static const int families[] = { AF_INET6, AF_INET };
    int fd = -1;

    for (int i = 0; i < ARRAY_LEN(families) && fd < 0; i++) {
        struct addrinfo hints = { .ai_family = families[i], .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *a;
        if (getaddrinfo(NULL, port, &hints, &a))
            continue;
        fd = listen_at(a);
        freeaddrinfo(a);
    }
    return fd >= 0 ? fd : error_set(err, EXIT_CODE_USAGE, "port %s: %s", port, strerror(errno));
}

/* Accepts the socket of a rank of this run, and closes others. */
static int admit(struct rendezvous *r, int fd, double deadline, struct error *err)
{
    struct hello h;
    double soon = now() + HELLO_SECONDS;

    unblock(fd);
    if (pass(fd, &h, sizeof h, false, soon < deadline ? soon : deadline) || !is_hello(&h)) {
        close(fd);
        return 0;
    }
    if (h.size == (uint32_t)r->size && h.rank > 0 && h.rank < h.size && r->sockets[h.rank] < 0) {
        r->sockets[h.rank] = fd;
        return 0;
    }
    close(fd);
    if (h.size != (uint32_t)r->size)
        return error_set(err, EXIT_CODE_USAGE, "rank %u: WORLD_SIZE: expected %d as rank 0 has, got %u", h.rank,
                         r->size, h.size);
    return error_set(err, EXIT_CODE_USAGE, "RANK: two processes have %u, expected 0 to %d once each", h.rank,
                     r->size - 1);
}

static int first_missing(const struct rendezvous *r)
{
    int k = 1;

    while (k < r->size && r->sockets[k] >= 0)
        k++;
    return k;
}

static int tell_missing(const struct rendezvous *r, int seconds, struct error *err)
{
    int n = 0;

    for (int k = 1; k < r->size; k++)
        n += r->sockets[k] < 0;
    return error_set(err, EXIT_CODE_FAILURE, "%d of %d ranks did not come to %s within %d seconds, among them rank %d",
                     n, r->size, r->place, seconds, first_missing(r));
}

static int welcome(struct rendezvous *r, double deadline, struct error *err)
{
    struct hello h = expected;

    if (getrandom(&r->run, sizeof r->run, 0) != sizeof r->run)
        return error_set(err, EXIT_CODE_FAILURE, "getrandom: %s", strerror(errno));
    h.size = (uint32_t)r->size;
    h.run = r->run;
    for (int k = 1; k < r->size; k++)
        if (pass(r->sockets[k], &h, sizeof h, true, deadline))
            return error_set(err, EXIT_CODE_FAILURE, "rank %d went away before the run began", k);
    return 0;
}

static int gather_ranks(struct rendezvous *r, const char *port, int seconds, struct error *err)
{
    double deadline = now() + seconds;
    int door = listen_on(port, err), rc = door < 0 ? -1 : 0;

    while (!rc && first_missing(r) < r->size) {
        if (!ready(door, POLLIN, deadline)) {
            rc = tell_missing(r, seconds, err);
            break;
        }
        int fd = accept(door, NULL, NULL);
        rc = fd < 0 ? 0 : admit(r, fd, deadline, err);
    }
    if (door >= 0)
        close(door);
    return rc ? rc : welcome(r, deadline + HELLO_SECONDS, err);
}

/* --- the other ranks --- */

static int reach(const struct addrinfo *a, double deadline)
{
    int fd = socket(a->ai_family, a->ai_socktype, 0), why = 0;
    socklen_t n = sizeof why;

    if (fd < 0)
        return -1;
    unblock(fd);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || (errno == EINPROGRESS && ready(fd, POLLOUT, deadline) &&
                                                        getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0 && !why))
        return fd;
    close(fd);
    return -1;
}

/* Retries, because a name may become known, and rank 0 may begin to listen, while other ranks already wait. */
static int reach_first(const char *host, const char *port, double deadline)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *all;

    for (; now() < deadline; usleep(RETRY_US)) {
        if (getaddrinfo(host, port, &hints, &all))
            continue;
        int fd = -1;
        for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
            fd = reach(a, deadline);
        freeaddrinfo(all);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static int join_ranks(struct rendezvous *r, const char *host, const char *port, int seconds, struct error *err)
{
    double deadline = now() + seconds;
    struct hello h = expected;

    r->sockets[0] = reach_first(host, port, deadline);
    if (r->sockets[0] < 0)
        return error_set(err, EXIT_CODE_FAILURE, "rank 0 was not to be reached at %s within %d seconds", r->place,
                         seconds);
    h.rank = (uint32_t)r->rank;
    h.size = (uint32_t)r->size;
    if (pass(r->sockets[0], &h, sizeof h, true, deadline) ||
        pass(r->sockets[0], &h, sizeof h, false, deadline + HELLO_SECONDS))
        return error_set(err, EXIT_CODE_FAILURE, "rank 0 at %s went away before the run began: see what it says",
                         r->place);
    r->run = h.run;
    return is_hello(&h) ? 0
                        : error_set(err, EXIT_CODE_USAGE, "%s: expected rank 0 there, got an answer of something else",
                                    r->place);
}

int rendezvous_open(struct rendezvous *r, const char *host, const char *port, int rank, int size, int seconds,
                    struct error *err)
{
    int n = rank ? 1 : size;

    *r = (struct rendezvous){ .rank = rank, .size = size, .sockets = xcalloc((size_t)n, sizeof *r->sockets) };
    for (int i = 0; i < n; i++)
        r->sockets[i] = -1;
    snprintf(r->place, sizeof r->place, "%s:%s", host, port);
    if ((rank ? join_ranks(r, host, port, seconds, err) : gather_ranks(r, port, seconds, err)) == 0)
        return 0;
    rendezvous_close(r);
    return -1;
}

void rendezvous_close(struct rendezvous *r)
{
    for (int i = 0; r->sockets && i < (r->rank ? 1 : r->size); i++)
        if (r->sockets[i] >= 0)
            close(r->sockets[i]);
    free(r->sockets);
    *r = (struct rendezvous){ 0 };
}

/* --- the exchange --- */

static int take(int fd, struct rendezvous_words *w, double deadline)
{
    *w = (struct rendezvous_words){ 0 };
    if (pass(fd, &w->bytes, sizeof w->bytes, false, deadline) || w->bytes > RENDEZVOUS_BYTES_MAX)
        return -1;
    w->data = xmalloc(w->bytes + 1);
    w->data[w->bytes] = 0;
    return pass(fd, w->data, w->bytes, false, deadline);
}

static int give(int fd, struct rendezvous_words w, double deadline)
{
    return pass(fd, &w.bytes, sizeof w.bytes, true, deadline) || pass(fd, w.data, w.bytes, true, deadline) ? -1 : 0;
}

static struct rendezvous_words copy(struct rendezvous_words w)
{
    struct rendezvous_words c = { .data = xmalloc(w.bytes + 1), .bytes = w.bytes };

    memcpy(c.data, w.data, w.bytes);
    c.data[w.bytes] = 0;
    return c;
}

/* Receives the words of all ranks on rank 0, then sends them to each rank.  Returns the rank that failed, or -1. */
static int share_out(struct rendezvous *r, struct rendezvous_words *all, double deadline)
{
    for (int k = 1; k < r->size; k++)
        if (take(r->sockets[k], &all[k], deadline))
            return k;
    for (int k = 1; k < r->size; k++)
        for (int i = 0; i < r->size; i++)
            if (give(r->sockets[k], all[i], deadline))
                return k;
    return -1;
}

static int share_in(struct rendezvous *r, struct rendezvous_words mine, struct rendezvous_words *all, double deadline)
{
    if (give(r->sockets[0], mine, deadline))
        return 0;
    for (int i = 0; i < r->size; i++)
        if (take(r->sockets[0], &all[i], deadline))
            return 0;
    return -1;
}

int rendezvous_share(struct rendezvous *r, struct rendezvous_words mine, struct rendezvous_words *all,
                     struct error *err)
{
    double deadline = now() + RENDEZVOUS_SECONDS;

    CHECK(mine.bytes <= RENDEZVOUS_BYTES_MAX, "%u bytes of a rank", mine.bytes);
    memset(all, 0, (size_t)r->size * sizeof *all);
    if (r->rank == 0)
        all[0] = copy(mine);
    int lost = r->rank ? share_in(r, mine, all, deadline) : share_out(r, all, deadline);
    if (lost < 0)
        return 0;
    for (int i = 0; i < r->size; i++)
        free(all[i].data);
    return error_set(err, EXIT_CODE_FAILURE, "rank %d is lost: it went away from %s before MPI had connected all", lost,
                     r->place);
}
