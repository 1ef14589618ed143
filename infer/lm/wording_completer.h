/*
 * wording_completer.h - a language model that words clarifying questions: in memory, or on a server.
 *
 * The completions are the most probable ones.  infer/clarify/wordings.h writes the prompts and checks the completions.
 */
#ifndef INFER_LM_WORDING_COMPLETER_H
#define INFER_LM_WORDING_COMPLETER_H

#include "infer/clarify/wordings.h"
#include "infer/lm/completer.h"

struct wording_completer {
    struct completer completer;
    struct completer_model *open;
    struct endpoint *server; /* or NULL */
};

struct wording_completer_settings {
    const char *dir, *chat_template, *device; /* dir NULL: a server or none */
    const struct endpoint_settings *server;   /* the address is NULL without a server */
};

/* Opens the model and sets *model, which uses it; without a model, *model has no function.  The struct must not move.
 * Returns -1 with err.  The caller closes the struct in any case. */
int wording_completer_open(struct wording_completer *w, struct wording_model *model,
                           const struct wording_completer_settings *s, struct error *err);
/* Also logs the numbers of requests to a server. */
void wording_completer_close(struct wording_completer *w);

#endif
