/*
 * commands.h - the commands of ambit-data, one in each cmd_<name>.c.
 */
#ifndef DATA_CMD_COMMANDS_H
#define DATA_CMD_COMMANDS_H

#include "data/base/options.h"

extern const struct command command_ambiguate, command_calibrate, command_candidates, command_contrast,
    command_counterfactual, command_execute, command_infilling, command_join, command_memory, command_natural,
    command_noisysp, command_plans, command_practice, command_probe, command_score, command_split, command_sql,
    command_triage;

/* The files of a data folder, for struct file_note. */
/* clang-format off */
#define DATASET_FILES \
    { "DIR/tables.json", "the schemas" }, \
    { "DIR/train.jsonl, DIR/valid.jsonl, DIR/test.jsonl", "examples of the three splits" }
/* clang-format on */

extern const struct program data_program;

#endif
