/* Part of commands.h: ambit-train seq2seq. */
#include "train/cmd/commands.h"
#include "train/lm/lm_trainer.h"
#include "train/run/run_request.h"

static enum exit_code run(const struct call *call, struct error *err)
{
    struct run_request r;
    int rc = run_request_init(&r, &command_seq2seq, call, err);

    if (rc == 0)
        rc = lm_train(r.settings, err);
    run_request_release(&r);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    { "DIR/config.json, DIR/model.safetensors", "the model and its tokenizer in Hugging Face format" },
    RUN_FILES,
    { 0 },
};

const struct command command_seq2seq = {
    .name = "seq2seq",
    .summary = "train an encoder-decoder (T5) on prompts and completions",
    OPTIONS(seq2seq_request_table, seq2seq_request_defaults),
    .presets = seq2seq_presets,
    .details =
        "--data holds {\"id\", \"prompt\", \"completion\"}, as ambit-data plans writes them. --base is a folder of "
        "T5ForConditionalGeneration (1.0, 1.1, Flan), and so is the result. A stopped run continues with --resume "
        "and ends with the same weights, bit for bit. Guide: docs/guides/train-language-model.md.",
    .examples = { "ambit-train seq2seq --base t5-base --data plans/t2s.train.jsonl --valid plans/t2s.valid.jsonl "
                  "--preset picard --schema tables.json --out runs/t2s",
                  "ambit-train seq2seq --tokenizer words --data plans/template-gen.train.jsonl "
                  "--valid plans/template-gen.valid.jsonl --select template --epochs 30 --out runs/template-gen" },
    .files = files,
    .keeps_settings = true,
    .run = run,
};
