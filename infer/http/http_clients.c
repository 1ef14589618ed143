/* Part of http.h: connections, and which of them take too long. */
#include "infer/http/http_impl.h"

#include "data/util/log.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

/* Microseconds between two looks; connections that may be dropped at each look for the sake of others, and seconds
 * after which one may be. */
enum { LOOK = 100000, DROPS = 8, SLOW_SECONDS = 1 };

void http_clients_init(struct http_clients *l, int most, double idle, double whole)
{
    *l = (struct http_clients){ .most = most, .idle = idle, .whole = whole };
    pthread_mutex_init(&l->lock, NULL);
}

struct http_client *http_client_add(struct http_clients *l, int fd)
{
    struct http_client *c = xcalloc(1, sizeof *c);

    pthread_mutex_lock(&l->lock);
    *c = (struct http_client){ .fd = fd, .since = now_seconds(), .after = l->first };
    if (l->first)
        l->first->before = c;
    l->first = c;
    l->n++;
    pthread_mutex_unlock(&l->lock);
    return c;
}

void http_client_becomes(struct http_clients *l, struct http_client *c, enum client_state state)
{
    pthread_mutex_lock(&l->lock);
    c->asked = c->asked || state == CLIENT_READS;
    c->state = state;
    c->since = now_seconds();
    pthread_mutex_unlock(&l->lock);
}

void http_client_remove(struct http_clients *l, struct http_client *c)
{
    pthread_mutex_lock(&l->lock);
    *(c->before ? &c->before->after : &l->first) = c->after;
    if (c->after)
        c->after->before = c->before;
    l->n--;
    pthread_mutex_unlock(&l->lock);
    free(c);
}

int http_clients_waiting(struct http_clients *l)
{
    int n = 0;

    pthread_mutex_lock(&l->lock);
    for (const struct http_client *c = l->first; c; c = c->after)
        n += c->state == CLIENT_WAITS;
    pthread_mutex_unlock(&l->lock);
    return n;
}

int http_clients_owed(struct http_clients *l)
{
    int n = 0;

    pthread_mutex_lock(&l->lock);
    for (const struct http_client *c = l->first; c; c = c->after)
        n += c->state == CLIENT_WAITS || c->state == CLIENT_READS;
    pthread_mutex_unlock(&l->lock);
    return n;
}

/* The library's thread sees the end of what it reads, and closes the socket. */
static void drop(struct http_client *c)
{
    c->dropped = true;
    shutdown(c->fd, SHUT_RDWR);
}

static double time_of(const struct http_clients *l, const struct http_client *c)
{
    return l->whole + (c->state == CLIENT_HEAD && c->asked ? l->idle : 0);
}

static void drop_late(struct http_clients *l, double now)
{
    for (struct http_client *c = l->first; c; c = c->after)
        if (c->state != CLIENT_WAITS && !c->dropped && now - c->since > time_of(l, c))
            drop(c);
}

/* That with the oldest request or reply that is not whole; NULL where all are quick or wait for the service. */
static struct http_client *slowest(const struct http_clients *l, double now)
{
    struct http_client *found = NULL;

    for (struct http_client *c = l->first; c; c = c->after)
        if (c->state != CLIENT_WAITS && !c->dropped && now - c->since > SLOW_SECONDS &&
            (!found || c->since < found->since))
            found = c;
    return found;
}

/* Connections that the kernel holds until the library takes them: of a listening socket Linux tells them so. */
static int knocking(const struct http_clients *l)
{
    struct tcp_info info;
    socklen_t n = sizeof info;

    return getsockopt(l->listening, IPPROTO_TCP, TCP_INFO, &info, &n) ? 0 : (int)info.tcpi_unacked;
}

static void make_room(struct http_clients *l, int wanted, double now)
{
    struct http_client *c;

    for (int i = 0; i < wanted && (c = slowest(l, now)); i++)
        drop(c);
}

static void *watch(void *arg)
{
    struct http_clients *l = arg;

    while (!l->leaves) {
        usleep(LOOK);
        double now = now_seconds();
        pthread_mutex_lock(&l->lock);
        drop_late(l, now);
        if (l->n >= l->most)
            make_room(l, knocking(l), now);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

void http_clients_watch(struct http_clients *l, int listening)
{
    l->listening = listening;
    CHECK(pthread_create(&l->watch, NULL, watch, l) == 0, "no thread to be had");
}

void http_clients_leave(struct http_clients *l)
{
    l->leaves = true;
    pthread_join(l->watch, NULL);
}
