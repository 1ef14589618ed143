/* Part of commands.h: ambit-infer generate and loss. */
#include "infer/cmd/commands.h"

#include "data/base/option_rows.h"
#include "infer/lm/complete.h"

#define AT(field) COMPLETE_AT(field)

static const struct option table[] = {
    COMPLETE_OPTIONS,
    SHARD_OPTION(AT(shard), 1),
    ANSWER_OPTIONS(AT),
    SAMPLING_OPTIONS(AT),
    INT_OPTION("n", AT(n), "N", 0, BEAMS_MAX, "completions of each prompt, as a list; 0: one, as the record",
               .letter = 'n'),
    STRING_OPTION("stop", AT(stop), "TEXT", "stop string: cut the completion before its first occurrence"),
    INT_OPTION("beams", AT(beams), "B", 1, BEAMS_MAX, "number of beams; 1: no beam search", .group = "beam search"),
    REAL_OPTION("length-penalty", AT(length_penalty), "P", -100, 100, "rank beams by log p / length to this power"),
    FLAG_OPTION("early-stopping", AT(early_stopping), "end the search with its first B completions"),
    STRING_OPTION("constraint", AT(constraint), "FILE", "texts that completions may be, one line for each record",
                  .group = "constraints and scores"),
    CHOICE_OPTION("scores", AT(scores), "FORM", "full|allowed",
                  "normalise beams over the vocabulary, or over the allowed tokens"),
    INT_OPTION("logprobs", AT(logprobs), "K", 0, CANDIDATES_MAX, "report the K most probable tokens at each position"),
    COMPLETE_PERFORMANCE_OPTIONS,
    INT_OPTION("batch", AT(batch), "N", 1, 4096, "maximum number of prompts in a batch"),
    FLAG_OPTION("dry-run", AT(model.dry), "print the memory that the first prompts need, and stop"),
    { 0 },
};

/* Refuses sampling options in a run without sampling. */
static enum exit_code check_draws(const struct complete_request *q, struct error *err)
{
    const char *option = q->top_k                                     ? "--top-k"
                         : q->top_p < complete_defaults.top_p         ? "--top-p"
                         : q->min_p > 0                               ? "--min-p"
                         : q->typical_p < complete_defaults.typical_p ? "--typical-p"
                                                                      : NULL;

    if (q->beams > 1 && q->temperature > 0)
        return usage_error(err, "--temperature: expected 0 with --beams, which sample nothing, got %g", q->temperature);
    if (option && q->beams > 1)
        return usage_error(err, "%s cannot be used with --beams, which sample nothing", option);
    if (option && q->temperature <= 0)
        return usage_error(err, "%s: " NOTHING_IS_DRAWN, option);
    return EXIT_CODE_OK;
}

/* Returns the error of incompatible options, or NULL. */
static enum exit_code check(const struct complete_request *q, struct error *err)
{
    int beams = (int)q->beams, n = (int)q->n;

    if (beams > 1 && n > beams)
        return usage_error(err, "--n: expected at most %d, as many as --beams, got %d", beams, n);
    if (beams == 1 && n > 1 && q->temperature <= 0)
        return usage_error(err, "--n: expected --beams or a --temperature above 0 for %d different completions", n);
    if (q->stop && !*q->stop)
        return usage_error(err, "--stop: expected a text, got an empty one");
    if (q->stop && beams > 1)
        return usage_error(err, "--stop: expected --beams 1, got %d; beams end with an end token", beams);
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
    .summary = "complete prompts with a language model",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, complete_defaults),
    .details = "Read records {\"id\", \"prompt\"} or {\"id\", \"messages\"} and write the completion of each.  See "
               "docs/reference/records.md.",
    .examples = { "ambit-infer generate prompts.jsonl --model llama -o answers.jsonl",
                  "ambit-infer generate prompts.jsonl --model llama --beams 5 --n 5 -o answers.jsonl" },
    .files = complete_files,
    .run = run,
};

static const struct option loss_table[] = {
    COMPLETE_OPTIONS,
    SHARD_OPTION(COMPLETE_AT(shard), COMPLETE_LOSS_WINDOW),
    COMPLETE_PERFORMANCE_OPTIONS,
    { 0 },
};

static enum exit_code run_loss(const struct call *call, struct error *err)
{
    return complete_run(call, complete_loss, err);
}

const struct command command_loss = {
    .name = "loss",
    .summary = "compute the log-likelihood of given completions",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(loss_table, complete_defaults),
    .details =
        "Read records {\"id\", \"prompt\", \"completion\"} or {\"id\", \"messages\"} and write the negative log-likelihood of each "
        "completion, in nats.  See docs/reference/records.md.",
    .examples = { "ambit-infer loss answers.jsonl --model llama -o losses.jsonl",
                  "ambit-infer loss answers.jsonl --model llama --adapter runs/infill --merge --dtype f32" },
    .files = complete_files,
    .run = run_loss,
};
