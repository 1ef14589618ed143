/*
 * answerer.h - a language model as infilling calls it: conversations in, texts out.
 *
 * The model is opened when it is first asked and closed when another is, so that of several models only one is in
 * memory.
 */
#ifndef INFER_LM_ANSWERER_H
#define INFER_LM_ANSWERER_H

#include "infer/infill/infill.h"
#include "models/engine/engine.h"

struct answerer_model;

struct answerer {
    struct llama_request model; /* dir NULL: there is none */
    const char *device;
    bool no_graph;
    struct engine_settings set;   /* all but stop: signals stop an answerer */
    struct answerer_model **open; /* the model in memory, which the answerers of a run share; NULL at first */
};

/* As infill_generator has it; self is a struct answerer.  A conversation longer than the model's positions has no
 * answer.  What is drawn follows from the prompt's id, as in ambit-infer generate. */
int answerer_generate(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err);
/* Of the settings and the folders' files, their sizes and times. */
uint64_t answerer_key(const struct answerer *a);
/* Closes what is in memory, if anything. */
void answerer_close(struct answerer_model **m);

#endif
