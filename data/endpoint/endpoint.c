#include "data/endpoint/endpoint.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "data/endpoint/answer_cache.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 6,              /* of one request */
    TIMEOUT_TRIES = 3,      /* of a request without a reply in its time */
    MAX_DEAD = 10,          /* requests without a reply one after the other, after which the run ends */
    MAX_KEY = 4096,         /* bytes of a key's file */
    CONNECT_SECONDS = 10,   /* for a connection */
    MAX_RETRY_AFTER = 120,  /* seconds that a server may ask for */
    MAX_RETRY_SECONDS = 30, /* between two tries otherwise */
    POLL_MS = 100           /* between two looks at signals and time limits */
};

/* A request with its reply.  The slot keeps the request while it waits for its next try. */
struct transfer {
    CURL *easy;
    char *body, *reply;
    size_t n, cap;
    int64_t prompt;     /* number in the list; -1: the list of models */
    int first, samples; /* first sample and number of samples */
    int tries;
    struct endpoint_dialect dialect; /* of the body */
    double due;                      /* time of the next try */
    enum { TRANSFER_FREE, TRANSFER_WAITING, TRANSFER_RUNNING } state;
};

struct endpoint {
    struct endpoint_settings set;
    char *url, *model, *key;
    struct curl_slist *headers;
    CURLM *multi;
    struct transfer *transfers; /* [set.concurrency] */
    struct answer_cache cache;
    struct endpoint_dialect dialect;
    bool single; /* the server gives one completion for a request, whatever "n" says */
    int dead;    /* requests that failed for good since the last reply */
    int64_t requests, repeated, cached, failed, answered;
    struct endpoint_usage usage;
    struct progress progress; /* over all calls */
    bool shown;               /* the progress has started */
    struct {
        int64_t requests, cached, bytes; /* prompts to send, prompts in the cache, bytes of the former */
    } estimate;
};

/* Samples of a prompt that wait for a free slot. */
struct sample_range {
    int64_t prompt;
    int first, samples;
};

/* One call of endpoint_ask. */
struct endpoint_run {
    struct endpoint *e;
    const struct endpoint_sampling *set;
    struct endpoint_prompt *list;
    int *open; /* [n] samples of each prompt that have not come */
    int64_t n, next, done;
    struct sample_range *ranges; /* a stack */
    int64_t n_ranges, cap_ranges;
    int rc;
    struct error *err;
};

bool endpoint_is_url(const char *text)
{
    return text && (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);
}

int endpoint_check(const struct endpoint_settings *s, struct error *err)
{
    const struct endpoint_settings usual = ENDPOINT_DEFAULTS("");

    if (s->url && !endpoint_is_url(s->url))
        return error_set(err, EXIT_CODE_USAGE, "--%s: expected an address such as http://localhost:8080/v1, got %s",
                         s->option, s->url);
    if (!s->url && (s->model || s->key_file || s->cache || s->concurrency != usual.concurrency ||
                    s->timeout < usual.timeout || s->timeout > usual.timeout))
        return error_set(err, EXIT_CODE_USAGE,
                         "--%s-model, --key-file, --cache, --concurrency and --timeout: expected --%s with the address "
                         "of a server",
                         s->option, s->option);
    return 0;
}

/* Replaces the key, which a server may repeat in its message. */
static void hide_key(const struct endpoint *e, char *text)
{
    size_t n = e->key ? strlen(e->key) : 0;

    for (char *at = text; n && (at = strstr(at, e->key)); at += n)
        memset(at, '*', n);
}

