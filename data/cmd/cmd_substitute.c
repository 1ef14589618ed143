/* Part of commands.h: ambit-data substitute. */
#include "data/ambiguate/substitute.h"
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"

#include <string.h>

static const struct substitute_request defaults = { .out = "-", .copies = 1, .common = 100 };

#define AT(field) offsetof(struct substitute_request, field)

static const struct option options[] = {
    INT_OPTION("copies", AT(copies), "N", 1, 1000, "of each record, all different"),
    INT_OPTION("common", AT(common), "N", 0, 1 << 20, "words of the most records, which stay"),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    OUT_JSONL_OPTION(AT(out)),
    FORMAT_IN_OPTION(AT(form)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const char *path = call->operands[0];

    if (strcmp(path, "-") == 0)
        return usage_error(err, "IN.jsonl: expected a file, which is read twice, got -");
    return job_exit_code(substitute_write(call->options, path, err), 0, err);
}

const struct command command_substitute = {
    .name = "substitute",
    .summary = "writes training examples with other words in them, so that a small model learns to look, not to recite",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "IN.jsonl has what ambit-data annotate and plans write: messages, or prompt and completion. In each copy every "
        "word but the commonest and SQL's own becomes another word of the file, the same one throughout the record; capitals and plurals "
        "stay. What copies still have in common with their record is the form: which part of the prompt the answer "
        "repeats and which it replaces. A model trained from scratch on few databases learns those by heart otherwise. "
        "The output has an id beside them and is no longer true of any database: for training only.",
    .examples = { "ambit-data substitute examples.jsonl -o other-words.jsonl",
                  "ambit-data substitute examples.jsonl --copies 4 --common 200 --seed 1 -o other-words.jsonl" },
    .run = run,
};
