/*
 * complete_server.h - ambit-infer generate with a language-model server.
 *
 * Records, lines, OUT.part and errors are those of complete.h.  A window of records is asked at a time.
 */
#ifndef INFER_LM_COMPLETE_SERVER_H
#define INFER_LM_COMPLETE_SERVER_H

#include "infer/lm/complete.h"

struct endpoint;

/* Writes {"id", "text", "finish"} for each record, or with q->n {"id", "texts": [{"text", "logprob", "finish"}]}, whose
 * "logprob" is absent if the server gives none.  With q->model.dry it counts the requests and writes nothing.  Returns
 * 0, or -1 with err; after a signal err has its exit code. */
int complete_on_server(const struct complete_request *q, struct endpoint *server, const char *input,
                       struct complete_counts *counts, struct error *err);

#endif
