/* Part of commands.h: ambit-infer infill. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/cmd/commands.h"
#include "infer/infill/infill.h"
#include "infer/lm/complete.h"
#include "infer/lm/completer.h"

#include <string.h>

/* Options of the stages and of their models. */
struct infill_options {
    struct infill_request request;
    struct endpoint_settings server;
    const char *model, *adapter, *default_model, *correct_model, *rewrite_model, *sql_model, *chat_template, *dtype,
        *device;
    int64_t max_new, seed, batch, tokens;
    double temperature, top_p;
    bool no_graph;
};

static const struct infill_options defaults = {
    .request = { .out = "-", .window = 4096, .shots = 3, .tries = INFILL_TRIES, .prompt = PROMPTER_DEFAULTS },
    .server = ENDPOINT_DEFAULTS("lm"),
    .dtype = "auto",
    .device = "auto",
    .max_new = 2000,
    .batch = 32,
    .tokens = 8192,
    .top_p = 1
};

#define AT(field) offsetof(struct infill_options, request.field)
#define HERE(field) offsetof(struct infill_options, field)
#define SERVER(field) offsetof(struct infill_options, server.field)

static const struct option table[] = {
    DB_OPTION(AT(db), "", .required = true, .group = "input"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_OPTION(AT(out), "OUT.jsonl", "records in input order; - is standard output"),
    FLAG_OPTION("published", AT(published),
                "reproduce the authors' parser and filter; keep every added interpretation"),
    RESUME_OPTION(AT(resume), "continue an interrupted run from OUT.jsonl.part"),
    STRING_OPTION("defaults", AT(defaults), "FILE", "default interpretations, with or without their SQL",
                  .group = "stages from files"),
    STRING_OPTION("corrected", AT(corrected), "FILE", "completions with corrected default interpretations"),
    STRING_OPTION("infilled", AT(infilled), "FILE", "interpretations to add (default: none)"),
    STRING_OPTION("sqls", AT(sqls), "FILE", "SQL of interpretations, by database and text"),
    STRING_OPTION("e2e", AT(e2e), "FILE", "completions with the SQL of all interpretations, in place of --defaults"),
    STRING_OPTION("rewrites", AT(rewrites), "FILE", "completions with questions rewritten for each gold"),
    STRING_OPTION("model", HERE(model), "HF_DIR|lm", "model for --infilled", .letter = 'm',
                  .group = "stages from models"),
    STRING_OPTION("adapter", HERE(adapter), "DIR", "LoRA adapter of --model, in PEFT's format"),
    STRING_OPTION("default-model", HERE(default_model), "HF_DIR|lm", "model for --defaults"),
    STRING_OPTION("correct-model", HERE(correct_model), "HF_DIR|lm", "model for --corrected"),
    STRING_OPTION("sql-model", HERE(sql_model), "HF_DIR|lm", "model for the SQL that --sqls lacks"),
    STRING_OPTION("rewrite-model", HERE(rewrite_model), "HF_DIR|lm", "model for the questions that --rewrites lacks"),
    STRING_OPTION("lm", SERVER(url), "URL", ENDPOINT_URL_HELP "; the model of each stage whose option is lm",
                  .group = "language-model server"),
    ENDPOINT_OPTIONS("lm", SERVER),
    INT_OPTION("tries", AT(tries), "N", 1, 1000, "maximum number of rewritten questions for a gold"),
    CHAT_TEMPLATE_OPTION(HERE(chat_template)),
    WORD_OPTION("write-prompts", AT(write), "STAGE", "def|correct|sql|fill|e2e|gold|rewrite",
                "write the prompts of a stage for another model, and stop", .group = "prompts"),
    STRING_OPTION("examples", AT(examples), "FILE", "records with golds, for few-shot prompts of e2e"),
    INT_OPTION("shots", AT(shots), "N", 1, 64, "examples of a prompt, sampled for each question with --seed"),
    PROMPTER_OPTIONS(AT(prompt)),
    ANSWER_OPTIONS(HERE),
    INT_OPTION("batch", HERE(batch), "N", 1, 4096, "maximum number of prompts in a batch", .group = "performance"),
    TOKENS_OPTION(HERE(tokens)),
    INT_OPTION("window", AT(window), "N", 1, 1 << 24, "records in memory; more of them switch models less often"),
    DTYPE_OPTION(HERE(dtype)),
    DEVICE_OPTION(HERE(device)),
    NO_GRAPH_OPTION(HERE(no_graph)),
    { 0 },
};

/* Completers of the stages. */
struct models {
    struct completer read, correct, rewrite, sql, fill;
    struct completer_model *open;
    struct endpoint *server; /* or NULL */
};

/* Whether a stage asks the server. */
static bool is_server(const struct infill_options *o, const char *model)
{
    return o->server.url && model && strcmp(model, "lm") == 0;
}

static struct completer completer_of(const struct infill_options *o, const char *model, const char *adapter,
                                     struct models *m)
{
    return (struct completer){
        .server = is_server(o, model) ? m->server : NULL,
        .model = { .dir = is_server(o, model) ? NULL : model,
                   .adapter = adapter,
                   .chat_template = o->chat_template,
                   .dtype = o->dtype,
                   .seq2seq = true },
        .device = o->device,
        .no_graph = o->no_graph,
        .set = { .max_new = o->max_new,
                 .answers = 1,
                 .beams = 1,
                 .draw = { .temperature = (float)o->temperature,
                           .top_p = (float)o->top_p,
                           .typical_p = 1,
                           .seed = (uint64_t)o->seed },
                 .batch = o->batch,
                 .step_tokens = o->tokens },
        .open = &m->open,
    };
}

static struct infill_generator generator_of(struct completer *a)
{
    bool is_set = completer_is_set(a);

    return (struct infill_generator){ is_set ? completer_generate : NULL, a, is_set ? completer_key(a) : 0 };
}

/* Returns the completer of an earlier stage with the same folder, so that a model is opened once, or `of`. */
static struct completer *shared(struct completer *of, struct completer *const *earlier, int n)
{
    for (int i = 0; i < n; i++)
        if (of->model.dir && earlier[i]->model.dir && strcmp(of->model.dir, earlier[i]->model.dir) == 0)
            return earlier[i];
    return of;
}

static void add_models(struct infill_request *q, struct models *m, const struct infill_options *o)
{
    struct completer *all[] = { &m->read, &m->correct, &m->rewrite, &m->sql };
    const char *const folders[] = { o->default_model, o->correct_model, o->rewrite_model, o->sql_model };
    struct infill_generator *to[] = { &q->read, &q->correct, &q->rewrite, &q->sql };

    for (int i = 0; i < ARRAY_LEN(all); i++) {
        *all[i] = completer_of(o, folders[i], NULL, m);
        *to[i] = generator_of(shared(all[i], all, i));
    }
    m->fill = completer_of(o, o->model, o->adapter, m);
    q->fill = generator_of(&m->fill);
}

/* Returns the error of options about the server, or NULL. */
static const char *misused_server(const struct infill_options *o)
{
    const char *const models[] = { o->model, o->default_model, o->correct_model, o->rewrite_model, o->sql_model };
    bool used = false;

    for (int i = 0; i < ARRAY_LEN(models); i++) {
        used |= is_server(o, models[i]);
        if (endpoint_is_url(models[i]))
            return "a stage's model: expected a folder, or lm with the address in --lm, got an address";
    }
    if (o->server.url && !used)
        return "--lm: expected a stage that asks the server, such as --default-model lm";
    return is_server(o, o->model) && o->adapter ? "--adapter: expected a folder for --model, got the server" : NULL;
}

static bool rewrites(const struct infill_options *o)
{
    return o->request.rewrites || o->rewrite_model || prompt_kind_of(o->request.write) == PROMPT_REWRITE;
}

static bool asks(const struct infill_options *o)
{
    return o->model || o->default_model || o->correct_model || o->rewrite_model || o->sql_model;
}

/* Returns the error of options for stage 0, or NULL. */
static const char *misused_rewriting(const struct infill_options *o)
{
    const struct infill_request *q = &o->request;
    enum prompt_kind writes = prompt_kind_of(q->write);

    if (q->defaults || o->default_model || q->corrected || o->correct_model || q->infilled || o->model || q->e2e)
        return "rewriting takes --rewrites or --rewrite-model, and --sqls or --sql-model; no other stage goes with it";
    if (q->write && writes != PROMPT_REWRITE && writes != PROMPT_SQL)
        return "--rewrites: expected --write-prompts rewrite or sql, or none";
    if (writes == PROMPT_REWRITE && o->rewrite_model)
        return "--write-prompts rewrite and --rewrite-model cannot be used together";
    if (writes == PROMPT_SQL && !q->rewrites)
        return "--write-prompts sql: expected --rewrites, the questions that SQL is asked for";
    if (!q->write && !q->sqls && !o->sql_model)
        return "rewriting: expected --sqls or --sql-model, by whose SQL a question is judged";
    return NULL;
}

/* Returns the error of options for the stages before infilling, or NULL. */
static const char *misused_interpretations(const struct infill_options *o)
{
    const struct infill_request *q = &o->request;
    enum prompt_kind writes = prompt_kind_of(q->write);
    bool first = writes == PROMPT_DEF || writes == PROMPT_E2E || writes == PROMPT_GOLD;
    bool corrects = q->corrected || o->correct_model;

    if (!first && !q->defaults + !o->default_model + !q->e2e != 2)
        return "expected one of --defaults, --default-model and --e2e, for the default interpretations; with --lm URL add "
               "--default-model lm";
    if (q->e2e && (q->sqls || o->sql_model || q->infilled || o->model || q->write || corrects))
        return "--e2e cannot be used with other stages: its completions hold all interpretations and their SQL";
    if (q->corrected && o->correct_model)
        return "--corrected and --correct-model cannot be used together";
    if (writes == PROMPT_CORRECT && corrects)
        return "--write-prompts correct cannot be used with --corrected or --correct-model";
    if (first && corrects)
        return "--corrected and --correct-model cannot be used with --write-prompts of an earlier stage";
    if (q->infilled && o->model)
        return "--infilled and --model cannot be used together";
    if (o->adapter && !o->model)
        return "--adapter: expected --model as well";
    if (q->tries != defaults.request.tries)
        return "--tries: expected --rewrites, --rewrite-model or --write-prompts rewrite";
    return NULL;
}

/* Returns the error of incompatible options, or NULL. */
static const char *misused(const struct infill_options *o)
{
    const struct infill_request *q = &o->request;
    enum prompt_kind writes = prompt_kind_of(q->write);
    const char *const files[] = { q->defaults, q->sqls, q->infilled, q->e2e, q->corrected, q->rewrites };
    const char *wrong = rewrites(o) ? misused_rewriting(o) : misused_interpretations(o);

    if (wrong)
        return wrong;
    if (q->examples && writes != PROMPT_E2E)
        return "--examples: expected --write-prompts e2e, whose prompts show them";
    if (q->shots != defaults.request.shots && !q->examples)
        return "--shots: expected --examples, from which they are sampled";
    if (o->temperature > 0 && !asks(o))
        return "--temperature: expected --model, --default-model, --correct-model, --rewrite-model or --sql-model, which "
               "draw";
    if (o->top_p < defaults.top_p && o->temperature <= 0)
        return "--top-p: " NOTHING_IS_DRAWN;
    if (writes == PROMPT_SQL && o->sql_model)
        return "--write-prompts sql and --sql-model cannot be used together";
    if (q->resume && (q->write || strcmp(q->out, "-") == 0))
        return "--resume: expected --out FILE, a file of records to go on with, and no --write-prompts";
    if (q->shard.count && (q->write || q->published))
        return "--shard cannot be used with --write-prompts or --published, which depend on earlier records";
    for (int i = 0; i < ARRAY_LEN(files); i++)
        if (q->resume && files[i] && strcmp(files[i], "-") == 0)
            return "--resume: expected files for all stages, got standard input, whose content is not known";
    return NULL;
}

static void tell(const struct infill_request *q, const struct infill_counts *n)
{
    if (q->write)
        log_info("%lld records, %lld prompts, %lld records failed", (long long)n->records, (long long)n->prompts,
                 (long long)n->failed);
    else if (infill_rewrites(q))
        log_info("%lld records, %lld with a question for every gold, %lld failed, %lld of an earlier run",
                 (long long)n->records, (long long)(n->records - n->failed), (long long)n->failed,
                 (long long)n->resumed);
    else
        log_info("%lld records, %lld default readings, %lld added, %lld records failed, %lld of an earlier run",
                 (long long)n->records, (long long)n->defaults, (long long)n->added, (long long)n->failed,
                 (long long)n->resumed);
    if (n->without_sql)
        log_warn("%lld readings have no SQL and are dropped; expected it in --sqls, from --sql-model or beside their "
                 "text",
                 (long long)n->without_sql);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct infill_options *o = call->options;
    struct infill_request q = o->request;
    struct infill_counts counts = { 0 };
    struct models models = { 0 };
    const char *wrong = misused_server(o);

    wrong = wrong ? wrong : misused(o);
    if (wrong)
        return usage_error(err, "%s", wrong);
    if (endpoint_check(&o->server, err) || (o->server.url && !(models.server = endpoint_open(&o->server, err))))
        return err->code;
    q.input = call->operands[0];
    q.seed = o->seed;
    if (o->rewrite_model && o->temperature <= 0 && q.tries > 1) {
        log_info(
            "nothing is drawn (--temperature 0), so that a second try would say what the first said: one try a gold");
        q.tries = 1;
    }
    add_models(&q, &models, o);
    int rc = infill(&q, &counts, err);
    completer_close(&models.open);
    if (models.server)
        endpoint_log(models.server);
    endpoint_close(models.server);
    if (rc == 0)
        tell(&q, &counts);
    return job_exit_code(rc, counts.failed, err);
}

static const struct file_note files[] = {
    { "OUT.jsonl.part", "lines of an interrupted run, for --resume" },
    { 0 },
};

const struct command command_infill = {
    .name = "infill",
    .summary = "add the interpretations that a model's defaults miss, with SQL and results",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, defaults),
    .details =
        "Read records {\"id\", \"db_id\", \"question\"}, optionally with \"golds\", or AMBROSIA's rows, and write the interpretations of "
        "each question.  Every stage is a file or a model.  See docs/guides/infill.md.",
    .examples = { "ambit-infer infill questions.jsonl --db dbs --defaults read.jsonl --infilled more.jsonl -o all.jsonl",
                  "ambit-infer infill questions.jsonl --db dbs --write-prompts def -o prompts.jsonl" },
    .files = files,
    .run = run,
};