/* The address without a slash or a path of an interface at its end; "/v1" is added where there is no path. */
static char *address(const char *text, struct error *err)
{
    CURLU *u = curl_url();
    char *user = NULL, *path = NULL, *out = NULL, *query = NULL;
    static const char *const ends[] = { "/chat/completions", "/completions", "/models" };

    CHECK(u, "no memory for an address");
    if (!endpoint_is_url(text) || curl_url_set(u, CURLUPART_URL, text, 0)) {
        error_set(err, EXIT_CODE_USAGE, "%s: expected an address such as http://localhost:8080/v1", text);
    } else if (curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_OK ||
               curl_url_get(u, CURLUPART_QUERY, &query, 0) == CURLUE_OK) {
        error_set(err, EXIT_CODE_USAGE,
                  "the address of the server: expected neither user name nor query; --key-file takes the key");
    } else {
        curl_url_get(u, CURLUPART_PATH, &path, 0);
        out = xstrdup(text);
        for (int i = 0; i < ARRAY_LEN(ends); i++)
            if (text_ends_with(out, ends[i]))
                out[strlen(out) - strlen(ends[i])] = 0;
        while (text_ends_with(out, "/"))
            out[strlen(out) - 1] = 0;
        if (!path || strcmp(path, "/") == 0) {
            char *own = out;
            CHECK(asprintf(&out, "%s/v1", own) >= 0, "no memory for an address");
            free(own);
        }
    }
    curl_free(user);
    curl_free(path);
    curl_free(query);
    curl_url_cleanup(u);
    return out;
}

/* Reads the key from its file or from the environment. */
static int read_key(struct endpoint *e, struct error *err)
{
    const char *path = e->set.key_file, *set = getenv("AMBIT_LM_KEY");
    size_t n;

    if (path && !(e->key = whole_file_read(path, MAX_KEY, &n, err)))
        return -1;
    if (!path && set && *set)
        e->key = xstrdup(set);
    if (!e->key)
        return 0;
    e->key[strcspn(e->key, "\r\n")] = 0;
    for (const char *c = e->key; *c; c++)
        if (*c <= ' ' || *c > '~')
            return error_set(err, EXIT_CODE_DATA, "%s: expected a key of printable ASCII characters without blanks",
                             path ? path : "AMBIT_LM_KEY");
    return *e->key ? 0 : error_set(err, EXIT_CODE_DATA, "%s: expected a key in the first line", path);
}

static void make_headers(struct endpoint *e)
{
    char *line = NULL;

    e->headers = curl_slist_append(e->headers, "Content-Type: application/json");
    e->headers = curl_slist_append(e->headers, "Expect:");
    if (!e->key)
        return;
    CHECK(asprintf(&line, "Authorization: Bearer %s", e->key) >= 0, "no memory for a header");
    e->headers = curl_slist_append(e->headers, line);
    free(line);
}

/* A callback of libcurl. */
static size_t take_bytes(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *c = user;
    size_t n = size * count;

    if (c->n + n > ENDPOINT_MAX_REPLY)
        return 0;
    if (c->n + n > c->cap) {
        c->cap = 2 * (c->n + n);
        c->reply = xrealloc(c->reply, c->cap);
    }
    if (n)
        memcpy(c->reply + c->n, bytes, n);
    c->n += n;
    return n;
}

/* Starts a try of a request. */
static void send_transfer(struct endpoint *e, struct transfer *c, bool chat)
{
    char *url = NULL;

    CHECK(asprintf(&url, "%s/%s", e->url,
                   !c->body ? "models"
                   : chat   ? "chat/completions"
                            : "completions") >= 0,
          "no memory for an address");
    if (!c->easy) {
        c->easy = curl_easy_init();
        CHECK(c->easy, "no memory for a request");
    }
    curl_easy_reset(c->easy);
    curl_easy_setopt(c->easy, CURLOPT_URL, url);
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, e->headers);
    curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "ambit");
    curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)(e->set.timeout * 1000));
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
    if (c->body) {
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body);
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(c->body));
    }
    free(url);
    c->n = 0;
    c->tries++;
    e->requests++;
    c->state = TRANSFER_RUNNING;
    CHECK(curl_multi_add_handle(e->multi, c->easy) == CURLM_OK, "a request cannot be added");
}

/* The result of a try. */
struct transfer_end {
    CURLcode code;
    long status;
    double wait; /* seconds that the server asks for; 0: none */
};

static struct transfer_end end_transfer(struct endpoint *e, struct transfer *c, CURLcode code)
{
    struct transfer_end o = { .code = code };
    curl_off_t wait = 0;

    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &o.status);
    curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &wait);
    o.wait = wait > MAX_RETRY_AFTER ? MAX_RETRY_AFTER : (double)wait;
    curl_multi_remove_handle(e->multi, c->easy);
    return o;
}

