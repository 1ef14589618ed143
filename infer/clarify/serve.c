#include "infer/clarify/serve.h"

#include "data/util/stop.h"
#include "infer/clarify/reply_words.h"
#include "infer/clarify/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request on its way to a reply. */
struct exchange {
    struct session_context *context;
    struct session *session;
    const json_t *request;
    const char *where;
    const char *kind; /* what sort of error err is */
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

static int undo(struct exchange *x)
{
    x->kind = "undo";
    return session_undo(x->session) ? 0 : error_set(x->err, EXIT_CODE_DATA, "%s: there is no answer yet", x->where);
}

static int take_reply(struct exchange *x, const struct reply *r)
{
    x->kind = "answer";
    if (r->kind == REPLY_UNCLEAR)
        return error_set(x->err, EXIT_CODE_DATA, "%s", r->why);
    if (r->kind != REPLY_ANSWER)
        return error_set(x->err, EXIT_CODE_DATA, "%s: field \"answer\" is no answer to the question", x->where);
    x->kind = "contradiction";
    if (session_answer(x->session, r->answer))
        return error_set(x->err, EXIT_CODE_DATA,
                         "This does not fit what was said before; nothing has changed. Another answer may be given, or "
                         "the last one taken back.");
    session_next(x->session);
    return 0;
}

static int take_number(struct exchange *x)
{
    struct reply r = { .kind = REPLY_ANSWER, .answer = { .kind = ANSWER_VALUE } };
    int64_t option;

    if (!json_is_integer(json_object_get(x->request, "answer")))
        return error_set(x->err, EXIT_CODE_DATA, "%s: field \"answer\" is neither the number of an option nor words",
                         x->where);
    if (json_get_int(x->request, "answer", 1, x->session->question.n, &option, x->where, x->err))
        return -1;
    r.answer.value = (int)option - 1;
    return take_reply(x, &r);
}

static int answer(struct exchange *x)
{
    const json_t *said = json_object_get(x->request, "answer");
    bool open = x->session->why == STOP_NOT;
    struct reply r = { .kind = REPLY_NOTHING };

    if (json_is_string(said))
        r = reply_read(json_string_value(said), open ? &x->session->question : NULL);
    if (r.kind == REPLY_UNDO)
        return undo(x);
    x->kind = "ended";
    if (!open)
        return error_set(x->err, EXIT_CODE_DATA, "%s: no question is open: the dialogue has ended (%s)", x->where,
                         stop_reason_name(x->session->why));
    x->kind = "answer";
    return json_is_string(said) ? take_reply(x, &r) : take_number(x);
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
    return op[0] == 's' ? 0 : op[0] == 'u' ? undo(x) : answer(x);
}

static json_t *error_json(const char *kind, const char *text)
{
    return json_pack("{s:{s:s, s:o}}", "error", "kind", kind, "text", json_message(text));
}

/* request is NULL when the line could not be read, as err says. */
static json_t *reply_to(struct session_context *context, const json_t *request, const char *where, struct error *err,
                        struct serve_counts *counts)
{
    struct session *s = xcalloc(1, sizeof *s);
    struct exchange x = { context, s, request, where, "request", err };
    int rc = request ? handle(&x) : -1;
    json_t *reply = rc ? error_json(x.kind, err->text) : session_json(s);

    if (!reply)
        reply = error_json("internal", "the reply cannot be written as JSON");
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
        json_t *reply = reply_to(context, request, json_reader_where(in), err, counts);
        rc = json_write_line(&out, reply, err);
        json_decref(reply);
        json_decref(request);
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
        rc = (in = json_reader_open_lines("-", SERVE_MAX_LINE, err)) ? serve_lines(&context, in, counts, err) : -1;
    json_reader_close(in);
    session_context_close(&context);
    return rc;
}
