/* Part of commands.h: ambit-data judge. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/prompt/yes_no.h"
#include "data/util/log.h"

static const struct yes_no_request defaults = { .out = "-", .seed = 1 };

#define AT(field) offsetof(struct yes_no_request, field)

static const struct option options[] = {
    STRING_OPTION("data", AT(data), "DIR|FILE",
                  "a folder of ambit-data contrast or practice, whose test fold is asked, or a file of own labels",
                  .required = true),
    DB_OPTION(AT(db), ", for own labels"),
    SCHEMA_OPTION(AT(schema), "tables.json, for own labels, in place of --db"),
    FORMAT_IN_OPTION(AT(form)),
    LABEL_FIELD_OPTION(AT(label_field)),
    WORD_OPTION("write-prompts", AT(write), "FORM", YES_NO_FORMS,
                "write prompts: of the question alone, as the published program, or of question and schema"),
    INT_OPTION("shots", AT(shots), "K", 0, 100, "labelled examples in a prompt, half of them ambiguous"),
    STRING_OPTION("support", AT(support), "FILE", "own labels to show, which share no question with --data"),
    SEED_OPTION(AT(seed), "of the choice of examples"),
    STRING_OPTION("answers", AT(answers), "FILE", "read what models answered to such prompts, and write scores"),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

static const char *wrong(const struct yes_no_request *q)
{
    if (!q->write == !q->answers)
        return "expected either --write-prompts or --answers";
    if (q->db && q->schema)
        return "--db and --schema: expected one of them";
    if (q->answers && (q->shots || q->support))
        return "--shots, --support: expected --write-prompts";
    if (q->support && (!q->shots || (!q->db && !q->schema)))
        return "--support: expected --shots, and --db or --schema";
    if (q->shots && !q->support && (q->db || q->schema))
        return "--shots: expected --support with own labels, which have nothing else to show";
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
        log_info("%lld questions, %lld of them without an answer that begins with yes or no", (long long)n.questions,
                 (long long)n.unread);
    else
        log_info("%lld prompts", (long long)n.questions);
    return job_exit_code(0, n.unread, err);
}

const struct command command_judge = {
    .name = "judge",
    .summary = "asks language models elsewhere whether questions are ambiguous, and reads their answers as scores",
    OPTIONS(options, defaults),
    .details =
        "With --write-prompts each line of the output has an id and messages: the question, with --write-prompts schema "
        "behind its schema, and before it as many examples as --shots says, from the folder's training fold or from "
        "--support, chosen by seed and id.  Presence questions are asked too, and never shown.  Any model answers them, "
        "ambit-infer generate among them; the thesis drew at temperature 1, at most 50 tokens.\n\n"
        "--answers reads {\"id\", \"text\"} or {\"id\", \"texts\"}, one line or several for a prompt, and writes {\"id\", "
        "\"score\"}, the share of yes among the answers whose first word, behind thoughts, is yes or no.  A question "
        "without such an answer gets {\"id\", \"error\", \"answer\"} with the text as it was, and the command ends with "
        "code 7; ambit-train evaluate --predictions --partial scores the others and tells how many there are.",
    .examples = { "ambit-data judge --data contrast --write-prompts schema --shots 12 -o prompts.jsonl",
                  "ambit-data judge --data contrast --answers answers.jsonl -o scores.jsonl" },
    .run = run,
};
