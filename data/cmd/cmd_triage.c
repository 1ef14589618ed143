/* Part of commands.h: ambit-data triage. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/corpora/triage.h"

#define AT(field) offsetof(struct triage_request, field)

static const struct triage_request defaults = { 0 };

static const struct option options[] = {
    CHOICE_OPTION("from", AT(corpus), "CORPUS", TRIAGE_CORPORA, "corpus whose published form IN has", .group = "input"),
    SCHEMA_OPTION(AT(tables), "tables.json with the schemas; not for triagesql, which has its own"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct triage_request q = *(const struct triage_request *)call->options;
    struct triage_counts n = { 0 };

    q.in = call->operands[0];
    if (q.corpus == TRIAGE_EHRSQL && !q.tables)
        return usage_error(err, "--from ehrsql requires --schema, the tables.json of its database");
    if (q.corpus == TRIAGE_PRACTIQ && !q.tables)
        return usage_error(err, "--from practiq requires --schema, the tables.json of Spider");
    if (q.corpus == TRIAGE_TRIAGESQL && q.tables)
        return usage_error(err, "--from triagesql and --schema cannot be used together: each question has its tables");
    int rc = triage_convert(&q, &n, err);
    for (int c = 0; c < TRIAGE_CLASSES && rc == 0; c++)
        log_info("%lld %s", (long long)n.of_class[c], triage_class_name((enum triage_class)c));
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    { "DIR/questions.jsonl", "a line for each question, with its class" },
    { "DIR/tables.json", "the schemas, if there are any" },
    { 0 },
};

const struct command command_triage = {
    .name = "triage",
    .summary = "convert public sets of answerable, ambiguous and unanswerable questions",
    ONE_OPERAND("IN"),
    OPTIONS(options, defaults),
    .details =
        "A class is answerable, ambiguous, unanswerable or improper. mmsql: the dialogues of MMSQL; each turn of "
        "the user is a question, with the earlier ones as context. triagesql: the questions of TriageSQL. "
        "ehrsql: a folder of EHRSQL 2024 with data.json and label.json. mini-interact: the tasks of "
        "BIRD-Interact's SQLite part; each has an ambiguous and a clear question. "
        "practiq: PRACTIQ's combined categories; each question has its edited schema of Spider.\n\n"
        "`ambit-data score --rule triage` measures predictions of these classes. Guide: "
        "docs/guides/triage.md.",
    .examples = { "ambit-data triage --from mmsql MMSQL_test.json --schema spider/tables.json -o mmsql",
                  "ambit-data triage --from ehrsql mimic_iv/test --schema mimic_iv/tables.json -o ehrsql" },
    .files = files,
    .run = run,
};
