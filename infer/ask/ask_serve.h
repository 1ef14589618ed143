/*
 * ask_serve.h - ask over HTTP: JSON for programs, and one page for people that needs nothing from the network.
 *
 * No session is kept: what a reply has under "session" is all of it, as in clarify's server of lines.
 */
#ifndef INFER_ASK_ASK_SERVE_H
#define INFER_ASK_ASK_SERVE_H

#include "infer/ask/ask.h"
#include "infer/http/http.h"

/* Until a signal asks to stop: 1; -1 with err. */
int ask_serve(const struct ask_request *q, const struct http_settings *http, struct error *err);

#endif
