#include "infer/http/http.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "data/util/whole_file.h"
#include "infer/http/http_impl.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef AMBIT_MICROHTTPD

#include <microhttpd.h>

enum { HEADER_BYTES = 32 << 10 };

struct http_server {
    const struct http_settings *settings;
    const struct http_service *service;
    struct http_address address;
    char *token; /* NULL: none */
    struct MHD_Daemon *daemon;
    struct http_line line;
    struct http_counts counts;
};

/* Takes text where it is `owned`. */
static enum MHD_Result reply(struct http_server *s, struct MHD_Connection *c, int status, const char *type,
                             const char *text, size_t n, bool owned)
{
    enum MHD_ResponseMemoryMode mode = owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY;
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, mode);

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                            "connect-src 'self'; frame-ancestors 'none'");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    http_count(&s->counts, status);
    enum MHD_Result rc = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result refuse(struct http_server *s, struct MHD_Connection *c, int status, const char *why)
{
    char text[256];
    int n = snprintf(text, sizeof text, "{\"error\":{\"kind\":\"http\",\"text\":\"%s\"}}\n", why);

    return reply(s, c, status, "application/json", text, (size_t)n, false);
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* In a time that does not tell how much of it is right. */
static bool same_token(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned differ = n != m;

    for (size_t i = 0; i < n; i++)
        differ |= (unsigned)(unsigned char)a[i] ^ (unsigned char)b[m ? i % m : 0];
    return differ == 0;
}

static bool may_ask(const struct http_server *s, struct MHD_Connection *c)
{
    const char *said = header(c, "Authorization");

    if (!s->token)
        return true;
    return said && strncasecmp(said, "Bearer ", 7) == 0 && same_token(said + 7, s->token);
}

static const struct http_page *find_page(const struct http_service *v, const char *url)
{
    for (int i = 0; i < v->n_pages; i++)
        if (strcmp(v->pages[i].path, url) == 0)
            return &v->pages[i];
    return NULL;
}

static const char *find_path(const struct http_service *v, const char *url)
{
    for (int i = 0; v->paths[i]; i++)
        if (strcmp(v->paths[i], url) == 0)
            return v->paths[i];
    return NULL;
}

static enum MHD_Result reply_metrics(struct http_server *s, struct MHD_Connection *c)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    CHECK(f, "no memory for metrics");
    http_counts_print(f, &s->counts, http_line_length(&s->line));
    if (s->service->metrics)
        s->service->metrics(s->service->user, f);
    fclose(f);
    return reply(s, c, MHD_HTTP_OK, "text/plain; version=0.0.4", text, n, true);
}

static enum MHD_Result get(struct http_server *s, struct MHD_Connection *c, const char *url)
{
    const struct http_page *page = find_page(s->service, url);

    if (page)
        return reply(s, c, MHD_HTTP_OK, page->type, page->text, page->n, false);
    if (!may_ask(s, c))
        return refuse(s, c, MHD_HTTP_UNAUTHORIZED, "expected Authorization: Bearer TOKEN");
    if (strcmp(url, "/metrics") == 0)
        return reply_metrics(s, c);
    bool posted = find_path(s->service, url);
    return refuse(s, c, posted ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND,
                  posted ? "expected POST" : "there is nothing here");
}

/* Why the body of a POST is not read: a status and a text; 0: it is. */
static int refuse_post(const struct http_server *s, struct MHD_Connection *c, const char *url, const char **why)
{
    const char *type = header(c, "Content-Type"), *length = header(c, "Content-Length");

    if (!may_ask(s, c)) {
        *why = "expected Authorization: Bearer TOKEN";
        return MHD_HTTP_UNAUTHORIZED;
    }
    if (!find_path(s->service, url)) {
        bool got = find_page(s->service, url) || strcmp(url, "/metrics") == 0;
        *why = got ? "expected GET" : "there is nothing here";
        return got ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
    }
    if (!type || strncasecmp(type, "application/json", 16) != 0 || (type[16] && type[16] != ';')) {
        *why = "expected Content-Type: application/json";
        return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    }
    if (length && strtoull(length, NULL, 10) > HTTP_MAX_BODY) {
        *why = "expected a body of at most 4 MiB";
        return 413;
    }
    return 0;
}

/* The request's head has come. */
static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *url, const char *method,
                             void **job)
{
    const char *why;
    bool gets = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

    if (!s->token && !http_host_is_local(header(c, "Host")))
        return refuse(s, c, MHD_HTTP_FORBIDDEN, "expected Host to name this machine, since there is no token");
    if (gets)
        return get(s, c, url);
    if (strcmp(method, "POST") != 0)
        return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, "expected GET or POST");
    int status = refuse_post(s, c, url, &why);
    if (status)
        return refuse(s, c, status, why);
    struct http_job *j = xcalloc(1, sizeof *j);
    *j = (struct http_job){ .connection = c, .path = find_path(s->service, url) };
    *job = j;
    return MHD_YES;
}

