/* Part of commands.h: the program ambit-data. */
#include "data/base/startup.h"
#include "data/cmd/commands.h"

int main(int argc, char **argv)
{
    standard_open();
    threads_start(argv);
    return program_main(&data_program, argc, argv);
}
