/* Part of commands.h: ambit-train triage. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "train/cmd/commands.h"
#include "train/detector/triage_train.h"

#include <stdlib.h>

static const struct triage_train_request defaults = { .device = "auto", .tokens = 16384, .false_refusals = .05 };

#define AT(field) offsetof(struct triage_train_request, field)

static const struct option table[] = {
    STRING_OPTION("data", AT(data), "DIR", "folder of ambit-data triage: questions.jsonl with kinds, tables.json",
                  .required = true, .group = "input"),
    STRING_OPTION("valid", AT(valid), "DIR", "folder of the same form, which chooses the thresholds", .required = true),
    OUT_OPTION(AT(out), "FILE", "the head; detect reads triage.json in the detector's folder", .required = true),
    REAL_OPTION("false-refusals", AT(false_refusals), "X", 0, 1,
                "maximum fraction of answerable validation questions that are refused", .group = "threshold"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "maximum number of tokens encoded at once", .group = "run"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct triage_train_request q = *(const struct triage_train_request *)call->options;
    struct triage_train_counts n = { 0 };
    char *own = call->n_operands ? NULL : gate_model_default("RUN", err);

    if (!call->n_operands && !own)
        return err->code;
    q.model = own ? own : call->operands[0];
    int rc = triage_train(&q, &n, err);
    for (int c = 0; c < TRIAGE_CLASSES && rc == 0; c++)
        log_info("%lld %s; of the validation questions %.3f are refused and %.3f called ambiguous",
                 (long long)n.of_class[c], triage_class_name((enum triage_class)c), n.valid.refused[c],
                 n.valid.asked[c]);
    for (int k = 0; k < TRIAGE_KINDS && rc == 0; k++)
        log_info("%lld %s, %s", (long long)n.of_kind[k], triage_class_name(triage_kind_class((enum triage_kind)k)),
                 triage_kind_name((enum triage_kind)k));
    if (rc == 0)
        log_info(
            "%lld questions skipped; without thresholds %.3f of the validation questions are classified correctly, "
            "mean of the classes; %.3f by kind, mean of the kinds",
            (long long)n.skipped, n.accuracy, n.kind_accuracy);
    free(own);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_triage = {
    .name = "triage",
    .summary = "train a detector's head for unanswerable and improper questions",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "RUN is the folder of a detector (default: the detector that comes with ambit), which stays unchanged. The "
        "head predicts whether a question is answerable, ambiguous, unanswerable or improper, and a finer kind. Thresholds on "
        "its probabilities limit the answerable validation questions that are refused or called ambiguous. As "
        "triage.json in the detector's folder the head is used by detect and ask. Guide: docs/guides/train-triage.md.",
    .examples = { "ambit-train triage detector --data made --valid made-valid -o detector/triage.json",
                  "ambit-train triage --data made --valid made-valid --out triage.json --device cpu" },
    .run = run,
};