static void take_body(struct http_job *j, const char *data, size_t n)
{
    j->too_large = j->too_large || n > HTTP_MAX_BODY - j->n;
    if (j->too_large)
        return;
    if (j->n + n + 1 > j->cap) {
        j->cap = 2 * (j->n + n + 1);
        j->body = xrealloc(j->body, j->cap);
    }
    memcpy(j->body + j->n, data, n);
    j->n += n;
    j->body[j->n] = 0;
}

/* Wakes a connection with an answer that took no work. */
static void turn_back(struct http_job *j, const char *why)
{
    char *text = NULL;

    CHECK(asprintf(&text, "{\"error\":{\"kind\":\"http\",\"text\":\"%s\"}}\n", why) >= 0, "no memory for a reply");
    j->reply = (struct http_reply){ MHD_HTTP_SERVICE_UNAVAILABLE, text };
    j->answered = true;
    MHD_resume_connection(j->connection);
}

/* The request is whole: it waits, asleep, until it is answered. */
static enum MHD_Result finish(struct http_server *s, struct http_job *j)
{
    if (j->answered) {
        char *text = j->reply.text;
        j->reply.text = NULL;
        return reply(s, j->connection, j->reply.status, "application/json", text, strlen(text), true);
    }
    if (j->too_large)
        return refuse(s, j->connection, 413, "expected a body of at most 4 MiB");
    if (j->waits)
        return MHD_YES;
    j->waits = true;
    j->start = now_seconds();
    MHD_suspend_connection(j->connection);
    if (!http_line_add(&s->line, j))
        turn_back(j, "too many requests wait");
    return MHD_YES;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *n, void **job)
{
    struct http_server *s = self;

    (void)version;
    if (!*job)
        return begin(s, c, url, method, job);
    if (!*n)
        return finish(s, *job);
    take_body(*job, data, *n);
    *n = 0;
    return MHD_YES;
}

static void on_completed(void *self, struct MHD_Connection *c, void **job, enum MHD_RequestTerminationCode why)
{
    struct http_job *j = *job;

    (void)self, (void)c, (void)why;
    if (!j)
        return;
    free(j->body);
    free(j->reply.text);
    free(j);
    *job = NULL;
}

static void on_connection(void *self, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = self;

    (void)c, (void)context;
    s->counts.connections += what == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1;
}

static void on_log(void *self, const char *fmt, va_list args)
{
    char text[512];

    (void)self;
    vsnprintf(text, sizeof text, fmt, args);
    text[strcspn(text, "\n")] = 0;
    log_debug("http: %s", text);
}

static int read_token(struct http_server *s, struct error *err)
{
    const char *path = s->settings->token_file;
    size_t n;

    if (!path)
        return s->address.local
                   ? 0
                   : error_set(err, EXIT_CODE_USAGE, "--serve %s: expected --token-file, or a local address",
                               s->settings->address);
    if (!(s->token = whole_file_read(path, HTTP_MAX_TOKEN, &n, err)))
        return -1;
    s->token[strcspn(s->token, "\r\n")] = 0;
    return strlen(s->token) >= 16
               ? 0
               : error_set(err, EXIT_CODE_DATA, "%s: expected a token of at least 16 bytes in the first line", path);
}

static int start(struct http_server *s, struct error *err)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (s->address.sock.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)&s->address.sock, MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->settings->connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->settings->seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADER_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        s, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_END);
    if (!s->daemon)
        return error_set(err, EXIT_CODE_FAILURE, "--serve %s: cannot listen there", s->settings->address);
    const union MHD_DaemonInfo *port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    log_info("listening on %.*s:%d", (int)(strrchr(s->settings->address, ':') - s->settings->address),
             s->settings->address, port ? port->port : 0);
    return 0;
}

static void answer(struct http_server *s, struct http_job *j)
{
    const struct http_request request = { j->path, j->body ? j->body : "", j->n };

    s->service->answer(s->service->user, &j->reply, &request);
    http_count_seconds(&s->counts, now_seconds() - j->start);
    j->answered = true;
    MHD_resume_connection(j->connection);
}

static void turn_away(struct http_server *s)
{
    struct http_job *j;

    http_line_close(&s->line);
    while ((j = http_line_take(&s->line)))
        turn_back(j, "the service stops");
}

int http_serve(const struct http_settings *settings, const struct http_service *service, struct error *err)
{
    struct http_server *s = xcalloc(1, sizeof *s);

    s->settings = settings;
    s->service = service;
    http_line_init(&s->line);
    stop_install_waiting();
    int rc = http_address_read(&s->address, settings->address, err) || read_token(s, err) || start(s, err) ? -1 : 0;
    while (rc == 0 && !stop_requested()) {
        struct http_job *j = http_line_take(&s->line);
        if (j)
            answer(s, j);
    }
    if (s->daemon) {
        turn_away(s);
        MHD_stop_daemon(s->daemon);
    }
    free(s->token);
    free(s);
    return rc ? rc : 1;
}

#else

int http_serve(const struct http_settings *settings, const struct http_service *service, struct error *err)
{
    (void)service;
    return error_set(err, EXIT_CODE_FAILURE, "--serve %s: this build has no libmicrohttpd", settings->address);
}

#endif
