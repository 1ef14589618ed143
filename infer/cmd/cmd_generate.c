/* Part of commands.h: ambit-infer generate. */
#include "data/cli/option_rows.h"
#include "infer/cmd/commands.h"
#include "infer/lm/complete_options.h"

#define AT(field) COMPLETE_AT(field)

static const struct option table[] = {
    COMPLETE_OPTIONS,
    ANSWER_OPTIONS(AT),
    INT_OPTION("top-k", AT(top_k), "K", 0, 1 << 20, "draw from the K likeliest tokens; 0: from all"),
    REAL_OPTION("min-p", AT(min_p), "P", 0, 1, "draw from tokens that are at least P times as likely as the likeliest"),
    REAL_OPTION("typical-p", AT(typical_p), "P", OPTION_ABOVE_ZERO, 1,
                "draw from the tokens nearest to the entropy that hold this share"),
    INT_OPTION("n", AT(n), "N", 0, BEAMS_MAX, "answers to each prompt, as a list; 0: one, which is the record",
               .letter = 'n'),
    INT_OPTION("beams", AT(beams), "B", 1, BEAMS_MAX, "beams of a search; 1: none"),
    REAL_OPTION("length-penalty", AT(length_penalty), "P", -100, 100,
                "beams are ordered by log p divided by length to this power"),
    FLAG_OPTION("early-stopping", AT(early_stopping), "a search ends with its first B answers"),
    STRING_OPTION("constraint", AT(constraint), "FILE", "texts that the answers may be, a line for each record"),
    CHOICE_OPTION("scores", AT(scores), "FORM", "full|allowed",
                  "log p of beams over the vocabulary, or over what the constraint allows"),
    INT_OPTION("logprobs", AT(logprobs), "K", 0, CANDIDATES_MAX, "add the K likeliest tokens at each place"),
    FLAG_OPTION("dry-run", AT(model.dry), "print the memory that the first prompts need, and stop"),
    { 0 },
};

/* What does not go together; NULL when all does. */
static const char *misused(const struct complete_request *q)
{
    if (q->beams > 1 && q->temperature > 0)
        return "--temperature: expected 0 with --beams, which draw nothing";
    if (q->beams > 1 && q->n > q->beams)
        return "--n: expected no more answers than --beams";
    if (q->beams == 1 && q->n > 1 && q->temperature <= 0)
        return "--n: expected --beams or a --temperature above 0, or all answers are the same";
    if (q->scores && !q->constraint)
        return "--scores allowed: expected --constraint";
    if (q->beams == 1 && q->early_stopping)
        return "--early-stopping: expected --beams";
    return NULL;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const char *wrong = misused(call->options);

    if (wrong)
        return usage_error(err, "%s", wrong);
    return complete_run(call, complete_generate, err);
}

const struct command command_generate = {
    .name = "generate",
    .summary = "lets a language model answer prompts",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, complete_defaults),
    .details =
        "IN.jsonl holds records {\"id\", \"prompt\"}, raw text to go on with, or {\"id\", \"messages\": "
        "[{\"role\", \"content\"}, ...]}, which the model's chat template renders; - is standard input.  Each "
        "line of the output has the text, its number of tokens, and why it ended: \"stop\" or \"length\"; with --n "
        "a list \"texts\" of such answers, each with its score, by which those of beams are ordered, and the sum "
        "of its tokens' log p.  The seed and a record's id determine what is drawn; what else is in the file, "
        "and in which order, changes no answer.  Lines are kept in OUT.jsonl.part until all are there; "
        "--resume takes those whose record, model and settings are what they were.",
    .examples = { "ambit-infer generate prompts.jsonl --model llama -o answers.jsonl",
                  "ambit-infer generate prompts.jsonl --model llama --beams 5 --n 5 -o answers.jsonl" },
    .files = complete_files,
    .run = run,
};
