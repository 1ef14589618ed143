/* Part of commands.h: ambit-data judge. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/prompt/yes_no.h"

#include <string.h>

static const struct yes_no_request defaults = { .out = "-", .seed = 1 };

#define AT(field) offsetof(struct yes_no_request, field)

static const struct option options[] = {
    STRING_OPTION("data", AT(data), "DIR|FILE", "data folder, whose test split is judged, or a custom data set",
                  .required = true, .group = "input"),
    DB_OPTION(AT(db), ""),
    SCHEMA_OPTION(AT(schema), "tables.json, for a custom data set"),
    FORMAT_IN_OPTION(AT(format_in)),
    LABEL_FIELD_OPTION(AT(label_field)),
    WORD_OPTION("write-prompts", AT(write), "FORM", YES_NO_FORMS,
                "write the published prompts, or prompts with schema and question", .group = "prompts"),
    INT_OPTION("shots", AT(shots), "K", 0, 100, "few-shot examples in a prompt, half of them ambiguous"),
    STRING_OPTION("support", AT(support), "FILE", "custom data set to take few-shot examples from"),
    SEED_OPTION(AT(seed), "random seed of the few-shot examples"),
    STRING_OPTION("answers", AT(answers), "FILE", "completions of the prompts, to convert to scores",
                  .group = "scores"),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

static const char *wrong(const struct yes_no_request *q)
{
    if (!q->write == !q->answers)
        return "expected one of --write-prompts and --answers";
    if (q->db && q->schema)
        return "--db and --schema cannot be used together";
    if (q->answers && (q->shots || q->support))
        return "--shots and --support require --write-prompts";
    if (q->shots && strcmp(q->write, "schema") != 0)
        return "--shots requires --write-prompts schema";
    if (q->support && (!q->shots || (!q->db && !q->schema)))
        return "--support requires --shots, and --db or --schema";
    if (q->shots && !q->support && (q->db || q->schema))
        return "--shots requires --support with a custom data set";
    return NULL;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct yes_no_request *q = call->options;
    const char *why = wrong(q);
    struct yes_no_counts n;

    if (why)
        return usage_error(err, "%s", why);
    if (yes_no_run(q, &n, err))
        return err->code;
    if (q->answers)
        log_info("%lld questions, %lld without a completion that begins with yes or no", (long long)n.questions,
                 (long long)n.unread);
    else
        log_info("%lld prompts", (long long)n.questions);
    return job_exit_code(0, n.unread, err);
}

const struct command command_judge = {
    .name = "judge",
    .summary = "use a language model as an ambiguity detector",
    OPTIONS(options, defaults),
    .details = "--write-prompts writes {\"id\", \"messages\"} for each question. Few-shot examples come from the "
               "training split or from --support. Any model may complete the prompts, for example with "
               "`ambit-infer generate`.\n\n"
               "--answers reads {\"id\", \"text\"} or {\"id\", \"texts\"} and writes {\"id\", \"score\"}: the "
               "share of completions whose first word is yes, among those that begin with yes or no. A question "
               "without such a completion gets an error, and the exit code is 7. Guide: docs/guides/evaluate.md.",
    .examples = { "ambit-data judge --data contrast --write-prompts schema --shots 12 -o prompts.jsonl",
                  "ambit-data judge --data contrast --answers answers.jsonl -o scores.jsonl" },
    .run = run,
};
