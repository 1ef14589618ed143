/* Part of commands.h: ambit-train adapt. */
#include "data/base/option_rows.h"
#include "models/embed/schema_finder.h"
#include "train/cmd/commands.h"
#include "train/detector/adapt.h"

#include <stdlib.h>

static const struct adapt_request defaults = {
    .device = "auto",
    .set = { .method = ADAPT_LINEAR, .pull = 0.01 },
    .tokens = 16384,
    .seed = 1,
    .elements = SCHEMA_SEARCH_ELEMENTS,
};

#define AT(field) offsetof(struct adapt_request, field)

static const struct option table[] = {
    STRING_OPTION("support", AT(support), "FILE", "4 to 48 labelled questions; with --repeats any number",
                  .required = true, .group = "input"),
    STRING_OPTION("queries", AT(queries), "FILE", "other labelled questions, to measure the gain"),
    DB_OPTION(AT(db), ""),
    SCHEMA_OPTION(AT(schema), "tables.json, in place of --db"),
    FORMAT_IN_OPTION(AT(format_in)),
    LABEL_FIELD_OPTION(AT(label_field)),
    OUT_OPTION(AT(out), "DIR", "folder of the adapter; not with --repeats"),
    FLAG_OPTION("json", AT(json), "with --repeats: print one JSON object"),
    CHOICE_OPTION("method", AT(set.method), "NAME", ADAPT_WORDS, "adapted parameters", .group = "adaptation"),
    INT_OPTION("steps", AT(set.steps), "N", 0, 10000, "maximum number of steps, 0: 30, with lora 8"),
    INT_OPTION("folds", AT(set.parts), "N", 0, 48, "folds of the cross-validation, 0: 12, with lora 4"),
    REAL_OPTION("lr", AT(set.lr), "X", 0, 10, "learning rate of Adam, 0: the method's"),
    REAL_OPTION("l2-sp", AT(set.pull), "X", 0, 1000, "weight of the distance from the base's parameters"),
    INT_OPTION("repeats", AT(repeats), "N", 0, 100000, "repeat N times: sample 4, 12, 24, 48 labels, adapt, report"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "maximum number of tokens encoded at once", .group = "run"),
    INT_OPTION("elements", AT(elements), "N", 0, 1 << 24, SCHEMA_SEARCH_HELP),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    SEED_OPTION(AT(seed), "random seed"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct adapt_request q = *(const struct adapt_request *)call->options;

    if (!q.db == !q.schema)
        return error_set(err, EXIT_CODE_USAGE, "expected --db or --schema, and not both"), err->code;
    if (!q.repeats == !q.out)
        return error_set(err, EXIT_CODE_USAGE, "expected --out or --repeats, and not both"), err->code;
    if (q.set.parts == 1)
        return usage_error(err, "--folds: expected 0 or at least 2, got 1");
    if (q.json && !q.repeats)
        return error_set(err, EXIT_CODE_USAGE, "--json: expected --repeats"), err->code;
    if (q.elements && q.elements < SCHEMA_SEARCH_MIN)
        return usage_error(err, "--elements: expected 0 or at least %d, got %lld", SCHEMA_SEARCH_MIN,
                           (long long)q.elements);
    if (q.retriever && !q.elements)
        return usage_error(err, RETRIEVER_UNUSED);
    char *own = call->n_operands ? NULL : gate_model_default("RUN", err);
    if (!call->n_operands && !own)
        return err->code;
    q.run = own ? own : call->operands[0];
    int rc = adapt(&q, err);
    free(own);
    return rc ? err->code : EXIT_CODE_OK;
}

static const struct file_note files[] = {
    { "DIR/ambit.h5", "the adapter, for --adapter of detect, ask and evaluate" },
    { 0 },
};

const struct command command_adapt = {
    .name = "adapt",
    .summary = "fit a detector to a few labels, or estimate the gain",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "RUN is a folder of ambit-train gatekeeper or export --format detector (default: the detector that comes "
        "with ambit). The result is a small adapter for --adapter of detect and evaluate. With --repeats nothing is "
        "written: repeated trials on 4, 12, 24 and 48 labels estimate the gain. Guide: docs/guides/adapt-and-compare.md.",
    .examples = { "ambit-train adapt runs/gate --support labels.csv --db shop.sqlite -o shop.adapter",
                  "ambit-train adapt runs/gate --support labels.jsonl --schema tables.json --repeats 50 --method layer" },
    .files = files,
    .run = run,
};
