/* complete_impl.h - what the parts of complete.h share: a run, its window of records, and the lines of its output. */
#ifndef INFER_LM_COMPLETE_IMPL_H
#define INFER_LM_COMPLETE_IMPL_H

#include "data/util/log.h"
#include "data/util/part_file.h"
#include "infer/lm/complete.h"
#include "infer/lm/stop_watch.h"
#include "models/constraint/constraints.h"
#include "models/engine/engine.h"

/* Records of the window that go through the engine. */
struct completion_requests {
    struct engine_request *items;
    struct engine_answer *answers;
    struct stop_watch *watches; /* of each answer; NULL: no text ends any */
    int64_t n;
    int line;        /* the first record of the window without its line */
    int64_t request; /* the first of items that is of it or of one behind it */
    struct error *err;
    int rc; /* of writing lines */
};

/* One run of either command. */
struct completion {
    const struct complete_request *request;
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct record_reader *in;
    struct part_file part;
    struct lm_text *window;
    uint64_t *keys;                         /* of all that each line of the window is made from */
    uint64_t key;                           /* of what all lines are made from */
    struct constraints *constraints;        /* NULL: none */
    struct automaton_host *compiled;        /* of each constraint that was wanted so far */
    const struct automaton_host **bound;    /* of each record of the window */
    int *adapters;                          /* of each record of the window, as llama_model_adapter numbers them */
    uint64_t adapter_keys[1 + LORA_OTHERS]; /* of folders that records name; 0: not asked yet */
    int n, cap;
    bool with_answer;
    struct complete_counts *counts;
    struct progress progress;
    struct engine engine;
    struct completion_requests asked;
};

/* What a line adds to the counts. */
struct completion_note {
    int failed;
    int64_t tokens;
};

/* How many lines, from record `from` of the window, an earlier run has of those before `to`. */
int complete_count_lines(struct completion *r, int from, int to);
/* The line of record i of the window; takes o. */
int complete_write(struct completion *r, int i, json_t *o, struct completion_note note, struct error *err);
/* The line of one that cannot be run. */
int complete_write_error(struct completion *r, int i, struct error *err);

/* What is done with a window. */
typedef int window_fn(struct completion *r, struct error *err);
int complete_generate_window(struct completion *r, struct error *err);
int complete_loss_window(struct completion *r, struct error *err);

/* Those of the window without error, from record `from` on, and room for their answers. */
void complete_requests_open(struct completion_requests *q, const struct completion *r, int from);
void complete_requests_release(struct completion_requests *q, const struct completion *r);

/* The file of constraints, if there is one. */
int complete_bind_open(struct completion *r, struct error *err);
void complete_bind_close(struct completion *r);
/* What bounds the answer to record i of the window; what is wrong with that is left in its error. */
void complete_bind(struct completion *r, int i, const json_t *record);

/* The adapter of record i of the window; what is wrong with it is left in its error. */
void complete_adapter(struct completion *r, int i, const json_t *record, const char *where);

/* How the request says that answers are to be. */
struct engine_settings complete_settings(const struct complete_request *q);
/* The record of an answer, or of all that were asked for; `watches` of each, which have ended, or NULL. */
json_t *complete_answers_json(const struct completion *r, const struct lm_text *p, const struct engine_request *q,
                              const struct stop_watch *watches);
/* Ends each answer before the text that is to stop it; `watches` of each. */
void complete_cut(struct engine_request *q, struct stop_watch *watches);

#endif
