/*
 * lm_server - a language-model server for tests: OpenAI's chat/completions and completions, with faults on demand.
 *
 * usage: lm_server PORT_FILE [NAME=VALUE]...
 *   answers=FILE   lines {"match": TEXT, "texts": [TEXT, ...]}; the first line whose text is in the prompt answers, and
 *                  sample k of a prompt has text k modulo their number.  Other prompts are answered "SELECT 1".
 *   every=N        every N-th request gets a fault; 0: none
 *   fault=KIND     429, 500, 400, cut, nonsense, empty, slow or all, which takes the kinds 429 to slow in turn
 *   first=N        the first N requests get the fault, whatever their number
 *   delay=MS       wait before each reply
 *   key=TEXT       refuse requests without this key, and repeat the key in the refusal
 *   models=N       number of models in the list
 *   logprobs=0     refuse "logprobs"; else each token of a text, a word, has the logarithm of 1/2
 *   single=1       give one completion for each request
 *   tokens=new     refuse "max_tokens"
 *
 * The port is written to PORT_FILE.  GET /count replies with the number of requests for completions so far.
 */
#include <jansson.h>
#include <math.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    long every, first, delay, models, logprobs, single;
    const char *fault, *key, *tokens, *answers;
    json_t *lines;
    _Atomic long count;
} server = { .models = 1, .logprobs = 1, .fault = "500" };

struct upload {
    char *text;
    size_t n;
};

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, json_t *o, const char *raw)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : strdup(raw);
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);

    MHD_add_response_header(r, "Content-Type", "application/json");
    if (status == 429)
        MHD_add_response_header(r, "Retry-After", "0");
    enum MHD_Result rc = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    json_decref(o);
    return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *message)
{
    return reply(c, status, json_pack("{s:{s:s}}", "error", "message", message), NULL);
}

/* Sends the start of a reply and closes the connection. */
static ssize_t send_half(void *user, uint64_t at, char *buffer, size_t size)
{
    static const char half[] = "{\"choices\":[{\"mess";

    (void)user;
    if (at || size < sizeof half)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    memcpy(buffer, half, sizeof half - 1);
    return (ssize_t)sizeof half - 1;
}

static enum MHD_Result cut(struct MHD_Connection *c)
{
    struct MHD_Response *r = MHD_create_response_from_callback(1000, 512, send_half, NULL, NULL);
    enum MHD_Result rc = MHD_queue_response(c, 200, r);

    MHD_destroy_response(r);
    return rc;
}

static const char *fault_of(long number)
{
    static const char *const kinds[] = { "429", "500", "cut", "nonsense", "empty", "slow" };
    bool due = number <= server.first || (server.every && number % server.every == 0);

    if (!due)
        return "";
    return strcmp(server.fault, "all") == 0 ? kinds[(server.every ? number / server.every : number) % 6] : server.fault;
}

static const char *prompt_of(const json_t *request)
{
    const json_t *messages = json_object_get(request, "messages");
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const char *text =
        json_string_value(messages ? json_object_get(last, "content") : json_object_get(request, "prompt"));
    return text ? text : "";
}

/* Text of sample k. */
static const char *answer_to(const json_t *request, long k)
{
    const char *prompt = prompt_of(request);

    for (size_t i = 0; i < json_array_size(server.lines); i++) {
        const json_t *line = json_array_get(server.lines, i), *texts = json_object_get(line, "texts");
        if (strstr(prompt, json_string_value(json_object_get(line, "match"))))
            return json_string_value(json_array_get(texts, (size_t)k % json_array_size(texts)));
    }
    return "SELECT 1";
}

/* Log-probabilities of a text, a token for each word with the blanks before it. */
static json_t *logprobs_of(const char *text)
{
    json_t *list = json_array();

    while (*text) {
        size_t n = strspn(text, " "), end = n + strcspn(text + n, " ");
        json_array_append_new(list, json_pack("{s:s%, s:f}", "token", text, end, "logprob", log(0.5)));
        text += end;
    }
    return json_pack("{s:o}", "content", list);
}

static json_t *completions(const json_t *request, bool chat)
{
    json_t *choices = json_array();
    long n = server.single ? 1 : (long)json_integer_value(json_object_get(request, "n"));
    long seed = (long)json_integer_value(json_object_get(request, "seed")), words = 0;

    for (long k = 0; k < (n > 0 ? n : 1); k++) {
        const char *text = answer_to(request, seed + k);
        json_t *o = chat ? json_pack("{s:i, s:{s:s, s:s}, s:s}", "index", (int)k, "message", "role", "assistant",
                                     "content", text, "finish_reason", "stop")
                         : json_pack("{s:i, s:s, s:s}", "index", (int)k, "text", text, "finish_reason", "stop");
        json_t *logs = logprobs_of(text);
        words += (long)json_array_size(json_object_get(logs, "content"));
        if (json_object_get(request, "logprobs"))
            json_object_set(o, "logprobs", logs);
        json_decref(logs);
        json_array_append_new(choices, o);
    }
    return json_pack("{s:s, s:o, s:{s:i, s:i}}", "object", "chat.completion", "choices", choices, "usage",
                     "prompt_tokens", 10, "completion_tokens", (int)words);
}

