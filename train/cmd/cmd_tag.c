/* Part of commands.h: ambit-train tag. */
#include "train/cmd/commands.h"
#include "train/run/run_request.h"
#include "train/tag/tag_trainer.h"

static enum exit_code run(const struct call *call, struct error *err)
{
    struct run_request r;
    int rc = run_request_init(&r, &command_tag, call, err);

    if (rc == 0)
        rc = tag_train(r.settings, err);
    run_request_release(&r);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    RUN_FILES,
    { "DIR/replay.jsonl", "1,000 training records, for a run that goes on --from this one" },
    { 0 },
};

const struct command command_tag = {
    .name = "tag",
    .summary = "trains the tagger of ambiguous and unanswerable words",
    OPTIONS(tag_request_table, tag_request_defaults),
    .details =
        "Reads train.jsonl, valid.jsonl and test.jsonl of --data: questions whose words are marked as naming a column or "
        "a value, several of them, or nothing that the table has.  Leaves in --out the finished model (ambit.h5 and the "
        "tokenizer), config.yaml and metrics.jsonl.  A run that was stopped, in whatever way, goes on with --resume and "
        "ends with the same weights, bit for bit; --out is all that it needs then, and more --epochs may be asked for.\n\n"
        "--from goes on from a trained tagger with a few records of one's own, a folder or a file of them; --replay "
        "records of its training are learnt again beside them, and the own ones are a quarter of each epoch at least. "
        "Without validation records temperature and threshold stay as they were.",
    .examples = { "ambit-train tag --data spans --encoder minilm --out runs/tag",
                  "ambit-train tag --data own.jsonl --from runs/tag --heads-only --out runs/own" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
