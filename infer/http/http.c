#include "infer/http/http.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "infer/http/http_connections.h"
#include "infer/http/http_origin.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef AMBIT_MICROHTTPD
#include <microhttpd.h>

struct http_server {
    const struct http_settings *settings;
    const struct http_service *service;
    struct http_address address;
    char *token;       /* or NULL */
    char problem[256]; /* error of the library at the start */
    struct MHD_Daemon *daemon;
    struct http_clients clients;
    struct http_line line;
    struct http_counts counts;
    int64_t bodies; /* bytes of bodies without a reply; only the library's thread changes it */
};

static struct http_client *client_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Lets a page of a listed origin read the reply. */
static void add_origin(const struct http_server *s, struct MHD_Connection *c, struct MHD_Response *r)
{
    const char *origin = header(c, "Origin");

    if (!s->settings->origins)
        return;
    MHD_add_response_header(r, "Vary", "Origin");
    if (!origin || !http_origins_contain(s->settings->origins, origin))
        return;
    MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(r, "Access-Control-Expose-Headers", "Content-Disposition");
}

/* Answers the preflight request of a browser.  Browsers ask again after ten minutes. */
static void add_permission(struct MHD_Response *r)
{
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST");
    MHD_add_response_header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type");
    MHD_add_response_header(r, "Access-Control-Max-Age", "600");
}

/* Takes text if `owned`.  Returns NULL without memory. */
static struct MHD_Response *response(const char *type, const char *text, size_t n, bool owned)
{
    enum MHD_ResponseMemoryMode mode = owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY;
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, mode);

    if (!r)
        return NULL;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(
        r, "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    return r;
}

/* Queues a response, which may be NULL, and releases it. */
static enum MHD_Result send_response(struct http_server *s, struct MHD_Connection *c, int status,
                                     struct MHD_Response *r)
{
    if (!r)
        return MHD_NO;
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_NO_CONTENT)
        add_permission(r);
    add_origin(s, c, r);
    http_count(&s->counts, status);
    http_client_becomes(&s->clients, client_of(c), CLIENT_READS);
    enum MHD_Result rc = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

/* Takes text if `owned`. */
static enum MHD_Result reply(struct http_server *s, struct MHD_Connection *c, int status, const char *type,
                             const char *text, size_t n, bool owned)
{
    return send_response(s, c, status, response(type, text, n, owned));
}

/* Sends the answer to a request and takes its text. */
static enum MHD_Result reply_answer(struct http_server *s, struct http_job *j)
{
    const struct http_reply *a = &j->reply;
    struct MHD_Response *r = response(a->type ? a->type : "application/json", a->text, strlen(a->text), true);
    char place[128];

    j->reply.text = NULL;
    if (r && a->file) {
        snprintf(place, sizeof place, "attachment; filename=\"%s\"", a->file);
        MHD_add_response_header(r, "Content-Disposition", place);
    }
    return send_response(s, j->connection, a->status, r);
}

static enum MHD_Result refuse(struct http_server *s, struct MHD_Connection *c, int status, const char *why)
{
    char text[256];
    int n = snprintf(text, sizeof text, "{\"error\":{\"type\":\"http\",\"text\":\"%s\"}}\n", why);

    return reply(s, c, status, "application/json", text, (size_t)n, false);
}

/* Compares in constant time. */
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

