#include "data/cmd/commands.h"

static const struct command *const commands[] = {
    &command_ambiguate,
    &command_calibrate,
    &command_candidates,
    &command_contrast,
    &command_counterfactual,
    &command_execute,
    &command_infilling,
    &command_join,
    &command_memory,
    &command_natural,
    &command_noisysp,
    &command_plans,
    &command_practice,
    &command_probe,
    &command_score,
    &command_split,
    &command_sql,
    &command_triage,
    NULL,
};

static const struct alias aliases[] = { { "parse", "sql" }, { 0 } };

const struct program data_program = {
    .name = "ambit-data",
    .summary = "make, check and score text-to-SQL data; needs no GPU",
    .commands = commands,
    .aliases = aliases,
    .n_commands = ARRAY_LEN(commands) - 1, /* without the final NULL */
};
