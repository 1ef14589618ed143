#include "infer/http/http.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "data/util/whole_file.h"
#include "data/util/work_limit.h"
#include "infer/http/http_impl.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef AMBIT_MICROHTTPD

/* Seconds after a signal in which replies are read, and after which the process ends whatever it does. */
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

/* Whoever can read the token may ask. */
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

/* Connections that there are descriptors for; the limit of open files is raised where it may be. */
static int most_connections(int64_t wanted)
{
    enum { OTHERS = 24 }; /* descriptors that are no connections */
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

/* The library waits by poll: its epoll waits once more after every 128 events at once, before it answers them. */
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
    const char *why = strrchr(s->problem, ':'); /* before it the library speaks of port 0 */
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

/* A client that has closed its end, or only the half that it sends by, waits for no reply. */
static bool has_gone(const struct http_job *j)
{
    struct pollfd p = { .fd = j->fd, .events = POLLRDHUP };
    return poll(&p, 1, 0) > 0;
}

static bool is_abandoned(void *job)
{
    return stop_requested() || has_gone(job);
}

/* Why the request has no answer; NULL where it has one. */
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

/* Nobody new is let in; those who wait are told, and have a moment to read it. */
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
    int rc = http_address_read(&s->address, settings->address, err) || read_token(s, err) || start(s, err) ? -1 : 0;
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