static const struct http_told *find_told(const struct http_service *v, const char *url)
{
    for (int i = 0; i < v->n_told; i++)
        if (strcmp(v->told[i].path, url) == 0)
            return &v->told[i];
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

static enum MHD_Result reply_told(struct http_server *s, struct MHD_Connection *c, const struct http_told *told)
{
    struct http_reply r;

    told->tell(s->service->user, &r);
    return reply(s, c, r.status, "application/json", r.text, strlen(r.text), true);
}

static enum MHD_Result get(struct http_server *s, struct MHD_Connection *c, const char *url)
{
    const struct http_page *page = find_page(s->service, url);
    const struct http_told *told = find_told(s->service, url);

    if (page)
        return reply(s, c, MHD_HTTP_OK, page->type, page->text, page->n, false);
    if (!may_ask(s, c))
        return refuse(s, c, MHD_HTTP_UNAUTHORIZED, "expected Authorization: Bearer TOKEN");
    if (strcmp(url, "/metrics") == 0)
        return reply_metrics(s, c);
    if (told)
        return reply_told(s, c, told);
    bool posted = find_path(s->service, url);
    return refuse(s, c, posted ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND,
                  posted ? "expected POST" : "there is nothing here");
}

/* Status and text for a refused body; 0: accepted. */
static int refuse_post(const struct http_server *s, struct MHD_Connection *c, const char *url, const char **why)
{
    const char *type = header(c, "Content-Type"), *length = header(c, "Content-Length");

    if (!may_ask(s, c)) {
        *why = "expected Authorization: Bearer TOKEN";
        return MHD_HTTP_UNAUTHORIZED;
    }
    if (!find_path(s->service, url)) {
        bool got = find_page(s->service, url) || find_told(s->service, url) || strcmp(url, "/metrics") == 0;
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

/* Finds a header of the message's length or encoding that occurs more than once. */
struct framing {
    int hosts, origins, lengths, codings;
    bool chunked;
};

static enum MHD_Result see_header(void *to, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct framing *f = to;

    (void)kind;
    f->hosts += strcasecmp(key, "Host") == 0;
    f->origins += strcasecmp(key, "Origin") == 0;
    f->lengths += strcasecmp(key, "Content-Length") == 0;
    if (strcasecmp(key, "Transfer-Encoding") == 0) {
        f->codings++;
        f->chunked = value && strcasecmp(value, "chunked") == 0;
    }
    return MHD_YES;
}

/* Refuses duplicated headers, which a proxy may read in another way (RFC 9112, 6.3 and 11.2).  Returns NULL without
 * one. */
static const char *ambiguous(struct MHD_Connection *c)
{
    struct framing f = { 0 };

    MHD_get_connection_values(c, MHD_HEADER_KIND, see_header, &f);
    if (f.hosts > 1)
        return "expected one Host";
    if (f.origins > 1)
        return "expected one Origin";
    if (f.lengths + f.codings > 1)
        return "expected one Content-Length, or else one Transfer-Encoding";
    return f.codings && !f.chunked ? "expected Transfer-Encoding: chunked" : NULL;
}

/* Tells whether the request comes from a page of another origin that is not listed. */
static bool is_foreign(const struct http_server *s, struct MHD_Connection *c)
{
    const char *origin = header(c, "Origin");

    return origin && !http_origin_is_own(origin, header(c, "Host")) &&
           !http_origins_contain(s->settings->origins, origin);
}

/* Tells whether a browser asks if a page may send a request. */
static bool is_preflight(struct MHD_Connection *c, const char *method)
{
    return strcmp(method, "OPTIONS") == 0 && header(c, "Origin") && header(c, "Access-Control-Request-Method");
}

/* Handles the head of a request. */
static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *url, const char *method,
                             void **job)
{
    bool gets = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    const char *why = ambiguous(c), *length = header(c, "Content-Length");

    if (why)
        return refuse(s, c, MHD_HTTP_BAD_REQUEST, why);
    if (!s->token && !http_host_is_local(header(c, "Host")))
        return refuse(s, c, MHD_HTTP_FORBIDDEN, "expected Host to name this machine, since there is no token");
    if (is_foreign(s, c))
        return refuse(s, c, MHD_HTTP_FORBIDDEN, "expected Origin to be this service, or one of --allow-origin");
    if (is_preflight(c, method))
        return reply(s, c, MHD_HTTP_NO_CONTENT, "text/plain", "", 0, false);
    if (!gets && strcmp(method, "POST") != 0)
        return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, "expected GET or POST");
    int status = gets ? 0 : refuse_post(s, c, url, &why);
    if (status)
        return refuse(s, c, status, why);
    struct http_job *j = xcalloc(1, sizeof *j);
    *j = (struct http_job){ .connection = c,
                            .fd = client_of(c)->fd,
                            .gets = gets,
                            .path = gets ? NULL : find_path(s->service, url),
                            .length = length ? strtoull(length, NULL, 10) : HTTP_MAX_BODY };
    *job = j;
    http_client_becomes(&s->clients, client_of(c), CLIENT_BODY);
    return MHD_YES;
}

static void drop_body(struct http_server *s, struct http_job *j)
{
    free(j->body);
    s->bodies -= (int64_t)j->cap;
    j->body = NULL;
    j->n = j->cap = 0;
}

/* Makes room for n more bytes.  The announced length is an upper bound only. */
static int make_room(struct http_server *s, struct http_job *j, size_t n)
{
    size_t wanted = j->n + n + 1, most = (j->length < HTTP_MAX_BODY ? j->length : HTTP_MAX_BODY) + 1;

    if (n > HTTP_MAX_BODY - j->n)
        return 413;
    if (wanted <= j->cap)
        return 0;
    size_t cap = 2 * wanted < most ? 2 * wanted : most < wanted ? wanted : most;
    if (s->bodies - (int64_t)j->cap + (int64_t)cap > HTTP_MAX_BODIES)
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    char *body = realloc(j->body, cap);
    if (!body)
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    s->bodies += (int64_t)cap - (int64_t)j->cap;
    j->body = body;
    j->cap = cap;
    return 0;
}

/* Reads a refused body to its end, since the client reads the reply only then. */
static void take_body(struct http_server *s, struct http_job *j, const char *data, size_t n)
{
    if (j->gets || j->refused)
        return;
    j->refused = make_room(s, j, n);
    if (j->refused) {
        drop_body(s, j);
        return;
    }
    memcpy(j->body + j->n, data, n);
    j->n += n;
    j->body[j->n] = 0;
}

/* Wakes a connection with status 503 in place of an answer. */
static void http_turn_back(struct http_job *j, const char *kind, const char *why)
{
    char *text = NULL;

    CHECK(asprintf(&text, "{\"error\":{\"type\":\"%s\",\"text\":\"%s\"}}\n", kind, why) >= 0, "no memory for a reply");
    free(j->reply.text);
    j->reply = (struct http_reply){ .status = MHD_HTTP_SERVICE_UNAVAILABLE, .text = text };
    j->answered = true;
    MHD_resume_connection(j->connection);
}

/* Adds the request to the queue.  Returns false when it is full. */
static bool stands_in_line(struct http_server *s, struct http_job *j)
{
    return http_clients_waiting(&s->clients) <= s->clients.most - HTTP_SPARE && http_line_add(&s->line, j);
}

/* Suspends the connection until the request is answered. */
static void wait_for_answer(struct http_server *s, struct http_job *j)
{
    j->waits = true;
    j->start = now_seconds();
    http_client_becomes(&s->clients, client_of(j->connection), CLIENT_WAITS);
    MHD_suspend_connection(j->connection);
    if (!stands_in_line(s, j))
        http_turn_back(j, "http", stop_requested() ? "the service stops" : "too many requests wait");
}

/* Handles a complete request. */
static enum MHD_Result finish(struct http_server *s, struct http_job *j, const char *url)
{
    if (j->gets)
        return get(s, j->connection, url);
    if (j->answered)
        return reply_answer(s, j);
    if (j->refused)
        return refuse(s, j->connection, j->refused,
                      j->refused == 413 ? "expected a body of at most 4 MiB" : "no memory is left for this body");
    if (!j->waits)
        wait_for_answer(s, j);
    return MHD_YES;
}

/* Callbacks of the library, whose first argument is the server. */
static enum MHD_Result http_on_request(void *self, struct MHD_Connection *c, const char *url, const char *method,
                                       const char *version, const char *data, size_t *n, void **job)
{
    struct http_server *s = self;

    (void)version;
    if (!*job)
        return begin(s, c, url, method, job);
    if (!*n)
        return finish(s, *job, url);
    take_body(s, *job, data, *n);
    *n = 0;
    return MHD_YES;
}

static void http_on_completed(void *self, struct MHD_Connection *c, void **job, enum MHD_RequestTerminationCode why)
{
    struct http_server *s = self;
    struct http_job *j = *job;

    (void)why;
    http_client_becomes(&s->clients, client_of(c), CLIENT_HEAD);
    if (!j)
        return;
    drop_body(s, j);
    free(j->reply.text);
    free(j);
    *job = NULL;
}

static void http_on_connection(void *self, struct MHD_Connection *c, void **context,
                               enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = self;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *context =
            http_client_add(&s->clients, MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    else
        http_client_remove(&s->clients, *context);
    s->counts.connections += what == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1;
}

/* Seconds after a signal: for reading replies, and until the process ends. */
enum { HEADER_BYTES = 32 << 10, LAST_REPLIES = 2, LAST_SECONDS = 4 };

static void on_log(void *self, const char *fmt, va_list args)
{
    struct http_server *s = self;
    char text[512];

    vsnprintf(text, sizeof text, fmt, args);
    text[strcspn(text, "\n")] = 0;
    log_debug("http: %s", text);
    if (!s->daemon)
        snprintf(s->problem, sizeof s->problem, "%.200s", text);
}

/* Warns if other users can read the token. */
static void warn_of_readers(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && st.st_mode & (S_IRWXG | S_IRWXO))
        log_warn("%s: other users can read the token; forbid it by chmod 600 %s", path, path);
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
    warn_of_readers(path);
    return strlen(s->token) >= 16
               ? 0
               : error_set(err, EXIT_CODE_DATA, "%s: expected a token of at least 16 bytes in the first line", path);
}

/* Maximum number of connections by the limit of open files, which is raised if possible. */
static int most_connections(int64_t wanted)
{
    enum { OTHERS = 24 }; /* descriptors for other purposes */
    struct rlimit files;
    rlim_t needed = (rlim_t)wanted + OTHERS;

    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= needed)
        return (int)wanted;
    files.rlim_cur = needed < files.rlim_max ? needed : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= needed)
        return (int)wanted;
    int n = files.rlim_cur > OTHERS + HTTP_SPARE ? (int)(files.rlim_cur - OTHERS) : HTTP_SPARE + 1;
    log_warn("--connections %lld: the limit of open files leaves room for %d", (long long)wanted - HTTP_SPARE,
             n - HTTP_SPARE);
    return n;
}

