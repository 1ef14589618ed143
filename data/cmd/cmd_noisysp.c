/* Part of commands.h: ambit-data noisysp. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/noisysp/noisysp.h"
#include "data/util/log.h"

static const struct noisysp_request defaults = { .out = "-" };

#define AT(field) offsetof(struct noisysp_request, field)

static const struct option options[] = {
    CHOICE_OPTION("to", AT(to), "FORM", "marked-words|noisysp", "the form to write; the other one is read"),
    OUT_OPTION(AT(out), "FILE", "where the records go; - is standard output"),
    FORMAT_IN_OPTION(AT(form)),
    SHARD_OPTION(AT(shard), 1),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct noisysp_request q = *(const struct noisysp_request *)call->options;
    struct noisysp_counts n = { 0 };

    q.in = call->operands[0];
    if (q.shard.count && q.to == NOISYSP_TO_PUBLISHED)
        return usage_error(err, "--shard: expected --to marked-words; the published form is one array");
    int rc = noisysp_convert(&q, &n, err);

    if (rc == 0)
        log_info("%lld records, %lld left out as unresolved, %lld failed", (long long)n.records,
                 (long long)n.unresolved, (long long)n.failed);
    return job_exit_code(rc, n.failed, err);
}

const struct command command_noisysp = {
    .name = "noisysp",
    .summary = "turns NoisySP's examples into records with marked words, and back",
    ONE_OPERAND("IN"),
    OPTIONS(options, defaults),
    .details =
        "Reads a file of NoisySP, the data of \"Know What I Don't Know\" (train.preproc.json and its like), and writes a "
        "record with marked words for each example, for ambit-train tag. Offsets are those of the text, or, where its "
        "words are not the tokens, of the tokens side by side. Examples with \"value_resolved\" false are left out, as "
        "the published code does.\n\n"
        "The form does not say what an ambiguous word may mean. --to noisysp names it in \"term_value\", so that it comes "
        "back; elsewhere the two columns whose names are most like the word are taken.\n\n"
        "--to noisysp writes an array of examples that the published code reads, from records with marked words. Their "
        "SQL is only the columns and values that the marked words name. What cannot be turned is left out with a "
        "warning, and the exit code is 7.",
    .examples = { "ambit-data noisysp wikisql/train.preproc.json -o spans/train.jsonl",
                  "ambit-data noisysp --to noisysp spans/train.jsonl -o wikisql/train.preproc.json" },
    .run = run,
};
