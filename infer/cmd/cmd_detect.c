/* Part of commands.h: ambit-infer detect. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/cmd/commands.h"
#include "infer/detect/detect.h"
#include "infer/detect/detector.h"
#include "models/gatekeeper/gate_band.h"

#include <stdlib.h>
#include <string.h>

static const struct detect_request defaults = { .out = "-",
                                                .device = "auto",
                                                .relevance = REPORT_AUTO,
                                                .tokens = DETECTOR_TOKENS,
                                                .elements = DETECTOR_ELEMENTS,
                                                .threshold = NAN };

#define AT(field) offsetof(struct detect_request, field)

static const struct option table[] = {
    STRING_OPTION("question", AT(question), "TEXT", "one question, in place of IN.jsonl", .group = "input"),
    DB_OPTION(AT(db), ", in place of --schema"),
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id, or CREATE TABLE statements"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), DETECTOR_GROUP),
    OUT_OPTION(AT(out), "OUT.jsonl|OUT.csv", "predictions in input order; - is standard output",
               .formats = PREDICTION_FORMATS),
    CHOICE_OPTION("format", AT(format), "FORMAT", PREDICTION_FORMATS,
                  "JSON lines, text for people, or a table (default: by the ending of OUT)"),
    CHOICE_OPTION(
        "relevance", AT(relevance), "WHICH", "none|top-5|all",
        "tables and columns to report with their relevance (default: all in a file OUT of at most 100 questions, "
        "else top-5)"),
    RESUME_OPTION(AT(resume), "continue an interrupted run from OUT.jsonl.part"),
    STRING_OPTION("model", AT(model), "RUN", GATE_DEFAULT_HELP, .letter = 'm', .group = "detector"),
    STRING_OPTION("adapter", AT(adapter), "FILE", "adapter of this model that ambit-train adapt wrote"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1, "decision threshold (default: the one stored in the model)"),
    STRING_OPTION("abstain", AT(abstain), GATE_ABSTAIN_WORDS,
                  "report status unsure for scores in this interval, or as often as this maximum error rate requires"),
    INT_OPTION("max-question", AT(max_question), "N", 0, 1 << 24,
               "maximum number of tokens of a question; 0: as many as fit beside the schema"),
    INT_OPTION("elements", AT(elements), "N", 0, 1 << 24, SCHEMA_SEARCH_HELP),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    INT_OPTION("tokens", AT(tokens), "N", 512, 1 << 24, "maximum number of tokens encoded at once",
               .group = "performance"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

/* A rate refers to validation scores without an adapter, so --adapter needs an interval. */
static int check_abstain(const struct detect_request *q, struct error *err)
{
    struct gate_abstain a;

    if (gate_abstain_read(&a, q->abstain, err))
        return -1;
    return a.rate > 0 && q->adapter ? error_set(err, EXIT_CODE_USAGE, GATE_ABSTAIN_ADAPTED) : 0;
}

/* Returns the error of incompatible options, or NULL. */
static const char *misused(const struct detect_request *q, int n_inputs)
{
    if (!q->schema == !q->db)
        return "expected either --schema or --db";
    if (!q->question == !n_inputs)
        return "expected either IN.jsonl or a question";
    if (q->retriever && !q->elements)
        return RETRIEVER_UNUSED;
    if (q->resume && strcmp(q->out, "-") == 0)
        return "--resume: expected --out FILE, a file to go on with";
    return NULL;
}

/* Detects with the given model, or with the one that comes with ambit. */
static int detect_with_model(struct detect_request q, const char *input, struct detect_counts *counts,
                             struct error *err)
{
    char *own = q.model ? NULL : gate_model_default("--model", err);

    if (!q.model && !own)
        return -1;
    q.model = q.model ? q.model : own;
    int rc = detect(&q, input, counts, err);
    free(own);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct detect_request *q = call->options;
    const char *wrong = misused(q, call->n_operands);
    struct detect_counts counts = { 0 };

    if (check_abstain(q, err))
        return err->code;
    if (wrong)
        return usage_error(err, "%s", wrong);
    if (q->elements && q->elements < SCHEMA_SEARCH_MIN)
        return usage_error(err, "--elements: expected 0 or at least %d, got %lld", SCHEMA_SEARCH_MIN,
                           (long long)q->elements);
    int rc = detect_with_model(*q, q->question ? NULL : call->operands[0], &counts, err);
    if (rc == 0)
        log_info("%lld questions, %lld ambiguous, %lld failed, %lld of an earlier run", (long long)counts.records,
                 (long long)counts.ambiguous, (long long)counts.failed, (long long)counts.resumed);
    if (rc == 0 && q->abstain)
        log_info("%lld unsure", (long long)counts.unsure);
    return job_exit_code(rc, counts.failed, err);
}

static const struct file_note files[] = {
    { "OUT.jsonl.part", "lines of an interrupted run, for --resume" },
    { 0 },
};

const struct command command_detect = {
    .name = "detect",
    .summary = "detect ambiguous questions, with their type and alternatives",
    .operands = "IN.jsonl|QUESTION",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "Read records {\"id\", \"db_id\", \"question\"} and write one prediction for each.  See docs/guides/detect.md.",
    .examples = { "ambit-infer detect questions.jsonl --db shop.sqlite --format text",
                  "ambit-infer detect questions.jsonl --model runs/gate --schema tables.json -o predictions.jsonl" },
    .files = files,
    .run = run,
};
