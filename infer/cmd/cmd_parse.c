/* Part of commands.h: ambit-infer parse. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/cmd/commands.h"
#include "infer/lm/complete.h"
#include "infer/parse/parse.h"
#include "infer/parse/published.h"

#include <string.h>

/* Options of the stages and of their models. */
struct parse_options {
    struct parse_request request;
    struct endpoint_settings server;
    const char *model, *templates, *fill, *chat_template, *dtype, *device;
    int64_t max_new, seed, batch, tokens, top_k;
    double temperature, top_p, typical_p, min_p, length_penalty;
    bool no_graph;
};

static const struct parse_options defaults = {
    .request = { .out = "-", .strategy = -1, .k = 5, .beams = 10, .window = 256 },
    .server = ENDPOINT_DEFAULTS("lm"),
    .dtype = "auto",
    .device = "auto",
    .batch = 32,
    .tokens = 4096,
    .temperature = 1,
    .top_p = 1,
    .typical_p = 1,
    .length_penalty = 1,
};

#define AT(field) offsetof(struct parse_options, request.field)
#define HERE(field) offsetof(struct parse_options, field)
#define SERVER(field) offsetof(struct parse_options, server.field)

static const struct option table[] = {
    DB_OPTION(AT(db), "; its values may stand in statements", .group = "input"),
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_OPTION(AT(out), "OUT.jsonl", "records in input order; - is standard output"),
    FLAG_OPTION("write-candidates", AT(candidates), "write the input of ambit-infer clarify"),
    RESUME_OPTION(AT(resume), "continue an interrupted run from OUT.jsonl.part"),
    STRING_OPTION("model", HERE(model), "HF_DIR", "text-to-SQL model: config.json, safetensors, tokenizer.json",
                  .letter = 'm', .group = "models"),
    STRING_OPTION("template-model", HERE(templates), "HF_DIR",
                  "model that writes plans and templates (default: --model)"),
    STRING_OPTION("fill-model", HERE(fill), "HF_DIR", "model that fills templates (default: --model)"),
    CHOICE_OPTION("prompt", AT(prompt), "FORM", "auto|seq2seq|chat", "prompt form; auto: chat if there is a template"),
    CHAT_TEMPLATE_OPTION(HERE(chat_template)),
    CHOICE_OPTION("strategy", AT(strategy), "NAME", PARSE_STRATEGIES,
                  "search for statements (default: logical-beam; sample with --lm)", .group = "search"),
    INT_OPTION("top", AT(k), "K", 1, BEAMS_MAX, "maximum number of statements of a question", .letter = 'k'),
    INT_OPTION("beams", AT(beams), "B", 1, BEAMS_MAX, "beams of each search; sample: samples; odin: schemas shown"),
    REAL_OPTION("length-penalty", HERE(length_penalty), "P", -100, 100, "rank beams by log p / length to this power"),
    FLAG_OPTION("published", AT(published), "logical-beam: reproduce the authors' program"),
    CHOICE_OPTION("template-schema", AT(template_schema), "NAME", "own|original",
                  "schema in prompts for templates: the record's, or that of its db_id"),
    STRING_OPTION("calibration", AT(calibration), "FILE",
                  "output of ambit-data calibrate; drop statements below its \"keep\""),
    INT_OPTION("max-new", HERE(max_new), "N", 1, 1 << 24,
               "maximum number of tokens of a completion (default: 256; 2048 with --lm)", .group = "completions"),
    REAL_OPTION("temperature", HERE(temperature), "T", OPTION_ABOVE_ZERO, 100, "sampling temperature"),
    REAL_OPTION("top-p", HERE(top_p), "P", OPTION_ABOVE_ZERO, 1, "sample from the most probable tokens of this mass"),
    SAMPLING_OPTIONS(HERE),
    SEED_OPTION(HERE(seed), "seed of the samples"),
    STRING_OPTION("lm", SERVER(url), "URL", ENDPOINT_URL_HELP ", in place of --model",
                  .group = "language-model server"),
    ENDPOINT_OPTIONS("lm", SERVER),
    WORD_OPTION("write-prompts", AT(write), "FORM", QUERY_PROMPTS,
                "write prompts for another model, for a list of statements or for one", .group = "other models"),
    STRING_OPTION("answers", AT(answers), "FILE", "completions of these prompts, in place of --model"),
    INT_OPTION("batch", HERE(batch), "N", 1, 4096, "maximum number of prompts in a batch", .group = "performance"),
    TOKENS_OPTION(HERE(tokens)),
    INT_OPTION("window", AT(window), "N", 1, 1 << 24, "records in memory; more of them switch models less often"),
    DTYPE_OPTION(HERE(dtype)),
    DEVICE_OPTION(HERE(device)),
    NO_GRAPH_OPTION(HERE(no_graph)),
    DRY_RUN_OPTION(AT(dry), "check the input, print the memory or the number of requests needed, and stop"),
    { 0 },
};

