/* Part of commands.h: ambit-infer clarify. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/clarify/clarify.h"
#include "infer/clarify/interactive.h"
#include "infer/clarify/serve.h"
#include "infer/cmd/commands.h"
#include "infer/lm/complete.h"
#include "infer/lm/wording_completer.h"

#include <math.h>
#include <string.h>

#define AT(field) offsetof(struct clarify_request, field)

#define LM(field) AT(lm.field)

static const struct option table[] = {
    STRING_OPTION("candidates", AT(candidates), "FILE.jsonl",
                  "candidate statements of each question; - is standard input", .group = "input"),
    STRING_OPTION("predictions", AT(predictions), "FILE.jsonl",
                  "output of detect for the same questions, joined by id"),
    STRING_OPTION("spans", AT(spans), "FILE.jsonl", "output of tag for the same questions, joined by id"),
    DB_OPTION(AT(db), ", in place of --schema"),
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1, .records = "candidates"),
    OUT_OPTION(AT(out), "OUT.jsonl", "questions in input order; - is standard output"),
    CHOICE_OPTION("strategy", AT(strategy), "NAME", STRATEGY_NAMES, "selection of the question to ask",
                  .group = "dialogue"),
    REAL_OPTION("noise", AT(noise), "P", 0, 0.5, "expected rate of user errors"),
    INT_OPTION("max-turns", AT(max_turns), "N", 0, DIALOGUE_MAX_TURNS, "maximum number of questions of a dialogue"),
    REAL_OPTION("confidence", AT(confidence), "P", 0, 2, "stop at a statement of this probability; above 1: never"),
    REAL_OPTION("auto", AT(auto_choice), "P", 0, 1,
                "choose by evidence, and ask the user only below this probability (default: always ask)"),
    REAL_OPTION("min-gain", AT(min_gain), "BITS", 0, 100, "stop at an expected information gain below this"),
    REAL_OPTION("second-cost", AT(second_cost), "C", 0, 1e6,
                "stop when a question costs more than it is worth, at C a second; 0: never"),
    FLAG_OPTION("repeat", AT(repeat), "allow questions that were asked before"),
    STRING_OPTION("memory", AT(memory), "FILE", "file of the user's choices, which answers teach"),
    FLAG_OPTION("interactive", AT(interactive), "ask a person at the terminal about one record", .group = "modes"),
    STRING_OPTION("id", AT(id), "ID", "interactive: record to ask about (default: the first)"),
    STRING_OPTION("transcript", AT(transcript), "FILE", "interactive: file to save the dialogue in, after each answer",
                  .writes = true, .continues = "replay"),
    STRING_OPTION("replay", AT(replay), "FILE", "interactive: transcript to resume, in place of --candidates"),
    FLAG_OPTION("serve-stdio", AT(serve), "serve another program: JSON lines on standard input and output"),
    FLAG_OPTION("simulate", AT(simulate), "run dialogues about the gold statements of each record"),
    STRING_OPTION("report", AT(report), "FILE.html", "simulate: page that compares all strategies", .writes = true),
    REAL_OPTION("user-noise", AT(user_noise), "P", 0, 1, "simulate: rate of the user's errors"),
    REAL_OPTION("user-unknown", AT(user_unknown), "P", 0, 1, "simulate: rate of the answer \"I don't know\""),
    SEED_OPTION(AT(seed), "seed of the simulated user and of the strategy random"),
    STRING_OPTION("write-wordings", AT(write_wordings), "FILE",
                  "write prompts that word each question, for a language model, and stop", .writes = true,
                  .group = "words"),
    STRING_OPTION("wordings", AT(wordings), "FILE.jsonl", "completions of these prompts; - is standard input"),
    STRING_OPTION("wording-model", AT(wording_dir), "HF_DIR", "language model for --wordings"),
    CHAT_TEMPLATE_OPTION(AT(chat_template)),
    DEVICE_OPTION(AT(device)),
    STRING_OPTION("lm", AT(lm.url), "URL", ENDPOINT_URL_HELP ", in place of --wording-model",
                  .group = "language-model server"),
    ENDPOINT_OPTIONS("lm", LM),
    { 0 },
};

static bool is_standard_input(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Returns the error of incompatible options, or NULL. */
static const char *misused(const struct clarify_request *q)
{
    if (!q->schema == !q->db)
        return "expected either --schema or --db";
    if (q->interactive + q->serve + q->simulate > 1)
        return "--simulate, --interactive and --serve-stdio cannot be used together";
    if (q->shard.count && (q->interactive || q->serve || q->simulate))
        return "--shard cannot be used with --interactive, --serve-stdio or --simulate, whose metrics are of all records";
    if (q->memory && q->report)
        return "--memory and --report cannot be used together, since all strategies would share the memory";
    if (q->report && !q->simulate)
        return "--report: expected --simulate as well";
    if (!isnan(q->auto_choice) && q->confidence != clarify_request_default.confidence)
        return "--auto and --confidence cannot be used together";
    if (q->write_wordings && (q->interactive || q->serve || q->simulate || q->wordings || !is_standard_input(q->out)))
        return "--write-wordings: expected none of --out, --wordings, --simulate, --interactive and --serve-stdio";
    if ((q->wording_dir || q->lm.url) && (q->write_wordings || q->wordings))
        return "--wording-model and --lm: expected neither --wordings nor --write-wordings";
    if (q->wording_dir && q->lm.url)
        return "--wording-model and --lm cannot be used together";
    if (!q->interactive && (q->id || q->replay || q->transcript))
        return "--id, --replay and --transcript: expected --interactive as well";
    if (q->serve ? q->candidates != NULL : !q->candidates == !q->replay)
        return q->serve         ? "--serve-stdio takes no --candidates: records come in requests"
               : q->interactive ? "expected either --candidates or --replay"
                                : "expected --candidates";
    if ((q->predictions || q->spans) && !q->candidates)
        return "--predictions and --spans: expected --candidates as well";
    int streams = is_standard_input(q->candidates) + is_standard_input(q->predictions) + is_standard_input(q->spans) +
                  is_standard_input(q->wordings);
    if ((q->interactive || q->serve) && streams)
        return "--interactive and --serve-stdio read standard input: --candidates, --predictions, --spans and --wordings "
               "must be files";
    if (streams > 1)
        return "expected at most one of --candidates, --predictions, --spans and --wordings to be standard input";
    return NULL;
}

