/* Part of commands.h: the program ambit-train. */
#include "train/cmd/commands.h"

int main(int argc, char **argv)
{
    return program_main(&train_program, argc, argv);
}
