/* Part of commands.h: ambit-train infill. */
#include "train/cmd/commands.h"
#include "train/lm/lm_trainer.h"
#include "train/run/run_request.h"

static enum exit_code run(const struct call *call, struct error *err)
{
    struct run_request r;
    int rc = run_request_init(&r, &command_infill, call, err);

    if (rc == 0)
        rc = lm_train(r.settings, err);
    run_request_release(&r);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    { "DIR/adapter_config.json, DIR/adapter_model.safetensors", "the adapter, as PEFT has it" },
    RUN_FILES,
    { 0 },
};

const struct command command_infill = {
    .name = "infill",
    .summary = "trains the language model that adds missing readings",
    OPTIONS(lm_request_table, lm_request_defaults),
    .presets = lm_presets,
    .details =
        "--data holds conversations, {\"id\", \"messages\": [{\"role\", \"content\"}, ...]}, or {\"id\", \"prompt\", "
        "\"completion\"}; what the assistant says is learnt.  Leaves in --out the adapter as PEFT has it "
        "(adapter_config.json, adapter_model.safetensors; with --method full a Hugging Face folder), ambit.h5, "
        "config.yaml, metrics.jsonl and report.html.  A run that was stopped, in whatever way, goes on with --resume "
        "and ends with the same weights, bit for bit; --out is all that it needs then, and more --epochs may be asked "
        "for.",
    .examples = { "ambit-train infill --base llama --data train.jsonl --valid valid.jsonl --out runs/infill",
                  "ambit-train infill --base llama --data train.jsonl --preset dfpl --out runs/infill --dry-run" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