static bool is_success(const struct transfer_end *o)
{
    return o->code == CURLE_OK && o->status >= 200 && o->status < 300;
}

/* Whether another try may help: no connection, a cut one, too many requests, or an error of the server. */
static bool may_repeat(const struct transfer_end *o)
{
    if (o->code != CURLE_OK)
        return o->code != CURLE_WRITE_ERROR && o->code != CURLE_PEER_FAILED_VERIFICATION &&
               o->code != CURLE_UNSUPPORTED_PROTOCOL && o->code != CURLE_URL_MALFORMAT;
    return o->status == 408 || o->status == 425 || o->status == 429 || o->status >= 500;
}

/* Number of tries after such a failure. */
static int tries_of(const struct transfer_end *o)
{
    return o->code == CURLE_OPERATION_TIMEDOUT ? TIMEOUT_TRIES : TRIES;
}

/* Whether the server cannot be reached at all. */
static bool is_gone(const struct transfer_end *o)
{
    return o->code == CURLE_COULDNT_CONNECT || o->code == CURLE_COULDNT_RESOLVE_HOST ||
           o->code == CURLE_PEER_FAILED_VERIFICATION;
}

/* Whether all other requests would fail in the same way. */
static bool is_refused(const struct transfer_end *o)
{
    return o->code == CURLE_OK && (o->status == 401 || o->status == 403 || o->status == 404 || o->status == 405);
}

/* Sets the error of a failed try, without the key. */
static void tell_failure(const struct endpoint *e, const struct transfer *c, const struct transfer_end *o,
                         struct error *err)
{
    char message[ENDPOINT_MAX_MESSAGE], tries[32] = "";

    endpoint_message(message, c->reply ? c->reply : "", c->n);
    hide_key(e, message);
    if (c->tries > 1)
        snprintf(tries, sizeof tries, " (after %d tries)", c->tries);
    if (o->code == CURLE_WRITE_ERROR)
        error_set(err, EXIT_CODE_FAILURE, "%s: expected a reply of at most %d MiB, got more", e->url,
                  ENDPOINT_MAX_REPLY >> 20);
    else if (o->code == CURLE_OPERATION_TIMEDOUT)
        error_set(err, EXIT_CODE_FAILURE, "%s: no reply within --timeout %g s%s", e->url, e->set.timeout, tries);
    else if (o->code == CURLE_COULDNT_CONNECT || o->code == CURLE_COULDNT_RESOLVE_HOST)
        error_set(err, EXIT_CODE_FAILURE, "%s: %s%s; is the server running?", e->url, curl_easy_strerror(o->code),
                  tries);
    else if (o->code != CURLE_OK)
        error_set(err, EXIT_CODE_FAILURE, "%s: %s%s", e->url, curl_easy_strerror(o->code), tries);
    else
        error_set(err, EXIT_CODE_FAILURE, "%s: the server answered %ld%s%s%s%s", e->url, o->status, tries,
                  *message ? ": " : "", message,
                  o->status == 401 || o->status == 403 ? "; --key-file or AMBIT_LM_KEY have the key" : "");
}

/* Seconds before the next try, with a share that differs between slots. */
static double wait_before(const struct endpoint *e, const struct transfer *c, const struct transfer_end *o)
{
    double wait = fmin(e->set.wait * (double)(1 << (c->tries - 1)), MAX_RETRY_SECONDS);
    double spread = (double)((c - e->transfers) % 16) / 64;

    return fmax(wait * (1 + spread), o->wait);
}

/* Lets a slot wait for its next try. */
static void repeat_transfer(struct endpoint *e, struct transfer *c, double wait)
{
    c->state = TRANSFER_WAITING;
    c->due = now_seconds() + wait;
    e->repeated++;
}

static void free_transfer(struct transfer *c)
{
    free(c->body);
    c->body = NULL;
    c->state = TRANSFER_FREE;
}

