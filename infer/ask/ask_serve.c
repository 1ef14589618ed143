#include "infer/ask/ask_serve.h"

#include "data/corpora/example.h"
#include "data/exec/db_path.h"
#include "data/exec/schema_sqlite.h"
#include "data/schema/schema_drawing.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "infer/ask/asker.h"
#include "infer/ask/page.h"
#include "infer/clarify/serve.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ask_server {
    const struct ask_request *q;
    struct asker asker;
    struct session *session;
    _Atomic int64_t questions, asked, gated, regenerated;
};

/* One request on its way to a reply. */
struct ask_exchange {
    struct ask_server *server;
    json_t *request;
    json_t *id;       /* of the request, borrowed from it; NULL where it has none */
    const char *kind; /* what sort of error err is */
    struct error err;
};

static const char *const where = "request";

/* Other candidates where none was meant. */
static int regenerate(struct ask_exchange *x)
{
    struct asker *a = &x->server->asker;
    struct session *s = x->server->session;

    if (!asker_may_regenerate(a, s))
        return 0;
    json_t *record = asker_regenerate(a, s, where, &x->err);
    if (!record)
        return x->err.code ? -1 : 0;
    session_release(s);
    x->server->regenerated++;
    int rc = session_start(s, &a->context, record, NULL, where, &x->err);
    json_decref(record);
    return rc;
}

static json_t *ask(struct ask_exchange *x)
{
    struct asker *a = &x->server->asker;
    struct session *s = x->server->session;
    const json_t *rules = json_object_get(x->request, "rules");
    json_t *line = NULL;
    struct asked k;
    int rc = asker_know(a, &k, x->request, where, &x->err);

    x->kind = "record";
    if (rc == 0 && k.origin)
        rc = asker_start(a, s, &k, rules, where, &x->err) || regenerate(x) ? -1 : 0;
    if (rc == 0) {
        line = asker_line(a, &k, k.origin ? s : NULL, true);
        if (!x->id)
            json_object_del(line, "id");
        x->server->questions++;
        x->server->gated += k.gated;
        x->server->asked += json_is_object(json_object_get(line, "ask"));
    }
    asked_release(&k);
    return line;
}

/* The operations of the server of lines; the path says which. */
static json_t *converse_about(struct ask_exchange *x, const char *op)
{
    struct asker *a = &x->server->asker;

    json_object_set_new(x->request, "op", json_string(op));
    if (serve_handle(x->server->session, &a->context, x->request, &x->kind, where, &x->err) || regenerate(x))
        return NULL;
    return asker_session_line(a, x->server->session, false);
}

static const struct schema *find_schema(struct ask_exchange *x)
{
    struct schema_catalog *schemas = &x->server->asker.context.schemas;
    const char *db_id = json_get_string(x->request, "db_id", where, &x->err);
    return db_id ? schema_catalog_find(schemas, db_id, where, &x->err) : NULL;
}

static json_t *detect_one(struct ask_exchange *x)
{
    if (!x->server->q->detector) {
        error_set(&x->err, EXIT_CODE_DATA, "there is no detector: the service was started with --detector none");
        return NULL;
    }
    const struct schema *s = find_schema(x);
    return s ? detector_find(&x->server->asker.detector, x->request, s, true, where, &x->err) : NULL;
}

/* Marks the elements that a request names, if any. */
static int mark_alternatives(struct ask_exchange *x, const struct schema *s, uint8_t *marks)
{
    json_t *list = json_object_get(x->request, "alternatives"), *name;
    int table, column;
    size_t i;

    if (list && !(list = json_get_array(x->request, "alternatives", where, &x->err)))
        return -1;
    json_array_foreach(list, i, name)
    {
        const char *text = json_string_value(name);
        if (!text)
            return error_set(&x->err, EXIT_CODE_DATA, "%s: field \"alternatives\": expected strings, got %s", where,
                             json_type_name(name));
        if (example_element(s, text, &table, &column))
            return error_set(&x->err, EXIT_CODE_DATA,
                             "%s: field \"alternatives\": database %s has no table or table.column \"%.100s\"", where,
                             s->db_id, text);
        marks[column < 0 ? table : s->n_tables + column] = SCHEMA_NAMED;
    }
    return 0;
}

