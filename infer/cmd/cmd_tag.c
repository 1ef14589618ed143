/* Part of commands.h: ambit-infer tag. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "infer/cmd/commands.h"
#include "infer/tag/tag.h"
#include "models/gatekeeper/gate_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct tag_request defaults = {
    .out = "-", .device = "auto", .threshold = NAN, .index_mib = TAG_INDEX_MIB, .heuristic = HEURISTIC_DEFAULT
};

#define AT(field) offsetof(struct tag_request, field)

static const struct option table[] = {
    STRING_OPTION("question", AT(question), "TEXT", "one question, in place of IN.jsonl", .group = "input"),
    DB_OPTION(AT(db), ", in place of --schema; values are looked up there"),
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id, or CREATE TABLE statements"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), TAG_GROUP),
    OUT_OPTION(AT(out), "OUT.jsonl|OUT.csv|OUT.html", "tagged questions in input order; - is standard output",
               .formats = TAG_FORMATS),
    CHOICE_OPTION("format", AT(format), "FORMAT", TAG_FORMATS,
                  "JSON lines, text for people, a page, or a table with a row for each span (default: by the ending of "
                  "OUT)"),
    RESUME_OPTION(AT(resume), "continue an interrupted run from OUT.jsonl.part"),
    STRING_OPTION(
        "model", AT(model), "RUN",
        "folder of ambit-train tag, or a detector with a head for words (default: the one that comes with ambit)",
        .letter = 'm', .group = "tagger"),
    CHOICE_OPTION("strategy", AT(strategy), "HOW", "dte|eta|heuristic",
                  "trained tagger, its concept links alone, or word similarity without a model"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "decision threshold of AMB and UNK spans (default: the one stored in the model)"),
    REAL_OPTION("name", AT(heuristic.name), "X", 0, 1, "heuristic: minimum similarity to a column's name",
                .group = "heuristic"),
    REAL_OPTION("value", AT(heuristic.value), "X", 0, 1, "heuristic: minimum similarity to a value"),
    REAL_OPTION("margin", AT(heuristic.margin), "X", 0, 1,
                "heuristic: maximum distance of an alternative to the best match"),
    REAL_OPTION("unknown", AT(heuristic.unknown), "X", 0, 1,
                "heuristic: mark noun phrases below this similarity as unanswerable; 0: none"),
    STRING_OPTION("tune", AT(tune), "FILE", "heuristic: records with marked words on which to fit these four"),
    INT_OPTION("index-mib", AT(index_mib), "N", 1, 4095, "maximum memory for the values of a database, in MiB",
               .group = "performance"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

/* Tags with the given model, or with the detector that comes with ambit. */
static int tag_with_model(struct tag_request q, const char *input, struct tag_counts *counts, struct error *err)
{
    bool needs = q.strategy == TAG_DTE && !q.model;
    char *own = needs ? gate_model_default("--model", err) : NULL;

    if (needs && !own)
        return -1;
    q.model = needs ? own : q.model;
    int rc = tag(&q, input, counts, err);
    free(own);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct tag_request q = *(const struct tag_request *)call->options;
    struct tag_counts counts = { 0 };

    if (q.schema && q.db)
        return usage_error(err, "--schema and --db cannot be used together");
    if (q.strategy == TAG_ETA && !q.model)
        return usage_error(err, "--strategy eta: expected --model RUN, a tagger of ambit-train tag");
    if (!q.question == !call->n_operands)
        return usage_error(err, "expected either IN.jsonl or a question");
    if (q.resume && strcmp(q.out, "-") == 0)
        return usage_error(err, "--resume: expected --out FILE, a file to go on with");
    int rc = tag_with_model(q, q.question ? NULL : call->operands[0], &counts, err);
    if (rc == 0)
        log_info("%lld questions, %lld ambiguous, %lld unanswerable, %lld failed, %lld of an earlier run",
                 (long long)counts.records, (long long)counts.ambiguous, (long long)counts.unanswerable,
                 (long long)counts.failed, (long long)counts.resumed);
    return job_exit_code(rc, counts.failed, err);
}

static const struct file_note files[] = {
    { "OUT.jsonl.part", "lines of an interrupted run, for --resume" },
    { 0 },
};

const struct command command_tag = {
    .name = "tag",
    .summary = "mark the ambiguous and unanswerable words of questions",
    .operands = "IN.jsonl|QUESTION",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "Read records {\"id\", \"db_id\", \"question\"}, which may bring their own \"columns\", and write the marked words of "
        "each.  See docs/guides/tag.md.",
    .examples = { "ambit-infer tag questions.jsonl --db shop.sqlite --format text",
                  "ambit-infer tag --strategy heuristic questions.jsonl --db shop.sqlite -o page.html" },
    .files = files,
    .run = run,
};
