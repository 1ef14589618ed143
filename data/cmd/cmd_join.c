/* Part of commands.h: ambit-data join. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/shard.h"
#include "data/cmd/commands.h"

static const struct shard_join_request defaults = { 0 };

#define AT(field) offsetof(struct shard_join_request, field)

static const struct option options[] = {
    OUT_OPTION(AT(out), "FILE", "write the joined output (default: OUT); - is standard output"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct shard_join_request q = *(const struct shard_join_request *)call->options;
    struct shard_join_counts counts = { 0 };

    q.shards = call->operands[0];
    int rc = shard_join(&q, &counts, err);
    if (rc == 0)
        log_info("%d shards, %lld records; records failed in %d shards", counts.shards, (long long)counts.records,
                 counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

static const struct file_note files[] = {
    { "OUT.I-of-N", "the output of a shard" },
    { "OUT.I-of-N.shard", "its manifest: input, command and settings" },
    { 0 },
};

const struct command command_join = {
    .name = "join",
    .summary = "join the outputs of all shards, or list the shards to run again",
    ONE_OPERAND("OUT"),
    OPTIONS(options, defaults),
    .details = "OUT is the --out of the shards: OUT.I-of-N and their manifests lie beside it, and stay. The result "
               "equals the output of one run without --shard, byte for byte. Nothing is written if a shard is "
               "missing, unfinished or made from other input or settings; the last line lists the numbers of these "
               "shards. If records of a shard failed, the exit code is 7. Guide: docs/guides/clusters.md.",
    .examples = { "ambit-data join predictions.jsonl", "ambit-data join predictions.jsonl -o all.jsonl" },
    .files = files,
    .run = run,
};
