/*
 * complete.h - what `ambit-infer generate` and `ambit-infer loss` do: records in, answers or their losses out, in
 * input order.  A record that cannot be run carries "error" and the run goes on.  Lines are kept in OUT.part until all
 * are there.  Both return 0, or -1 with the signal's code when one stopped them.
 */
#ifndef INFER_LM_COMPLETE_H
#define INFER_LM_COMPLETE_H

#include "data/cli/option_rows.h"
#include "data/shard/shard.h"
#include "kernels/beams.h"
#include "kernels/workspace.h"
#include "models/lm/lm_text.h"
#include "models/pipeline/byte_buffer.h"
#include "models/tokenizer/tokenizer.h"

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

/* What the command lines of `generate`, `loss` and `infill` share.
 */

extern const struct complete_request complete_defaults;

/* Runs complete_generate or complete_loss for a command line; tells the counts. */
typedef int complete_fn(const struct complete_request *q, const char *input, struct complete_counts *counts,
                        struct error *err);
enum exit_code complete_run(const struct call *call, complete_fn *complete, struct error *err);
/* What both leave. */
extern const struct file_note complete_files[];

/* Behind the name of an option that only draws ask for, where there are none. */
#define NOTHING_IS_DRAWN                                                                                               \
    "expected a --temperature above 0 (1 draws as the model says); without it the likeliest token is taken"

/* clang-format off */
/* Options of every command that runs a language model. */
#define CHAT_TEMPLATE_OPTION(at) \
    STRING_OPTION("chat-template", at, "NAME", \
                  "llama3, llama3-unsloth, llama3-bare, chatml, chatml-bare, gemma, mistral or a file.json (default: the folder's)")
#define DTYPE_OPTION(at) WORD_OPTION("dtype", at, "TYPE", "auto|f32|bf16", "type of weights and activations")
#define TOKENS_OPTION(at) INT_OPTION("tokens", at, "N", 1, 1 << 20, "maximum number of prompt tokens in a step")

/* Options of completions and of sampling, for a struct with fields of these names. */
#define ANSWER_OPTIONS(AT) \
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 24, "maximum number of tokens of a completion", \
               .group = "completions"), \
    REAL_OPTION("temperature", AT(temperature), "T", 0, 100, "sampling temperature; 0: the most probable token"), \
    REAL_OPTION("top-p", AT(top_p), "P", OPTION_ABOVE_ZERO, 1, "sample from the most probable tokens of this mass"), \
    SEED_OPTION(AT(seed), "seed of the samples")
#define SAMPLING_OPTIONS(AT) \
    INT_OPTION("top-k", AT(top_k), "K", 0, 1 << 20, "sample from the K most probable tokens; 0: from all"), \
    REAL_OPTION("min-p", AT(min_p), "P", 0, 1, "sample from tokens of at least P times the highest probability"), \
    REAL_OPTION("typical-p", AT(typical_p), "P", OPTION_ABOVE_ZERO, 1, \
                "locally typical sampling: tokens nearest to the entropy, of this mass")

#define COMPLETE_AT(field) offsetof(struct complete_request, field)
#define COMPLETE_OPTIONS \
    STRING_OPTION("model", COMPLETE_AT(model.dir), "HF_DIR", "folder with config.json, safetensors, tokenizer.json", \
                  .letter = 'm', .required = true, .group = "model"), \
    STRING_OPTION("adapter", COMPLETE_AT(model.adapter), "DIR", "LoRA adapter in PEFT's format; a record may name another"), \
    FLAG_OPTION("merge", COMPLETE_AT(model.merge), "merge the adapter into the weights"), \
    CHAT_TEMPLATE_OPTION(COMPLETE_AT(model.chat_template)), \
    OUT_OPTION(COMPLETE_AT(out), "OUT.jsonl", "results in input order; - is standard output", \
               .group = "input and output"), \
    RESUME_OPTION(COMPLETE_AT(resume), "continue an interrupted run from OUT.jsonl.part"), \
    FORMAT_IN_OPTION(COMPLETE_AT(form))
#define COMPLETE_PERFORMANCE_OPTIONS \
    INT_OPTION("tokens", COMPLETE_AT(tokens), "N", 1, 1 << 20, "maximum number of prompt tokens in a step", \
               .group = "performance"), \
    DTYPE_OPTION(COMPLETE_AT(model.dtype)), \
    DEVICE_OPTION(COMPLETE_AT(device)), \
    NO_GRAPH_OPTION(COMPLETE_AT(no_graph))
/* clang-format on */

/* Where a text first stands in what a model says, token by token.
 *
 * What counts is the text that is known after each token, which no later one changes: the place is the same however
 * many tokens have come behind it, and whenever one asks.
 */

struct stop_watch {
    const char *stop; /* what is looked for, not empty; borrowed */
    struct tokenizer_stream stream;
    struct byte_buffer text; /* of the tokens read */
    size_t *ends;            /* [n] bytes of text after each token */
    int64_t n, cap;
    bool found;
    size_t length; /* of the text before the place, where it was found */
};

void stop_watch_start(struct stop_watch *w, const char *stop, const struct tokenizer *t);
/* Reads those of n ids that it has not read yet, until it finds the text; whether it has. */
bool stop_watch_read(struct stop_watch *w, const int32_t *ids, int64_t n);
/* The same when no more ids come. */
bool stop_watch_end(struct stop_watch *w);
/* Tokens that have a part in the text before the place, which was found. */
int64_t stop_watch_tokens(const struct stop_watch *w);
void stop_watch_release(struct stop_watch *w);

#endif
