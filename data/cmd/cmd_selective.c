/* Part of commands.h: ambit-data selective. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/eval/selective.h"

#include <math.h>

static const struct selective_request defaults = { .field = "one_found", .threshold = NAN };

#define AT(field) offsetof(struct selective_request, field)

static const struct option options[] = {
    STRING_OPTION("predictions", AT(predictions), "FILE", "output of `ambit-infer detect`: id and score",
                  .required = true, .group = "input"),
    STRING_OPTION("scored", AT(scored), "FILE", "output of `score --per-example`: id and --field", .required = true),
    STRING_OPTION("field", AT(field), "NAME", "field that is true or 1 if the statement is right"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1, "flag from this score on (default: field \"ambiguous\")"),
    FLAG_OPTION("json", AT(json), "print one JSON object", .group = "output"),
    STRING_OPTION("report", AT(report), "FILE.html", "write a page with the risk-coverage curve", .writes = true),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return selective_run(call->options, err) ? err->code : EXIT_CODE_OK;
}

const struct command command_selective = {
    .name = "selective",
    .summary = "measure the accuracy of unflagged statements, by coverage",
    OPTIONS(options, defaults),
    .details = "Orders questions by ambiguity score, clearest first. Prints the accuracy at several coverages, the "
               "p-value of skipping as many questions at random (Fisher's exact test, one-sided), the same for "
               "unflagged questions, and the area under the risk-coverage curve (AURC) beside that of a random and "
               "of the best order. Guide: docs/guides/score.md.",
    .examples = { "ambit-data selective --predictions detected.jsonl --scored each.jsonl",
                  "ambit-data selective --predictions detected.jsonl --scored each.jsonl --threshold 0.5 --report curve.html" },
    .run = run,
};
