/* Part of commands.h: ambit-infer ask. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/ask/ask.h"
#include "infer/cmd/commands.h"
#include "infer/lm/wording_completer.h"
#include "infer/parse/parse.h"
#include "models/embed/schema_finder.h"
#include "models/gatekeeper/gate_model.h"

#include <stdlib.h>
#include <string.h>

/* Options of ask and of its HTTP service. */
struct ask_options {
    struct ask_request ask;
    struct http_settings http;
};

static const struct ask_options defaults = { .ask = {
    .clarify = { .strategy = STRATEGY_EIG, .noise = 0.05, .confidence = 2, .auto_choice = NAN, .min_gain = 0.05, .max_turns = 3, .seed = 1,
                 .lm = ENDPOINT_DEFAULTS("lm") },
    .parser_strategy = -1,
    .server = ENDPOINT_DEFAULTS("parser"),
    .device = "auto",
    .threshold = NAN,
    .top = 20,
    .rows = 20,
}, .http = { .connections = 250, .seconds = 30, .whole_seconds = 60, .request_seconds = 30 } };

#define AT(field) offsetof(struct ask_options, ask.field)
#define SERVER(field) AT(server.field)
#define HTTP(field) offsetof(struct ask_options, http.field)

static const struct option table[] = {
    STRING_OPTION("question", AT(question), "TEXT",
                  "one question, in place of IN.jsonl; asked at the terminal without --out", .group = "input"),
    DB_OPTION(AT(clarify.db), ", in which statements run"),
    SCHEMA_OPTION(AT(clarify.schema), "tables.json, in place of --db; no statement runs"),
    FORMAT_IN_OPTION(AT(clarify.format_in)),
    SHARD_OPTION(AT(clarify.shard), 1),
    OUT_OPTION(AT(clarify.out), "OUT.jsonl", "answers in input order; - is standard output"),
    INT_OPTION("max-rows", AT(rows), "N", 0, 10000, "maximum number of rows of a result to show"),
    STRING_OPTION("detector", AT(detector), "RUN", GATE_DEFAULT_HELP "; none: no detector", .group = "detector"),
    STRING_OPTION("adapter", AT(adapter), "FILE", "adapter of the detector that ambit-train adapt wrote"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1, "decision threshold (default: the one stored in the model)"),
    REAL_OPTION("gate", AT(gate), "P", 0, 1, "do not ask the user if the ambiguity score is below this"),
    CHOICE_OPTION("alternatives", AT(alternatives), "on|off", "on|off",
                  "candidate statements made from the detector's alternatives"),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    STRING_OPTION("tagger", AT(tagger), "RUN",
                  "folder that ambit-train tag wrote; heuristic; or detector, the detector's head for words",
                  .group = "tagger"),
    STRING_OPTION("parser", AT(parser), "HF_DIR|URL",
                  "model that ambit-infer parse takes as --model, or " ENDPOINT_URL_HELP, .group = "candidates"),
    ENDPOINT_OPTIONS("parser", SERVER),
    CHOICE_OPTION("parser-strategy", AT(parser_strategy), "NAME", PARSE_STRATEGIES,
                  "search of the parser (default: logical-beam; sample with a server)"),
    INT_OPTION("top", AT(top), "K", 1, 64, "maximum number of statements from the parser", .letter = 'k'),
    STRING_OPTION("candidates", AT(clarify.candidates), "FILE.jsonl",
                  "candidate statements, in place of --parser, joined by id or by --question"),
    FLAG_OPTION("rewrite", AT(rewrite),
                "return the question with the chosen tables and columns, for another text-to-SQL system"),
    CHOICE_OPTION("strategy", AT(clarify.strategy), "NAME", STRATEGY_NAMES, "selection of the question to ask",
                  .group = "dialogue"),
    REAL_OPTION("noise", AT(clarify.noise), "P", 0, 0.5, "expected rate of user errors"),
    INT_OPTION("max-turns", AT(clarify.max_turns), "N", 0, DIALOGUE_MAX_TURNS,
               "maximum number of questions of a dialogue"),
    REAL_OPTION("confidence", AT(clarify.confidence), "P", 0, 2,
                "stop at a statement of this probability; above 1: never"),
    REAL_OPTION("auto", AT(clarify.auto_choice), "P", 0, 1,
                "choose by evidence, and ask the user only below this probability (default: always ask)"),
    REAL_OPTION("min-gain", AT(clarify.min_gain), "BITS", 0, 100, "stop at an expected information gain below this"),
    STRING_OPTION("lm", AT(clarify.lm.url), "URL",
                  ENDPOINT_URL_HELP "; its model words the questions and, with --auto, judges candidates"),
    STRING_OPTION("lm-model", AT(clarify.lm.model), "NAME",
                  "model of --lm (default: the only one that the server lists)"),
    STRING_OPTION("memory", AT(clarify.memory), "FILE", "file of the user's choices, which answers teach"),
    FLAG_OPTION("interactive", AT(clarify.interactive), "ask a person at the terminal, record after record",
                .group = "modes"),
    STRING_OPTION("id", AT(clarify.id), "ID", "interactive: only this record"),
    FLAG_OPTION("simulate", AT(clarify.simulate), "run dialogues about the gold statements of each record"),
    REAL_OPTION("user-noise", AT(clarify.user_noise), "P", 0, 1, "simulate: rate of the user's errors"),
    REAL_OPTION("user-unknown", AT(clarify.user_unknown), "P", 0, 1, "simulate: rate of the answer \"I don't know\""),
    SEED_OPTION(AT(clarify.seed), "seed of the simulated user, the strategy random and the parser's samples"),
    STRING_OPTION("serve", HTTP(address), "ADDRESS:PORT", "serve HTTP, with a page for people, until stopped"),
    STRING_OPTION("token-file", HTTP(token_file), "FILE",
                  "serve: file whose first line is the token of clients; needed beyond this machine"),
    STRING_OPTION("allow-origin", HTTP(origins), "URL[,URL]",
                  "serve: other web pages, by origin, that may use the service (default: none)"),
    INT_OPTION("connections", HTTP(connections), "N", 1, 10000, "serve: maximum number of connections"),
    INT_OPTION("idle", HTTP(seconds), "SECONDS", 1, 3600, "serve: close a connection after this silence"),
    REAL_OPTION("request-seconds", HTTP(request_seconds), "SECONDS", 0.1, 86400,
                "serve: maximum time for one request, which then gets status 503"),
    STRING_OPTION("device", AT(device), "DEVICE", DEVICE_HELP, .letter = 'd', .group = "performance"),
    NO_GRAPH_OPTION(AT(no_graph)),
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

static bool tags_by_detector(const struct ask_request *q)
{
    return q->tagger && strcmp(q->tagger, "detector") == 0;
}

/* Omits the default detector if there is no room for it. */
static void spare_detector(struct ask_request *q, bool serves)
{
    static const char cramped[] = "the address space is limited to less than 2 GiB: the detector that comes with ambit "
                                  "is left out; --detector DIR uses one all the same";

    if (q->detector || tags_by_detector(q) || gate_model_has_room())
        return;
    q->detector = "none";
    if (serves)
        q->warning = cramped;
    else
        log_warn("%s", cramped);
}

/* Returns the error of incompatible options, or NULL. */
static const char *misused(const struct ask_request *q, const struct http_settings *http, const char *input)
{
    const struct clarify_request *c = &q->clarify;

    if (!c->schema == !c->db)
        return "expected either --db or --schema";
    if (http->address ? q->question || input : !q->question == !input)
        return http->address ? "--serve: expected neither IN.jsonl nor --question: questions come in requests"
                             : "expected either IN.jsonl or a question";
    if (http->address && (c->interactive || c->simulate || c->out || is_standard_input(c->candidates)))
        return "--serve: expected no --interactive, --simulate or --out, and --candidates to be a file";
    if (!http->address && (http->token_file || http->origins))
        return "--token-file and --allow-origin: expected --serve as well";
    if (q->parser && c->candidates)
        return "--parser and --candidates cannot be used together";
    if (!isnan(c->auto_choice) && (q->rewrite || c->confidence != defaults.ask.clarify.confidence))
        return "--auto: expected neither --rewrite nor --confidence";
    if (q->rewrite && (q->parser || c->candidates || c->simulate))
        return "--rewrite asks about tables and columns: expected none of --parser, --candidates and --simulate";
    if (tags_by_detector(q) && without_detector(q))
        return "--tagger detector: expected a detector, got --detector none";
    if (q->rewrite && without_detector(q) && !q->tagger)
        return "--rewrite: expected a detector or --tagger, got --detector none";
    if (c->interactive && c->simulate)
        return "--interactive and --simulate cannot be used together";
    if (c->shard.count && (c->interactive || c->simulate))
        return "--shard cannot be used with --interactive or with --simulate, whose metrics are of all records";
    if (c->id && !c->interactive)
        return "--id: expected --interactive as well";
    if (without_detector(q) && (q->gate > 0 || !isnan(q->threshold) || q->adapter || q->retriever))
        return "--gate, --threshold, --adapter and --retriever: expected a detector, of which they are, got --detector "
               "none";
    if (q->question && c->simulate)
        return "--simulate: expected IN.jsonl with gold statements, got --question";
    if (is_standard_input(c->candidates) && (is_standard_input(input) || c->interactive || !c->out))
        return "--candidates: expected a file, since standard input is read for something else";
    if (is_standard_input(input) && c->interactive)
        return "--interactive reads answers from standard input: IN.jsonl must be a file";
    return NULL;
}

/* Returns the error of options of the parser, or NULL. */
static const char *misused_parser(const struct ask_request *q)
{
    int strategy = q->parser_strategy;
    bool listed = strategy == PARSE_SAMPLE || strategy == PARSE_LIST;

    if (q->parser && endpoint_is_url(q->parser))
        return strategy < 0 || listed ? NULL : "--parser-strategy: expected sample or list with a server";
    return strategy == PARSE_LIST ? "--parser-strategy list: expected --parser with the address of a server" : NULL;
}

/* Sets the address of the server, and the search that suits the parser. */
static void place_parser(struct ask_request *q)
{
    bool remote = q->parser && endpoint_is_url(q->parser);

    q->server.url = remote ? q->parser : NULL;
    if (q->parser_strategy < 0)
        q->parser_strategy = remote ? PARSE_SAMPLE : PARSE_LOGICAL_BEAM;
}

static bool has_key(const struct endpoint_settings *s)
{
    return s->key_file || getenv("AMBIT_LM_KEY");
}

/* Gives the server that words questions the settings of the parser's, and checks both. */
static int check_servers(struct ask_request *q, struct error *err)
{
    const struct endpoint_settings *parser = &q->server;
    struct endpoint_settings *lm = &q->clarify.lm;
    const char *url = lm->url, *model = lm->model;

    if (!url)
        return model ? error_set(err, EXIT_CODE_USAGE, "--lm-model: expected --lm with the address of a server")
                     : endpoint_check(parser, err);
    if (!parser->url && parser->model)
        return error_set(err, EXIT_CODE_USAGE, "--parser-model: expected --parser with the address of a server");
    if (parser->url && strcmp(parser->url, url) != 0 && has_key(parser))
        return error_set(err, EXIT_CODE_USAGE,
                         "--lm and --parser: expected one address, since the server gets the key");
    *lm = *parser;
    lm->option = "lm";
    lm->url = url;
    lm->model = model;
    return endpoint_check(lm, err);
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

/* Answers with the language model that words questions, if there is one. */
static enum exit_code answer_in_words(struct ask_request q, const struct http_settings *http, const char *input,
                                      struct error *err)
{
    const struct wording_completer_settings settings = { .device = q.device, .server = &q.clarify.lm };
    struct wording_completer model;
    enum exit_code code = wording_completer_open(&model, &q.clarify.wording_model, &settings, err)
                              ? err->code
                              : answer(q, http, input, err);

    wording_completer_close(&model);
    return code;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct ask_options *o = call->options;
    struct ask_request q = o->ask;
    const char *input = call->n_operands ? call->operands[0] : NULL, *wrong = misused(&q, &o->http, input);
    char *own = NULL;

    wrong = wrong ? wrong : misused_parser(&q);
    place_parser(&q);
    if (wrong)
        return usage_error(err, "%s", wrong);
    if (check_servers(&q, err))
        return err->code;
    spare_detector(&q, o->http.address != NULL);
    if (!q.detector && !(own = gate_model_default("--detector", err)))
        return err->code;
    q.detector = without_detector(&q) ? NULL : own ? own : q.detector;
    enum exit_code code = answer_in_words(q, &o->http, input, err);
    free(own);
    return code;
}

const struct command command_ask = {
    .name = "ask",
    .summary = "answer questions: detect, parse, clarify and execute in one process",
    .operands = "IN.jsonl|QUESTION",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "Read records {\"id\", \"db_id\", \"question\"}, which may bring \"candidates\" and \"answers\", and write for each the "
        "open question or the statement with its rows.  Without --parser and candidates, ask about tables and columns and "
        "rewrite the question.  See docs/guides/ask.md and docs/reference/http.md.",
    .examples = { "ambit-infer ask --db shop.sqlite --parser runs/t2s --question \"Who sells most?\"",
                  "ambit-infer ask --db databases --detector runs/gate --candidates candidates.jsonl questions.jsonl -o asked.jsonl" },
    .run = run,
};
