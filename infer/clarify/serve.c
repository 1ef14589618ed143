#include "infer/clarify/serve.h"

#include "data/base/stop.h"
#include "infer/clarify/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request with its reply. */
struct exchange {
    struct session_context *context;
    struct session *session;
    const json_t *request;
    const char *where;
    const char *kind; /* kind of the error in err */
    struct error *err;
};

static int start(struct exchange *x)
{
    const json_t *record = json_get_object(x->request, "record", x->where, x->err);

    if (!record)
        return -1;
    x->kind = "record";
    return session_start(x->session, x->context, record, json_object_get(x->request, "rules"), x->where, x->err);
}

static int resume(struct exchange *x)
{
    const json_t *value = json_get_object(x->request, "session", x->where, x->err);

    if (!value)
        return -1;
    x->kind = "session";
    return session_resume(x->session, x->context, value, x->where, x->err);
}

static int handle(struct exchange *x)
{
    const char *op = json_get_string(x->request, "op", x->where, x->err);

    x->kind = "request";
    if (!op)
        return -1;
    if (strcmp(op, "start") == 0)
        return start(x);
    if (strcmp(op, "answer") != 0 && strcmp(op, "undo") != 0 && strcmp(op, "show") != 0)
        return error_set(x->err, EXIT_CODE_DATA, "%s: field \"op\": expected start, answer, undo or show, got \"%s\"",
                         x->where, op);
    if (resume(x))
        return -1;
    return op[0] == 's'   ? 0
           : op[0] == 'u' ? session_take_back(x->session, &x->kind, x->where, x->err)
                          : session_said(x->session, json_object_get(x->request, "answer"), &x->kind, x->where, x->err);
}

json_t *serve_error(const char *kind, const char *text)
{
    return json_pack("{s:{s:s, s:o}}", "error", "type", kind, "text", json_message(text));
}

int serve_handle(struct session *s, struct session_context *context, const json_t *request, const char **kind,
                 const char *where, struct error *err)
{
    struct exchange x = { context, s, request, where, "request", err };
    int rc = handle(&x);

    *kind = x.kind;
    return rc;
}

/* request is NULL if the line could not be read; err has the error. */
static json_t *reply_to(struct session_context *context, const json_t *request, const char *where, struct error *err,
                        struct serve_counts *counts)
{
    struct session *s = xcalloc(1, sizeof *s);
    const char *kind = "request";
    int rc = request ? serve_handle(s, context, request, &kind, where, err) : -1;
    json_t *reply = rc ? serve_error(kind, err->text) : session_json(s);

    if (!reply)
        reply = serve_error("internal", "the reply cannot be written as JSON");
    if (json_object_get(request, "id"))
        json_object_set(reply, "id", json_object_get(request, "id"));
    counts->requests++;
    counts->errors += json_object_get(reply, "error") != NULL;
    session_release(s);
    free(s);
    *err = (struct error){ 0 };
    return reply;
}

static int serve_lines(struct session_context *context, struct json_reader *in, struct serve_counts *counts,
                       struct error *err)
{
    struct out_file out = { .f = stdout };

    while (!stop_requested()) {
        json_t *request = NULL;
        int rc = json_reader_next(in, &request, err);
        if (rc == 0)
            return 0;
        if (stop_requested())
            break;
        if (rc < 0 && json_reader_failed(in))
            return -1;
        json_t *reply = reply_to(context, request, json_reader_where(in), err, counts);
        rc = json_write_line(&out, reply, err);
        json_decref(reply);
        json_decref(request);
        schema_catalog_turn(&context->schemas);
        if (rc || fflush(stdout))
            return rc ? rc : error_set(err, EXIT_CODE_FAILURE, "standard output: cannot write");
    }
    return 1;
}

int serve(const struct clarify_request *q, struct serve_counts *counts, struct error *err)
{
    struct session_context context;
    struct json_reader *in = NULL;
    int rc = session_context_open(&context, q, err);

    stop_install_waiting();
    if (rc == 0)
        session_context_read_meaning(&context);
    if (rc == 0)
        rc = (in = json_reader_open_lines("-", SERVE_MAX_LINE, err)) ? serve_lines(&context, in, counts, err) : -1;
    json_reader_close(in);
    session_context_close(&context);
    return rc;
}
