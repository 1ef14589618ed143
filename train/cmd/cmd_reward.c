/* Part of commands.h: ambit-train reward. */
#include "train/cmd/commands.h"
#include "train/lm/reward_trainer.h"
#include "train/run/run_request.h"

static enum exit_code run(const struct call *call, struct error *err)
{
    struct run_request r;
    int rc = run_request_init(&r, &command_reward, call, err);

    if (rc == 0)
        rc = reward_train(r.settings, err);
    run_request_release(&r);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    { "DIR/adapter_config.json, DIR/adapter_model.safetensors", "the adapter in PEFT's format" },
    { "DIR/start.jsonl, DIR/test.jsonl", "completions and rewards of --test, before and after" },
    RUN_FILES,
    { 0 },
};

const struct command command_reward = {
    .name = "reward",
    .summary = "train a language model by rewards from execution",
    OPTIONS(reward_request_table, reward_request_defaults),
    .details =
        "For each prompt of --data the model samples completions. Their SQL runs on --db. The reward is the recall of "
        "the golds for ambiguous questions and precision for others, as in IntentRL. The loss is that of DAPO. "
        "A stopped run continues with --resume and ends with the same weights, bit for bit. "
        "Guide: docs/guides/train-reward.md.",
    .examples = { "ambit-train reward --base merged --data train.jsonl --valid valid.jsonl --db databases --out runs/reward",
                  "ambit-train reward --base small --method full --data train.jsonl --db databases --out runs/reward" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
