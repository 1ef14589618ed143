#include "infer/api/ambit.h"

#include "data/base/build.h"
#include "data/base/log.h"
#include "data/base/startup.h"
#include "infer/api/library.h"
#include "infer/api/request.h"
#include "infer/api/sources.h"
#include "infer/clarify/serve.h"
#include "infer/detect/detector.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(AMBIT_FAILURE == (int)EXIT_CODE_FAILURE && AMBIT_USAGE == (int)EXIT_CODE_USAGE &&
                   AMBIT_DATA == (int)EXIT_CODE_DATA && AMBIT_DEVICE == (int)EXIT_CODE_DEVICE &&
                   AMBIT_MEMORY == (int)EXIT_CODE_MEMORY && AMBIT_MODEL == (int)EXIT_CODE_CHECKPOINT,
               "the library's codes are those of the programs");

enum { THREADS = THREADS_MAX, DIGITS = 9 /* of reals in results */ };

struct handle {
    pthread_mutex_t lock;
    int64_t threads; /* 0: all */
    struct api_sources sources;
};

struct ambit_detector {
    struct handle handle;
    struct detector detector;
};

struct ambit_tagger {
    struct handle handle;
    struct tagger tagger;
};

struct ambit_session {
    struct handle handle;
    struct session_context context;
    struct session session;
    json_t *request; /* owns the paths of the context */
};

const char *ambit_version(void)
{
    return build_version();
}

void ambit_free(char *text)
{
    free(text);
}

void ambit_set_log(ambit_log_fn *log, void *user)
{
    library_open();
    log_set_sink(log, user);
}

static void report(struct ambit_error *to, const struct error *from)
{
    if (!to)
        return;
    memset(to, 0, sizeof *to);
    to->code = (int)from->code;
    snprintf(to->text, sizeof to->text, "%s", from->text);
}

/* A call in progress. */
struct api_call {
    struct library_visit visit;
    struct handle *handle;
    struct error err;
};

/* Begins a call on a handle, or one that opens a handle, without a lock. */
static bool begin(struct api_call *c, struct handle *h, int64_t threads, struct ambit_error *error)
{
    *c = (struct api_call){ .handle = h };
    if (library_enter(&c->visit, (int)threads, &c->err)) {
        report(error, &c->err);
        return false;
    }
    if (h)
        pthread_mutex_lock(&h->lock);
    return true;
}

/* Ends a call.  result is NULL after an error. */
static void end(struct api_call *c, const void *result, struct ambit_error *error)
{
    if (c->handle)
        pthread_mutex_unlock(&c->handle->lock);
    library_leave(&c->visit);
    if (result)
        c->err = (struct error){ 0 };
    report(error, &c->err);
}

static bool begin_on(struct api_call *c, struct handle *h, struct ambit_error *error)
{
    const struct error missing = { "the handle is NULL: it was not opened", EXIT_CODE_USAGE };

    if (h)
        return begin(c, h, h->threads, error);
    report(error, &missing);
    return false;
}

/* Takes value. */
static char *text_of(json_t *value, struct error *err)
{
    char *text = value ? json_text(value, DIGITS) : NULL;

    if (value && !text)
        error_set(err, EXIT_CODE_DATA, "the result cannot be written as JSON: a name or a value is not UTF-8");
    json_decref(value);
    return text;
}

static void handle_init(struct handle *h)
{
    CHECK(pthread_mutex_init(&h->lock, NULL) == 0, "no lock to be had");
}

static void handle_release(struct handle *h)
{
    sources_close(&h->sources);
    pthread_mutex_destroy(&h->lock);
}

/* The request of one question, a new reference; NULL with err. */
static json_t *single_request(const char *db, const char *question, struct error *err)
{
    json_t *request = db && question ? json_pack("{s:s, s:[s]}", "db", db, "questions", question) : NULL;

    if (!request)
        error_set(err, EXIT_CODE_USAGE, "%s: expected a text in UTF-8", db ? "question" : "db");
    return request;
}

/* Takes the only line out of its array.  Returns NULL with err if the line is an error. */
static json_t *single_line(json_t *lines, struct error *err)
{
    json_t *line = json_incref(json_array_get(lines, 0));
    const char *bad = json_string_value(json_object_get(line, "error"));

    json_decref(lines);
    if (!bad)
        return line;
    error_set(err, EXIT_CODE_DATA, "%s", bad);
    json_decref(line);
    return NULL;
}

