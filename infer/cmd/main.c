#include "infer/cmd/commands.h"

int main(int argc, char **argv)
{
    return program_main(&infer_program, argc, argv);
}
