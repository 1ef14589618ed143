/*
 * http_connections.h - the parts of http.h that need no library: addresses, connections, the queue of requests,
 * counters.
 *
 * Two threads share these structs.  Every field that both touch is atomic or guarded by the lock of its struct.
 */
#ifndef INFER_HTTP_HTTP_CONNECTIONS_H
#define INFER_HTTP_HTTP_CONNECTIONS_H

#include "infer/http/http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum { HTTP_SECOND_BUCKETS = 5, HTTP_CODES = 12 };

struct http_counts {
    _Atomic int64_t codes[HTTP_CODES];            /* replies, by http_codes */
    _Atomic int64_t buckets[HTTP_SECOND_BUCKETS]; /* requests with work, by seconds; not cumulative */
    _Atomic int64_t microseconds, connections;
};
extern const int http_codes[HTTP_CODES];
void http_count(struct http_counts *c, int code);
void http_count_seconds(struct http_counts *c, double seconds);
/* Prints the counts in the text format of Prometheus. */
void http_counts_print(FILE *f, struct http_counts *c, int waiting);

struct http_address {
    struct sockaddr_storage sock;
    bool local;
};
/* Reads "ADDRESS:PORT".  Returns -1 with EXIT_CODE_USAGE. */
int http_address_read(struct http_address *a, const char *text, struct error *err);
/* Tells whether a Host header names a loopback address. */
bool http_host_is_local(const char *host);

/* States of a connection.  Each has a time limit; all but the last may be closed for new connections. */
enum client_state {
    CLIENT_HEAD,  /* reads the head of a request */
    CLIENT_BODY,  /* reads a body */
    CLIENT_READS, /* writes a reply */
    CLIENT_WAITS  /* waits for the work on a reply */
};

struct http_client {
    int fd;
    enum client_state state;
    double since;
    bool asked, dropped; /* asked: it has had a reply; dropped: its socket is shut down */
    struct http_client *before, *after;
};

/* Connections beyond those that may wait for work, so that /health stays reachable. */
enum { HTTP_SPARE = 8 };

/* All connections.  A separate thread shuts down the sockets of those that take too long.  When all places are taken
 * and others wait to connect, it shuts down the slowest ones.  The library then closes them. */
struct http_clients {
    pthread_mutex_t lock;
    struct http_client *first;
    int n, most;
    double idle, whole; /* seconds: idle between two requests; whole for a head, a body or a reply */
    int listening;
    pthread_t watch;
    atomic_bool leaves;
};
void http_clients_init(struct http_clients *l, int most, double idle, double whole);
/* Starts the thread, for the socket that the service listens on.  http_clients_leave() ends it. */
void http_clients_watch(struct http_clients *l, int listening);
void http_clients_leave(struct http_clients *l);
/* Called by the library's thread. */
struct http_client *http_client_add(struct http_clients *l, int fd);
void http_client_becomes(struct http_clients *l, struct http_client *c, enum client_state state);
void http_client_remove(struct http_clients *l, struct http_client *c);
/* Number of connections that wait for work; the same with those that have not read their reply. */
int http_clients_waiting(struct http_clients *l);
int http_clients_owed(struct http_clients *l);

/* One request. */
struct http_job {
    struct MHD_Connection *connection;
    int fd;
    struct http_job *next; /* in the queue */
    const char *path;      /* of http_service.paths; NULL for a GET */
    char *body;
    size_t n, cap, length; /* length: of the head */
    int refused;           /* status for a refused body; or 0 */
    bool gets, waits, answered;
    double start;
    struct http_reply reply;
};

/* The queue of requests that wait for work, first in, first out. */
struct http_line {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct http_job *first, *last;
    int n;
    bool closed;
};
void http_line_init(struct http_line *l);
/* Returns false when the queue is full or closed. */
bool http_line_add(struct http_line *l, struct http_job *job);
/* Returns the next request, or NULL when none has come for 0.1 seconds. */
struct http_job *http_line_take(struct http_line *l);
/* Number of waiting requests. */
int http_line_length(struct http_line *l);
void http_line_close(struct http_line *l);

#endif