/* As a page shows it; a new reference, NULL when a name is not UTF-8. */
static json_t *drawing_of(const struct schema *s, const uint8_t *marks)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    CHECK(f, "out of memory");
    fprintf(f, "<style>%s</style>", schema_drawing_style);
    schema_draw(f, s, marks);
    CHECK(fclose(f) == 0, "out of memory");
    json_t *drawing = json_stringn(text, n);
    free(text);
    return drawing;
}

static json_t *tell_schema(struct ask_exchange *x)
{
    const struct schema *s = find_schema(x);
    uint8_t *marks = s ? xcalloc((size_t)(s->n_tables + s->n_columns) + 1, 1) : NULL;
    json_t *o = s && mark_alternatives(x, s, marks) == 0 ? schema_to_json(s) : NULL;

    if (o)
        json_object_set_new(o, "drawing", drawing_of(s, marks));
    free(marks);
    return o;
}

/* The db_ids that a request may name; NULL with err. */
static json_t *list_databases(const struct ask_server *s, struct error *err)
{
    const struct schema_set *tables = &s->asker.context.schemas.tables;

    if (s->q->clarify.db)
        return db_list(s->q->clarify.db, err);
    json_t *list = json_array();
    for (int i = 0; i < tables->n; i++)
        json_array_append_new(list, json_string(tables->schemas[i].db_id));
    return list;
}

/* Gives a record that names no database the only one there is. */
static int name_database(struct ask_exchange *x, json_t *record)
{
    const struct ask_server *s = x->server;

    if (!json_is_object(record) || json_object_get(record, "db_id"))
        return 0;
    json_t *list = list_databases(s, &x->err);
    size_t n = json_array_size(list);
    if (n == 1)
        json_object_set(record, "db_id", json_array_get(list, 0));
    else if (list)
        error_set(&x->err, EXIT_CODE_DATA,
                  "%s: field \"db_id\" is missing, expected one of the %zu databases that GET /databases lists", where,
                  n);
    json_decref(list);
    return n == 1 ? 0 : -1;
}