/* Waits for a moment for replies. */
static void poll_endpoint(struct endpoint *e, double until)
{
    double left = (until - now_seconds()) * 1000;
    int running;

    curl_multi_poll(e->multi, NULL, 0, left < 1 ? 1 : left < POLL_MS ? (int)left : POLL_MS, NULL);
    curl_multi_perform(e->multi, &running);
}

/* The next finished call with its outcome, or NULL. */
static struct transfer *next_ended(struct endpoint *e, struct transfer_end *o)
{
    struct transfer *c = NULL;
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(e->multi, &left)) && m->msg != CURLMSG_DONE)
        continue;
    if (!m)
        return NULL;
    CURLcode code = m->data.result;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
    *o = end_transfer(e, c, code);
    return c;
}

static bool must_stop(void)
{
    return stop_requested() || work_limit_ended();
}

/* Gets the list of models.  Returns 0 with its reply in the first slot, 1 if the server has no such list, or -1. */
static int get_models(struct endpoint *e, struct error *err)
{
    struct transfer *c = &e->transfers[0];
    struct transfer_end o = { 0 };

    c->tries = 0;
    while (c->tries < TRIES && !must_stop()) {
        send_transfer(e, c, false);
        while (!next_ended(e, &o))
            poll_endpoint(e, INFINITY);
        c->state = TRANSFER_FREE;
        if (o.code == CURLE_COULDNT_CONNECT || !may_repeat(&o))
            break;
        for (double until = now_seconds() + wait_before(e, c, &o); now_seconds() < until && !must_stop();)
            poll_endpoint(e, until);
    }
    if (is_success(&o))
        return 0;
    bool absent = o.code == CURLE_OK && (o.status == 404 || o.status == 405 || o.status == 501);
    if (must_stop())
        return error_set(err, stop_exit_code() ? stop_exit_code() : EXIT_CODE_FAILURE, "%s: interrupted", e->url);
    if (!absent)
        tell_failure(e, c, &o, err);
    return absent ? 1 : -1;
}

/* Lists the names of models for a message. */
static void list_names(char *text, size_t size, const json_t *data)
{
    size_t n = 0;

    *text = 0;
    for (size_t i = 0; i < json_array_size(data) && i < 20 && n < size - 1; i++) {
        const char *id = json_string_value(json_object_get(json_array_get(data, i), "id"));
        int added = snprintf(text + n, size - n, "%s%.60s", i ? ", " : "", id ? id : "?");
        n += (size_t)added < size - n ? (size_t)added : size - n - 1;
    }
}

/* Chooses the only model of the list. */
static int choose_model(struct endpoint *e, const json_t *data, struct error *err)
{
    const char *id = json_string_value(json_object_get(json_array_get(data, 0), "id"));
    char names[512];

    if (json_array_size(data) == 1 && id) {
        e->model = xstrdup(id);
        return 0;
    }
    list_names(names, sizeof names, data);
    return error_set(err, EXIT_CODE_USAGE, "%s: the server lists %zu models%s%s; name one by --%s-model", e->url,
                     json_array_size(data), *names ? ": " : "", names, e->set.option);
}

/* Asks for the models, which also shows whether the server can be reached with this key. */
static int find_model(struct endpoint *e, struct error *err)
{
    int rc = get_models(e, err);

    if (rc < 0)
        return -1;
    if (e->set.model) {
        e->model = xstrdup(e->set.model);
        return 0;
    }
    json_t *o =
        rc == 0 ? json_loadb(e->transfers[0].reply ? e->transfers[0].reply : "", e->transfers[0].n, 0, NULL) : NULL;
    rc = choose_model(e, json_object_get(o, "data"), err);
    json_decref(o);
    return rc;
}

struct endpoint *endpoint_open(const struct endpoint_settings *s, struct error *err)
{
    struct endpoint *e = xcalloc(1, sizeof *e);

    e->set = *s;
    e->cache.fd = -1;
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl cannot be initialised");
    e->transfers = xcalloc((size_t)s->concurrency, sizeof *e->transfers);
    e->multi = curl_multi_init();
    CHECK(e->multi, "no memory for requests");
    curl_multi_setopt(e->multi, CURLMOPT_MAXCONNECTS, (long)s->concurrency);
    if (!(e->url = address(s->url, err)) || read_key(e, err) || answer_cache_open(&e->cache, s->cache, err)) {
        endpoint_close(e);
        return NULL;
    }
    make_headers(e);
    if (find_model(e, err)) {
        endpoint_close(e);
        return NULL;
    }
    e->requests = e->repeated = 0;
    return e;
}

