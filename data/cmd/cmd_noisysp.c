/* Part of commands.h: ambit-data noisysp. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/published/noisysp.h"

static const struct noisysp_request defaults = { .out = "-" };

#define AT(field) offsetof(struct noisysp_request, field)

static const struct option options[] = {
    CHOICE_OPTION("format-in", AT(format_in), "FORMAT", RECORD_FORMS, FORMAT_IN_HELP, .group = "input"),
    SHARD_OPTION(AT(shard), 1),
    OUT_OPTION(AT(out), "FILE", "output file; - is standard output"),
    CHOICE_OPTION("to", AT(to), "FORM", "marked-words|noisysp", "form to write; IN has the other form"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct noisysp_request q = *(const struct noisysp_request *)call->options;
    struct noisysp_counts n = { 0 };

    q.in = call->operands[0];
    if (q.shard.count && q.to == NOISYSP_TO_PUBLISHED)
        return usage_error(err, "--shard requires --to marked-words: the published form is one array");
    int rc = noisysp_convert(&q, &n, err);

    if (rc == 0)
        log_info("%lld records, %lld omitted as unresolved, %lld failed", (long long)n.records, (long long)n.unresolved,
                 (long long)n.failed);
    return job_exit_code(rc, n.failed, err);
}

const struct command command_noisysp = {
    .name = "noisysp",
    .summary = "convert NoisySP's examples to records with marked words, and back",
    ONE_OPERAND("IN"),
    OPTIONS(options, defaults),
    .details = "NoisySP is the data of \"Know What I Don't Know\" (Wang et al., 2023), files such as "
               "train.preproc.json. Offsets refer to the text, or to the joined tokens if text and tokens differ. "
               "Examples with \"value_resolved\" false are omitted, as in the published code.\n\n"
               "The published form does not name the alternatives of an ambiguous word. --to noisysp stores them "
               "in \"term_value\"; for other files, the two most similar columns are taken. A record that cannot "
               "be converted is omitted with a warning, and the exit code is 7. Guide: docs/guides/train-tagger.md.",
    .examples = { "ambit-data noisysp wikisql/train.preproc.json -o spans/train.jsonl",
                  "ambit-data noisysp --to noisysp spans/train.jsonl -o wikisql/train.preproc.json" },
    .run = run,
};
