/* Part of commands.h: ambit-data plans. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/plan/plan_records.h"

static const struct plans_request defaults = { .valid = .05 };

#define AT(field) offsetof(struct plans_request, field)

static const struct option options[] = {
    STRING_OPTION("spider", AT(spider), "DIR", "Spider: tables.json, train_spider.json, dev.json", .required = true),
    STRING_OPTION("ambiqt", AT(ambiqt), "FILE", "records of AmbiQT, whose two readings are tested on as well"),
    CHOICE_OPTION("prompt", AT(form), "FORM", "seq2seq|chat", "strings as published; or messages in words"),
    CHOICE_OPTION("schema-text", AT(schema), "FORM", "spider|ambiqt|named",
                  "schemas in their own order; as AmbiQT's records have them, columns in random order; or so, and to "
                  "train on with the tables alone that the statement names"),
    REAL_OPTION("valid-share", AT(valid), "X", 0, .5, "share of the training databases held out for validation"),
    FLAG_OPTION("constraints", AT(constraints), "also write what the gold template allows, for generate --constraint"),
    DB_OPTION(AT(db), ": values for --constraints"),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct plans_request *q = call->options;

    if (q->db && !q->constraints)
        return usage_error(err, "--db: expected with --constraints, whose values it gives");
    return job_exit_code(plans_write(q, err), 0, err);
}

static const struct file_note files[] = {
    { "DIR/MODEL.train.jsonl, DIR/MODEL.valid.jsonl, DIR/MODEL.test.jsonl", "records of a model's three folds" },
    { "DIR/MODEL.ambiqt.jsonl", "with --ambiqt: two records for each, one a reading" },
    { "DIR/template-fill.valid.constraints.jsonl, DIR/template-fill.test.constraints.jsonl, "
      "DIR/template-fill.ambiqt.constraints.jsonl",
      "with --constraints: a line for each record whose template the schema has statements for" },
    { 0 },
};

const struct command command_plans = {
    .name = "plans",
    .summary = "writes what LogicalBeam's models learn from: plans, templates and SQL",
    OPTIONS(options, defaults),
    .details =
        "Four models of Bhaskar et al. (EMNLP 2023): t2s from the question to SQL; template-gen to a plan and a "
        "template, \"1 joins @ 2 selects @ select column, ...\"; template-fill from question and template to SQL; "
        "direct to a plan and SQL. A plan counts every JOIN of the statement, those of sub-queries and behind set "
        "operations too, and the items of the first select list. A template has the words table, column, string and "
        "number in the places of names and values.\n\n"
        "Training databases are split into train and valid; dev.json is the test. Records have prompt and completion, "
        "with --prompt chat messages.\n\n"
        "--constraints compiles each gold template for its question: tables that join along keys, columns that they "
        "have, strings and numbers that the question or the database says.",
    .examples = { "ambit-data plans --spider spider -o plans",
                  "ambit-data plans --spider spider --prompt chat --constraints --db spider/db -o plans" },
    .files = files,
    .run = run,
};
