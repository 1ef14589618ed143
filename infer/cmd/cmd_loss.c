/* Part of commands.h: ambit-infer loss. */
#include "infer/cmd/commands.h"
#include "infer/lm/complete_options.h"

static const struct option table[] = {
    COMPLETE_OPTIONS,
    SHARD_OPTION(COMPLETE_AT(shard), COMPLETE_LOSS_WINDOW),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return complete_run(call, complete_loss, err);
}

const struct command command_loss = {
    .name = "loss",
    .summary = "says how badly a language model predicts given answers",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, complete_defaults),
    .details = "IN.jsonl holds records {\"id\", \"prompt\", \"completion\"}, or {\"id\", \"messages\"} whose last "
               "message is the assistant's; - is standard input.  \"adapter\" in a record names another "
               "folder than --adapter, or none (null).  Each line of the output has the sum of the negative "
               "log probabilities (nats) of the answer's tokens, and their number.  Lines are kept in OUT.jsonl.part "
               "until all are there; --resume takes those whose record, model and settings are what they were.",
    .examples = { "ambit-infer loss answers.jsonl --model llama -o losses.jsonl",
                  "ambit-infer loss answers.jsonl --model llama --adapter runs/infill --merge --dtype f32" },
    .files = complete_files,
    .run = run,
};
