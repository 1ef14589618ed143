/* Part of commands.h: ambit-train reward. */
#include "train/cmd/commands.h"
#include "train/reward/reward_trainer.h"
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
    { "DIR/adapter_config.json, DIR/adapter_model.safetensors", "the adapter, as PEFT has it" },
    { "DIR/start.jsonl, DIR/test.jsonl", "answers to --test before and after, and what each is worth" },
    RUN_FILES,
    { 0 },
};

const struct command command_reward = {
    .name = "reward",
    .summary = "trains the model that adds missing readings by what its own answers find",
    OPTIONS(reward_request_table, reward_request_defaults),
    .details =
        "--data holds records of ambit-data annotate; the model in --base, taught by ambit-train infill, answers each "
        "prompt --answers times, and learns to prefer the answers of a prompt that are worth more than the others "
        "(group-relative advantages, as IntentRL and DAPO).  An answer is worth the share of the missing golds that "
        "its readings find, by execution on --db, less --price for each reading that finds none.  SQL is known of "
        "readings by their words, from the records themselves and --sqls; one whose SQL is not known finds nothing.\n\n"
        "The best checkpoint is that of the highest reward of greedy answers to --valid.  Leaves in --out what "
        "ambit-train infill leaves.  A run that was stopped, in whatever way, goes on with --resume and ends with the "
        "same weights, bit for bit.",
    .examples = { "ambit-train reward --base merged --data train.jsonl --valid valid.jsonl --db databases --out runs/reward",
                  "ambit-train reward --base small --method full --data train.jsonl --db databases --out runs/reward" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
