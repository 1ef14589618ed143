/*
 * http.h - an HTTP/1.1 service over libmicrohttpd that works on one request at a time.
 *
 * The library's thread reads requests and writes replies for all connections.  Requests that need work wait in a
 * bounded queue for the thread that called http_serve(), the only one that uses models and databases.  Pages, /health
 * and /metrics are answered at once.  Bytes of headers and bodies, connections and queued requests are bounded,
 * as are the seconds of silence, of a head, of a body and of work.  The work ends early
 * when the client closes the connection or a signal arrives.
 *
 * Without a token the service is local: it listens on a loopback address only, and the Host header must name one, so
 * a foreign web page cannot reach it.  With a token every request but a page and /health needs
 * "Authorization: Bearer TOKEN".  A body must have the type application/json, which a form of a web page cannot send.
 * An Origin header must name the service itself or a listed origin (http_origin.h).
 */
#ifndef INFER_HTTP_HTTP_H
#define INFER_HTTP_HTTP_H

#include "kernels/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { HTTP_MAX_BODY = 4 << 20, HTTP_MAX_BODIES = 64 << 20, HTTP_MAX_WAITING = 1024, HTTP_MAX_TOKEN = 4096 };

struct http_request {
    const char *path, *body; /* the body ends with a NUL */
    size_t n;                /* bytes of the body */
};

struct http_reply {
    int status;
    char *text;       /* on the heap; the service takes it */
    const char *type; /* content type; NULL: JSON */
    const char *file; /* name under which a browser saves the text; or NULL */
};

/* A page, sent at once and without a token. */
struct http_page {
    const char *path, *type;
    const char *text;
    size_t n;
};

/* A resource that is sent at once; tell() is called by the library's thread. */
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
    const char *const *paths; /* paths for POST, ended by NULL */
    /* Called by the thread of http_serve(), within a work_limit. */
    void (*answer)(void *user, struct http_reply *reply, const struct http_request *request);
    /* Writes more lines of /metrics; called by the library's thread; or NULL. */
    void (*metrics)(void *user, FILE *f);
    const char *warning; /* logged when the service listens; or NULL */
};

struct http_settings {
    const char *address;    /* ADDRESS:PORT or [::1]:PORT; port 0: a free one, which is logged */
    const char *token_file; /* file whose first line is the token; or NULL */
    const char *origins;    /* of foreign web pages that may use the service (http_origin.h); or NULL */
    int64_t connections;    /* maximum number; HTTP_SPARE more may not wait; the slowest are closed for new ones */
    int64_t seconds;        /* silence after which a connection is closed */
    double whole_seconds;   /* maximum time for a head, for a body, and for reading a reply */
    double request_seconds; /* maximum work for a request (stop.h), which then gets status 503 */
};

/* Serves until a signal arrives and returns 1.  Waiting requests then get status 503, and the process ends within 4
 * seconds.  Returns -1 with EXIT_CODE_USAGE for an invalid address or origin or a public one without a token, and with
 * EXIT_CODE_DATA for an unreadable token.  The code is EXIT_CODE_FAILURE if it cannot listen or this build has no
 * libmicrohttpd. */
int http_serve(const struct http_settings *s, const struct http_service *service, struct error *err);

#endif
