#include "data/util/stop.h"
#include "train/cmd/commands.h"
#include "train/lm/lm_train.h"

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    (void)operands;
    (void)n_operands;
    int rc = lm_train(options, err);

    return rc < 0 ? err->code : rc > 0 ? stop_exit_code() : EXIT_CODE_OK;
}

const struct command command_infill = {
    .name = "infill",
    .summary = "trains the language model that adds missing readings",
    .options = lm_request_table,
    .defaults = &lm_request_defaults,
    .size = sizeof(struct lm_request),
    .presets = lm_presets,
    .details =
        "--data holds conversations, {\"id\", \"messages\": [{\"role\", \"content\"}, ...]}, or {\"id\", \"prompt\", "
        "\"completion\"}; what the assistant says is learnt.  Leaves in --out the adapter as PEFT has it "
        "(adapter_config.json, adapter_model.safetensors; with --method full a Hugging Face folder), ambit.h5, "
        "config.yaml, metrics.jsonl and report.html.  A run that was stopped, in whatever way, goes on with --resume "
        "and ends with the same weights, bit for bit.",
    .run = run,
};