/* --- Detectors --- */

#define DETECTOR_FIELDS "model adapter device threads threshold retriever elements max_question tokens"

static int read_detector_settings(struct detector_settings *s, int64_t *threads, const json_t *o, struct error *err)
{
    *s = (struct detector_settings){
        .device = "auto", .tokens = DETECTOR_TOKENS, .elements = DETECTOR_ELEMENTS, .threshold = NAN
    };
    if (request_string(o, "model", &s->model, err) || request_string(o, "adapter", &s->adapter, err) ||
        request_string(o, "device", &s->device, err) || request_string(o, "retriever", &s->retriever, err) ||
        request_int(o, "threads", 0, THREADS, threads, err) ||
        request_int(o, "elements", 0, 1 << 24, &s->elements, err) ||
        request_int(o, "max_question", 0, 1 << 24, &s->max_question, err) ||
        request_int(o, "tokens", 512, 1 << 24, &s->tokens, err) ||
        request_real(o, "threshold", 0, 1, &s->threshold, err))
        return -1;
    if (s->elements && s->elements < SCHEMA_SEARCH_MIN)
        return error_set(err, EXIT_CODE_USAGE, "settings: field \"elements\" is %lld, expected 0 or at least %d",
                         (long long)s->elements, SCHEMA_SEARCH_MIN);
    return 0;
}

static int open_detector(struct ambit_detector *d, struct detector_settings s, struct error *err)
{
    char *own = s.model ? NULL : gate_model_default("field \"model\" of the settings", err);

    if (!s.model && !own)
        return -1;
    s.model = s.model ? s.model : own;
    int rc = detector_open(&d->detector, &s, err);
    free(own);
    return rc;
}

static void free_detector(struct ambit_detector *d)
{
    detector_close(&d->detector);
    handle_release(&d->handle);
    free(d);
}

struct ambit_detector *ambit_detector_open(const char *settings, struct ambit_error *error)
{
    struct detector_settings s;
    struct error bad = { 0 };
    struct api_call c;
    int64_t threads = 0;
    json_t *o = request_read(settings, "settings", DETECTOR_FIELDS, &bad);

    if (!o || read_detector_settings(&s, &threads, o, &bad)) {
        json_decref(o);
        report(error, &bad);
        return NULL;
    }
    struct ambit_detector *d = NULL;
    if (begin(&c, NULL, threads, error)) {
        d = xcalloc(1, sizeof *d);
        handle_init(&d->handle);
        d->handle.threads = threads;
        if (open_detector(d, s, &c.err)) {
            free_detector(d);
            d = NULL;
        }
        end(&c, d, error);
    }
    json_decref(o);
    return d;
}

void ambit_detector_close(struct ambit_detector *detector)
{
    struct api_call c;

    if (!detector || !begin(&c, NULL, 1, NULL))
        return;
    free_detector(detector);
    end(&c, NULL, NULL);
}

/* Prepares the schema of a record under a name that is unique among all sources.  Sets why if that is impossible. */
static const struct prepared_schema *prepare(struct ambit_detector *d, struct api_source *o, json_t *record,
                                             const char *where, struct error *why)
{
    const struct schema *s = source_schema(o, record, where, why);
    char *key = NULL;

    if (!s || !json_get_string(record, "question", where, why))
        return NULL;
    CHECK(asprintf(&key, "%s\n%s", o->key, s->db_id) >= 0, "no memory for a key");
    const struct prepared_schema *p = detector_prepare(&d->detector, key, s, why);
    free(key);
    return p;
}

/* The line of question i of the group, as a new reference. */
static json_t *line_of(const struct question_group *g, int i, const json_t *id, bool relevance)
{
    struct prediction f = { .id = id };

    question_group_predict(g, i, &f);
    json_t *line = prediction_json(&f, relevance ? RELEVANCE_ALL : RELEVANCE_NONE);
    if (!line)
        line = json_pack("{s:O, s:s}", "id", id, "error", "a name of the schema is not UTF-8");
    prediction_release(&f);
    return line;
}

