/* Part of commands.h: the program ambit-train. */
#include "data/util/startup.h"
#include "train/cmd/commands.h"

int main(int argc, char **argv)
{
    standard_open();
    threads_start(argv);
    return program_main(&train_program, argc, argv);
}