void endpoint_close(struct endpoint *e)
{
    if (!e)
        return;
    for (int64_t i = 0; i < e->set.concurrency; i++) {
        if (e->transfers[i].easy)
            curl_easy_cleanup(e->transfers[i].easy);
        free(e->transfers[i].body);
        free(e->transfers[i].reply);
    }
    curl_multi_cleanup(e->multi);
    curl_slist_free_all(e->headers);
    answer_cache_close(&e->cache);
    if (e->key)
        explicit_bzero(e->key, strlen(e->key));
    free(e->key);
    free(e->model);
    free(e->url);
    free(e->transfers);
    free(e);
    curl_global_cleanup();
}

void endpoint_log(struct endpoint *e)
{
    if (e->shown)
        progress_end(&e->progress);
    e->shown = false;
    if (e->estimate.requests + e->estimate.cached)
        log_info("%lld requests of %lld bytes would be sent, %lld completions are in the cache",
                 (long long)e->estimate.requests, (long long)e->estimate.bytes, (long long)e->estimate.cached);
    if (e->requests + e->cached)
        log_info("%s: %lld requests, %lld of them repeated, %lld prompts without completion, %lld from the cache; %lld "
                 "tokens of prompts, %lld of completions",
                 e->url, (long long)e->requests, (long long)e->repeated, (long long)e->failed, (long long)e->cached,
                 (long long)e->usage.prompt, (long long)e->usage.completion);
}

uint64_t endpoint_key(const struct endpoint *e)
{
    return hash_text(hash_text(HASH_START, e->url), e->model);
}

static void release_texts(struct endpoint_prompt *p)
{
    for (int i = 0; i < p->n; i++)
        endpoint_text_release(&p->texts[i]);
    free(p->texts);
    p->texts = NULL;
    p->n = 0;
}

void endpoint_prompt_release(struct endpoint_prompt *p)
{
    release_texts(p);
    free(p->error);
    p->error = NULL;
}

/* Body of a request for samples of a prompt. */
static json_t *request_of(const struct endpoint *e, const struct endpoint_sampling *s, const struct endpoint_prompt *p,
                          const struct endpoint_dialect *d, int first, int samples)
{
    struct endpoint_sampling own = *s;

    own.seed += p->seed;
    return endpoint_request(p->record, e->model, &own, d, first, samples);
}

/* Key of all samples of a prompt.  It does not depend on the dialect, which a later run learns again. */
static void key_of(char *key, const struct endpoint *e, const struct endpoint_sampling *s,
                   const struct endpoint_prompt *p)
{
    const struct endpoint_dialect usual = { 0 };
    json_t *request = request_of(e, s, p, &usual, 0, s->samples);

    answer_cache_key(key, e->url, request);
    json_decref(request);
}

static void fail_prompt(struct endpoint_run *r, int64_t i, const char *why)
{
    struct endpoint_prompt *p = &r->list[i];

    if (!p->error)
        p->error = xstrdup(why);
}

/* Ends the run. */
static void fail_run(struct endpoint_run *r, const struct error *why)
{
    if (r->rc == 0)
        *r->err = *why;
    r->rc = -1;
}

/* Counts samples as received or failed; keeps the texts of a prompt without open ones. */
static void close_samples(struct endpoint_run *r, int64_t i, int samples)
{
    struct endpoint_prompt *p = &r->list[i];
    char key[ANSWER_KEY];
    struct error why;

    if (r->open[i] -= samples)
        return;
    r->done++;
    r->e->failed += p->error != NULL;
    if (p->error) {
        release_texts(p);
        return;
    }
    key_of(key, r->e, r->set, p);
    if (answer_cache_add(&r->e->cache, key, p->texts, r->set->samples, &why))
        fail_run(r, &why);
}

