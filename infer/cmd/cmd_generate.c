#include "infer/cmd/commands.h"
#include "infer/lm/complete_options.h"

#define AT(field) COMPLETE_AT(field)

static const struct option table[] = {
    COMPLETE_OPTIONS,
    { "max-new", 0, OPTION_INT, AT(max_new), "N", "most tokens of an answer", NULL, 1, 1 << 24, false },
    { "temperature", 0, OPTION_REAL, AT(temperature), "T", "0: the likeliest token, else draw", NULL, 0, 100, false },
    { "top-p", 0, OPTION_REAL, AT(top_p), "P", "draw from the likeliest tokens that hold this share", NULL,
      OPTION_ABOVE_ZERO, 1, false },
    { "seed", 0, OPTION_INT, AT(seed), "N", "of the draws", NULL, 0, INT32_MAX, false },
    { "batch", 0, OPTION_INT, AT(batch), "N", "most answers written at once", NULL, 1, 4096, false },
    { "dry-run", 'n', OPTION_FLAG, AT(model.dry), NULL, "print the memory that the first prompts need, and stop", NULL,
      0, 0, false },
    { 0 },
};

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    struct complete_counts counts = { 0 };

    (void)n_operands;
    const struct complete_request *q = options;
    int rc = complete_generate(q, operands[0], &counts, err);
    return rc == 0 && q->model.dry ? EXIT_CODE_OK : complete_outcome(rc, &counts, err);
}

const struct command command_generate = {
    .name = "generate",
    .summary = "lets a language model answer prompts",
    .operands = "IN.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = table,
    .defaults = &complete_defaults,
    .size = sizeof complete_defaults,
    .details = "IN.jsonl holds records {\"id\", \"prompt\"}, raw text to go on with, or {\"id\", \"messages\": "
               "[{\"role\", \"content\"}, ...]}, which the model's chat template renders; - is standard input.  Each "
               "line of the output has the text, its number of tokens, and why it ended: \"stop\" or \"length\".  The "
               "seed and a record's id determine what is drawn.",
    .run = run,
};
