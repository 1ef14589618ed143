#include "train/cmd/commands.h"
#include "train/gate/gate_run.h"

static enum exit_code run(const struct call *call, struct error *err)
{
    int rc = gate_train(call->options, err);

    return job_exit_code(rc, 0, err);
}

const struct command command_gatekeeper = {
    .name = "gatekeeper",
    .summary = "trains the detector of schema-induced ambiguity",
    OPTIONS(gate_request_table, gate_request_defaults),
    .details =
        "Reads tables.json, train.jsonl, valid.jsonl and test.jsonl of --data.  Leaves in --out the finished model "
        "(ambit.h5 and the tokenizer), config.yaml, metrics.jsonl, test.json and report.html.  A run that was stopped, "
        "in whatever way, goes on with --resume and ends with the same weights, bit for bit.",
    .run = run,
};