/* An id is optional, and null is none. */
static int check_id(json_t *record, struct error *err)
{
    const json_t *id = json_object_get(record, "id");

    if (json_is_null(id))
        json_object_del(record, "id");
    else if (id && !json_is_string(id) && !json_is_integer(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a string or an integer, got %s", where,
                         json_type_name(id));
    return 0;
}

/* Completes the request and the record that it may bring: the parts that answer expect an id and a database. */
static int complete(struct ask_exchange *x, const char *path)
{
    json_t *record = json_object_get(x->request, "record");
    bool about_session = strcmp(path, "/answer") == 0 || strcmp(path, "/undo") == 0 || strcmp(path, "/show") == 0;

    if (check_id(x->request, &x->err) || check_id(record, &x->err))
        return -1;
    x->id = json_object_get(x->request, "id");
    if (about_session)
        return 0;
    if (strcmp(path, "/start") == 0)
        return name_database(x, record);
    if (!x->id)
        json_object_set_new(x->request, "id", json_integer(1));
    return name_database(x, x->request);
}

static json_t *handle(struct ask_exchange *x, const char *path)
{
    if (complete(x, path))
        return NULL;
    if (strcmp(path, "/ask") == 0)
        return ask(x);
    if (strcmp(path, "/detect") == 0)
        return detect_one(x);
    if (strcmp(path, "/schema") == 0)
        return tell_schema(x);
    return converse_about(x, path + 1);
}

static json_t *read_request(const struct http_request *r, struct error *err)
{
    json_error_t why;
    json_t *o = json_loadb(r->body, r->n, JSON_REJECT_DUPLICATES, &why);

    if (!o)
        error_set(err, EXIT_CODE_DATA, "%s: %s at line %d, column %d", where, why.text, why.line, why.column);
    else if (!json_is_object(o)) {
        error_set(err, EXIT_CODE_DATA, "%s: expected an object, got %s", where, json_type_name(o));
        json_decref(o);
        o = NULL;
    }
    return o;
}

static void answer(void *user, struct http_reply *reply, const struct http_request *r)
{
    struct ask_server *s = user;
    struct ask_exchange x = { .server = s, .kind = "request" };
    json_t *line = (x.request = read_request(r, &x.err)) ? handle(&x, r->path) : NULL;

    *reply = (struct http_reply){ .status = line ? 200 : x.err.code == EXIT_CODE_DATA ? 400 : 500 };
    if (!line)
        line = serve_error(x.kind, x.err.code ? x.err.text : "the reply cannot be written as JSON");
    if (x.id)
        json_object_set(line, "id", x.id);
    reply->text = json_text(line, 9);
    CHECK(reply->text, "a reply cannot be written");
    session_release(s->session);
    *s->session = (struct session){ 0 };
    schema_catalog_turn(&s->asker.context.schemas);
    json_decref(line);
    json_decref(x.request);
}

/* The reply to GET /databases, made by the thread that reads requests. */
static void tell_databases(void *user, struct http_reply *reply)
{
    const struct ask_server *s = user;
    struct error err = { 0 };
    json_t *list = list_databases(s, &err);
    json_t *o = list ? json_pack("{s:o}", "databases", list) : serve_error("internal", err.text);

    *reply = (struct http_reply){ .status = list ? 200 : 500, .text = json_dumps(o, JSON_COMPACT) };
    CHECK(reply->text, "a reply cannot be written");
    json_decref(o);
}

static void metrics(void *user, FILE *f)
{
    struct ask_server *s = user;

    fprintf(f, "# TYPE ambit_questions_total counter\nambit_questions_total %lld\n", (long long)s->questions);
    fprintf(f, "# TYPE ambit_questions_asked_back_total counter\nambit_questions_asked_back_total %lld\n",
            (long long)s->asked);
    fprintf(f, "# TYPE ambit_questions_gated_total counter\nambit_questions_gated_total %lld\n", (long long)s->gated);
    fprintf(f, "# TYPE ambit_regenerated_total counter\nambit_regenerated_total %lld\n", (long long)s->regenerated);
}

/* What the service has, which a page asks first. */
static char *health_text(const struct ask_request *q)
{
    const char *db = q->clarify.db;
    char *db_id = db && !db_path_is_folder(db) ? schema_db_id(db) : NULL;
    json_t *o = json_pack("{s:s, s:s?, s:b, s:b, s:b, s:b, s:f}", "status", "ok", "db_id", db_id, "detector",
                          q->detector != NULL, "tagger", q->tagger != NULL, "parser", q->parser != NULL, "candidates",
                          q->clarify.candidates != NULL, "gate", q->gate);
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    free(db_id);
    return text;
}

int ask_serve(const struct ask_request *q, const struct http_settings *http, struct error *err)
{
    static const char *const paths[] = { "/ask", "/answer", "/undo", "/show", "/start", "/detect", "/schema", NULL };
    struct ask_server *s = xcalloc(1, sizeof *s);
    char *health = health_text(q);
    const struct http_page pages[] = { { "/", "text/html; charset=utf-8", ask_page, ask_page_bytes },
                                       { "/health", "application/json", health, strlen(health) } };
    static const struct http_told told[] = { { "/databases", tell_databases } };
    const struct http_service service = { .user = s,
                                          .pages = pages,
                                          .n_pages = ARRAY_LEN(pages),
                                          .told = told,
                                          .n_told = ARRAY_LEN(told),
                                          .paths = paths,
                                          .answer = answer,
                                          .metrics = metrics,
                                          .warning = q->warning };

    s->q = q;
    s->session = xcalloc(1, sizeof *s->session);
    int rc = asker_open(&s->asker, q, err) ? -1 : http_serve(http, &service, err);
    if (rc > 0)
        log_info("%lld questions, %lld asked back, %lld where nobody was asked", (long long)s->questions,
                 (long long)s->asked, (long long)s->gated);
    asker_close(&s->asker);
    free(s->session);
    free(s);
    free(health);
    return rc;
}
