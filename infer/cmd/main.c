/* Part of commands.h: the program ambit-infer. */
#include "data/util/startup.h"
#include "infer/cmd/commands.h"

int main(int argc, char **argv)
{
    standard_open();
    threads_start(argv);
    return program_main(&infer_program, argc, argv);
}
