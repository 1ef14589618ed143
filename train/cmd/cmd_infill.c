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
    { "DIR/adapter_config.json, DIR/adapter_model.safetensors", "the adapter in PEFT's format" },
    RUN_FILES,
    { 0 },
};

const struct command command_infill = {
    .name = "infill",
    .summary = "train the language model that adds missing interpretations",
    OPTIONS(lm_request_table, lm_request_defaults),
    .presets = lm_presets,
    .details =
        "--data holds conversations, {\"id\", \"messages\": [{\"role\", \"content\"}, ...]}, or {\"id\", "
        "\"prompt\", \"completion\"}. The loss is on the completions. The result is an adapter for PEFT, or with "
        "--method full a Hugging Face folder. A stopped run continues with --resume and ends with the same "
        "weights, bit for bit. Guide: docs/guides/train-language-model.md.",
    .examples = { "ambit-train infill --base llama --data train.jsonl --valid valid.jsonl --out runs/infill",
                  "ambit-train infill --base llama --data train.jsonl --preset dfpl --out runs/infill --dry-run" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
