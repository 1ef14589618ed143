/*
 * commands.h - the commands of ambit-train, one in each cmd_<name>.c.
 */
#ifndef TRAIN_CMD_COMMANDS_H
#define TRAIN_CMD_COMMANDS_H

#include "data/cli/options.h"

extern const struct command command_gatekeeper;
extern const struct command command_infill;
extern const struct command command_tokenizer;
extern const struct command command_export;
extern const struct command command_doctor;
extern const struct command command_inspect;

extern const struct program train_program;

#endif
