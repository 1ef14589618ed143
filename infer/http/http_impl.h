/*
 * http_impl.h - what the parts of http.h share; all fields that two threads touch are behind the lock or atomic.
 */
#ifndef INFER_HTTP_HTTP_IMPL_H
#define INFER_HTTP_HTTP_IMPL_H

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

/* One request on its way. */
struct http_job {
    struct MHD_Connection *connection;
    struct http_job *next; /* in the line */
    const char *path;      /* of the service's list */
    char *body;
    size_t n, cap;
    bool too_large, waits, answered;
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
