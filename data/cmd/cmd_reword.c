/* Part of commands.h: ambit-data reword. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/synth/reword.h"

static const struct reword_request defaults = { .out = "-" };

#define AT(field) offsetof(struct reword_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .required = true, .group = "input"),
    FORMAT_IN_OPTION(AT(format_in)),
    SEED_OPTION(AT(seed), "random seed", .group = "output"),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return job_exit_code(reword_write(call->options, call->operands[0], err), 0, err);
}

const struct command command_reword = {
    .name = "reword",
    .summary = "write interpretations as text without a language model, for annotate",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details = "Reads records of `ambiguate --materialise`, or rows of AMBROSIA with their texts. Names the "
               "altered element in the question, and lets some of the gold interpretations exist: none (15 %), all "
               "(15 %) or some. Records whose interpretations return the same rows are omitted. Guide: "
               "docs/guides/make-data.md.",
    .examples = { "ambit-data reword ambiguous.jsonl --db altered -o reworded.jsonl",
                  "ambit-data reword ambrosia.jsonl --db databases --seed 1 -o reworded.jsonl" },
    .run = run,
};
