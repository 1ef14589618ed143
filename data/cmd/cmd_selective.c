/* Part of commands.h: ambit-data selective. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/score/selective.h"

#include <math.h>

static const struct selective_request defaults = { .field = "one_found", .threshold = NAN };

#define AT(field) offsetof(struct selective_request, field)

static const struct option options[] = {
    STRING_OPTION("findings", AT(findings), "FILE", "how likely each question is ambiguous: id and score",
                  .required = true),
    STRING_OPTION("scored", AT(scored), "FILE", "whether its statement is right: what score --per-example wrote",
                  .required = true),
    STRING_OPTION("field", AT(field), "NAME", "the field of --scored that says so: true, or 1"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1,
                "scores from here on are flagged; without, by the findings' own \"ambiguous\""),
    STRING_OPTION("report", AT(report), "FILE.html", "write a page with the curve", .writes = true),
    FLAG_OPTION("json", AT(json), "print one JSON object"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return selective_run(call->options, err) ? err->code : EXIT_CODE_OK;
}

const struct command command_selective = {
    .name = "selective",
    .summary = "says how often statements are right where a detector finds no ambiguity, at every coverage",
    OPTIONS(options, defaults),
    .details =
        "Questions are met by id and ordered by score, the least likely ambiguous first.  Printed are, for shares of "
        "them, how many statements are right, and the chance that skipping as many at random would leave no more right "
        "ones among the skipped (Fisher's exact test, one-sided); the same without the questions that are flagged; and "
        "the mean error over all coverages (AURC) beside that of a random order and of the best.",
    .examples = { "ambit-data selective --findings findings.jsonl --scored each.jsonl",
                  "ambit-data selective --findings findings.jsonl --scored each.jsonl --threshold 0.5 --report curve.html" },
    .run = run,
};
