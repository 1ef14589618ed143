/*
 * complete_options.h - what the command lines of `generate` and `loss` share.
 */
#ifndef INFER_LM_COMPLETE_OPTIONS_H
#define INFER_LM_COMPLETE_OPTIONS_H

#include "data/cli/options.h"
#include "infer/lm/complete.h"

extern const struct complete_request complete_defaults;

/* The exit code of what complete_generate or complete_loss returned; tells the counts. */
enum exit_code complete_outcome(int rc, const struct complete_counts *counts, struct error *err);

/* clang-format off */
#define COMPLETE_AT(field) offsetof(struct complete_request, field)

#define COMPLETE_OPTIONS                                                                                               \
    { "model", 'm', OPTION_STRING, COMPLETE_AT(model.dir), "HF_DIR",                                                   \
      "folder with config.json, safetensors, tokenizer.json", NULL, 0, 0, true },                                      \
    { "adapter", 0, OPTION_STRING, COMPLETE_AT(model.adapter), "DIR",                                                  \
      "LoRA adapter as PEFT writes it", NULL, 0, 0, false },                                                           \
    { "merge", 0, OPTION_FLAG, COMPLETE_AT(model.merge), NULL,                                                         \
      "add the adapter to the weights first", NULL, 0, 0, false },                                                     \
    { "chat-template", 0, OPTION_STRING, COMPLETE_AT(model.chat_template), "NAME",                                     \
      "llama3, llama3-unsloth, llama3-bare, chatml or chatml-bare instead of the folder's own", NULL, 0, 0, false },   \
    { "out", 'o', OPTION_STRING, COMPLETE_AT(out), "OUT.jsonl",                                                        \
      "results in input order; - is standard output", NULL, 0, 0, false },                                             \
    { "dtype", 0, OPTION_CHOICE, COMPLETE_AT(model.dtype), "TYPE",                                                     \
      "of weights and activations", "auto|f32|bf16", 0, 0, false },                                                    \
    { "device", 'd', OPTION_STRING, COMPLETE_AT(device), "DEVICE",                                                     \
      "auto, cpu, cuda, cuda:N or simt", NULL, 0, 0, false },                                                          \
    { "tokens", 0, OPTION_INT, COMPLETE_AT(tokens), "N",                                                               \
      "most prompt tokens read at once", NULL, 1, 1 << 20, false }
/* clang-format on */

#endif
