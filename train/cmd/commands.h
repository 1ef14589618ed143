/*
 * commands.h - the commands of ambit-train, one in each cmd_<name>.c.
 */
#ifndef TRAIN_CMD_COMMANDS_H
#define TRAIN_CMD_COMMANDS_H

#include "data/base/options.h"

extern const struct command command_ablate;
extern const struct command command_gatekeeper;
extern const struct command command_infill;
extern const struct command command_reward;
extern const struct command command_seq2seq;
extern const struct command command_tag;
extern const struct command command_evaluate;
extern const struct command command_adapt;
extern const struct command command_tokenizer;
extern const struct command command_export;
extern const struct command command_doctor;
extern const struct command command_inspect;
extern const struct command command_triage;
extern const struct command command_words;

/* Files of every training run, for struct file_note. */
/* clang-format off */
#define RUN_FILES \
    { "DIR/ambit.h5", "the finished model" }, \
    { "DIR/checkpoint-N", "newest checkpoint, for --resume" }, \
    { "DIR/best", "weights of the best validation so far" }, \
    { "DIR/config.yaml", "all settings, as --config reads them" }, \
    { "DIR/metrics.jsonl", "loss and validation metrics" }, \
    { "DIR/report.html", "the same as curves" }
/* clang-format on */

#endif
