#include "data/util/stop.h"
#include "train/cmd/commands.h"
#include "train/gate/gate_run.h"

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    (void)operands;
    (void)n_operands;
    int rc = gate_train(options, err);

    return rc < 0 ? err->code : rc > 0 ? stop_exit_code() : EXIT_CODE_OK;
}

const struct command command_gatekeeper = {
    .name = "gatekeeper",
    .summary = "trains the detector of schema-induced ambiguity",
    .options = gate_request_table,
    .defaults = &gate_request_defaults,
    .size = sizeof(struct gate_request),
    .details =
        "Reads tables.json, train.jsonl, valid.jsonl and test.jsonl of --data.  Leaves in --out the finished model "
        "(ambit.h5 and the tokenizer), config.yaml, metrics.jsonl, test.json and report.html.  A run that was stopped, "
        "in whatever way, goes on with --resume and ends with the same weights, bit for bit.",
    .run = run,
};