/* Adds records from the first one on until the group is full.  Returns their number. */
static int read_group(struct question_group *g, struct ambit_detector *d, struct api_source *o, json_t **records,
                      int first, int n)
{
    char where[40];

    for (int i = first; i < n && !question_group_is_full(g); i++) {
        struct error why = { 0 };
        snprintf(where, sizeof where, "questions[%d]", i);
        const struct prepared_schema *p = prepare(d, o, records[i], where, &why);
        question_group_add(g, json_string_value(json_object_get(records[i], "question")), p, "question", &why);
    }
    return g->n;
}

/* Appends the lines of all records.  Returns -1 with err. */
static int detect_records(json_t *lines, struct ambit_detector *d, struct api_source *o, json_t **records, int n,
                          bool relevance, struct error *err)
{
    struct question_group *g = xmalloc(sizeof *g);
    int rc = 0;

    question_group_init(g, &d->detector);
    for (int first = 0, step; rc == 0 && first < n; first += step) {
        step = read_group(g, d, o, records, first, n);
        rc = question_group_choose(g, err) || question_group_score(g, err);
        for (int i = 0; rc == 0 && i < step; i++)
            json_array_append_new(lines, line_of(g, i, json_object_get(records[first + i], "id"), relevance));
        question_group_release(g);
    }
    free(g);
    return rc ? -1 : 0;
}

/* Returns an array of lines as a new reference, or NULL with err. */
static json_t *detect_request(struct ambit_detector *d, const json_t *request, struct error *err)
{
    bool relevance = false, closed;
    int n;

    if (request_bool(request, "relevance", &relevance, err))
        return NULL;
    json_t **records = request_records(request, &n, err), *lines = NULL;
    struct api_source *o = records ? sources_find(&d->handle.sources, request, &closed, err) : NULL;
    if (records && closed)
        detector_forget(&d->detector);
    if (o) {
        lines = json_array();
        if (detect_records(lines, d, o, records, n, relevance, err)) {
            json_decref(lines);
            lines = NULL;
        }
    }
    request_records_free(records, n);
    return lines;
}

char *ambit_detect_many(struct ambit_detector *detector, const char *request, struct ambit_error *error)
{
    struct api_call c;
    char *text = NULL;

    if (!begin_on(&c, detector ? &detector->handle : NULL, error))
        return NULL;
    json_t *o = request_read(request, "request", "db schema questions relevance", &c.err);
    if (o)
        text = text_of(detect_request(detector, o, &c.err), &c.err);
    json_decref(o);
    end(&c, text, error);
    return text;
}

char *ambit_detect(struct ambit_detector *detector, const char *db, const char *question, struct ambit_error *error)
{
    struct api_call c;
    char *text = NULL;

    if (!begin_on(&c, detector ? &detector->handle : NULL, error))
        return NULL;
    json_t *o = single_request(db, question, &c.err), *lines = o ? detect_request(detector, o, &c.err) : NULL;
    if (lines)
        text = text_of(single_line(lines, &c.err), &c.err);
    json_decref(o);
    end(&c, text, error);
    return text;
}

/* --- Taggers --- */

#define TAGGER_FIELDS "strategy model device threads threshold index_mib"

static int read_strategy(struct tag_request *q, const json_t *o, struct error *err)
{
    static const char *const names[] = { [TAG_DTE] = "dte", [TAG_ETA] = "eta", [TAG_HEURISTIC] = "heuristic" };
    const char *name = names[TAG_HEURISTIC];

    if (request_string(o, "strategy", &name, err))
        return -1;
    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            q->strategy = (enum tag_strategy)i;
            return 0;
        }
    return error_set(err, EXIT_CODE_USAGE, "settings: field \"strategy\" is \"%.100s\", expected dte, eta or heuristic",
                     name);
}

static int read_tagger_settings(struct tag_request *q, int64_t *threads, const json_t *o, struct error *err)
{
    *q = (struct tag_request){
        .device = "auto", .threshold = NAN, .index_mib = TAG_INDEX_MIB, .heuristic = HEURISTIC_DEFAULT
    };
    if (read_strategy(q, o, err) || request_string(o, "model", &q->model, err) ||
        request_string(o, "device", &q->device, err) || request_int(o, "threads", 0, THREADS, threads, err) ||
        request_real(o, "threshold", 0, 1, &q->threshold, err) ||
        request_int(o, "index_mib", 1, 4095, &q->index_mib, err))
        return -1;
    if (q->strategy != TAG_HEURISTIC && !q->model)
        return error_set(err, EXIT_CODE_USAGE, "settings: expected field \"model\", or strategy heuristic without one");
    return 0;
}

