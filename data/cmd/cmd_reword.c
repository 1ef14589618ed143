/* Part of commands.h: ambit-data reword. */
#include "data/ambiguate/reword.h"
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"

static const struct reword_request defaults = { .out = "-" };

#define AT(field) offsetof(struct reword_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), ": ambiguate --materialise's, or AMBROSIA's", .required = true),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    OUT_JSONL_OPTION(AT(out)),
    FORMAT_IN_OPTION(AT(form)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return job_exit_code(reword_write(call->options, call->operands[0], err), 0, err);
}

const struct command command_reword = {
    .name = "reword",
    .summary = "puts the readings of ambiguous records into words without a model: some exist, the others are missing",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "IN.jsonl has records of ambit-data ambiguate --materialise, or rows of AMBROSIA, whose golds have texts. The "
        "output is what ambit-data annotate reads: golds with text and sql, and as readings some of the golds. Of "
        "several golds none exist (15 %), all (15 %), or some. An altered name is put into the question in place of "
        "the old one, or behind it; every second altered database also gets a question that is not ambiguous on it. "
        "Records whose readings give the same rows are left out, and questions that their database had before.\n\n"
        "Recall of a model that infills such records says how well it finds the missing alternative in the schema: a "
        "reading counts when it has a gold's words, and its SQL is then executed.",
    .examples = { "ambit-data reword ambiguous.jsonl --db altered -o reworded.jsonl",
                  "ambit-data reword ambrosia.jsonl --db databases --seed 1 -o reworded.jsonl" },
    .run = run,
};
