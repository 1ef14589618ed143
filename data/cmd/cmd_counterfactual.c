/* Part of commands.h: ambit-data counterfactual. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/counterfactual/counterfactual.h"

#include <stdio.h>

struct counterfactual_arguments {
    const char *wikisql, *wtq, *spider, *synonyms, *out;
    int64_t seed;
    bool databases, force;
};

static const struct counterfactual_arguments defaults = { .seed = 1 };

#define AT(field) offsetof(struct counterfactual_arguments, field)

static const struct option options[] = {
    STRING_OPTION("wikisql", AT(wikisql), "DIR", "WikiSQL with headers: wikisql_with_headers_{dev,extra}.jsonl"),
    STRING_OPTION("wtq", AT(wtq), "DIR", "WikiTableQuestions' headers: wtq_tables_head.jsonl; names for columns"),
    STRING_OPTION("spider", AT(spider), "DIR", "Spider: tables.json, train_spider.json, dev.json, databases in db/"),
    FLAG_OPTION("databases", AT(databases), "Spider's questions, also of several tables, on their whole databases too"),
    STRING_OPTION("synonyms", AT(synonyms), "FILE",
                  "two other names for columns of Spider's databases, as in two_col_synonyms.json"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct counterfactual_arguments *a = call->options;
    const struct counterfactual_options o = { .wikisql = a->wikisql,
                                              .wtq = a->wtq,
                                              .spider = a->spider,
                                              .synonyms = a->synonyms,
                                              .databases = a->databases,
                                              .out = a->out,
                                              .seed = (uint64_t)a->seed,
                                              .force = a->force };

    if (!a->wikisql && !a->spider)
        return usage_error(err, "expected --wikisql or --spider, got neither: questions come from there");
    return job_exit_code(counterfactual_make(&o, stdout, err), 0, err);
}

static const struct file_note files[] = {
    { "DIR/{train,valid,test}.jsonl", "records with marked words" },
    { 0 },
};

const struct command command_counterfactual = {
    .name = "counterfactual",
    .summary = "edits tables so that a word of a question means several things, or nothing",
    OPTIONS(options, defaults),
    .details =
        "Two questions of one table, about different columns, are asked of the same edited tables: what makes one "
        "ambiguous or unanswerable leaves the other as it was. Columns are doubled (home team and away team for team), "
        "replaced by one, or deleted; with Spider's databases values are copied into another column or deleted. So "
        "neither question nor table alone tells a problem, which `ambit-data probe` checks.\n\n"
        "With --databases questions are also asked of all tables of their database, edited in the same ways; these "
        "records' columns have a \"table\". With --synonyms half of the new names come from that file, by the names of "
        "columns; it is AmbiQT's, so leave out of a test what AmbiQT made of the databases that train.jsonl has.\n\n"
        "A column is edited only where nothing else in the table is like what the question says. Folds share no table, "
        "question or edited table; Spider's dev.json is in the test fold.",
    .examples = { "ambit-data counterfactual --wikisql wikisql --wtq wtq --spider spider -o spans --seed 1",
                  "ambit-data counterfactual --spider spider --databases --synonyms two_col_synonyms.json -o spans --seed 2" },
    .files = files,
    .run = run,
};
