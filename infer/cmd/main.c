/* Part of commands.h: the program ambit-infer. */
#include "infer/cmd/commands.h"

#include "data/base/startup.h"

static const struct command *const commands[] = {
    &command_detect,   &command_tag,  &command_parse, &command_clarify, &command_ask, &command_infill,
    &command_generate, &command_loss, NULL,
};

static const struct program infer_program = {
    .name = "ambit-infer",
    .summary = "detect and resolve ambiguity in questions to a database",
    .commands = commands,
    .n_commands = ARRAY_LEN(commands) - 1, /* without the NULL that ends the list */
};

int main(int argc, char **argv)
{
    standard_open();
    threads_start(argv);
    return program_main(&infer_program, argc, argv);
}
