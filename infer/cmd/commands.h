/*
 * commands.h - the commands of ambit-infer.  A cmd_<name>.c parses the options of a command and reports its result.
 */
#ifndef INFER_CMD_COMMANDS_H
#define INFER_CMD_COMMANDS_H

#include "data/base/options.h"

extern const struct command command_ask;
extern const struct command command_detect;
extern const struct command command_clarify;
extern const struct command command_infill;
extern const struct command command_generate;
extern const struct command command_loss;
extern const struct command command_parse;
extern const struct command command_tag;

#endif
