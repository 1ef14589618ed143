/*
 * complete.h - ambit-infer generate and loss: reads records, completes or scores them, and writes lines in input order.
 *
 * A record that cannot be used is written with "error" and the run continues.  OUT.part keeps the lines until the
 * output is complete.  complete_generate() and complete_loss() return 0, or -1 with err; after a signal err has its
 * exit code.
 */
#ifndef INFER_LM_COMPLETE_H
#define INFER_LM_COMPLETE_H

#include "data/base/option_rows.h"
#include "data/base/shard.h"
#include "data/endpoint/endpoint.h"
#include "kernels/beams.h"
#include "kernels/workspace.h"
#include "models/lm/lm_text.h"
#include "models/text/byte_buffer.h"
#include "models/text/tokenizer.h"

/* Records packed together for their losses: those between two multiples of this number. */
enum { COMPLETE_LOSS_WINDOW = 1024 };

struct complete_request {
    struct llama_request model;
    struct endpoint_settings server; /* asked in place of the model, if it has an address */
    const char *out, *device;
    const char *constraint; /* file of constraints on completions, or NULL */
    const char *stop;       /* stop string, or NULL */
    int scores;             /* enum normalise */
    enum record_format format_in;
    struct shard shard;
    int64_t max_new, seed, batch, tokens;
    int64_t n, beams; /* n: completions of a prompt, 0: one as the record; beams 1: no search */
    int64_t top_k, logprobs;
    double temperature, top_p, min_p, typical_p, length_penalty;
    bool early_stopping;
    bool resume; /* continue from OUT.part */
    bool no_graph;
};

struct complete_counts {
    int64_t records, failed, tokens, resumed; /* resumed: records of an earlier run */
};

/*
 * Writes {"id", "text", "tokens", "finish"} for each record.  "tokens" counts the completion without its end token, and
 * "finish" is "stop" or "length".  With q->n the line is {"id", "texts": [{"text", "score", "logprob", "tokens",
 * "finish"}]}.  With q->logprobs each completion has "logprobs": [{"id", "token", "logprob", "top": [{"id", "token",
 * "logprob"}]}], one entry a token.
 */
int complete_generate(const struct complete_request *q, const char *input, struct complete_counts *counts,
                      struct error *err);
/* Writes {"id", "nll", "tokens"} for each record: the negative log-likelihood of the completion in nats, and its number
 * of tokens. */
int complete_loss(const struct complete_request *q, const char *input, struct complete_counts *counts,
                  struct error *err);

extern const struct complete_request complete_defaults;

/* Runs complete_generate() or complete_loss() for a command line and logs the counts. */
typedef int complete_fn(const struct complete_request *q, const char *input, struct complete_counts *counts,
                        struct error *err);
enum exit_code complete_run(const struct call *call, complete_fn *complete, struct error *err);
/* Files that both commands leave. */
extern const struct file_note complete_files[];

/* Message for a sampling option in a run without sampling. */
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
                "locally typical sampling: from the tokens nearest to the entropy, of this mass")

#define COMPLETE_AT(field) offsetof(struct complete_request, field)
#define COMPLETE_OPTIONS(required_, grain) \
    CHOICE_OPTION("format-in", COMPLETE_AT(format_in), "FORMAT", RECORD_FORMS, FORMAT_IN_HELP, .group = "input"), \
    SHARD_OPTION(COMPLETE_AT(shard), grain), \
    OUT_OPTION(COMPLETE_AT(out), "OUT.jsonl", "results in input order; - is standard output"), \
    RESUME_OPTION(COMPLETE_AT(resume), "continue an interrupted run from OUT.jsonl.part"), \
    STRING_OPTION("model", COMPLETE_AT(model.dir), "HF_DIR", "folder with config.json, safetensors, tokenizer.json", \
                  .letter = 'm', .required = (required_), .group = "model"), \
    STRING_OPTION("adapter", COMPLETE_AT(model.adapter), "DIR", "LoRA adapter in PEFT's format; a record may name another"), \
    FLAG_OPTION("merge", COMPLETE_AT(model.merge), "merge the adapter into the weights"), \
    CHAT_TEMPLATE_OPTION(COMPLETE_AT(model.chat_template))
#define COMPLETE_PERFORMANCE_OPTIONS \
    INT_OPTION("tokens", COMPLETE_AT(tokens), "N", 1, 1 << 20, "maximum number of prompt tokens in a step", \
               .group = "performance"), \
    DTYPE_OPTION(COMPLETE_AT(model.dtype)), \
    DEVICE_OPTION(COMPLETE_AT(device)), \
    NO_GRAPH_OPTION(COMPLETE_AT(no_graph))
/* clang-format on */

/*
 * A stop watch finds a stop string in the text of generated tokens.  It looks at the text that is final after each
 * token, so the place does not depend on the number of tokens that are read at a time.
 */
struct stop_watch {
    const char *stop; /* stop string, not empty; borrowed */
    struct tokenizer_stream stream;
    struct byte_buffer text; /* text of the tokens read */
    size_t *ends;            /* [n] length of the text after each token */
    int64_t n, cap;
    bool found;
    size_t length; /* bytes before the stop string, if it was found */
};

void stop_watch_start(struct stop_watch *w, const char *stop, const struct tokenizer *t);
/* Reads the new ones of n ids until it finds the stop string.  Returns whether it was found. */
bool stop_watch_read(struct stop_watch *w, const int32_t *ids, int64_t n);
/* Reads the end of the completion.  Returns whether the stop string was found. */
bool stop_watch_end(struct stop_watch *w);
/* Number of tokens with a part in the text before the stop string, which was found. */
int64_t stop_watch_tokens(const struct stop_watch *w);
void stop_watch_release(struct stop_watch *w);

#endif
