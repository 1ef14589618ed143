/* Part of commands.h: ambit-infer generate and loss. */
#include "infer/cmd/commands.h"

#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/lm/complete.h"
#include "infer/lm/complete_server.h"

#include <string.h>

#define AT(field) COMPLETE_AT(field)
#define SERVER(field) COMPLETE_AT(server.field)

static const struct option table[] = {
    COMPLETE_OPTIONS(false, 1),
    STRING_OPTION("lm", AT(server.url), "URL", ENDPOINT_URL_HELP ", in place of --model",
                  .group = "language-model server"),
    ENDPOINT_OPTIONS("lm", SERVER),
    ANSWER_OPTIONS(AT),
    SAMPLING_OPTIONS(AT),
    INT_OPTION("n", AT(n), "N", 0, BEAMS_MAX,
               "number of completions in the list `texts` of a record; 0: one, in `text`"),
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
    DRY_RUN_OPTION(AT(model.dry), "print the memory that the first prompts need, or the number of requests, and stop"),
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

/* Refuses options that a server does not take. */
static enum exit_code check_server(const struct complete_request *q, struct error *err)
{
    if (endpoint_check(&q->server, err))
        return err->code;
    if (!q->server.url)
        return q->model.dir ? EXIT_CODE_OK : usage_error(err, "expected --model or --lm");
    if (q->model.dir || q->model.adapter || q->model.merge || q->model.chat_template)
        return usage_error(err, "--lm: expected no --model, --adapter, --merge and --chat-template");
    if (q->beams > 1 || q->constraint || q->logprobs)
        return usage_error(err, "--lm: expected no --beams, --constraint and --logprobs, which need --model");
    if (q->resume && strcmp(q->out, "-") == 0)
        return usage_error(err, "--resume: expected --out FILE, a file to go on with");
    return EXIT_CODE_OK;
}

static enum exit_code run_server(const struct complete_request *q, const char *input, struct error *err)
{
    struct endpoint *server = endpoint_open(&q->server, err);
    struct complete_counts n = { 0 };

    if (!server)
        return err->code;
    int rc = complete_on_server(q, server, input, &n, err);
    endpoint_log(server);
    endpoint_close(server);
    if (rc == 0 && !q->model.dry)
        log_info("%lld records, %lld failed, %lld of an earlier run", (long long)n.records, (long long)n.failed,
                 (long long)n.resumed);
    return job_exit_code(rc, n.failed, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct complete_request *q = call->options;
    enum exit_code code = check_server(q, err);

    code = code ? code : check(q, err);
    if (code)
        return code;
    return q->server.url ? run_server(q, call->operands[0], err) : complete_run(call, complete_generate, err);
}

const struct command command_generate = {
    .name = "generate",
    .summary = "complete prompts with a language model",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, complete_defaults),
    .details = "Read records {\"id\", \"prompt\"} or {\"id\", \"messages\"} and write the completion of each.  See "
               "docs/reference/records.md.",
    .examples = { "ambit-infer generate prompts.jsonl --model llama -o answers.jsonl",
                  "ambit-infer generate prompts.jsonl --lm http://localhost:8080/v1 -o answers.jsonl" },
    .files = complete_files,
    .run = run,
};

static const struct option loss_table[] = {
    COMPLETE_OPTIONS(true, COMPLETE_LOSS_WINDOW),
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
