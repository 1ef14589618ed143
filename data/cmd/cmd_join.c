/* Part of commands.h: ambit-data join. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/shard/shard.h"
#include "data/util/log.h"

static const struct shard_join_request defaults = { 0 };

#define AT(field) offsetof(struct shard_join_request, field)

static const struct option options[] = {
    OUT_OPTION(AT(out), "FILE", "where all of it goes, in place of OUT; - is standard output"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct shard_join_request q = *(const struct shard_join_request *)call->options;
    struct shard_join_counts counts = { 0 };

    q.shards = call->operands[0];
    int rc = shard_join(&q, &counts, err);
    if (rc == 0)
        log_info("%d shards of %lld records; in %d of them records failed", counts.shards, (long long)counts.records,
                 counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

static const struct file_note files[] = {
    { "OUT.I-of-N", "the output of a shard" },
    { "OUT.I-of-N.shard", "its mark: what it is of, and how it was made" },
    { 0 },
};

const struct command command_join = {
    .name = "join",
    .summary = "puts the outputs of all shards together, and says which are to be run again",
    ONE_OPERAND("OUT"),
    OPTIONS(options, defaults),
    .details =
        "OUT is what --out of the shards was; beside it lie OUT.I-of-N and their marks, which stay.  What is written "
        "is byte for byte what one run without --shard writes.\n\n"
        "Nothing is written where a shard is missing, unfinished, there twice, of another input, or made by another "
        "command or version, with other settings or from other files than most are: each is named, and the last line "
        "has the numbers of those to run again.  Where records of a shard failed, the exit code is 7, as it was of the "
        "shard.",
    .examples = { "ambit-data join findings.jsonl", "ambit-data join findings.jsonl -o all.jsonl" },
    .files = files,
    .run = run,
};
