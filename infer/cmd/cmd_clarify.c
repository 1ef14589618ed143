/* Part of commands.h: ambit-infer clarify. */
#include "data/cli/option_rows.h"
#include "data/util/log.h"
#include "infer/clarify/clarify.h"
#include "infer/clarify/interactive.h"
#include "infer/clarify/serve.h"
#include "infer/cmd/commands.h"

#include <string.h>

static const struct clarify_request defaults = {
    .out = "-", .strategy = STRATEGY_EIG, .noise = 0.05, .confidence = 2, .min_gain = 0.05, .max_turns = 3, .seed = 1
};

#define AT(field) offsetof(struct clarify_request, field)

static const struct option table[] = {
    STRING_OPTION("candidates", AT(candidates), "FILE.jsonl",
                  "candidate statements of each question; - is standard input"),
    FORMAT_IN_OPTION(AT(form)),
    STRING_OPTION("findings", AT(predictions), "FILE.jsonl",
                  "what detect wrote about the same questions, joined by id"),
    STRING_OPTION("spans", AT(spans), "FILE.jsonl", "what tag wrote about the same questions, joined by id"),
    SHARD_OPTION(AT(shard), 1, .records = "candidates"),
    SCHEMA_OPTION(AT(schema), "tables.json; records name their schema by db_id"),
    DB_OPTION(AT(db), ", in place of --schema"),
    CHOICE_OPTION("strategy", AT(strategy), "NAME", STRATEGY_NAMES, "which question is asked"),
    REAL_OPTION("noise", AT(noise), "P", 0, 0.5, "how often a user slips"),
    INT_OPTION("max-turns", AT(max_turns), "N", 0, DIALOGUE_MAX_TURNS, "most questions of one dialogue"),
    REAL_OPTION("confidence", AT(confidence), "P", 0, 2,
                "stop when a statement is this likely; above 1: never for that reason"),
    REAL_OPTION("min-gain", AT(min_gain), "BITS", 0, 100, "stop when the best question tells less"),
    REAL_OPTION("second-cost", AT(second_cost), "C", 0, 1e6,
                "stop when a question costs more than it is worth: C for each second that it takes to answer, where "
                "one more right answer is worth 1; 0: not weighed"),
    CHOICE_OPTION("memory", AT(memory), "on|off", "on|off", "off: what was asked before may be asked again"),
    FLAG_OPTION("simulate", AT(simulate), "whole dialogues about each record's gold statements"),
    STRING_OPTION("report", AT(report), "report.html", "simulate every strategy with the same users, and compare them",
                  .writes = true),
    FLAG_OPTION("interactive", AT(interactive), "a dialogue about one record, with a person at a terminal"),
    STRING_OPTION("id", AT(id), "ID", "interactive: the record; the first one without"),
    STRING_OPTION("transcript", AT(transcript), "FILE", "interactive: keeps the dialogue, anew after each answer",
                  .writes = true, .continues = "replay"),
    STRING_OPTION(
        "replay", AT(replay), "FILE",
        "interactive: shows the dialogue of a transcript again and goes on where it ends; no --candidates then"),
    FLAG_OPTION("serve-stdio", AT(serve),
                "dialogues for another program, one JSON object a line on standard input and output"),
    REAL_OPTION("user-noise", AT(user_noise), "P", 0, 1, "how often the simulated user slips"),
    REAL_OPTION("user-unknown", AT(user_unknown), "P", 0, 1, "how often the simulated user does not know"),
    SEED_OPTION(AT(seed), "of the simulated user and of the strategy random"),
    OUT_OPTION(AT(out), "OUT.jsonl", "questions in input order; - is standard output"),
    { 0 },
};

static bool is_standard_input(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* What does not go together. */
static const char *misused(const struct clarify_request *q)
{
    if (!q->schema == !q->db)
        return "expected either --schema or --db";
    if (q->interactive + q->serve + q->simulate > 1)
        return "expected only one of --simulate, --interactive and --serve-stdio";
    if (q->shard.count && (q->interactive || q->serve || q->simulate))
        return "--shard: expected no --interactive, no --serve-stdio and no --simulate, whose measures are of all records";
    if (q->report && !q->simulate)
        return "--report: expected --simulate too";
    if (!q->interactive && (q->id || q->replay || q->transcript))
        return "--id, --replay and --transcript: expected --interactive too";
    if (q->serve ? q->candidates != NULL : !q->candidates == !q->replay)
        return q->serve         ? "--serve-stdio takes no --candidates: records come in requests"
               : q->interactive ? "expected either --candidates or --replay"
                                : "expected --candidates";
    if ((q->predictions || q->spans) && !q->candidates)
        return "--findings and --spans: expected --candidates too";
    int streams = is_standard_input(q->candidates) + is_standard_input(q->predictions) + is_standard_input(q->spans);
    if (q->interactive && streams)
        return "--interactive reads answers from standard input: --candidates, --findings and --spans must be files";
    if (streams > 1)
        return "expected at most one of --candidates, --findings and --spans to be standard input";
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
    const struct clarify_request *q = call->options;
    const char *wrong = misused(q);

    if (wrong)
        return usage_error(err, "%s", wrong);
    return q->serve ? run_serve(q, err) : q->interactive ? run_interactive(q, err) : run_batch(q, err);
}

const struct command command_clarify = {
    .name = "clarify",
    .summary = "finds what candidate statements disagree on, and asks the question that tells most",
    OPTIONS(table, defaults),
    .details =
        "FILE.jsonl holds records {\"id\", \"db_id\", \"question\", \"candidates\": [{\"sql\", \"p\" or "
        "\"logprob\"}]}, with \"reserve\" when the chance is known that the right statement is not among them, and "
        "with what is known of the question: \"spans\": [{\"start\", \"end\", \"label\": AMB|UNK|COL|VAL}], the user's "
        "own words, and the \"kind\" and \"alternatives\" that detect found.  With --db options show a few values of "
        "their columns.\n\n"
        "--findings and --spans have these as detect and tag wrote them: a line belongs to the record with its id, "
        "whose question and database it must be about.  Questions then have the user's own words, offer what was found "
        "and no candidate has, and those that ask about what was found come before others that tell up to twice as "
        "much.\n\n"
        "Each line of the output has the entropy in bits, every variable with its expected information gain and "
        "options, the question to ask, and the candidates that could not be read.  With --simulate records also have "
        "\"gold\": [SQL, ...]; each line has a dialogue about each of them, the last line the measures with their 95 % "
        "intervals.  With --report all strategies talk about the same golds; each has a line at the end, with what it "
        "is behind the chosen one.\n\n"
        "--interactive asks a person, who answers with a number, words of an option, \"none\", \"don't know\", "
        "\"either\" or \"undo\"; with -o FILE the outcome is written there.  A dialogue that was killed goes on with "
        "--replay FILE --transcript FILE.\n\n"
        "--serve-stdio answers {\"op\": \"start\", \"record\"} and {\"op\": \"answer\", \"session\", \"answer\"}, also "
        "undo and show, with the question to ask and the new session, which is all there is of it: the next request "
        "brings it back.  What is wrong is answered with {\"error\": {\"kind\", \"text\"}}.",
    .examples = { "ambit-infer clarify --candidates candidates.jsonl --schema tables.json -o asked.jsonl",
                  "ambit-infer clarify --candidates candidates.jsonl --db databases --interactive --id q7" },
    .run = run,
};
