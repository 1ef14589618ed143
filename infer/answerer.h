/*
 * answerer.h - a language model as infilling calls it: conversations in, texts out.
 *
 * The model is opened when it is first asked and closed when its answers are there, so that of several models only one
 * is in memory.
 */
#ifndef INFER_ANSWERER_H
#define INFER_ANSWERER_H

#include "infer/infill.h"
#include "models/llama_generate.h"

struct answerer {
    struct llama_request model; /* dir NULL: there is none */
    const char *device;
    struct generate_settings set;
};

/* As infill_generator has it; self is a struct answerer.  A conversation longer than the model's positions has no
 * answer. */
int answerer_generate(void *self, json_t *const *messages, int64_t n, char **texts, struct error *err);

#endif
