/* Part of commands.h: ambit-train evaluate.  All modes are in ambit-train, since the mode `detector` opens models,
 * which ambit-data cannot. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/stats.h"
#include "data/eval/selective.h"
#include "data/prompt/yes_no.h"
#include "models/embed/schema_finder.h"
#include "models/gatekeeper/gate_band.h"
#include "train/cmd/commands.h"
#include "train/detector/gate_evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* detector */

static const struct gate_evaluate_request detector_defaults = {
    .device = "auto", .threshold = NAN, .tokens = 16384, .seed = 1, .elements = SCHEMA_SEARCH_ELEMENTS
};

#define AT(field) offsetof(struct gate_evaluate_request, field)

static const struct option detector_options[] = {
    STRING_OPTION("data", AT(data), "DIR|FILE", "data folder (its test split), or labelled questions", .required = true,
                  .group = "input"),
    DB_OPTION(AT(db), ""),
    SCHEMA_OPTION(AT(schema), "tables.json, in place of --db"),
    FORMAT_IN_OPTION(AT(format_in)),
    LABEL_FIELD_OPTION(AT(label_field)),
    STRING_OPTION("predictions", AT(predictions), "FILE", "predictions in place of RUN: id, score from 0 to 1"),
    FLAG_OPTION("partial", AT(partial), "allow questions without a prediction"),
    STRING_OPTION("adapter", AT(adapter), "FILE", "adapter of RUN, from ambit-train adapt"),
    FLAG_OPTION("json", AT(json), "print one JSON object", .group = "output"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "decision threshold (default: the one stored in the model; with --predictions 0.5)",
                .group = "metrics"),
    STRING_OPTION("abstain", AT(abstain), GATE_ABSTAIN_WORDS,
                  "score interval without an answer, or a maximum error rate"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "maximum number of tokens encoded at once", .group = "run"),
    INT_OPTION("elements", AT(elements), "N", 0, 1 << 24, SCHEMA_SEARCH_HELP),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    SEED_OPTION(AT(seed), "seed of the bootstrap"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

static enum exit_code run_detector(const struct call *call, struct error *err)
{
    struct gate_evaluate_request q = *(const struct gate_evaluate_request *)call->options;
    struct gate_abstain a;

    if (call->n_operands && q.predictions)
        return usage_error(err, "RUN and --predictions cannot be used together");
    if (q.adapter && q.predictions)
        return error_set(err, EXIT_CODE_USAGE, "--adapter and --predictions cannot be used together"), err->code;
    if (gate_abstain_read(&a, q.abstain, err))
        return err->code;
    if (a.rate > 0 && q.adapter)
        return error_set(err, EXIT_CODE_USAGE, GATE_ABSTAIN_ADAPTED), err->code;
    if (q.retriever && q.predictions)
        return usage_error(err, "--retriever and --predictions cannot be used together");
    if (q.partial && !q.predictions)
        return error_set(err, EXIT_CODE_USAGE, "--partial: expected --predictions"), err->code;
    if (q.elements && q.elements < SCHEMA_SEARCH_MIN)
        return usage_error(err, "--elements: expected 0 or at least %d, got %lld", SCHEMA_SEARCH_MIN,
                           (long long)q.elements);
    if (q.retriever && !q.elements)
        return usage_error(err, RETRIEVER_UNUSED);
    if (q.db && q.schema)
        return error_set(err, EXIT_CODE_USAGE, "--db and --schema cannot be used together"), err->code;
    q.run = call->n_operands ? call->operands[0] : NULL;
    char *own = q.run || q.predictions ? NULL : gate_model_default("RUN", err);
    if (!q.run && !q.predictions && !own)
        return err->code;
    q.run = own ? own : q.run;
    int rc = gate_evaluate(&q, err);
    free(own);
    return rc ? err->code : EXIT_CODE_OK;
}

static const struct command detector_mode = {
    .name = "detector",
    .summary = "measure a detector, or predictions of another system, on labelled questions",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(detector_options, detector_defaults),
    .details =
        "RUN is a folder of ambit-train gatekeeper or export --format detector (default: the detector that comes "
        "with ambit). The output has metrics by ambiguity type and database with 95 % intervals, the results of "
        "selective prediction, and probes of question and schema alone. Guide: docs/guides/evaluate.md.\n\n"
        "Metrics of the decisions, where yes means ambiguous: " STATS_METRIC_HELP
        "and `best_f1` (F1 at the best threshold for these labels).",
    .examples = { "ambit-train evaluate detector runs/gate --data labels.csv --db shop.sqlite",
                  "ambit-train evaluate detector --predictions answers.jsonl --data contrast --json" },
    .run = run_detector,
};

/* selective */

#undef AT
static const struct selective_request selective_defaults = { .field = "one_found", .threshold = NAN };

#define AT(field) offsetof(struct selective_request, field)

static const struct option selective_options[] = {
    STRING_OPTION("predictions", AT(predictions), "FILE", "output of `ambit-infer detect` or `tag`", .required = true,
                  .group = "input"),
    STRING_OPTION("scored", AT(scored), "FILE", "output of `score --per-example`: id and --field", .required = true),
    STRING_OPTION("field", AT(field), "NAME", "field that is true or 1 if the statement is right"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "decision threshold on the score (default: fields \"ambiguous\", \"status\")"),
    FLAG_OPTION("json", AT(json), "print one JSON object", .group = "output"),
    STRING_OPTION("report", AT(report), "FILE.html", "write a page with the risk-coverage curve", .writes = true),
    { 0 },
};

static enum exit_code run_selective(const struct call *call, struct error *err)
{
    return selective_run(call->options, err) ? err->code : EXIT_CODE_OK;
}

static const struct command selective_mode = {
    .name = "selective",
    .summary = "measure the accuracy of unflagged statements, by coverage",
    OPTIONS(selective_options, selective_defaults),
    .details =
        "Orders questions by the score of a detector or the field \"problem\" of a tagger, clearest first. Prints the "
        "accuracy at several coverages, the p-value of skipping as many questions at random (Fisher's exact test, "
        "one-sided), the same for unflagged questions, and the area under the risk-coverage curve (AURC) beside that "
        "of a random and of the best order. Guide: docs/guides/evaluate.md.",
    .examples = { "ambit-train evaluate selective --predictions detected.jsonl --scored each.jsonl",
                  "ambit-train evaluate selective --predictions detected.jsonl --scored each.jsonl --threshold 0.5 --report curve.html" },
    .run = run_selective,
};

/* judge */

#undef AT
static const struct yes_no_request judge_defaults = {
    .out = "-", .seed = 1, .samples = 1, .server = ENDPOINT_DEFAULTS("lm")
};

#define AT(field) offsetof(struct yes_no_request, field)
#define SERVER(field) AT(server.field)

static const struct option judge_options[] = {
    STRING_OPTION("data", AT(data), "DIR|FILE", "data folder, whose test split is judged, or a custom data set",
                  .required = true, .group = "input"),
    DB_OPTION(AT(db), ""),
    SCHEMA_OPTION(AT(schema), "tables.json, for a custom data set"),
    FORMAT_IN_OPTION(AT(format_in)),
    LABEL_FIELD_OPTION(AT(label_field)),
    OUT_JSONL_OPTION(AT(out)),
    WORD_OPTION("write-prompts", AT(write), "FORM", YES_NO_FORMS,
                "write the published prompts, or prompts with schema and question", .group = "prompts"),
    INT_OPTION("shots", AT(shots), "K", 0, 100, "few-shot examples in a prompt, half of them ambiguous"),
    STRING_OPTION("examples", AT(support), "FILE", "custom data set to take few-shot examples from"),
    SEED_OPTION(AT(seed), "random seed of the few-shot examples"),
    STRING_OPTION("answers", AT(answers), "FILE", "completions of the prompts, to convert to scores",
                  .group = "scores"),
    STRING_OPTION("lm", SERVER(url), "URL", ENDPOINT_URL_HELP ", which completes the prompts",
                  .group = "language-model server"),
    ENDPOINT_OPTIONS("lm", SERVER),
    WORD_OPTION("prompt", AT(prompt), "FORM", YES_NO_FORMS,
                "prompt for --lm: the published question, or schema and question (default: schema)"),
    INT_OPTION("samples", AT(samples), "N", 1, ENDPOINT_MAX_SAMPLES,
               "completions of each prompt by --lm; several are sampled at temperature 1"),
    DRY_RUN_OPTION(AT(dry), "count the requests to --lm, and stop"),
    { 0 },
};

static const char *misused_judge(const struct yes_no_request *q)
{
    if (!!q->write + !!q->answers + !!q->server.url != 1)
        return "expected one of --write-prompts, --answers and --lm";
    if (!q->server.url && (q->prompt || q->dry || q->samples != judge_defaults.samples))
        return "--prompt, --samples and --dry-run require --lm";
    if (q->db && q->schema)
        return "--db and --schema cannot be used together";
    if (q->answers && (q->shots || q->support))
        return "--shots and --examples require --write-prompts or --lm";
    if (q->shots && strcmp(q->write ? q->write : q->prompt ? q->prompt : "schema", "schema") != 0)
        return "--shots requires --write-prompts schema, or --lm with --prompt schema";
    if (q->support && (!q->shots || (!q->db && !q->schema)))
        return "--examples requires --shots, and --db or --schema";
    if (q->shots && !q->support && (q->db || q->schema))
        return "--shots requires --examples with a custom data set";
    return NULL;
}

static enum exit_code run_judge(const struct call *call, struct error *err)
{
    const struct yes_no_request *q = call->options;
    const char *why = misused_judge(q);
    struct yes_no_counts n;

    if (why)
        return usage_error(err, "%s", why);
    if (endpoint_check(&q->server, err) || yes_no_run(q, &n, err))
        return err->code;
    if (!q->write && !q->dry)
        log_info("%lld questions, %lld without a completion that begins with yes or no", (long long)n.questions,
                 (long long)n.unread);
    else if (q->write)
        log_info("%lld prompts", (long long)n.questions);
    return job_exit_code(0, n.unread, err);
}

static const struct command judge_mode = {
    .name = "judge",
    .summary = "use a language model as an ambiguity detector",
    OPTIONS(judge_options, judge_defaults),
    .details =
        "--lm asks a language-model server. --write-prompts writes {\"id\", \"messages\"} for each question. Few-shot examples come from the "
        "training split or from --examples. Any model may complete the prompts, for example with "
        "`ambit-infer generate`.\n\n"
        "--answers reads {\"id\", \"text\"} or {\"id\", \"texts\"} and writes {\"id\", \"score\"}: the "
        "share of completions whose first word is yes, among those that begin with yes or no. A question "
        "without such a completion gets an error, and the exit code is 7. Guide: docs/guides/evaluate.md.",
    .examples = { "ambit-train evaluate judge --data contrast --write-prompts schema --shots 12 -o prompts.jsonl",
                  "ambit-train evaluate judge --data contrast --lm http://localhost:8080/v1 -o scores.jsonl" },
    .run = run_judge,
};

static const struct command *const modes[] = { &detector_mode, &selective_mode, &judge_mode, NULL };

const struct command command_evaluate = {
    .name = "evaluate",
    .summary = "measure detectors of ambiguous questions",
    .details = "`detector` measures a detector or its predictions on labelled questions, `selective` the SQL behind a "
               "detector, and `judge` makes a detector of a language model. `MODE --help` has the details of a mode. "
               "Guide: docs/guides/evaluate.md.",
    .examples = { "ambit-train evaluate detector runs/gate --data labels.csv --db shop.sqlite",
                  "ambit-train evaluate selective --predictions detected.jsonl --scored each.jsonl" },
    .modes = modes,
};
