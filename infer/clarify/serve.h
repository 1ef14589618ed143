/*
 * serve.h - dialogues over standard input and output, one JSON object a line, for a program that talks to users.
 *
 *   {"op": "start", "record": {...}, "rules": {...}}     a new session; rules may be left out
 *   {"op": "answer", "session": {...}, "answer": 2}      the number of an option, from 1, or what the user typed
 *   {"op": "undo", "session": {...}}                     takes the last answer back
 *   {"op": "show", "session": {...}}                     the open question again
 *
 * An "id" comes back in the reply.  Replies are session_json's, or {"error": {"kind", "text"}}, which ends nothing.
 * The server keeps no session: the value in the reply is all of it, and any other server can go on with it.
 */
#ifndef INFER_CLARIFY_SERVE_H
#define INFER_CLARIFY_SERVE_H

#include "infer/clarify/session.h"

enum { SERVE_MAX_LINE = 4 << 20 };

struct serve_counts {
    int64_t requests, errors;
};

/* Does what a request asks, with a session of zeros, which the caller releases.  -1 with err, and a word for what is
 * wrong in *kind. */
int serve_handle(struct session *s, struct session_context *context, const json_t *request, const char **kind,
                 const char *where, struct error *err);
/* {"error": {"kind", "text"}}; a new reference. */
json_t *serve_error(const char *kind, const char *text);
/* Until the end of standard input: 0.  1 when a signal asked to stop. */
int serve(const struct clarify_request *q, struct serve_counts *counts, struct error *err);

#endif
