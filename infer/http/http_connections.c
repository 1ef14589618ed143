#include "infer/http/http_connections.h"

#include "data/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

const int http_codes[HTTP_CODES] = { 200, 204, 400, 401, 403, 404, 405, 411, 413, 415, 500, 503 };

static const double seconds_up_to[HTTP_SECOND_BUCKETS - 1] = { 0.01, 0.1, 1, 10 };

void http_count(struct http_counts *c, int code)
{
    for (int i = 0; i < HTTP_CODES; i++)
        if (http_codes[i] == code)
            c->codes[i]++;
}

void http_count_seconds(struct http_counts *c, double seconds)
{
    int i = 0;

    while (i < HTTP_SECOND_BUCKETS - 1 && seconds > seconds_up_to[i])
        i++;
    c->buckets[i]++;
    c->microseconds += (int64_t)(seconds * 1e6);
}

/* Number of resident pages of the process; 0 if unknown. */
static int64_t resident_pages(void)
{
    long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%lld %lld", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident;
}

void http_counts_print(FILE *f, struct http_counts *c, int waiting)
{
    int64_t sum = 0;

    fprintf(f, "# TYPE ambit_http_replies_total counter\n");
    for (int i = 0; i < HTTP_CODES; i++)
        fprintf(f, "ambit_http_replies_total{code=\"%d\"} %lld\n", http_codes[i], (long long)c->codes[i]);
    fprintf(f, "# TYPE ambit_http_request_seconds histogram\n");
    for (int i = 0; i < HTTP_SECOND_BUCKETS; i++) {
        sum += c->buckets[i];
        if (i < HTTP_SECOND_BUCKETS - 1)
            fprintf(f, "ambit_http_request_seconds_bucket{le=\"%g\"} %lld\n", seconds_up_to[i], (long long)sum);
    }
    fprintf(f, "ambit_http_request_seconds_bucket{le=\"+Inf\"} %lld\n", (long long)sum);
    fprintf(f, "ambit_http_request_seconds_sum %.6f\n", (double)c->microseconds / 1e6);
    fprintf(f, "ambit_http_request_seconds_count %lld\n", (long long)sum);
    fprintf(f, "# TYPE ambit_http_connections gauge\nambit_http_connections %lld\n", (long long)c->connections);
    fprintf(f, "# TYPE ambit_http_waiting gauge\nambit_http_waiting %d\n", waiting);
    fprintf(f, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %lld\n",
            (long long)resident_pages() * sysconf(_SC_PAGESIZE));
}

enum { NAME_MAX_BYTES = 64 };

/* Splits an address into `name`, without brackets, and port.  Returns false without a port. */
static bool split(char name[NAME_MAX_BYTES], long *port, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;

    if (n && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (!n || n >= NAME_MAX_BYTES || colon[1] < '0' || colon[1] > '9')
        return false;
    memcpy(name, text, n);
    name[n] = 0;
    *port = strtol(colon + 1, &end, 10);
    return *end == 0 && *port <= 65535;
}

int http_address_read(struct http_address *a, const char *text, struct error *err)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&a->sock;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&a->sock;
    char name[NAME_MAX_BYTES];
    long port;

    *a = (struct http_address){ 0 };
    if (!split(name, &port, text))
        return error_set(err, EXIT_CODE_USAGE, "--serve: expected ADDRESS:PORT, such as 127.0.0.1:8080, got '%s'",
                         text);
    if (inet_pton(AF_INET, strcasecmp(name, "localhost") == 0 ? "127.0.0.1" : name, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        a->local = ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return 0;
    }
    if (inet_pton(AF_INET6, name, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        a->local = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
        return 0;
    }
    return error_set(err, EXIT_CODE_USAGE, "--serve: expected a numeric address or localhost, got '%s'", name);
}

/* Cuts blanks and a port off the end of a host.  Returns false when another text follows a colon. */
static bool cut_port(char *host)
{
    size_t n = strlen(host);

    while (n && strchr(" \t", host[n - 1]))
        host[--n] = 0;
    char *colon = strchr(host[0] == '[' ? host + strcspn(host, "]") : host, ':');
    if (colon && colon[1 + strspn(colon + 1, "0123456789")])
        return false;
    if (colon)
        *colon = 0;
    return true;
}

bool http_host_is_local(const char *host)
{
    char name[NAME_MAX_BYTES];
    struct in6_addr six;
    struct in_addr four;

    if (!host || snprintf(name, sizeof name, "%s", host) >= (int)sizeof name || !cut_port(name))
        return false;
    size_t n = strlen(name);
    if (name[0] == '[' && name[n - 1] == ']') {
        name[n - 1] = 0;
        return inet_pton(AF_INET6, name + 1, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
    }
    return strcasecmp(name, "localhost") == 0 ||
           (inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

/* Microseconds between two checks, maximum number of connections closed for others at a check, and seconds after which
 * one may be closed. */
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

/* Shuts the socket down; the library's thread then closes it. */
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

/* Connection with the oldest incomplete request or reply; NULL if all are fast or wait for the service. */
static struct http_client *slowest(const struct http_clients *l, double now)
{
    struct http_client *found = NULL;

    for (struct http_client *c = l->first; c; c = c->after)
        if (c->state != CLIENT_WAITS && !c->dropped && now - c->since > SLOW_SECONDS &&
            (!found || c->since < found->since))
            found = c;
    return found;
}

/* Number of connections in the kernel's accept queue, which Linux reports for a listening socket. */
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

enum { MOMENT = 100000000 }; /* nanoseconds between two checks for a signal */

void http_line_init(struct http_line *l)
{
    pthread_condattr_t clock;

    *l = (struct http_line){ 0 };
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* a clock that is never set back */
    pthread_cond_init(&l->some, &clock);
    pthread_condattr_destroy(&clock);
}

bool http_line_add(struct http_line *l, struct http_job *job)
{
    pthread_mutex_lock(&l->lock);
    bool room = !l->closed && l->n < HTTP_MAX_WAITING;
    if (room) {
        job->next = NULL;
        *(l->last ? &l->last->next : &l->first) = job;
        l->last = job;
        l->n++;
        pthread_cond_signal(&l->some);
    }
    pthread_mutex_unlock(&l->lock);
    return room;
}

struct http_job *http_line_take(struct http_line *l)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += MOMENT;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    if (!l->first && !l->closed)
        pthread_cond_timedwait(&l->some, &l->lock, &until);
    struct http_job *job = l->first;
    if (job) {
        l->first = job->next;
        l->last = l->first ? l->last : NULL;
        l->n--;
    }
    pthread_mutex_unlock(&l->lock);
    return job;
}

int http_line_length(struct http_line *l)
{
    pthread_mutex_lock(&l->lock);
    int n = l->n;
    pthread_mutex_unlock(&l->lock);
    return n;
}

void http_line_close(struct http_line *l)
{
    pthread_mutex_lock(&l->lock);
    l->closed = true;
    pthread_mutex_unlock(&l->lock);
}