static struct completer completer_of(const struct parse_options *o, const char *dir, struct completer_model **open)
{
    return (struct completer){
        .model = { .dir = dir,
                   .chat_template = o->chat_template,
                   .dtype = o->dtype,
                   .dry = o->request.dry,
                   .seq2seq = true },
        .device = o->device,
        .no_graph = o->no_graph,
        .open = open,
    };
}

static struct engine_settings settings_of(const struct parse_options *o)
{
    return (struct engine_settings){ .max_new = o->max_new,
                                     .beam = { .length_penalty = (float)o->length_penalty },
                                     .draw = { .temperature = (float)o->temperature,
                                               .top_k = (int)o->top_k,
                                               .top_p = (float)o->top_p,
                                               .typical_p = (float)o->typical_p,
                                               .min_p = (float)o->min_p,
                                               .seed = (uint64_t)o->seed },
                                     .batch = o->batch,
                                     .step_tokens = o->tokens };
}

/* Sets the defaults that depend on the place of the model. */
static void complete_options(struct parse_options *o)
{
    bool remote = o->server.url != NULL;

    if (o->request.strategy < 0)
        o->request.strategy = remote ? PARSE_SAMPLE : PARSE_LOGICAL_BEAM;
    if (!o->max_new)
        o->max_new = remote ? PARSE_SERVER_NEW : PARSE_MODEL_NEW;
}

/* Returns the error of options that have no effect with a server, or NULL. */
static const char *unused_by_server(const struct parse_options *o)
{
    const struct parse_request *q = &o->request;
    bool wanted = q->strategy < 0 || q->strategy == PARSE_SAMPLE || q->strategy == PARSE_LIST;

    if (!o->server.url)
        return q->strategy == PARSE_LIST ? "--strategy list: expected --lm, the address of a server" : NULL;
    if (!wanted)
        return "--lm: expected --strategy sample or list; the other strategies need --model";
    if (o->model || o->templates || o->fill || q->published || q->template_schema || o->chat_template || q->prompt)
        return "--lm: expected no --model, --template-model, --fill-model, --published, --template-schema, --chat-template and "
               "--prompt, which are about models in memory";
    if (q->write || q->answers)
        return "--lm cannot be used with --write-prompts or --answers, which ask no server";
    if (q->strategy == PARSE_LIST && q->calibration)
        return "--calibration: expected --strategy sample, since a list has no probabilities";
    return NULL;
}

/* Tells whether an option about models is set. */
static bool asks_models(const struct parse_options *o)
{
    const struct parse_request *q = &o->request;

    return o->model || o->templates || o->fill || q->strategy >= 0 || q->published || q->template_schema ||
           q->calibration || q->beams != defaults.request.beams || q->dry;
}

/* Returns the error of options that have no effect with other models, or NULL. */
static const char *unused_elsewhere(const struct parse_options *o)
{
    const struct parse_request *q = &o->request;

    if (!q->write && !q->answers)
        return o->model || o->server.url ? NULL : "expected one of --model, --lm, --write-prompts and --answers";
    if (q->write && q->answers)
        return "--write-prompts and --answers cannot be used together";
    if (asks_models(o))
        return "--write-prompts, --answers: expected no --model, --template-model, --fill-model, --strategy, --published, "
               "--template-schema, --calibration, --beams and --dry-run, which are about models that are asked here";
    if (q->write && (q->candidates || q->resume))
        return "--write-prompts: expected neither --write-candidates nor --resume, which are about statements";
    return NULL;
}

