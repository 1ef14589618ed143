/* Part of commands.h: ambit-train evaluate. */
#include "data/base/option_rows.h"
#include "models/embed/schema_finder.h"
#include "models/gatekeeper/gate_band.h"
#include "train/cmd/commands.h"
#include "train/detector/gate_evaluate.h"

#include <math.h>
#include <stdlib.h>

static const struct gate_evaluate_request defaults = {
    .device = "auto", .threshold = NAN, .tokens = 16384, .seed = 1, .elements = SCHEMA_SEARCH_ELEMENTS
};

#define AT(field) offsetof(struct gate_evaluate_request, field)

static const struct option table[] = {
    STRING_OPTION("data", AT(data), "DIR|FILE", "data folder (its test split), or labelled questions", .required = true,
                  .group = "input"),
    DB_OPTION(AT(db), ""),
    SCHEMA_OPTION(AT(schema), "tables.json, in place of --db"),
    FORMAT_IN_OPTION(AT(format_in)),
    LABEL_FIELD_OPTION(AT(label_field)),
    STRING_OPTION("predictions", AT(predictions), "FILE", "predictions in place of RUN: id, score from 0 to 1"),
    FLAG_OPTION("partial", AT(partial), "allow questions without a prediction"),
    STRING_OPTION("adapter", AT(adapter), "FILE", "adapter of RUN, from ambit-train adapt"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "decision threshold (default: the one stored in the model; with --predictions 0.5)",
                .group = "metrics"),
    STRING_OPTION("abstain", AT(abstain), GATE_ABSTAIN_WORDS, "score interval without an answer, or max error rate"),
    FLAG_OPTION("json", AT(json), "print one JSON object"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "maximum number of tokens encoded at once", .group = "run"),
    INT_OPTION("elements", AT(elements), "N", 0, 1 << 24, SCHEMA_SEARCH_HELP),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    SEED_OPTION(AT(seed), "seed of the bootstrap"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
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

const struct command command_evaluate = {
    .name = "evaluate",
    .summary = "Measure a detector, or predictions of another system, on labelled questions",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "RUN is a folder of ambit-train gatekeeper or export --format detector (default: the detector that comes "
        "with ambit). The output has metrics by ambiguity type and database with 95 % intervals, the results of "
        "selective prediction, and probes of question and schema alone. Guide: docs/guides/evaluate.md.",
    .examples = { "ambit-train evaluate runs/gate --data labels.csv --db shop.sqlite",
                  "ambit-train evaluate --predictions answers.jsonl --data contrast --json" },
    .run = run,
};