static enum MHD_Result complete(struct MHD_Connection *c, const char *body, size_t n, bool chat)
{
    const char *fault = fault_of(++server.count);
    json_t *request = json_loadb(body, n, 0, NULL);
    enum MHD_Result rc;

    usleep((useconds_t)(server.delay + (strcmp(fault, "slow") == 0 ? 2000 : 0)) * 1000);
    if (strcmp(fault, "cut") == 0)
        rc = cut(c);
    else if (strcmp(fault, "nonsense") == 0)
        rc = reply(c, 200, NULL, "<html>\nnot JSON");
    else if (strcmp(fault, "empty") == 0)
        rc = reply(c, 200, NULL, "{\"choices\":[]}");
    else if (*fault && strcmp(fault, "slow") != 0)
        rc = refuse(c, (unsigned)strtoul(fault, NULL, 10), "the server has a fault");
    else if (!request)
        rc = refuse(c, 400, "the body is not JSON");
    else if (!server.logprobs && json_object_get(request, "logprobs"))
        rc = refuse(c, 400, "logprobs is not supported");
    else if (server.tokens && json_object_get(request, "max_tokens"))
        rc = refuse(c, 400, "use 'max_completion_tokens' in place of 'max_tokens'");
    else
        rc = reply(c, 200, completions(request, chat), NULL);
    json_decref(request);
    return rc;
}

static enum MHD_Result list_models(struct MHD_Connection *c)
{
    json_t *list = json_array();
    char name[32];

    for (long i = 0; i < server.models; i++) {
        snprintf(name, sizeof name, "tiny-%ld", i);
        json_array_append_new(list, json_pack("{s:s}", "id", name));
    }
    return reply(c, 200, json_pack("{s:o}", "data", list), NULL);
}

static enum MHD_Result count(struct MHD_Connection *c)
{
    char text[32];

    snprintf(text, sizeof text, "%ld\n", server.count);
    return reply(c, 200, NULL, text);
}

static bool has_key(struct MHD_Connection *c)
{
    const char *sent = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    return !server.key || (sent && strncmp(sent, "Bearer ", 7) == 0 && strcmp(sent + 7, server.key) == 0);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *bytes, size_t *n, void **state)
{
    struct upload *u = *state;

    (void)user, (void)version, (void)method;
    if (!u) {
        *state = calloc(1, sizeof *u);
        return MHD_YES;
    }
    if (*n) {
        u->text = realloc(u->text, u->n + *n);
        memcpy(u->text + u->n, bytes, *n);
        u->n += *n;
        *n = 0;
        return MHD_YES;
    }
    if (strcmp(url, "/count") == 0)
        return count(c);
    if (!has_key(c)) {
        char message[200];
        snprintf(message, sizeof message, "wrong key, expected %s", server.key);
        return refuse(c, 401, message);
    }
    if (strcmp(url, "/v1/models") == 0)
        return list_models(c);
    if (strcmp(url, "/v1/chat/completions") == 0 || strcmp(url, "/v1/completions") == 0)
        return complete(c, u->text ? u->text : "", u->n, strstr(url, "chat") != NULL);
    return refuse(c, 404, "no such path");
}

static void forget(void *user, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    struct upload *u = *state;

    (void)user, (void)c, (void)code;
    if (u)
        free(u->text);
    free(u);
}

static void read_answers(const char *path)
{
    FILE *f = fopen(path, "r");
    json_t *line;

    server.lines = json_array();
    while (f && (line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)))
        json_array_append_new(server.lines, line);
    if (f)
        fclose(f);
}

static void set(const char *name, const char *value)
{
    static const struct {
        const char *name;
        long *number;
        const char **text;
    } fields[] = {
        { "every", &server.every, NULL },       { "first", &server.first, NULL },   { "delay", &server.delay, NULL },
        { "models", &server.models, NULL },     { "single", &server.single, NULL }, { "fault", NULL, &server.fault },
        { "logprobs", &server.logprobs, NULL }, { "key", NULL, &server.key },       { "tokens", NULL, &server.tokens },
        { "answers", NULL, &server.answers },
    };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i].name, name) == 0 && fields[i].number)
            *fields[i].number = strtol(value, NULL, 10);
        else if (strcmp(fields[i].name, name) == 0)
            *fields[i].text = value;
}

static void write_port(const char *path, int port)
{
    char tmp[4096];

    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    FILE *f = fopen(tmp, "w");
    if (!f || fprintf(f, "%d\n", port) < 0 || fclose(f) || rename(tmp, path))
        exit(1);
}

int main(int argc, char **argv)
{
    sigset_t ends;
    int sig;

    if (argc < 2)
        return 2;
    for (int i = 2; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return 2;
        *equals = 0;
        set(argv[i], equals + 1);
    }
    if (server.answers)
        read_answers(server.answers);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, NULL,
                         MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_CONNECTION_LIMIT, 256u, MHD_OPTION_END);
    if (!d)
        return 1;
    write_port(argv[1], MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    sigwait(&ends, &sig);
    MHD_stop_daemon(d);
    json_decref(server.lines);
    return 0;
}
