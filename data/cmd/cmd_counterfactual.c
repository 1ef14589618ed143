/* Part of commands.h: ambit-data counterfactual. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/synth/counterfactual.h"

#include <stdio.h>

struct counterfactual_arguments {
    const char *wikisql, *wtq, *spider, *synonyms, *out;
    int64_t seed;
    bool databases, force;
};

static const struct counterfactual_arguments defaults = { .seed = 1 };

#define AT(field) offsetof(struct counterfactual_arguments, field)

static const struct option options[] = {
    STRING_OPTION("wikisql", AT(wikisql), "DIR", "WikiSQL: {train,dev,test}.jsonl and .tables.jsonl", .group = "input"),
    STRING_OPTION("wtq", AT(wtq), "DIR", "WikiTableQuestions as in Squall: data/squall.json, tables/json/"),
    STRING_OPTION("spider", AT(spider), "DIR", "Spider: tables.json, train_spider.json, dev.json, db/"),
    STRING_OPTION("synonyms", AT(synonyms), "FILE", "two synonyms of each column, as in two_col_synonyms.json"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    FLAG_OPTION("databases", AT(databases), "also ask Spider's questions on whole databases", .group = "generation"),
    SEED_OPTION(AT(seed), "random seed"),
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

    if (!a->wikisql && !a->wtq && !a->spider)
        return usage_error(err, "expected --wikisql, --wtq or --spider, got none of them");
    return job_exit_code(counterfactual_make(&o, stdout, err), 0, err);
}

static const struct file_note files[] = {
    { "DIR/{train,valid,test}.jsonl", "records with marked words" },
    { 0 },
};

const struct command command_counterfactual = {
    .name = "counterfactual",
    .summary = "edit tables to make a word of a question ambiguous or unanswerable",
    OPTIONS(options, defaults),
    .details = "Two questions of one table, about different columns, share the same edited tables: the edit that "
               "makes one question ambiguous or unanswerable leaves the other unchanged. Columns are duplicated, "
               "replaced or deleted, and values copied or deleted. Questions also ask for undefined "
               "calculations, and for more than SQL can do. `ambit-data probe` checks that neither "
               "question nor table reveals the label. Splits share no table, question or edited table. Guide: "
               "docs/guides/tagger-data.md.",
    .examples = { "ambit-data counterfactual --wikisql wikisql --wtq squall --spider spider -o spans --seed 1",
                  "ambit-data counterfactual --spider spider --databases --synonyms two_col_synonyms.json -o spans --seed 2" },
    .files = files,
    .run = run,
};