static enum exit_code run_batch(const struct clarify_request *q, struct error *err)
{
    struct clarify_counts counts = { 0 };
    int rc = clarify(q, &counts, err);

    if (rc == 0)
        log_info("%lld records, %lld questions, %lld candidates left out, %lld records failed",
                 (long long)counts.records, (long long)counts.asked, (long long)counts.rejected,
                 (long long)counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

static enum exit_code run_serve(const struct clarify_request *q, struct error *err)
{
    struct serve_counts counts = { 0 };
    int rc = serve(q, &counts, err);

    if (rc >= 0)
        log_info("%lld requests, %lld answered with an error", (long long)counts.requests, (long long)counts.errors);
    return job_exit_code(rc, 0, err);
}

static enum exit_code run_interactive(const struct clarify_request *q, struct error *err)
{
    int rc = interact(q, err);
    return job_exit_code(rc, 0, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct clarify_request q = *(const struct clarify_request *)call->options;
    const struct wording_completer_settings settings = { q.wording_dir, q.chat_template, q.device, &q.lm };
    struct wording_completer model;
    const char *wrong = misused(&q);

    if (wrong)
        return usage_error(err, "%s", wrong);
    if (endpoint_check(&q.lm, err))
        return err->code;
    enum exit_code code = wording_completer_open(&model, &q.wording_model, &settings, err) ? err->code
                          : q.serve                                                        ? run_serve(&q, err)
                          : q.interactive                                                  ? run_interactive(&q, err)
                                                                                           : run_batch(&q, err);
    wording_completer_close(&model);
    return code;
}

const struct command command_clarify = {
    .name = "clarify",
    .summary = "ask the most informative clarifying question about candidate statements",
    OPTIONS(table, clarify_request_default),
    .details =
        "Read records {\"id\", \"db_id\", \"question\", \"candidates\": [{\"sql\", \"p\" or \"logprob\"}]} and write the "
        "question to ask about each.  --simulate needs \"gold\": [SQL, ...] too.  See docs/guides/clarify.md.",
    .examples = { "ambit-infer clarify --candidates candidates.jsonl --schema tables.json -o asked.jsonl",
                  "ambit-infer clarify --candidates candidates.jsonl --db databases --interactive --id q7" },
    .run = run,
};
