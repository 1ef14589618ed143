/*
 * http.h - HTTP/1.1 over libmicrohttpd for a service that answers one request at a time.
 *
 * The library's thread reads requests and writes replies of all connections at once; what takes work waits in a bounded
 * line for the thread that called http_serve, the only one that touches models and databases.  Pages, /health and
 * /metrics are answered at once, also while it is busy.  Everything that comes in is bounded: bytes of a body, of all
 * bodies together and of headers, connections, seconds of silence, of a head, of a body and of the work for a request,
 * requests in the line.  The work ends sooner when its client closes the connection, or a signal asks to stop.
 *
 * Without a token a service is local: it listens on a loopback address alone, and the Host header must name one, so
 * that no page from elsewhere reaches it through a name of its own.  With one every request but a page and /health must
 * bring "Authorization: Bearer TOKEN".  A body must be called application/json, which no form of another page can.
 */
#ifndef INFER_HTTP_HTTP_H
#define INFER_HTTP_HTTP_H

#include "kernels/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { HTTP_MAX_BODY = 4 << 20, HTTP_MAX_BODIES = 64 << 20, HTTP_MAX_WAITING = 1024, HTTP_MAX_TOKEN = 4096 };

struct http_request {
    const char *path, *body; /* a NUL follows the body */
    size_t n;                /* its bytes */
};

struct http_reply {
    int status;
    char *text; /* JSON, on the heap; taken */
};

/* Answered at once, to anybody. */
struct http_page {
    const char *path, *type;
    const char *text;
    size_t n;
};

/* Answered at once, to those who may ask, by another thread than the one that called http_serve. */
struct http_told {
    const char *path;
    void (*tell)(void *user, struct http_reply *reply);
};

struct http_service {
    void *user;
    const struct http_page *pages;
    int n_pages;
    const struct http_told *told;
    int n_told;
    const char *const *paths; /* what may be posted to, ended by NULL */
    /* Called by the thread that called http_serve, within a work_limit. */
    void (*answer)(void *user, struct http_reply *reply, const struct http_request *request);
    /* More lines of /metrics, called by another thread; or NULL. */
    void (*metrics)(void *user, FILE *f);
    const char *warning; /* told when the service listens; or NULL */
};

struct http_settings {
    const char *address;    /* ADDRESS:PORT; [::1]:PORT; port 0 takes a free one, which is told on the log */
    const char *token_file; /* the token is its first line; NULL: none */
    int64_t connections;    /* most at once, and a few more that may not wait; the slowest make room for others */
    int64_t seconds;        /* of silence, after which a connection is closed */
    double whole_seconds;   /* for a whole head, for a whole body, and for the reading of a reply */
    double request_seconds; /* of all work for one request (stop.h), which then has status 503 */
};

/* Until a signal asks to stop: 1; what waits then is answered with 503, and the process ends within 4 seconds.  -1 with
 * EXIT_CODE_USAGE for an address that is none, or not local and without a token, EXIT_CODE_DATA for a token that cannot
 * be read, EXIT_CODE_FAILURE where nobody can listen, or where this build has no libmicrohttpd. */
int http_serve(const struct http_settings *s, const struct http_service *service, struct error *err);

#endif
