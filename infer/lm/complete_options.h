/*
 * complete_options.h - what the command lines of `generate`, `loss` and `infill` share.
 */
#ifndef INFER_LM_COMPLETE_OPTIONS_H
#define INFER_LM_COMPLETE_OPTIONS_H

#include "data/cli/option_rows.h"
#include "infer/lm/complete.h"
#include "kernels/beams.h"

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
/* What every command has that runs a language model. */
#define CHAT_TEMPLATE_OPTION(at) \
    STRING_OPTION("chat-template", at, "NAME", \
                  "llama3, llama3-unsloth, llama3-bare, chatml, chatml-bare, gemma, mistral or a file.json, instead of the folder's")
#define DTYPE_OPTION(at) WORD_OPTION("dtype", at, "TYPE", "auto|f32|bf16", "of weights and activations")
#define TOKENS_OPTION(at) INT_OPTION("tokens", at, "N", 1, 1 << 20, "most prompt tokens read at once")

/* How answers are drawn, of a struct that has the fields by these names. */
#define ANSWER_OPTIONS(AT) \
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 24, "most tokens of an answer"), \
    REAL_OPTION("temperature", AT(temperature), "T", 0, 100, "0: the likeliest token, else draw"), \
    REAL_OPTION("top-p", AT(top_p), "P", OPTION_ABOVE_ZERO, 1, "draw from the likeliest tokens that hold this share"), \
    SEED_OPTION(AT(seed), "of the draws"), \
    INT_OPTION("batch", AT(batch), "N", 1, 4096, "most prompts answered at once")

#define COMPLETE_AT(field) offsetof(struct complete_request, field)
#define COMPLETE_OPTIONS \
    STRING_OPTION("model", COMPLETE_AT(model.dir), "HF_DIR", "folder with config.json, safetensors, tokenizer.json", \
                  .letter = 'm', .required = true), \
    STRING_OPTION("adapter", COMPLETE_AT(model.adapter), "DIR", "LoRA adapter as PEFT writes it, of records that name none"), \
    FLAG_OPTION("merge", COMPLETE_AT(model.merge), "add the adapter to the weights first"), \
    CHAT_TEMPLATE_OPTION(COMPLETE_AT(model.chat_template)), \
    FORMAT_IN_OPTION(COMPLETE_AT(form)), \
    OUT_OPTION(COMPLETE_AT(out), "OUT.jsonl", "results in input order; - is standard output"), \
    RESUME_OPTION(COMPLETE_AT(resume), "go on with what a run that was stopped left in OUT.jsonl.part"), \
    DTYPE_OPTION(COMPLETE_AT(model.dtype)), \
    DEVICE_OPTION(COMPLETE_AT(device)), \
    NO_GRAPH_OPTION(COMPLETE_AT(no_graph)), \
    TOKENS_OPTION(COMPLETE_AT(tokens))
/* clang-format on */

#endif