static void free_tagger(struct ambit_tagger *t)
{
    handle_release(&t->handle);
    if (t->tagger.close)
        t->tagger.close(t->tagger.self);
    free(t);
}

struct ambit_tagger *ambit_tagger_open(const char *settings, struct ambit_error *error)
{
    struct tag_request q;
    struct error bad = { 0 };
    struct api_call c;
    int64_t threads = 0;
    json_t *o = request_read(settings, "settings", TAGGER_FIELDS, &bad);

    if (!o || read_tagger_settings(&q, &threads, o, &bad)) {
        json_decref(o);
        report(error, &bad);
        return NULL;
    }
    struct ambit_tagger *t = NULL;
    if (begin(&c, NULL, threads, error)) {
        t = xcalloc(1, sizeof *t);
        handle_init(&t->handle);
        t->handle.threads = threads;
        if (tagger_open(&t->tagger, &q, &c.err)) {
            free_tagger(t);
            t = NULL;
        } else {
            t->handle.sources.tagger = t->tagger;
            t->handle.sources.index_bytes = q.index_mib << 20;
        }
        end(&c, t, error);
    }
    json_decref(o);
    return t;
}

void ambit_tagger_close(struct ambit_tagger *tagger)
{
    struct api_call c;

    if (!tagger || !begin(&c, NULL, 1, NULL))
        return;
    free_tagger(tagger);
    end(&c, NULL, NULL);
}

/* Returns the line of a record, or a line with its error, as a new reference. */
static json_t *tag_record(struct api_source *o, json_t *record, int i)
{
    char where[40];
    struct error bad = { 0 };
    json_t *line = NULL;

    snprintf(where, sizeof where, "questions[%d]", i);
    if (source_schema(o, record, where, &bad))
        line = question_tagger_mark(&o->tag, record, o->given.n ? o->given.schemas : NULL, where, &bad);
    if (line)
        return line;
    return json_pack("{s:O, s:o}", "id", json_object_get(record, "id"), "error", json_message(bad.text));
}

/* Returns an array of lines as a new reference, or NULL with err. */
static json_t *tag_request(struct ambit_tagger *t, const json_t *request, struct error *err)
{
    bool closed;
    int n;
    json_t **records = request_records(request, &n, err), *lines = NULL;
    struct api_source *o = records ? sources_find(&t->handle.sources, request, &closed, err) : NULL;

    if (o) {
        lines = json_array();
        for (int i = 0; i < n; i++)
            json_array_append_new(lines, tag_record(o, records[i], i));
    }
    request_records_free(records, n);
    return lines;
}

char *ambit_tag_many(struct ambit_tagger *tagger, const char *request, struct ambit_error *error)
{
    struct api_call c;
    char *text = NULL;

    if (!begin_on(&c, tagger ? &tagger->handle : NULL, error))
        return NULL;
    json_t *o = request_read(request, "request", "db schema questions", &c.err);
    if (o)
        text = text_of(tag_request(tagger, o, &c.err), &c.err);
    json_decref(o);
    end(&c, text, error);
    return text;
}

char *ambit_tag(struct ambit_tagger *tagger, const char *db, const char *question, struct ambit_error *error)
{
    struct api_call c;
    char *text = NULL;

    if (!begin_on(&c, tagger ? &tagger->handle : NULL, error))
        return NULL;
    json_t *o = single_request(db, question, &c.err), *lines = o ? tag_request(tagger, o, &c.err) : NULL;
    if (lines)
        text = text_of(single_line(lines, &c.err), &c.err);
    json_decref(o);
    end(&c, text, error);
    return text;
}

/* --- Sessions --- */

