/* Part of commands.h: the program ambit-train. */
#include "data/util/standard.h"
#include "data/util/threads.h"
#include "train/cmd/commands.h"

int main(int argc, char **argv)
{
    standard_open();
    threads_start(argv);
    return program_main(&train_program, argc, argv);
}
