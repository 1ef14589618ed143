/* Part of commands.h: ambit-data substitute. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/synth/substitute.h"

#include <string.h>

static const struct substitute_request defaults = { .out = "-", .copies = 1, .common = 100 };

#define AT(field) offsetof(struct substitute_request, field)

static const struct option options[] = {
    INT_OPTION("copies", AT(copies), "N", 1, 1000, "different copies of each record"),
    INT_OPTION("common", AT(common), "N", 0, 1 << 20, "number of most frequent words to keep"),
    SEED_OPTION(AT(seed), "random seed"),
    FORMAT_IN_OPTION(AT(format_in)),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const char *path = call->operands[0];

    if (strcmp(path, "-") == 0)
        return usage_error(err, "IN.jsonl: expected a file, got -: the input is read twice");
    return job_exit_code(substitute_write(call->options, path, err), 0, err);
}

const struct command command_substitute = {
    .name = "substitute",
    .summary = "write training examples with substituted words, against memorisation",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details = "Reads output of `annotate` or `plans`. In each copy every word becomes another word of the file, "
               "the same one throughout the record; frequent words and SQL's keywords stay. A small model then "
               "learns to copy from the prompt instead of memorising names. Copies are for training only: they "
               "describe no database. Guide: docs/guides/make-data.md.",
    .examples = { "ambit-data substitute examples.jsonl -o other-words.jsonl",
                  "ambit-data substitute examples.jsonl --copies 4 --common 200 --seed 1 -o other-words.jsonl" },
    .run = run,
};
