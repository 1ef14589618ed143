/*
 * completer.h - a language model for commands with several stages: prompts in, completions out.
 *
 * The model is in memory, or on a server (data/endpoint).  A model in memory is opened at its first use and closed when
 * another completer of the run is used, so that only one is in memory.  A server takes neither openings nor
 * constraints, and has no beams: its completions are samples.
 */
#ifndef INFER_LM_COMPLETER_H
#define INFER_LM_COMPLETER_H

#include "data/endpoint/endpoint.h"
#include "infer/infill/infill.h"
#include "models/engine/engine.h"

struct completer_model;

struct completer {
    struct llama_request model; /* dir NULL: no model */
    struct endpoint *server;    /* asked in place of the model; borrowed; or NULL */
    const char *stop;           /* of a server: stop string, or NULL */
    const char *device;
    bool no_graph, quiet;          /* quiet: show no progress */
    struct engine_settings set;    /* all fields but stop: signals stop a completer */
    struct completer_model **open; /* the model in memory, shared by the completers of a run; NULL at first */
};

/* Whether there is a model or a server. */
bool completer_is_set(const struct completer *a);
/* Brings the model into memory; not for a server.  Returns the model, or NULL with err. */
const struct llama_model *completer_open(const struct completer *a, struct error *err);

/* Gives the model that completer_open() has opened, and its workspace, to a caller that runs single steps. */
void completer_lend(const struct completer *a, struct llama_model **model, struct workspace **work);

/* A prompt with its completions. */
struct ask {
    json_t *prompt;     /* a record as lm_text.h has it */
    bool by_id;         /* of a server: samples depend on the id of the prompt, as those of a model in memory do */
    char *opening;      /* start of the completions, or NULL */
    json_t *constraint; /* texts that completions may be (constraint_form.h), or NULL; not with an opening */
    struct asked_text {
        char *text;               /* with the opening */
        double logp;              /* natural logarithm, of the text and its end token; NAN: a server that gives none */
        bool stopped;             /* by an end token */
        struct endpoint_text own; /* of a server: its tokens; else zeroed */
    } * texts;                    /* the best first, or in the order of the samples */
    int n;
    char *error; /* error of the prompt or of the constraint; or NULL */
};
/* Completes n prompts.  Those with a constraint run in groups that fit the memory for their tables.  Returns 0, 1 after
 * a signal, or -1 with err.  The caller releases every ask in any case. */
int completer_ask(const struct completer *a, struct ask *list, int64_t n, struct error *err);
/* Log-probability of a part of a server's text, such as a statement, given the text before it.  Returns NAN without
 * log-probabilities, or if the text does not contain the part. */
double asked_text_logp(const struct asked_text *t, const char *part);
/* Logs the memory for n prompts at once; needs model.dry.  For a server it counts the requests
 * (endpoint_log()).  Returns -1
 * with err. */
int completer_measure(const struct completer *a, struct ask *list, int64_t n, struct error *err);
/* Logs "WHAT: ... MiB of weights, ...". */
void completer_tell_memory(const char *what, const struct llama_model *m, size_t cache, size_t step);
/* Frees opening, texts and error, and drops the references to prompt and constraint. */
void ask_release(struct ask *q);

/* The function of an infill_generator; self is a struct completer.  A conversation that is longer than the model's
 * context has no completion.  Samples depend on the prompt's id, as in ambit-infer generate. */
int completer_generate(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err);
/* Hash of the settings, and of the sizes and times of the folders' files or of the server's address and model. */
uint64_t completer_key(const struct completer *a);
/* Closes the model in memory, if there is one. */
void completer_close(struct completer_model **m);

#endif