/* Uses poll, since the library's epoll waits once more after 128 events before it handles them. */
static int start(struct http_server *s, struct error *err)
{
    const struct http_settings *set = s->settings;

    s->daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                                     MHD_USE_ERROR_LOG | (s->address.sock.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
                                 0, NULL, NULL, http_on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
                                 MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&s->address.sock, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)s->clients.most, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)set->seconds,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
                                 http_on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, s,
                                 MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    const char *why = strrchr(s->problem, ':'); /* the text before it names port 0 */
    if (!s->daemon)
        return error_set(err, EXIT_CODE_FAILURE, "--serve %s: cannot listen there%s", set->address, why ? why : "");
    http_clients_watch(&s->clients, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd);
    const union MHD_DaemonInfo *port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    log_info("listening on %.*s:%d", (int)(strrchr(set->address, ':') - set->address), set->address,
             port ? port->port : 0);
    if (s->service->warning)
        log_warn("%s", s->service->warning);
    return 0;
}

/* Tells whether the client has closed its end, or the half that it sends on. */
static bool has_gone(const struct http_job *j)
{
    struct pollfd p = { .fd = j->fd, .events = POLLRDHUP };
    return poll(&p, 1, 0) > 0;
}

static bool is_abandoned(void *job)
{
    return stop_requested() || has_gone(job);
}

