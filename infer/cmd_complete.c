#include "data/log.h"
#include "data/stop.h"
#include "infer/commands.h"
#include "infer/complete.h"

static const struct complete_request defaults = {
    .model = { .dtype = "auto" },
    .out = "-",
    .device = "auto",
    .max_new = 256,
    .batch = 32,
    .tokens = 4096,
    .top_p = 1,
};

#define AT(field) offsetof(struct complete_request, field)

#define MODEL_OPTIONS                                                                                                       \
    { "model",       'm',      OPTION_STRING,                                                                               \
      AT(model.dir), "HF_DIR", "folder with config.json, safetensors, tokenizer.json",                                      \
      NULL,          0,        0,                                                                                           \
      true },                                                                                                               \
        { "adapter", 0, OPTION_STRING, AT(model.adapter), "DIR", "LoRA adapter as PEFT writes it", NULL, 0, 0, false },     \
        { "merge", 0, OPTION_FLAG, AT(model.merge), NULL, "add the adapter to the weights first", NULL, 0, 0, false },      \
        { "chat-template",                                                                                                  \
          0,                                                                                                                \
          OPTION_STRING,                                                                                                    \
          AT(model.chat_template),                                                                                          \
          "NAME",                                                                                                           \
          "llama3, llama3-unsloth, chatml or chatml-bare instead of the folder's own",                                      \
          NULL,                                                                                                             \
          0,                                                                                                                \
          0,                                                                                                                \
          false },                                                                                                          \
        { "out", 'o', OPTION_STRING, AT(out), "OUT.jsonl", "results in input order; - is standard output", NULL,            \
          0,     0,   false },                                                                                              \
        { "dtype", 0, OPTION_CHOICE, AT(model.dtype), "TYPE", "of weights and activations", "auto|f32|bf16", 0, 0, false }, \
        { "device", 'd', OPTION_STRING, AT(device), "DEVICE", "auto, cpu, cuda, cuda:N or simt", NULL, 0, 0, false },       \
    {                                                                                                                       \
        "tokens", 0, OPTION_INT, AT(tokens), "N", "most prompt tokens read at once", NULL, 1, 1 << 20, false                \
    }

/* clang-format off */
static const struct option generate_table[] = {
    MODEL_OPTIONS,
    { "max-new", 0, OPTION_INT, AT(max_new), "N", "most tokens of an answer", NULL, 1, 1 << 24, false },
    { "temperature", 0, OPTION_REAL, AT(temperature), "T", "0: the likeliest token, else draw", NULL, 0, 100, false },
    { "top-p", 0, OPTION_REAL, AT(top_p), "P", "draw from the likeliest tokens that hold this share", NULL,
      OPTION_ABOVE_ZERO, 1, false },
    { "seed", 0, OPTION_INT, AT(seed), "N", "of the draws", NULL, 0, INT32_MAX, false },
    { "batch", 0, OPTION_INT, AT(batch), "N", "most answers written at once", NULL, 1, 4096, false },
    { 0 },
};

static const struct option loss_table[] = {
    MODEL_OPTIONS,
    { 0 },
};
/* clang-format on */

static enum exit_code outcome(int rc, const struct complete_counts *counts, struct error *err)
{
    if (rc < 0)
        return err->code;
    if (rc > 0)
        return stop_exit_code();
    log_info("%lld records, %lld tokens, %lld failed", (long long)counts->records, (long long)counts->tokens,
             (long long)counts->failed);
    if (!counts->failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; their \"error\" says why",
              (long long)counts->failed, (long long)counts->records);
    return EXIT_CODE_RECORDS;
}

static enum exit_code run_generate(const void *options, char *const *operands, int n_operands, struct error *err)
{
    struct complete_counts counts = { 0 };

    (void)n_operands;
    return outcome(complete_generate(options, operands[0], &counts, err), &counts, err);
}

static enum exit_code run_loss(const void *options, char *const *operands, int n_operands, struct error *err)
{
    struct complete_counts counts = { 0 };

    (void)n_operands;
    return outcome(complete_loss(options, operands[0], &counts, err), &counts, err);
}

const struct command command_generate = {
    .name = "generate",
    .summary = "lets a language model answer prompts",
    .operands = "IN.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = generate_table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details = "IN.jsonl holds records {\"id\", \"prompt\"}, raw text to go on with, or {\"id\", \"messages\": "
               "[{\"role\", \"content\"}, ...]}, which the model's chat template renders; - is standard input.  Each "
               "line of the output has the text, its number of tokens, and why it ended: \"stop\" or \"length\".  The "
               "seed and a record's id determine what is drawn.",
    .run = run_generate,
};

const struct command command_loss = {
    .name = "loss",
    .summary = "says how badly a language model predicts given answers",
    .operands = "IN.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = loss_table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details = "IN.jsonl holds records {\"id\", \"prompt\", \"completion\"}, or {\"id\", \"messages\"} whose last "
               "message is the assistant's; - is standard input.  Each line of the output has the sum of the negative "
               "log probabilities (nats) of the answer's tokens, and their number.",
    .run = run_loss,
};
