/* Part of commands.h: ambit-train gatekeeper. */
#include "train/cmd/commands.h"
#include "train/gate/gate_trainer.h"
#include "train/run/run_request.h"

static enum exit_code run(const struct call *call, struct error *err)
{
    struct run_request r;
    int rc = run_request_init(&r, &command_gatekeeper, call, err);

    if (rc == 0)
        rc = gate_train(r.settings, err);
    run_request_release(&r);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    RUN_FILES,
    { "DIR/test.json", "figures of the test fold" },
    { 0 },
};

const struct command command_gatekeeper = {
    .name = "gatekeeper",
    .summary = "trains the detector of schema-induced ambiguity",
    OPTIONS(gate_request_table, gate_request_defaults),
    .presets = gate_presets,
    .details =
        "Reads tables.json, train.jsonl, valid.jsonl and test.jsonl of --data; with --db a file of questions about these "
        "databases, each with a yes or no under ambiguous; with --labels both.  Labels of kind attachment, scope or "
        "vague, such as AMBROSIA's questions, which are read as they are published, teach a head for what is ambiguous "
        "by its words.  Leaves in --out the finished model (ambit.h5 and the tokenizer), config.yaml, metrics.jsonl, "
        "test.json and report.html.  A run that was stopped, in whatever way, goes on with --resume and ends with the "
        "same weights, bit for bit; --out is all that it needs then, and more --epochs may be asked for.",
    .examples = { "ambit-train gatekeeper --data practice --out runs/gate --epochs 4",
                  "ambit-train gatekeeper --data labels.csv --db shop.sqlite --encoder bert --out runs/own --resume" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
