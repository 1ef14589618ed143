/* Part of commands.h: ambit-train words. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "train/cmd/commands.h"
#include "train/detector/words_train.h"

#include <stdlib.h>

static const struct words_train_request defaults = { .device = "auto",
                                                     .tokens = 16384,
                                                     .questions = 20000,
                                                     .hidden = 128,
                                                     .epochs = 8,
                                                     .lr = 2e-3,
                                                     .weight_decay = 1e-2,
                                                     .dropout = .2,
                                                     .false_alarms = .05,
                                                     .seed = 1 };

#define AT(field) offsetof(struct words_train_request, field)

static const struct option table[] = {
    STRING_OPTION("data", AT(data), "FILE", "questions with marked words, of ambit-data counterfactual",
                  .required = true, .group = "input"),
    STRING_OPTION("valid", AT(valid), "FILE", "the same, to choose temperature and thresholds", .required = true),
    INT_OPTION("questions", AT(questions), "N", 4, 10000000,
               "maximum number of questions of each file; a quarter each with ambiguous and unanswerable words"),
    OUT_OPTION(AT(out), "FILE.h5", "the head; detect and tag read words.h5 in the detector's folder", .required = true),
    INT_OPTION("layer", AT(layer), "N", 0, 1024,
               "encoder layer before which states are read; 0: two thirds of the layers", .group = "model"),
    INT_OPTION("hidden", AT(hidden), "N", 1, 4096, "hidden channels of the head"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, .9, "dropout of features and hidden channels"),
    INT_OPTION("epochs", AT(epochs), "N", 1, 1000, "passes over the words", .group = "optimisation"),
    REAL_OPTION("lr", AT(lr), "X", 1e-8, 1, "learning rate of AdamW, which falls to 0"),
    REAL_OPTION("weight-decay", AT(weight_decay), "X", 0, 1, "weight decay"),
    SEED_OPTION(AT(seed), "random seed"),
    REAL_OPTION("false-alarms", AT(false_alarms), "X", 0, 1,
                "maximum fraction of validation questions without a problem in which a word is called ambiguous or "
                "unanswerable",
                .group = "threshold"),
    INT_OPTION("tokens", AT(tokens), "N", 64, 1048576, "maximum number of tokens encoded at once", .group = "run"),
    DEVICE_OPTION(AT(device)),
    NO_GRAPH_OPTION(AT(no_graph)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct words_train_request q = *(const struct words_train_request *)call->options;
    struct words_train_counts n = { 0 };
    char *own = call->n_operands ? NULL : gate_model_default("RUN", err);

    if (!call->n_operands && !own)
        return err->code;
    q.model = own ? own : call->operands[0];
    int rc = words_train(&q, &n, err);
    if (rc == 0) {
        log_info("%lld words of %lld questions; %lld questions skipped", (long long)n.words, (long long)n.questions,
                 (long long)n.skipped);
        log_info("validation: loss %.4f; F1 of words COL %.3f, VAL %.3f, AMB %.3f, UNK %.3f; false alarms in %.3f of "
                 "the questions without a problem",
                 n.loss, n.right[SPAN_COL], n.right[SPAN_VAL], n.right[SPAN_AMB], n.right[SPAN_UNK], n.alarms);
    }
    free(own);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_words = {
    .name = "words",
    .summary = "train a detector's head for ambiguous and unanswerable words",
    .operands = "[RUN]",
    .max_operands = 1,
    OPTIONS(table, defaults),
    .details =
        "RUN is the folder of a detector (default: the detector that comes with ambit), which stays unchanged. The "
        "head tags the words of a question in the detector's own encoder pass: names of columns and values, ambiguous "
        "and unanswerable words. As words.h5 in the detector's folder it is used by detect and tag. Guide: "
        "docs/guides/train-tagger.md.",
    .examples = { "ambit-train words detector --data spans/train.jsonl --valid spans/valid.jsonl -o detector/words.h5",
                  "ambit-train words --data spans/train.jsonl --valid spans/valid.jsonl --out words.h5 --device cpu" },
    .run = run,
};
