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

enum { HTTP_SECOND_BUCKETS = 5, HTTP_CODES = 11 };

struct http_counts {
    _Atomic int64_t codes[HTTP_CODES];            /* replies by http_codes */
    _Atomic int64_t buckets[HTTP_SECOND_BUCKETS]; /* requests that took work, by seconds, each bucket by itself */
    _Atomic int64_t microseconds, connections;
};
extern const int http_codes[HTTP_CODES];
void http_count(struct http_counts *c, int code);
void http_count_seconds(struct http_counts *c, double seconds);
/* Prometheus' text. */
void http_counts_print(FILE *f, struct http_counts *c, int waiting);

struct http_address {
    struct sockaddr_storage sock;
    bool local;
};
/* Of "ADDRESS:PORT"; -1 with EXIT_CODE_USAGE. */
int http_address_read(struct http_address *a, const char *text, struct error *err);
/* Whether a Host header names this machine's loopback. */
bool http_host_is_local(const char *host);

/* What a connection is at.  Each has a time, and but for the last may have to make room for others. */
enum client_state {
    CLIENT_HEAD,  /* sends the head of a request, or will */
    CLIENT_BODY,  /* sends a body */
    CLIENT_READS, /* is sent a reply */
    CLIENT_WAITS  /* waits for a reply, which is the service's to make */
};

struct http_client {
    int fd;
    enum client_state state;
    double since;
    bool asked, dropped; /* it had a reply; its socket was shut down */
    struct http_client *before, *after;
};

/* Connections that are let in besides those that may wait for replies, so that health can be asked for meanwhile. */
enum { HTTP_SPARE = 8 };

/* All connections.  A thread of its own shuts down those that take too long, and when nobody more is let in while
 * others want to, those that have been slow for the longest; the library then closes them. */
struct http_clients {
    pthread_mutex_t lock;
    struct http_client *first;
    int n, most;
    double idle, whole; /* seconds between two requests; for a whole head, body or reply */
    int listening;
    pthread_t watch;
    atomic_bool leaves;
};
void http_clients_init(struct http_clients *l, int most, double idle, double whole);
/* Starts the thread, of a service that listens on that socket; http_clients_leave ends it. */
void http_clients_watch(struct http_clients *l, int listening);
void http_clients_leave(struct http_clients *l);
/* These are called by the library's thread. */
struct http_client *http_client_add(struct http_clients *l, int fd);
void http_client_becomes(struct http_clients *l, struct http_client *c, enum client_state state);
void http_client_remove(struct http_clients *l, struct http_client *c);
/* How many wait for a reply; and how many do, or have not been sent all of it. */
int http_clients_waiting(struct http_clients *l);
int http_clients_owed(struct http_clients *l);

/* One request on its way. */
struct http_job {
    struct MHD_Connection *connection;
    int fd;
    struct http_job *next; /* in the line */
    const char *path;      /* of the service's list; NULL of a GET */
    char *body;
    size_t n, cap, length; /* length: what the head announces */
    int refused;           /* status for a body that is not taken; 0: none */
    bool gets, waits, answered;
    double start;
    struct http_reply reply;
};

/* The requests that wait for the one who answers them, first come first served. */
struct http_line {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct http_job *first, *last;
    int n;
    bool closed;
};
void http_line_init(struct http_line *l);
/* False where it is full or closed. */
bool http_line_add(struct http_line *l, struct http_job *job);
/* The next one; NULL when none has come for a moment. */
struct http_job *http_line_take(struct http_line *l);
/* How many wait. */
int http_line_length(struct http_line *l);
void http_line_close(struct http_line *l);

#endif
