/* Part of commands.h: ambit-data score. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/eval/agreement.h"
#include "data/eval/score.h"
#include "data/eval/several_score.h"
#include "data/eval/span_score.h"
#include "data/eval/triage_score.h"
#include "data/published/spider_score.h"

enum rule {
    RULE_STRICT,
    RULE_AMBIQT,
    RULE_DFPL,
    RULE_SPANS,
    RULE_AGREEMENT,
    RULE_SPIDER,
    RULE_BIRD,
    RULE_TRIAGE,
    RULE_SEVERAL
};

static score_rule *const rules[] = {
    [RULE_STRICT] = score_strict, [RULE_AMBIQT] = score_ambiqt,       [RULE_DFPL] = score_dfpl,
    [RULE_SPANS] = score_spans,   [RULE_AGREEMENT] = score_agreement, [RULE_SPIDER] = score_spider,
    [RULE_BIRD] = score_bird,     [RULE_TRIAGE] = score_triage,       [RULE_SEVERAL] = score_several,
};

struct score_arguments {
    enum rule rule;
    struct score_request request;
};

static const struct score_arguments defaults = { .request = { .k = 5 } };

#define AT(field) offsetof(struct score_arguments, request.field)

static const struct option options[] = {
    STRING_OPTION("pred", AT(pred), "FILE", "predictions", .required = true, .group = "input"),
    STRING_OPTION("gold", AT(gold), "FILE", "gold records (default: those in --pred)"),
    STRING_OPTION("predictions", AT(predictions), "FILE", "rule agreement: output of `ambit-infer detect`"),
    DB_OPTION(AT(db), ""),
    STRING_OPTION("tables", AT(tables), "FILE", "rules ambiqt, spider: Spider's tables.json, for exact set match"),
    FLAG_OPTION("json", AT(json), "print one JSON object", .group = "output"),
    STRING_OPTION("per-example", AT(per_example), "FILE", "write the result of each record, JSONL", .writes = true),
    CHOICE_OPTION("rule", offsetof(struct score_arguments, rule), "RULE",
                  "strict|ambiqt|dfpl|spans|agreement|spider|bird|triage|several", "comparison of predictions and gold",
                  .group = "rule"),
    INT_OPTION("top", AT(k), "K", 1, 1e6, "predictions of a record that count", .letter = 'k'),
    REAL_OPTION("below", AT(below), "P", OPTION_ABOVE_ZERO, 1,
                "rules spider, bird: only records whose best candidate is less probable"),
    FLAG_OPTION("published", AT(published), "reproduce the published evaluator, including its bugs"),
    FLAG_OPTION("filter", AT(filter), "rule dfpl: drop interpretations first, as `annotate --published` does"),
    FLAG_OPTION("errors", AT(errors), "rule spider: count wrong first predictions by class"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct score_arguments *a = call->options;

    if (a->request.filter && a->rule != RULE_DFPL)
        return usage_error(err, "--filter requires --rule dfpl");
    if (a->request.predictions && a->rule != RULE_AGREEMENT)
        return usage_error(err, "--predictions requires --rule agreement");
    if (a->request.errors && a->rule != RULE_SPIDER)
        return usage_error(err, "--errors requires --rule spider");
    if (a->request.below > 0 && a->rule != RULE_SPIDER && a->rule != RULE_BIRD)
        return usage_error(err, "--below requires --rule spider or bird");
    return rules[a->rule](&a->request, err);
}

const struct command command_score = {
    .name = "score",
    .summary = "score predicted SQL or marked words against gold",
    OPTIONS(options, defaults),
    .details =
        "strict: a prediction matches a gold interpretation if both return the same rows. ambiqt: AmbiQT's "
        "measures, whether either and both interpretations are among the first k predictions. dfpl: the "
        "measures of \"Disambiguate First, Parse Later\". spans: marked words of `ambit-infer tag` against "
        "records with marked words. agreement: predictions of `ambit-infer detect` against `ambit-infer "
        "tag`. spider: exact set match, its components and execution match, by hardness. bird: execution "
        "accuracy, by difficulty. triage: classes of questions, answerable, ambiguous, unanswerable or improper. several: all ambiguities of a question, of `ambit-infer detect` or `tag`.\n\n"
        "Prints means with 95 % intervals from a bootstrap over databases. Skipped records are listed with "
        "the reason, and the exit code is 7. Files, rules and output: docs/guides/score.md.",
    .examples = { "ambit-data score --gold gold.jsonl --pred predictions.jsonl --db databases",
                  "ambit-data score --rule dfpl --pred infilled.jsonl --db databases --json --per-example each.jsonl" },
    .run = run,
};