/* Returns the error of options that have no effect with the strategy, or NULL. */
static const char *unused(const struct parse_options *o)
{
    int strategy = o->request.strategy;
    bool plain = parse_is_plain(&o->request), mean = o->request.published || strategy == PARSE_SINGLE_STAGE;
    bool warped = o->top_k || o->top_p < 1 || o->typical_p < 1 || o->min_p > 0 || o->temperature != 1;

    if (o->request.beams < 2 && !o->server.url)
        return "--beams: expected at least 2; one sample is enough for --lm alone";
    if (o->templates && plain)
        return "--template-model cannot be used with this --strategy, which writes no templates";
    if (o->fill && (plain || strategy == PARSE_DIRECT || strategy == PARSE_SINGLE_STAGE))
        return "--fill-model cannot be used with this --strategy, which fills no templates";
    if (warped && strategy != PARSE_SAMPLE)
        return "--temperature, --top-k, --top-p, --min-p, --typical-p: expected --strategy sample, since others sample nothing";
    if (o->length_penalty != 1 && (strategy == PARSE_SAMPLE || strategy == PARSE_ODIN))
        return "--length-penalty: expected another strategy than sample and odin, which have no beams";
    if (o->request.template_schema && !o->request.schema && !o->request.db)
        return "--template-schema original: expected --schema or --db, which have it";
    if (o->request.calibration && mean)
        return "--calibration: expected neither --published nor --strategy single-stage, whose scores are no log p";
    if (o->request.candidates && mean)
        return "--write-candidates: expected neither --published nor --strategy single-stage, whose scores are no log p";
    if (o->request.published && strategy != PARSE_LOGICAL_BEAM)
        return "--published: expected --strategy logical-beam";
    if (o->request.published && o->request.beams != PUBLISHED_BEAMS)
        return "--beams: expected 10 with --published, as published";
    if (o->request.shard.count && (o->request.write || o->request.answers))
        return "--shard cannot be used with --write-prompts or --answers, which need all ids";
    if (o->request.resume && strcmp(o->request.out, "-") == 0)
        return "--resume: expected --out FILE, a file to go on with";
    if (o->request.schema && o->request.db)
        return "--schema and --db cannot be used together";
    return NULL;
}

static bool same(const char *a, const char *b)
{
    return !b || strcmp(a, b) == 0;
}

/* Returns the error of incompatible options, or NULL. */
static const char *misused(const struct parse_options *o)
{
    struct parse_options whole = *o;
    const char *wrong = unused_by_server(o);

    complete_options(&whole);
    wrong = wrong ? wrong : unused_elsewhere(o);
    return wrong ? wrong : unused(&whole);
}

static enum exit_code parse_all(struct parse_options *o, struct endpoint *server, struct error *err)
{
    struct parse_request *q = &o->request;
    struct parse_counts n = { 0 };
    struct completer_model *open = NULL;
    struct completer sql = completer_of(o, o->model, &open), templates = completer_of(o, o->templates, &open),
                     fill = completer_of(o, o->fill, &open);

    sql.server = server;
    q->strategy = q->write || q->answers ? PARSE_BEAM : q->strategy; /* one list of statements for each question */
    q->set = settings_of(o);
    q->models.sql = &sql;
    q->models.templates = same(o->model, o->templates) ? &sql : &templates;
    q->models.fill = same(o->model, o->fill) ? &sql : o->templates && same(o->templates, o->fill) ? &templates : &fill;
    int rc = parse(q, &n, err);
    completer_close(&open);
    if (server)
        endpoint_log(server);
    if (rc == 0 && (q->dry || q->write))
        log_info("%lld records, %lld of them cannot be used", (long long)n.records, (long long)n.failed);
    else if (rc == 0)
        log_info("%lld records, %lld statements, %lld failed, %lld of an earlier run", (long long)n.records,
                 (long long)n.statements, (long long)n.failed, (long long)n.resumed);
    if (n.unread)
        log_warn("%lld completions have no SQL statement; \"errors\" of their records have the texts",
                 (long long)n.unread);
    return job_exit_code(rc, n.failed, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct parse_options o = *(const struct parse_options *)call->options;
    const char *wrong = misused(&o);
    struct endpoint *server = NULL;

    if (wrong)
        return usage_error(err, "%s", wrong);
    complete_options(&o);
    o.request.input = call->operands[0];
    if (endpoint_check(&o.server, err) || (o.server.url && !(server = endpoint_open(&o.server, err))))
        return err->code;
    enum exit_code code = parse_all(&o, server, err);
    endpoint_close(server);
    return code;
}

const struct command command_parse = {
    .name = "parse",
    .summary = "translate questions to SQL, with several statements for an ambiguous question",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, defaults),
    .details =
        "Read records {\"id\", \"db_id\", \"question\"}, which may bring their own schema, and add their statements.  See "
        "docs/guides/parse.md.",
    .examples = { "ambit-infer parse questions.jsonl --model t2s --template-model gen --fill-model fill --db dbs -o sql.jsonl",
                  "ambit-infer parse questions.jsonl --lm http://localhost:8080/v1 --db shop.sqlite --write-candidates -o "
                  "candidates.jsonl" },
    .files = complete_files,
    .run = run,
};
