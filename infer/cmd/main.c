/* Part of commands.h: the program ambit-infer. */
#include "infer/cmd/commands.h"

int main(int argc, char **argv)
{
    return program_main(&infer_program, argc, argv);
}