static void push_range(struct endpoint_run *r, int64_t prompt, int first, int samples)
{
    GROW(r->ranges, r->n_ranges, r->cap_ranges);
    r->ranges[r->n_ranges++] = (struct sample_range){ prompt, first, samples };
}

/* Puts the samples of the next prompt that is not in the cache on the stack.  Returns false after the last prompt. */
static bool next_prompt(struct endpoint_run *r)
{
    while (r->next < r->n) {
        int64_t i = r->next++;
        struct endpoint_prompt *p = &r->list[i];
        char key[ANSWER_KEY];
        p->texts = xcalloc((size_t)r->set->samples, sizeof *p->texts);
        p->n = r->set->samples;
        key_of(key, r->e, r->set, p);
        if (answer_cache_find(&r->e->cache, key, p->texts, r->set->samples)) {
            r->e->cached++;
            r->done++;
            continue;
        }
        r->open[i] = r->set->samples;
        for (int k = r->set->samples; r->e->single && k-- > 0;)
            push_range(r, i, k, 1);
        if (!r->e->single)
            push_range(r, i, 0, r->set->samples);
        return true;
    }
    return false;
}

static void make_body(struct endpoint_run *r, struct transfer *c)
{
    json_t *o = request_of(r->e, r->set, &r->list[c->prompt], &r->e->dialect, c->first, c->samples);

    free(c->body);
    c->dialect = r->e->dialect;
    c->body = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
    CHECK(c->body, "a prompt cannot be written as JSON");
    json_decref(o);
}

/* Starts tries that are due, and new requests in free slots. */
static void start_transfers(struct endpoint_run *r)
{
    struct endpoint *e = r->e;

    for (int64_t i = 0; i < e->set.concurrency; i++) {
        struct transfer *c = &e->transfers[i];
        if (c->state == TRANSFER_FREE && (r->n_ranges || next_prompt(r))) {
            const struct sample_range s = r->ranges[--r->n_ranges];
            c->prompt = s.prompt;
            c->first = s.first;
            c->samples = s.samples;
            c->tries = 0;
            c->due = 0;
            c->state = TRANSFER_WAITING;
            make_body(r, c);
        }
        if (c->state == TRANSFER_WAITING && c->due <= now_seconds())
            send_transfer(e, c, endpoint_is_chat(r->list[c->prompt].record));
    }
}

/* Learns from a refusal.  Returns whether the request may succeed in another form. */
static bool adapt(struct endpoint_run *r, const struct transfer *c)
{
    struct endpoint_dialect *d = &r->e->dialect;
    char message[ENDPOINT_MAX_MESSAGE];

    endpoint_message(message, c->reply ? c->reply : "", c->n);
    bool tokens = strstr(message, "max_completion_tokens"),
         logs = strstr(message, "logprob") || strstr(message, "logits");
    if (logs && r->set->logprobs && !d->no_logprobs)
        log_info("%s: the server gives no log-probabilities", r->e->url);
    d->max_completion_tokens |= tokens;
    d->no_logprobs |= logs && r->set->logprobs;
    return (tokens && !c->dialect.max_completion_tokens) || (logs && d->no_logprobs && !c->dialect.no_logprobs);
}

/* Ends a request that failed for good.  fatal: the run ends too. */
static void give_up(struct endpoint_run *r, struct transfer *c, const struct error *why, bool fatal)
{
    if (fatal)
        fail_run(r, why);
    fail_prompt(r, c->prompt, why->text);
    close_samples(r, c->prompt, c->samples);
    free_transfer(c);
}

/* Takes the texts of a reply.  Missing ones are asked for one by one. */
static void take_reply(struct endpoint_run *r, struct transfer *c, const struct transfer_end *o)
{
    struct endpoint *e = r->e;
    struct endpoint_text *texts = r->list[c->prompt].texts + c->first;
    struct endpoint_usage used = { 0 };
    struct error why, where = { 0 };
    int n = endpoint_reply(texts, c->samples, &used, c->reply ? c->reply : "", c->n, &why);

    if (n < 0 && c->tries < TRIES) {
        repeat_transfer(e, c, wait_before(e, c, o));
        return;
    }
    e->dead = 0;
    e->usage.prompt += used.prompt;
    e->usage.completion += used.completion;
    if (n < 0) {
        error_set(&where, EXIT_CODE_DATA, "%s: the reply cannot be read: %s (after %d tries)", e->url, why.text,
                  c->tries);
        give_up(r, c, &where, false);
        return;
    }
    e->single |= n < c->samples;
    for (int i = 0; i < c->samples; i++)
        if (!texts[i].text)
            push_range(r, c->prompt, c->first + i, 1);
    close_samples(r, c->prompt, n);
    free_transfer(c);
}

