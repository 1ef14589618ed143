/* Part of commands.h: ambit-data score. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/score/score.h"
#include "data/span/agreement.h"
#include "data/span/span_score.h"

enum rule { RULE_STRICT, RULE_AMBIQT, RULE_DFPL, RULE_SPANS, RULE_AGREEMENT };

static score_rule *const rules[] = {
    [RULE_STRICT] = score_strict, [RULE_AMBIQT] = score_ambiqt,       [RULE_DFPL] = score_dfpl,
    [RULE_SPANS] = score_spans,   [RULE_AGREEMENT] = score_agreement,
};

struct score_arguments {
    enum rule rule;
    struct score_request request;
};

static const struct score_arguments defaults = { .request = { .k = 5 } };

#define AT(field) offsetof(struct score_arguments, request.field)

static const struct option options[] = {
    CHOICE_OPTION("rule", offsetof(struct score_arguments, rule), "RULE", "strict|ambiqt|dfpl|spans|agreement",
                  "how predictions are compared with gold"),
    STRING_OPTION("gold", AT(gold), "FILE",
                  "records with gold SQL, JSONL or a JSON array; default: the prediction file's own"),
    STRING_OPTION("pred", AT(pred), "FILE", "records with predictions, JSONL or a JSON array", .required = true),
    STRING_OPTION("findings", AT(findings), "FILE", "rule agreement: what ambit-infer detect wrote, by id"),
    STRING_OPTION("tables", AT(tables), "FILE", "schemas, Spider's tables.json"),
    DB_OPTION(AT(db), ""),
    INT_OPTION("top", AT(k), "N", 1, 1e6, "predictions of a record that count", .letter = 'k'),
    FLAG_OPTION("published", AT(published), "as the published evaluator, its quirks included"),
    FLAG_OPTION("filter", AT(filter), "rule dfpl: keep one reading of each result first, as its authors do"),
    FLAG_OPTION("json", AT(json), "print one JSON object"),
    STRING_OPTION("per-example", AT(per_example), "FILE", "write what was found for every record, JSONL",
                  .writes = true),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct score_arguments *a = call->options;

    if (a->request.filter && a->rule != RULE_DFPL)
        return usage_error(err, "--filter: expected --rule dfpl too");
    if (a->request.findings && a->rule != RULE_AGREEMENT)
        return usage_error(err, "--findings: expected --rule agreement too");
    return rules[a->rule](&a->request, err);
}

const struct command command_score = {
    .name = "score",
    .summary = "scores predicted SQL against gold readings",
    OPTIONS(options, defaults),
    .details =
        "Rule strict, the default, runs --gold {\"id\", \"db_id\", \"sql\": [...]} and --pred {\"id\", \"sql\": [...]} "
        "on the databases of --db. A prediction has a gold's reading when both give the same rows: as many columns in "
        "the same order; rows as a multiset, or in order where the gold orders them at its top level; NULL is NULL, "
        "texts and blobs are equal byte by byte, numbers by value whatever their type, two reals within 1e-9 of the "
        "larger, and a text is never a number. A prediction counts for one gold only. Records whose gold fails, or "
        "whose golds give the same rows, are skipped; a record without predictions counts as zeros.\n\n"
        "Rule dfpl reads a prediction file of \"Disambiguate First, Parse Later\", which holds its databases and "
        "golds, or the records of ambit-infer infill, whose databases are in --db: the cells of the whole result are "
        "compared, rows and columns aside, or row by row where the gold orders them. With --published as its authors "
        "do it: no rows match nothing, \"order by\" anywhere makes the order count, what fails counts as zeros, and "
        "the metrics that the file stores are compared with ours. With --filter readings are dropped first as by "
        "annotate --published.\n\n"
        "Rule ambiqt: is either, are both readings of an AmbiQT record among the first k predictions? --pred has "
        "AmbiQT's fields and a list of SQL in \"t2s_outs\", \"template_filled\", \"chatgpt_out\" or "
        "\"flan_direct_outs\", as its published outputs have; a list of lists is merged as LogicalBeam merges "
        "templates. --gold is AmbiQT's file or what ambiguate makes; a prediction belongs to the record in its own "
        "place where db_id, question and orig_query agree, else to the first other that agrees. The kind shows in the "
        "fields: \"extra_map\" C, \"extra_table_map\" T, \"split_map\" J, \"new_table_name\" P. em is Spider's exact "
        "set match, which wants --tables; with --db exm, Spider's match of columns by execution, which the paper "
        "reports, and direct, of rows. --published maps predictions back to the original schema as the published "
        "evaluator does, reads text as Python does, and lets a gold that fails be met by everything that runs.\n\n"
        "Rule spans compares what ambit-infer tag wrote with records of marked words (--gold), by id. Of each label: "
        "precision, recall and F1 of spans with the same bounds, and relaxed, of spans that overlap; of spans that are "
        "found so, how many name all that the gold names, and any of it; questions that can be answered and are called "
        "ambiguous or unanswerable, per 100; how \"problem\" ranks questions; and the share of the words of each label "
        "that have it, which the paper reports.\n\n"
        "Rule agreement puts the findings of ambit-infer detect (--findings) beside what ambit-infer tag wrote (--pred), "
        "by id: how many questions both, one or neither call ambiguous, whether by the same alternatives (all that the "
        "detector names are among the tagger's), and who is right by --gold, records of marked words or with "
        "\"ambiguous\" and \"alternatives\". Who says ambiguous is right when gold says so and all that it names are "
        "named; who does not, when gold does not.\n\n"
        "All files are JSONL or a JSON array, of dfpl one object, and - is standard input; a name that ends in .xz is "
        "decoded. Of strict and dfpl: recall, precision, F1, one_found and all_found, means over ambiguous and over "
        "unambiguous records. All have intervals of 95 % by a bootstrap over databases (dfpl: over source_db if "
        "there), which --json gives as \"interval\". Records that are skipped are listed with why, and the exit code is 7.\n\n"
        "--per-example has a line for each record: of ambiqt {\"row\", \"db_id\", \"em_orig\", \"em_alt\", "
        "\"exm_orig\", \"exm_alt\", \"direct_orig\", \"direct_alt\"}, whether the first and whether the second gold "
        "was found (null without --db), of the others the measures, every query with its number of rows or its "
        "failure, and which of them cover each gold; of spans {\"id\", \"db_id\", \"kind\", \"gold\", \"tagged\", "
        "\"exact\", \"relaxed\", \"alarmed\", \"problem\"}: numbers of spans, and whether it is a false alarm; of "
        "agreement {\"id\", \"db_id\", \"found\", \"right\", \"gold\", \"detector\", \"tagger\"}: who, and the "
        "alternatives, null where nothing is ambiguous.",
    .examples = { "ambit-data score --gold gold.jsonl --pred predictions.jsonl --db databases",
                  "ambit-data score --rule dfpl --pred infilled.jsonl --db databases --json --per-example each.jsonl" },
    .run = run,
};
