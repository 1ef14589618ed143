/* The program ambit-train. */
#include "data/base/startup.h"
#include "train/cmd/commands.h"

static const struct command *const commands[] = {
    &command_ablate,  &command_adapt,  &command_gatekeeper, &command_infill,    &command_reward,
    &command_seq2seq, &command_tag,    &command_evaluate,   &command_tokenizer, &command_triage,
    &command_words,   &command_export, &command_doctor,     &command_inspect,   NULL,
};

static const struct program train_program = {
    .name = "ambit-train",
    .summary = "train, evaluate and export the models of ambit",
    .commands = commands,
    .n_commands = ARRAY_LEN(commands) - 1, /* without the final NULL */
};

int main(int argc, char **argv)
{
    standard_open();
    threads_start(argv);
    return program_main(&train_program, argc, argv);
}
