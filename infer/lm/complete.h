/*
 * complete.h - what `ambit-infer generate` and `ambit-infer loss` do: records in, answers or their losses out, in
 * input order.  A record that cannot be run carries "error" and the run goes on.  Lines are kept in OUT.part until all
 * are there.  Both return 0, or -1 with the signal's code when one stopped them.
 */
#ifndef INFER_LM_COMPLETE_H
#define INFER_LM_COMPLETE_H

#include "data/shard/shard.h"
#include "kernels/workspace.h"
#include "models/lm/lm_text.h"

/* Records whose losses are packed together: those between places that it divides. */
enum { COMPLETE_LOSS_WINDOW = 1024 };

struct complete_request {
    struct llama_request model;
    const char *out, *device;
    const char *constraint; /* a file of constraints on answers, or NULL */
    const char *stop;       /* a text that ends a drawn answer before it, or NULL */
    int scores;             /* enum normalise */
    enum record_form form;
    struct shard shard;
    int64_t max_new, seed, batch, tokens;
    int64_t n, beams; /* answers to each prompt, 0: one, which is the record; beams 1: none */
    int64_t top_k, logprobs;
    double temperature, top_p, min_p, typical_p, length_penalty;
    bool early_stopping;
    bool resume; /* go on with what OUT.part holds */
    bool no_graph;
};

struct complete_counts {
    int64_t records, failed, tokens, resumed; /* resumed: those of an earlier run */
};

/*
 * {"id", "text", "tokens", "finish"}: the answer, its tokens without the one that ended it, "stop" or "length"; with
 * request->n {"id", "texts": [{"text", "score", "logprob", "tokens", "finish"}]}.  logprobs adds to each answer
 * "logprobs": [{"id", "token", "logprob", "top": [{"id", "token", "logprob"}]}], one a token.
 */
int complete_generate(const struct complete_request *q, const char *input, struct complete_counts *counts,
                      struct error *err);
/* {"id", "nll", "tokens"}: sum of -log p over the answer's tokens, natural logarithm, and their number. */
int complete_loss(const struct complete_request *q, const char *input, struct complete_counts *counts,
                  struct error *err);

#endif
