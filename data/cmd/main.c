/* Part of commands.h: the program ambit-data. */
#include "data/cmd/commands.h"

int main(int argc, char **argv)
{
    return program_main(&data_program, argc, argv);
}
