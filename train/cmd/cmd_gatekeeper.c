/* Part of commands.h: ambit-train gatekeeper. */
#include "train/cmd/commands.h"
#include "train/detector/gate_trainer.h"
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
    { "DIR/test.json", "metrics of the test split" },
    { 0 },
};

const struct command command_gatekeeper = {
    .name = "gatekeeper",
    .summary = "train GATekeeper, the detector of ambiguous questions",
    OPTIONS(gate_request_table, gate_request_defaults),
    .presets = gate_presets,
    .details = "--data is a data folder, a JSONL list of folders, or with --db a file of labelled questions. "
               "The result is a detector for ambit-infer detect. A stopped run continues with --resume and "
               "ends with the same weights, bit for bit. Settings of published tables are keys of --config "
               "only. Guide: docs/guides/train-detector.md.",
    .examples = { "ambit-train gatekeeper --data practice --out runs/gate --epochs 4",
                  "ambit-train gatekeeper --data labels.csv --db shop.sqlite --encoder bert --out runs/own --resume" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
