/* Part of commands.h: ambit-train evaluate. */
#include "data/cli/option_rows.h"
#include "models/embed/schema_finder.h"
#include "models/gate/gate_band.h"
#include "train/cmd/commands.h"
#include "train/gate/gate_evaluate.h"

#include <math.h>
#include <stdlib.h>

static const struct gate_evaluate_request defaults = {
    .device = "auto", .threshold = NAN, .tokens = 16384, .seed = 1, .elements = SCHEMA_SEARCH_ELEMENTS
};

#define AT(field) offsetof(struct gate_evaluate_request, field)

static const struct option table[] = {
    STRING_OPTION("data", AT(data), "DIR|FILE",
                  "a folder of ambit-data contrast or practice, whose test fold counts, or a file of own labels",
                  .required = true),
    DB_OPTION(AT(db), ", for own labels"),
    SCHEMA_OPTION(AT(schema), "tables.json, for own labels, in place of --db"),
    FORMAT_IN_OPTION(AT(form)),
    LABEL_FIELD_OPTION(AT(label_field)),
    STRING_OPTION("predictions", AT(predictions), "FILE",
                  "answers of anyone, in place of RUN: id and score, from 0 to 1"),
    FLAG_OPTION("partial", AT(partial),
                "questions that --predictions has no answer to are left out, and how many is told"),
    STRING_OPTION("adapt", AT(adapt), "FILE", "what ambit-train adapt made of RUN and a few labels"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "yes is at least this; default: the model's, 0.5 of --predictions"),
    STRING_OPTION("abstain", AT(abstain), GATE_ABSTAIN_WORDS,
                  "how often the questions outside this band are answered wrongly; as ambit-infer detect takes it"),
    SEED_OPTION(AT(seed), "of the intervals"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "most tokens encoded at once"),
    INT_OPTION("elements", AT(elements), "N", 0, 1 << 24, SCHEMA_SEARCH_HELP),
    STRING_OPTION("retriever", AT(retriever), "HF_DIR", RETRIEVER_HELP),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    FLAG_OPTION("json", AT(json), "print one JSON object"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct gate_evaluate_request q = *(const struct gate_evaluate_request *)call->options;
    struct gate_abstain a;

    if (call->n_operands && q.predictions)
        return usage_error(err, "expected a detector's folder or --predictions FILE, and not both");
    if (q.adapt && q.predictions)
        return error_set(err, EXIT_CODE_USAGE, "--adapt: expected a detector's folder, got --predictions"), err->code;
    if (gate_abstain_read(&a, q.abstain, err))
        return err->code;
    if (a.rate > 0 && q.adapt)
        return error_set(err, EXIT_CODE_USAGE, GATE_ABSTAIN_ADAPTED), err->code;
    if (q.retriever && q.predictions)
        return usage_error(err, "--retriever: expected a detector's folder, got --predictions");
    if (q.partial && !q.predictions)
        return error_set(err, EXIT_CODE_USAGE, "--partial: expected --predictions"), err->code;
    if (q.elements && q.elements < SCHEMA_SEARCH_MIN)
        return usage_error(err, "--elements: expected 0 or at least %d, got %lld", SCHEMA_SEARCH_MIN,
                           (long long)q.elements);
    if (q.retriever && !q.elements)
        return usage_error(err, RETRIEVER_UNUSED);
    if (q.db && q.schema)
        return error_set(err, EXIT_CODE_USAGE, "--db and --schema: expected one of them"), err->code;
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
    .summary = "says how good a finished detector is on labelled questions, its own test fold's or anyone's",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "RUN is what ambit-train gatekeeper or export --format detector left; without RUN and --predictions it is the "
        "detector that comes with ambit.  Own labels are records with question, db_id and a yes or no under "
        "ambiguous, and with kind, alternatives and SQL where they are known, in any form that training reads.\n\n"
        "Printed are average precision, AUC, F1 at the stored threshold and at the best, always-yes beside it, how often "
        "both alternatives were named, Brier score and calibration error, by kind and by database, with intervals of "
        "95 % by a bootstrap over databases; and what question or schema alone give away: of own labels by five parts, "
        "each scored by what the others teach.\n\n"
        "--predictions takes what ambit-infer detect wrote, or a language model's answers as scores of 0 and 1: one "
        "for each question, by id.",
    .examples = { "ambit-train evaluate runs/gate --data labels.csv --db shop.sqlite",
                  "ambit-train evaluate --predictions answers.jsonl --data contrast --json" },
    .run = run,
};
