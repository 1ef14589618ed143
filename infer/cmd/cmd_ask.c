/* Part of commands.h: ambit-infer ask. */
#include "data/cli/option_rows.h"
#include "data/util/log.h"
#include "infer/ask/ask.h"
#include "infer/cmd/commands.h"
#include "infer/parse/parse.h"
#include "models/embed/schema_finder.h"
#include "models/gate/gate_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* What is asked, and who may ask over HTTP. */
struct ask_options {
    struct ask_request ask;
    struct http_settings http;
};

static const struct ask_options defaults = { .ask = {
    .clarify = { .strategy = STRATEGY_EIG, .noise = 0.05, .confidence = 2, .min_gain = 0.05, .max_turns = 3, .seed = 1 },
    .parser_strategy = PARSE_LOGICAL_BEAM,
    .device = "auto",
    .threshold = NAN,
    .top = 20,
    .rows = 20,
}, .http = { .connections = 250, .seconds = 30, .whole_seconds = 60, .request_seconds = 30 } };

#define AT(field) offsetof(struct ask_options, ask.field)
#define HTTP(field) offsetof(struct ask_options, http.field)

static const struct option table[] = {
    STRING_OPTION("question", AT(question), "TEXT",
                  "one question, in place of IN.jsonl; asks at the terminal without --out"),
    DB_OPTION(AT(clarify.db), ", in which statements run"),
    SCHEMA_OPTION(AT(clarify.schema), "tables.json in place of --db; nothing runs then"),
    STRING_OPTION("detector", AT(detector), "RUN", GATE_DEFAULT_HELP "; none: ask without one"),
    STRING_OPTION("adapt", AT(adapt), "FILE", "what ambit-train adapt made of the detector and a few labels"),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", "of the detector: " RETRIEVER_HELP),
    STRING_OPTION("tagger", AT(tagger), "RUN", "folder that ambit-train tag left, or heuristic, which needs none"),
    STRING_OPTION("parser", AT(parser), "HF_DIR", "model that ambit-infer parse takes as --model"),
    CHOICE_OPTION("parser-strategy", AT(parser_strategy), "NAME", PARSE_STRATEGIES, "how the parser finds statements"),
    INT_OPTION("top", AT(top), "K", 1, 64, "most statements of the parser", .letter = 'k'),
    STRING_OPTION("candidates", AT(clarify.candidates), "FILE.jsonl",
                  "candidate statements in place of --parser, joined by id, with --question by the question"),
    FORMAT_IN_OPTION(AT(clarify.form)),
    REAL_OPTION("gate", AT(gate), "P", 0, 1, "where a question is less likely ambiguous than this nobody is asked"),
    REAL_OPTION("threshold", AT(threshold), "X", 0, 1,
                "what is as likely is called ambiguous; without, the detector's own"),
    CHOICE_OPTION("alternatives", AT(alternatives), "on|off", "on|off",
                  "off: no statements are made of the detector's alternatives"),
    INT_OPTION("rows", AT(rows), "N", 0, 10000, "most rows of a result that are told"),
    CHOICE_OPTION("strategy", AT(clarify.strategy), "NAME", STRATEGY_NAMES, "which question is asked"),
    REAL_OPTION("noise", AT(clarify.noise), "P", 0, 0.5, "how often a user slips"),
    INT_OPTION("max-turns", AT(clarify.max_turns), "N", 0, DIALOGUE_MAX_TURNS, "most questions of one dialogue"),
    REAL_OPTION("confidence", AT(clarify.confidence), "P", 0, 2,
                "stop when a statement is this likely; above 1: never for that reason"),
    REAL_OPTION("min-gain", AT(clarify.min_gain), "BITS", 0, 100, "stop when the best question tells less"),
    FLAG_OPTION("interactive", AT(clarify.interactive), "a person at the terminal answers, record after record"),
    STRING_OPTION("id", AT(clarify.id), "ID", "interactive: this record alone"),
    FLAG_OPTION("simulate", AT(clarify.simulate), "whole dialogues about each record's gold statements"),
    REAL_OPTION("user-noise", AT(clarify.user_noise), "P", 0, 1, "how often the simulated user slips"),
    REAL_OPTION("user-unknown", AT(clarify.user_unknown), "P", 0, 1, "how often the simulated user does not know"),
    SEED_OPTION(AT(clarify.seed), "of the simulated user, of the strategy random and of a parser that draws"),
    STRING_OPTION("serve", HTTP(address), "ADDRESS:PORT",
                  "answer over HTTP, and show a page for people, until stopped"),
    STRING_OPTION("token-file", HTTP(token_file), "FILE",
                  "serve: requests must bring the token of its first line; needed where the address is not local"),
    INT_OPTION("connections", HTTP(connections), "N", 1, 10000, "serve: most connections at once"),
    INT_OPTION("idle", HTTP(seconds), "SECONDS", 1, 3600, "serve: silence after which a connection is closed"),
    REAL_OPTION("request-seconds", HTTP(request_seconds), "SECONDS", 0.1, 86400,
                "serve: most seconds of work for one request, which then ends with status 503"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    SHARD_OPTION(AT(clarify.shard), 1),
    OUT_OPTION(AT(clarify.out), "OUT.jsonl", "a line for each record, in input order; - is standard output"),
    { 0 },
};

static bool is_standard_input(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static bool without_detector(const struct ask_request *q)
{
    return q->detector && strcmp(q->detector, "none") == 0;
}

/* Whether the detector that comes with ambit may be opened beside the rest: running out of memory ends the program. */
static bool has_room(void)
{
    const rlim_t needed = (rlim_t)2 << 30;
    struct rlimit space;

    return getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY || space.rlim_cur >= needed;
}

/* Leaves the detector out where nobody named one and there is no room for it. */
static void spare_detector(struct ask_request *q, bool serves)
{
    static const char cramped[] = "the address space is limited to less than 2 GiB: the detector that comes with ambit "
                                  "is left out; --detector DIR uses one all the same";

    if (q->detector || has_room())
        return;
    q->detector = "none";
    if (serves)
        q->warning = cramped;
    else
        log_warn("%s", cramped);
}

/* What does not go together. */
static const char *misused(const struct ask_request *q, const struct http_settings *http, const char *input)
{
    const struct clarify_request *c = &q->clarify;

    if (!c->schema == !c->db)
        return "expected either --db or --schema";
    if (http->address ? q->question || input : !q->question == !input)
        return http->address ? "--serve: expected neither IN.jsonl nor --question: questions come in requests"
                             : "expected either IN.jsonl or --question";
    if (http->address && (c->interactive || c->simulate || c->out || is_standard_input(c->candidates)))
        return "--serve: expected no --interactive, --simulate or --out, and --candidates to be a file";
    if (!http->address && http->token_file)
        return "--token-file: expected --serve too";
    if (q->parser && c->candidates)
        return "expected at most one of --parser and --candidates";
    if (c->interactive && c->simulate)
        return "expected at most one of --interactive and --simulate";
    if (c->shard.count && (c->interactive || c->simulate))
        return "--shard: expected no --interactive and no --simulate, whose measures are of all records";
    if (c->id && !c->interactive)
        return "--id: expected --interactive too";
    if (without_detector(q) && (q->gate > 0 || !isnan(q->threshold) || q->adapt || q->retriever))
        return "--gate, --threshold, --adapt and --retriever: expected a detector, of which they are, got --detector "
               "none";
    if (q->question && c->simulate)
        return "--simulate: expected IN.jsonl, whose records have gold statements";
    if (is_standard_input(c->candidates) && (is_standard_input(input) || c->interactive || !c->out))
        return "--candidates: expected a file, since standard input is read for something else";
    if (is_standard_input(input) && c->interactive)
        return "--interactive reads answers from standard input: IN.jsonl must be a file";
    return NULL;
}

static enum exit_code run_batch(const struct ask_request *q, const char *input, struct error *err)
{
    struct ask_counts n = { 0 };
    int rc = ask_records(q, input, &n, err);

    if (rc == 0)
        log_info(
            "%lld records, %lld with an open question, %lld where nobody is asked, %lld with other candidates, %lld "
            "failed",
            (long long)n.records, (long long)n.asked, (long long)n.gated, (long long)n.regenerated,
            (long long)n.failed);
    return job_exit_code(rc, n.failed, err);
}

static enum exit_code answer(struct ask_request q, const struct http_settings *http, const char *input,
                             struct error *err)
{
    q.clarify.serve = http->address;
    if (q.clarify.serve)
        return job_exit_code(ask_serve(&q, http, err), 0, err);
    bool person = q.clarify.interactive || (q.question && !q.clarify.out);
    if (person)
        return job_exit_code(ask_person(&q, input, err), 0, err);
    if (!q.clarify.out)
        q.clarify.out = "-";
    return run_batch(&q, input, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct ask_options *o = call->options;
    struct ask_request q = o->ask;
    const char *input = call->n_operands ? call->operands[0] : NULL, *wrong = misused(&q, &o->http, input);
    char *own = NULL;

    if (wrong)
        return usage_error(err, "%s", wrong);
    spare_detector(&q, o->http.address != NULL);
    if (!q.detector && !(own = gate_model_default("--detector", err)))
        return err->code;
    q.detector = without_detector(&q) ? NULL : own ? own : q.detector;
    enum exit_code code = answer(q, &o->http, input, err);
    free(own);
    return code;
}

const struct command command_ask = {
    .name = "ask",
    .summary = "from a question to SQL and its rows: detects, asks the question that tells most, runs what is meant",
    .operands = "IN.jsonl",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "Joins detect, tag, parse and clarify in one process.  IN.jsonl holds records {\"id\", \"db_id\", \"question\"}, "
        "with \"candidates\" where neither --parser nor --candidates has them.  Every part may be missing, the detector by "
        "--detector none: the line then has null under its name.\n\n"
        "Each line has \"detector\" (score, kind, alternatives), \"tagger\" (spans), \"candidates\" (where they come "
        "from, how many, and how many of them the detector's alternatives added), the question to \"ask\" or why there "
        "is none under \"stop\", the likeliest statement under \"sql\" and its first rows under \"result\".  A record's "
        "\"answers\", numbers of options or words, are given one after the other; the open question is that behind "
        "them, and \"session\" goes on with it in ambit-infer clarify --serve-stdio.\n\n"
        "With a finding, a candidate that uses one of its two alternatives is said of the other one too, and runs before "
        "it counts.  --gate P asks nobody where the finding's score is below P.  Where most likely none of the "
        "candidates is meant the parser is asked once for four times as many; without one \"stop\" is hand-over.\n\n"
        "--serve answers POST /ask {\"question\", \"db_id\"}, /answer {\"session\", \"answer\"}, /undo, /show, /start, "
        "/detect and /schema, and GET /, /databases, /health and /metrics: docs/reference/http.md.\n\n"
        "With --simulate records have \"gold\": [SQL, ...], as in ambit-infer clarify.",
    .examples = { "ambit-infer ask --db shop.sqlite --parser runs/t2s --question \"Who sells most?\"",
                  "ambit-infer ask --db databases --detector runs/gate --candidates candidates.jsonl questions.jsonl -o asked.jsonl" },
    .run = run,
};