/* Turns the kind of an error of the serve protocol into a code. */
static void set_code(struct error *err, const char *kind)
{
    static const struct {
        const char *kind;
        enum ambit_code code;
    } kinds[] = { { "request", AMBIT_USAGE },
                  { "answer", AMBIT_ANSWER },
                  { "undo", AMBIT_UNDO },
                  { "ended", AMBIT_ENDED },
                  { "contradiction", AMBIT_CONTRADICTION } };

    for (int i = 0; i < ARRAY_LEN(kinds) && err->code == EXIT_CODE_DATA; i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            err->code = (enum exit_code)kinds[i].code;
}

/* The request of the serve protocol: start a session, or continue one.  A new reference, or NULL with err. */
static json_t *protocol_request(const json_t *request, struct error *err)
{
    const json_t *schema = json_object_get(request, "schema"), *record = json_object_get(request, "record");
    const json_t *session = json_object_get(request, "session");

    if (!record == !session) {
        error_set(err, EXIT_CODE_USAGE, "request: expected either field \"record\" or field \"session\"");
        return NULL;
    }
    if (session)
        return json_pack("{s:s, s:O}", "op", "show", "session", session);
    json_t *own = json_copy((json_t *)(uintptr_t)record);
    if (json_is_object(own) && json_is_object(schema)) {
        json_object_set(own, "schema", (json_t *)(uintptr_t)schema);
        if (!json_object_get(own, "db_id") && json_object_get(schema, "db_id"))
            json_object_set(own, "db_id", json_object_get(schema, "db_id"));
    }
    return json_pack("{s:s, s:o, s:O*}", "op", "start", "record", own, "rules", json_object_get(request, "rules"));
}

static int open_session(struct ambit_session *s, struct error *err)
{
    const json_t *db = json_object_get(s->request, "db"), *schema = json_object_get(s->request, "schema");
    struct clarify_request q = clarify_request_default;
    const char *kind = "";

    if (source_check(s->request, err))
        return -1;
    q.db = json_string_value(db);
    q.schema = json_string_value(schema);
    json_t *start = protocol_request(s->request, err);
    if (!start)
        return -1;
    int rc = session_context_open(&s->context, &q, err);
    if (rc == 0 && (rc = serve_handle(&s->session, &s->context, start, &kind, "request", err)))
        set_code(err, kind);
    json_decref(start);
    return rc;
}

static void free_session(struct ambit_session *s)
{
    session_release(&s->session);
    session_context_close(&s->context);
    handle_release(&s->handle);
    json_decref(s->request);
    free(s);
}

struct ambit_session *ambit_session_open(const char *request, struct ambit_error *error)
{
    struct ambit_session *s = NULL;
    struct api_call c;

    if (!begin(&c, NULL, 1, error))
        return NULL;
    json_t *o = request_read(request, "request", "db schema record rules session", &c.err);
    if (o) {
        s = xcalloc(1, sizeof *s);
        handle_init(&s->handle);
        s->handle.threads = 1;
        s->request = o;
        if (open_session(s, &c.err)) {
            free_session(s);
            s = NULL;
        }
    }
    end(&c, s, error);
    return s;
}

void ambit_session_close(struct ambit_session *session)
{
    struct api_call c;

    if (!session || !begin(&c, NULL, 1, NULL))
        return;
    free_session(session);
    end(&c, NULL, NULL);
}

static json_t *session_state(struct ambit_session *s, struct error *err)
{
    json_t *state = session_json(&s->session);

    if (!state)
        error_set(err, EXIT_CODE_DATA, "the state cannot be written as JSON: a name or a value is not UTF-8");
    return state;
}

char *ambit_session_state(struct ambit_session *session, struct ambit_error *error)
{
    struct api_call c;

    if (!begin_on(&c, session ? &session->handle : NULL, error))
        return NULL;
    char *text = text_of(session_state(session, &c.err), &c.err);
    end(&c, text, error);
    return text;
}

char *ambit_session_answer(struct ambit_session *session, const char *answer, struct ambit_error *error)
{
    const char *kind = "";
    struct api_call c;
    char *text = NULL;

    if (!begin_on(&c, session ? &session->handle : NULL, error))
        return NULL;
    json_t *said = answer ? json_string(answer) : NULL;
    if (!said)
        error_set(&c.err, EXIT_CODE_USAGE, "answer: expected a text in UTF-8");
    else if (session_said(&session->session, said, &kind, "answer", &c.err))
        set_code(&c.err, kind);
    else
        text = text_of(session_state(session, &c.err), &c.err);
    json_decref(said);
    end(&c, text, error);
    return text;
}

char *ambit_session_undo(struct ambit_session *session, struct ambit_error *error)
{
    const char *kind = "";
    struct api_call c;
    char *text = NULL;

    if (!begin_on(&c, session ? &session->handle : NULL, error))
        return NULL;
    if (session_take_back(&session->session, &kind, "undo", &c.err))
        set_code(&c.err, kind);
    else
        text = text_of(session_state(session, &c.err), &c.err);
    end(&c, text, error);
    return text;
}