static void take_outcome(struct endpoint_run *r, struct transfer *c, const struct transfer_end *o)
{
    struct error why = { 0 };

    if (is_success(o)) {
        take_reply(r, c, o);
    } else if (o->code == CURLE_OK && o->status >= 400 && adapt(r, c)) {
        make_body(r, c);
        repeat_transfer(r->e, c, 0);
    } else if (may_repeat(o) && c->tries < tries_of(o)) {
        repeat_transfer(r->e, c, wait_before(r->e, c, o));
    } else {
        tell_failure(r->e, c, o, &why);
        r->e->dead = may_repeat(o) ? r->e->dead + 1 : 0;
        give_up(r, c, &why, is_refused(o) || is_gone(o) || r->e->dead >= MAX_DEAD);
    }
}

/* The time of the next try of a waiting slot; INFINITY: none waits. */
static double next_due(const struct endpoint *e)
{
    double due = INFINITY;

    for (int64_t i = 0; i < e->set.concurrency; i++)
        if (e->transfers[i].state == TRANSFER_WAITING)
            due = fmin(due, e->transfers[i].due);
    return due;
}

/* Abandons all requests. */
static void drop_transfers(struct endpoint *e)
{
    for (int64_t i = 0; i < e->set.concurrency; i++) {
        struct transfer *c = &e->transfers[i];
        if (c->state == TRANSFER_RUNNING)
            curl_multi_remove_handle(e->multi, c->easy);
        free_transfer(c);
    }
}

static void show_progress(struct endpoint_run *r)
{
    struct endpoint *e = r->e;

    if (!e->shown)
        progress_start(&e->progress, "asking", "tokens", 0);
    e->shown = true;
    progress_update(&e->progress, e->answered + r->done, (double)e->usage.completion, NULL);
}

static void run_all(struct endpoint_run *r, bool quiet)
{
    struct transfer_end o;
    struct transfer *c;

    start_transfers(r);
    while (r->done < r->n && r->rc == 0) {
        if (must_stop()) {
            r->rc = 1;
            break;
        }
        poll_endpoint(r->e, next_due(r->e));
        while (r->rc == 0 && (c = next_ended(r->e, &o)))
            take_outcome(r, c, &o);
        if (r->rc == 0)
            start_transfers(r);
        if (!quiet)
            show_progress(r);
    }
    drop_transfers(r->e);
}

int endpoint_ask(struct endpoint *e, const struct endpoint_sampling *s, struct endpoint_prompt *list, int64_t n,
                 bool quiet, struct error *err)
{
    struct endpoint_run r = { .e = e, .set = s, .list = list, .n = n, .err = err };

    CHECK(s->samples > 0 && s->samples <= ENDPOINT_MAX_SAMPLES, "%d samples", s->samples);
    r.open = xcalloc((size_t)n + 1, sizeof *r.open);
    run_all(&r, quiet);
    e->answered += r.done;
    for (int64_t i = 0; i < n && r.rc; i++)
        release_texts(&list[i]);
    free(r.open);
    free(r.ranges);
    return r.rc;
}

void endpoint_estimate(struct endpoint *e, const struct endpoint_sampling *s, const struct endpoint_prompt *p)
{
    json_t *o = request_of(e, s, p, &e->dialect, 0, s->samples);
    char key[ANSWER_KEY];

    key_of(key, e, s, p);
    if (answer_cache_has(&e->cache, key)) {
        e->estimate.cached++;
    } else {
        e->estimate.requests++;
        e->estimate.bytes += (int64_t)json_dumpb(o, NULL, 0, JSON_COMPACT);
    }
    json_decref(o);
}
