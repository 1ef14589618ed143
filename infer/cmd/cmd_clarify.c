#include "data/util/log.h"
#include "data/util/stop.h"
#include "infer/clarify/clarify.h"
#include "infer/clarify/interactive.h"
#include "infer/clarify/serve.h"
#include "infer/cmd/commands.h"

#include <string.h>

static const struct clarify_request defaults = {
    .out = "-", .strategy = "eig", .noise = 0.05, .tau = 2, .min_bits = 0.05, .max_turns = 3, .memory = "on", .seed = 1
};

#define AT(field) offsetof(struct clarify_request, field)

static const struct option table[] = {
    { "candidates", 0, OPTION_STRING, AT(candidates), "FILE.jsonl",
      "candidate statements of each question; - is standard input", NULL, 0, 0, false },
    { "schema", 0, OPTION_STRING, AT(schema), "FILE", "tables.json; records name their schema by db_id", NULL, 0, 0,
      false },
    { "db", 0, OPTION_STRING, AT(db), "DIR", "SQLite databases instead: DIR/ID.sqlite or DIR/ID/ID.sqlite", NULL, 0, 0,
      false },
    { "strategy", 0, OPTION_CHOICE, AT(strategy), "NAME", "which question is asked", STRATEGY_NAMES, 0, 0, false },
    { "noise", 0, OPTION_REAL, AT(noise), "P", "how often a user slips", NULL, 0, 0.5, false },
    { "max-turns", 0, OPTION_INT, AT(max_turns), "N", "most questions of one dialogue", NULL, 0, DIALOGUE_MAX_TURNS,
      false },
    { "tau", 0, OPTION_REAL, AT(tau), "P", "stop when a statement is this likely; above 1: never for that reason", NULL,
      0, 2, false },
    { "min-bits", 0, OPTION_REAL, AT(min_bits), "BITS", "stop when the best question tells less", NULL, 0, 100, false },
    { "second-cost", 0, OPTION_REAL, AT(second_cost), "C",
      "stop when a question costs more than it is worth: C for each second that it takes to answer, where one more "
      "right answer is worth 1; 0: not weighed",
      NULL, 0, 1e6, false },
    { "memory", 0, OPTION_CHOICE, AT(memory), "on|off", "off: what was asked before may be asked again", "on|off", 0, 0,
      false },
    { "simulate", 0, OPTION_FLAG, AT(simulate), NULL, "whole dialogues about each record's gold statements", NULL, 0, 0,
      false },
    { "report", 0, OPTION_STRING, AT(report), "report.html",
      "simulate every strategy with the same users, and compare them", NULL, 0, 0, false },
    { "interactive", 0, OPTION_FLAG, AT(interactive), NULL, "a dialogue about one record, with a person at a terminal",
      NULL, 0, 0, false },
    { "id", 0, OPTION_STRING, AT(id), "ID", "interactive: the record; the first one without", NULL, 0, 0, false },
    { "transcript", 0, OPTION_STRING, AT(transcript), "FILE", "interactive: keeps the dialogue, anew after each answer",
      NULL, 0, 0, false },
    { "replay", 0, OPTION_STRING, AT(replay), "FILE",
      "interactive: shows the dialogue of a transcript again and goes on where it ends; no --candidates then", NULL, 0,
      0, false },
    { "serve-stdio", 0, OPTION_FLAG, AT(serve), NULL,
      "dialogues for another program, one JSON object a line on standard input and output", NULL, 0, 0, false },
    { "user-noise", 0, OPTION_REAL, AT(user_noise), "P", "how often the simulated user slips", NULL, 0, 1, false },
    { "user-unknown", 0, OPTION_REAL, AT(user_unknown), "P", "how often the simulated user does not know", NULL, 0, 1,
      false },
    { "seed", 0, OPTION_INT, AT(seed), "N", "of the simulated user and of the strategy random", NULL, 0, 1LL << 53,
      false },
    { "out", 'o', OPTION_STRING, AT(out), "OUT.jsonl", "questions in input order; - is standard output", NULL, 0, 0,
      false },
    { 0 },
};

/* What does not go together. */
static const char *misused(const struct clarify_request *q)
{
    if (!q->schema == !q->db)
        return "either --schema or --db is wanted";
    if (q->interactive + q->serve + q->simulate > 1)
        return "only one of --simulate, --interactive and --serve-stdio can be had";
    if (q->report && !q->simulate)
        return "--report: only with --simulate";
    if (!q->interactive && (q->id || q->replay || q->transcript))
        return "--id, --replay and --transcript need --interactive";
    if (q->serve ? q->candidates != NULL : !q->candidates == !q->replay)
        return q->serve         ? "--serve-stdio takes no --candidates: records come in requests"
               : q->interactive ? "either --candidates or --replay is wanted"
                                : "--candidates is wanted";
    if (q->interactive && q->candidates && strcmp(q->candidates, "-") == 0)
        return "--interactive reads answers from standard input: --candidates must be a file";
    return NULL;
}

static enum exit_code run_batch(const struct clarify_request *q, struct error *err)
{
    struct clarify_counts counts = { 0 };
    int rc = clarify(q, &counts, err);

    if (rc < 0)
        return err->code;
    if (rc > 0)
        return stop_exit_code();
    log_info("%lld records, %lld questions, %lld candidates left out, %lld records failed", (long long)counts.records,
             (long long)counts.asked, (long long)counts.left_out, (long long)counts.failed);
    if (!counts.failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; their \"error\" says why", (long long)counts.failed,
              (long long)counts.records);
    return EXIT_CODE_RECORDS;
}

static enum exit_code run_serve(const struct clarify_request *q, struct error *err)
{
    struct serve_counts counts = { 0 };
    int rc = serve(q, &counts, err);

    if (rc < 0)
        return err->code;
    log_info("%lld requests, %lld answered with an error", (long long)counts.requests, (long long)counts.errors);
    return rc > 0 ? stop_exit_code() : EXIT_CODE_OK;
}

static enum exit_code run_interactive(const struct clarify_request *q, struct error *err)
{
    int rc = interact(q, err);
    return rc < 0 ? err->code : rc > 0 ? stop_exit_code() : EXIT_CODE_OK;
}

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    const struct clarify_request *q = options;
    const char *wrong = misused(q);

    (void)operands;
    (void)n_operands;
    if (wrong) {
        error_set(err, EXIT_CODE_USAGE, "%s", wrong);
        return EXIT_CODE_USAGE;
    }
    return q->serve ? run_serve(q, err) : q->interactive ? run_interactive(q, err) : run_batch(q, err);
}

const struct command command_clarify = {
    .name = "clarify",
    .summary = "finds what candidate statements disagree on, and asks the question that tells most",
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details =
        "FILE.jsonl holds records {\"id\", \"db_id\", \"question\", \"candidates\": [{\"sql\", \"p\" or "
        "\"logprob\"}]}, with \"reserve\" when the chance is known that the right statement is not among them, and "
        "with what is known of the question: \"spans\": [{\"start\", \"end\", \"label\": AMB|UNK|COL|VAL}], the user's "
        "own words, and the \"kind\" and \"alternatives\" that detect found.  With --db options show a few values of "
        "their columns.\n\n"
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
    .run = run,
};
