/*
 * completer.h - a language model as commands of several stages call it: prompts in, texts out.
 *
 * The model is opened when it is first asked and closed when another is, so that of several models only one is in
 * memory.
 */
#ifndef INFER_LM_COMPLETER_H
#define INFER_LM_COMPLETER_H

#include "infer/infill/infill.h"
#include "models/engine/engine.h"

struct completer_model;

struct completer {
    struct llama_request model; /* dir NULL: there is none */
    const char *device;
    bool no_graph, quiet;          /* quiet: tells no progress, for who asks about one thing at a time */
    struct engine_settings set;    /* all but stop: signals stop an completer */
    struct completer_model **open; /* the model in memory, which the completers of a run share; NULL at first */
};

/* Its model brought into memory, if another one is there or none.  NULL with err. */
const struct llama_model *completer_open(const struct completer *a, struct error *err);

/* What the model in memory, which completer_open has brought there, runs with: for who drives it step by step. */
void completer_lend(const struct completer *a, struct llama_model **model, struct workspace **work);

/* What a model is asked. */
struct ask {
    json_t *prompt;     /* a record as lm_text.h has it */
    char *opening;      /* what the answers begin with, or NULL */
    json_t *constraint; /* as constraint_form.h has it, what the answers may be, or NULL; one of the two */
    struct asked_text {
        char *text;   /* with the opening */
        double logp;  /* natural logarithm, of the whole text and what ended it */
        bool stopped; /* by a token that says so */
    } * texts;        /* the best first, or in the order of the draws */
    int n;
    char *error; /* why there are none: the prompt, or what the answers may be; else NULL */
};
/* Answers all, of which those bound to texts are done some at a time, as the memory for their tables asks for.  -1 with
 * err, 1 when a signal stopped it.  Each is released by the caller, after an error too. */
int completer_ask(const struct completer *a, struct ask *list, int64_t n, struct error *err);
/* Tells on the log what answering all n at once would take; model.dry.  -1 with err. */
int completer_measure(const struct completer *a, struct ask *list, int64_t n, struct error *err);
/* "WHAT: ... MiB of weights, ..." on the log. */
void completer_tell_memory(const char *what, const struct llama_model *m, size_t cache, size_t step);
/* Opening, texts and error, and a reference to prompt and constraint. */
void ask_release(struct ask *q);

/* As infill_generator has it; self is a struct completer.  A conversation longer than the model's positions has no
 * answer.  What is drawn follows from the prompt's id, as in ambit-infer generate. */
int completer_generate(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err);
/* Of the settings and the folders' files, their sizes and times. */
uint64_t completer_key(const struct completer *a);
/* Closes what is in memory, if anything. */
void completer_close(struct completer_model **m);

#endif
