/* Part of commands.h: ambit-infer generate. */
#include "data/cli/option_rows.h"
#include "infer/cmd/commands.h"
#include "infer/lm/complete_options.h"

#define AT(field) COMPLETE_AT(field)

static const struct option table[] = {
    COMPLETE_OPTIONS,
    ANSWER_OPTIONS(AT),
    DRY_RUN_OPTION(AT(model.dry), "print the memory that the first prompts need, and stop"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return complete_run(call, complete_generate, err);
}

const struct command command_generate = {
    .name = "generate",
    .summary = "lets a language model answer prompts",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, complete_defaults),
    .details = "IN.jsonl holds records {\"id\", \"prompt\"}, raw text to go on with, or {\"id\", \"messages\": "
               "[{\"role\", \"content\"}, ...]}, which the model's chat template renders; - is standard input.  Each "
               "line of the output has the text, its number of tokens, and why it ended: \"stop\" or \"length\".  The "
               "seed and a record's id determine what is drawn.  Lines are kept in OUT.jsonl.part until all are there; "
               "--resume takes those whose record, model and settings are what they were.",
    .examples = { "ambit-infer generate prompts.jsonl --model llama -o answers.jsonl",
                  "ambit-infer generate prompts.jsonl --model llama --adapter runs/infill --temperature 0.7 --seed 1" },
    .files = complete_files,
    .run = run,
};
