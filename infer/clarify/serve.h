/*
 * serve.h - dialogues over standard input and output, one JSON object a line, for another program.
 *
 *   {"op": "start", "record": {...}, "rules": {...}}     start a session; rules are optional
 *   {"op": "answer", "session": {...}, "answer": 2}      answer by the number of an option, from 1, or by words
 *   {"op": "undo", "session": {...}}                     take the last answer back
 *   {"op": "show", "session": {...}}                     show the open question
 *
 * The reply has the request's "id".  It is session_json() or {"error": {"type", "text"}}; the server goes on after an
 * error.  The server keeps no session: the value in the reply is the whole state, and any server can continue it.
 */
#ifndef INFER_CLARIFY_SERVE_H
#define INFER_CLARIFY_SERVE_H

#include "infer/clarify/session.h"

enum { SERVE_MAX_LINE = 4 << 20 };

struct serve_counts {
    int64_t requests, errors;
};

/* Handles a request with a zeroed session, which the caller releases.  Returns -1 with err, and the kind of the error
 * in *kind. */
int serve_handle(struct session *s, struct session_context *context, const json_t *request, const char **kind,
                 const char *where, struct error *err);
/* Returns {"error": {"type", "text"}} as a new reference. */
json_t *serve_error(const char *kind, const char *text);
/* Serves until the end of standard input.  Returns 0, 1 after a signal, or -1 with err. */
int serve(const struct clarify_request *q, struct serve_counts *counts, struct error *err);

#endif
