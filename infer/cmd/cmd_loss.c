#include "infer/cmd/commands.h"
#include "infer/lm/complete_options.h"

static const struct option table[] = {
    COMPLETE_OPTIONS,
    { 0 },
};

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    struct complete_counts counts = { 0 };

    (void)n_operands;
    return complete_outcome(complete_loss(options, operands[0], &counts, err), &counts, err);
}

const struct command command_loss = {
    .name = "loss",
    .summary = "says how badly a language model predicts given answers",
    .operands = "IN.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = table,
    .defaults = &complete_defaults,
    .size = sizeof complete_defaults,
    .details = "IN.jsonl holds records {\"id\", \"prompt\", \"completion\"}, or {\"id\", \"messages\"} whose last "
               "message is the assistant's; - is standard input.  Each line of the output has the sum of the negative "
               "log probabilities (nats) of the answer's tokens, and their number.",
    .run = run,
};
