/*
 * sql_writer.h - SQL of interpretations by a language model: the folder of --sql-model, or the server of --lm.
 *
 * Each interpretation gets the prompt PROMPT_SQL with its database, and the most probable completion. The bits of a
 * local model's completion depend on its prompt alone, so an interpretation has the same SQL in every run. A server
 * promises less; --cache keeps its completions.
 */
#ifndef TRAIN_LM_SQL_WRITER_H
#define TRAIN_LM_SQL_WRITER_H

#include "data/endpoint/endpoint.h"
#include "data/prompt/interpretation_sql.h"
#include "data/prompt/prompter.h"
#include "kernels/workspace.h"
#include "models/lm/llama_model.h"
#include "train/lm/lm_settings.h"

/* Start as { 0 }. */
struct sql_writer {
    const struct lm_request *request;
    struct prompter prompter;
    struct endpoint *server;  /* NULL: a local model */
    struct workspace work;    /* of the local model */
    struct llama_model model; /* the local model */
    size_t model_bytes;       /* its memory */
};

/* An interpretation without SQL, borrowed. */
struct sql_wish {
    const char *db_id, *text;
};

/* Whether the request names a model or a server. */
bool sql_writer_wanted(const struct lm_request *q);
/* Opens the prompts, and the server, or measures the model without taking memory of the device. Does nothing unless
 * sql_writer_wanted. Returns -1 with err. Release w either way. */
int sql_writer_open(struct sql_writer *w, const struct lm_request *q, struct device *d, struct error *err);
/* Loads the local model, if there is one. */
int sql_writer_start(struct sql_writer *w, struct device *d, struct error *err);
/* Adds the completions for those of n interpretations that sqls lacks (interpretation_sql_unread: without a
 * statement). stoppable: a signal may stop a local model; it always stops a server. Returns 0, 1 when a signal asked to
 * stop, or -1 with err, also if the server refuses a prompt. */
int sql_writer_write(struct sql_writer *w, struct interpretation_sql *sqls, const struct sql_wish *list, int n,
                     bool stoppable, struct error *err);
void sql_writer_release(struct sql_writer *w);

#endif
