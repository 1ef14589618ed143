/* Part of commands.h: ambit-train tag. */
#include "train/cmd/commands.h"
#include "train/run/run_request.h"
#include "train/tagger/tag_trainer.h"

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
    { "DIR/replay.jsonl", "1,000 training records, for later runs with --init" },
    { 0 },
};

const struct command command_tag = {
    .name = "tag",
    .summary = "train the tagger of ambiguous and unanswerable words",
    OPTIONS(tag_request_table, tag_request_defaults),
    .details =
        "--data has train.jsonl, valid.jsonl and test.jsonl: questions with marked words. --init continues from a "
        "trained tagger with a few own records and replays some of its training data. A stopped run continues with "
        "--resume and ends with the same weights, bit for bit. Guide: docs/guides/train-tagger.md.",
    .examples = { "ambit-train tag --data spans --encoder minilm --out runs/tag",
                  "ambit-train tag --data own.jsonl --init runs/tag --heads-only --out runs/own" },
    .presets = tag_presets,
    .files = files,
    .keeps_settings = true,
    .run = run,
};