/* Reason why the request has no answer, or NULL. */
static const char *unanswered(const struct http_job *j, double left, char late[128], double seconds)
{
    if (stop_requested())
        return "the service stops";
    if (has_gone(j))
        return "the client has gone";
    snprintf(late, 128, "the request was stopped: it took more than %g seconds (--request-seconds)", seconds);
    return left > 0 ? NULL : late;
}

static void answer(struct http_server *s, struct http_job *j)
{
    const struct http_request request = { j->path, j->body ? j->body : "", j->n };
    struct work_limit limit = { .seconds = s->settings->request_seconds, .abandoned = is_abandoned, .user = j };
    char late[128];

    work_limit_begin(&limit);
    if (!is_abandoned(j))
        s->service->answer(s->service->user, &j->reply, &request);
    const char *why = unanswered(j, work_limit_left(), late, limit.seconds);
    work_limit_end(&limit);
    http_count_seconds(&s->counts, now_seconds() - j->start);
    if (why) {
        http_turn_back(j, why == late ? "time" : "http", why);
        return;
    }
    j->answered = true;
    MHD_resume_connection(j->connection);
}

/* Refuses new connections, answers waiting requests with 503, and leaves time to read the replies. */
static void turn_away(struct http_server *s)
{
    double until = now_seconds() + LAST_REPLIES;
    struct http_job *j;

    http_line_close(&s->line);
    while ((j = http_line_take(&s->line)))
        http_turn_back(j, "http", "the service stops");
    close(MHD_quiesce_daemon(s->daemon));
    while (http_clients_owed(&s->clients) && now_seconds() < until)
        usleep(10000);
}

int http_serve(const struct http_settings *settings, const struct http_service *service, struct error *err)
{
    struct http_server *s = xcalloc(1, sizeof *s);

    s->settings = settings;
    s->service = service;
    http_line_init(&s->line);
    http_clients_init(&s->clients, most_connections(settings->connections + HTTP_SPARE), (double)settings->seconds,
                      settings->whole_seconds);
    stop_install_bounded(LAST_SECONDS);
    int rc = http_address_read(&s->address, settings->address, err) || http_origins_check(settings->origins, err) ||
                     read_token(s, err) || start(s, err)
                 ? -1
                 : 0;
    while (rc == 0 && !stop_requested()) {
        struct http_job *j = http_line_take(&s->line);
        if (j)
            answer(s, j);
    }
    if (s->daemon) {
        http_clients_leave(&s->clients);
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
