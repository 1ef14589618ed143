/* Part of commands.h: ambit-infer generate and loss. */
#include "infer/cmd/commands.h"

#include "data/cli/option_rows.h"
#include "infer/lm/complete.h"

#define AT(field) COMPLETE_AT(field)

static const struct option table[] = {
    COMPLETE_OPTIONS,
    SHARD_OPTION(AT(shard), 1),
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
    STRING_OPTION("stop", AT(stop), "TEXT", "end an answer before the first place where it says this"),
    STRING_OPTION("constraint", AT(constraint), "FILE", "texts that the answers may be, a line for each record"),
    CHOICE_OPTION("scores", AT(scores), "FORM", "full|allowed",
                  "log p of beams over the vocabulary, or over what the constraint allows"),
    INT_OPTION("logprobs", AT(logprobs), "K", 0, CANDIDATES_MAX, "add the K likeliest tokens at each place"),
    FLAG_OPTION("dry-run", AT(model.dry), "print the memory that the first prompts need, and stop"),
    { 0 },
};

/* What only draws, of which there are none, would ask for. */
static enum exit_code check_draws(const struct complete_request *q, struct error *err)
{
    const char *option = q->top_k                                     ? "--top-k"
                         : q->top_p < complete_defaults.top_p         ? "--top-p"
                         : q->min_p > 0                               ? "--min-p"
                         : q->typical_p < complete_defaults.typical_p ? "--typical-p"
                                                                      : NULL;

    if (q->beams > 1 && q->temperature > 0)
        return usage_error(err, "--temperature: expected 0 with --beams, which draw nothing, got %g", q->temperature);
    if (option && q->beams > 1)
        return usage_error(err, "%s: expected none with --beams, which draw nothing", option);
    if (option && q->temperature <= 0)
        return usage_error(err, "%s: " NOTHING_IS_DRAWN, option);
    return EXIT_CODE_OK;
}

/* What does not go together. */
static enum exit_code check(const struct complete_request *q, struct error *err)
{
    int beams = (int)q->beams, n = (int)q->n;

    if (beams > 1 && n > beams)
        return usage_error(err, "--n: expected at most %d, as many as --beams, got %d", beams, n);
    if (beams == 1 && n > 1 && q->temperature <= 0)
        return usage_error(
            err, "--n: %d answers of one prompt are the same, expected --beams or a --temperature above 0", n);
    if (q->stop && !*q->stop)
        return usage_error(err, "--stop: expected a text, got an empty one");
    if (q->stop && beams > 1)
        return usage_error(
            err, "--stop: expected --beams 1, got %d; a search's answers end with a token of the model's", beams);
    if (q->scores && !q->constraint)
        return usage_error(err, "--scores allowed: expected --constraint");
    if (q->scores && beams == 1)
        return usage_error(err, "--scores allowed: expected --beams of at least 2, whose scores it changes");
    if (beams == 1 && q->early_stopping)
        return usage_error(err, "--early-stopping: expected --beams of at least 2");
    if (beams == 1 && q->length_penalty != 1)
        return usage_error(err, "--length-penalty: expected --beams of at least 2, or 1, got %g", q->length_penalty);
    return check_draws(q, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    enum exit_code code = check(call->options, err);
    return code ? code : complete_run(call, complete_generate, err);
}

const struct command command_generate = {
    .name = "generate",
    .summary = "lets a language model answer prompts",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, complete_defaults),
    .details =
        "IN.jsonl holds records {\"id\", \"prompt\"}, raw text to go on with, or {\"id\", \"messages\": "
        "[{\"role\", \"content\"}, ...]}, which the model's chat template renders; - is standard input.  "
        "\"adapter\" in a record names another folder than --adapter, or none (null).  Each "
        "line of the output has the text, its number of tokens, and why it ended: \"stop\" or \"length\"; with --n "
        "a list \"texts\" of such answers, each with its score, by which those of beams are ordered, and the sum "
        "of its tokens' log p.  --stop looks for its text in what an answer says, however tokens are cut.  The seed and a record's id determine what is drawn; what else is in the file, "
        "and in which order, changes no answer.  Lines are kept in OUT.jsonl.part until all are there; "
        "--resume takes those whose record, model and settings are what they were.",
    .examples = { "ambit-infer generate prompts.jsonl --model llama -o answers.jsonl",
                  "ambit-infer generate prompts.jsonl --model llama --beams 5 --n 5 -o answers.jsonl" },
    .files = complete_files,
    .run = run,
};

static const struct option loss_table[] = {
    COMPLETE_OPTIONS,
    SHARD_OPTION(COMPLETE_AT(shard), COMPLETE_LOSS_WINDOW),
    { 0 },
};

static enum exit_code run_loss(const struct call *call, struct error *err)
{
    return complete_run(call, complete_loss, err);
}

const struct command command_loss = {
    .name = "loss",
    .summary = "says how badly a language model predicts given answers",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(loss_table, complete_defaults),
    .details = "IN.jsonl holds records {\"id\", \"prompt\", \"completion\"}, or {\"id\", \"messages\"} whose last "
               "message is the assistant's; - is standard input.  \"adapter\" in a record names another "
               "folder than --adapter, or none (null).  Each line of the output has the sum of the negative "
               "log probabilities (nats) of the answer's tokens, and their number.  Lines are kept in OUT.jsonl.part "
               "until all are there; --resume takes those whose record, model and settings are what they were.",
    .examples = { "ambit-infer loss answers.jsonl --model llama -o losses.jsonl",
                  "ambit-infer loss answers.jsonl --model llama --adapter runs/infill --merge --dtype f32" },
    .files = complete_files,
    .run = run_loss,
};
