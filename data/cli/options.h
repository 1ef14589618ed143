/*
 * options.h - the command line: one table per command yields parsing, --help, the man page and shell completion.
 *
 * A program is a table of commands.  A command's options fill a plain struct of its own: each option names the field by
 * its offset.  Unknown words are answered with the nearest known one.
 */
#ifndef DATA_CLI_OPTIONS_H
#define DATA_CLI_OPTIONS_H

#include "kernels/base.h"

#include <float.h>
#include <math.h>

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_STRING, /* const char *, borrowed from argv */
    OPTION_INT,    /* int64_t, checked against low..high when low < high */
    OPTION_REAL,   /* double, likewise */
    OPTION_CHOICE, /* const char *, one of the words in `choices`, separated by | */
    OPTION_CONFIG, /* const char *, a YAML file (yaml.h) whose keys are the other options; the command line overrides it
                    */
    OPTION_PRESET  /* const char *, one of `choices`: the name of a built-in YAML text; a config file overrides it */
};

/* For `low`: anything above zero.  Without an upper limit `high` is HUGE_VAL. */
#define OPTION_ABOVE_ZERO DBL_MIN

struct option {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* short form, or 0 */
    enum option_type type;
    size_t offset;
    const char *value; /* its name in the help: FILE, N, DIR */
    const char *help;
    const char *choices;
    double low, high;
    bool required;
};

struct preset {
    const char *name, *text; /* the text as yaml.h reads it */
};

struct command {
    const char *name, *summary;
    const char *operands; /* as shown in the usage, "IN.jsonl"; NULL when there are none */
    int min_operands, max_operands;
    const struct option *options;
    const void *defaults;         /* the struct that options fill, with its default values */
    size_t size;                  /* its size */
    const char *details;          /* paragraphs for --help and the man page, or NULL */
    const struct preset *presets; /* of its OPTION_PRESET, ended by a NULL name; or NULL */
    /* Returns an exit code; on anything but OK and RECORDS err says why and the program prints it. */
    enum exit_code (*run)(const void *options, char *const *operands, int n_operands, struct error *err);
};

struct program {
    const char *name, *summary;
    const struct command *const *commands;
    int n_commands;
};

/*
 * The whole of main(): `PROGRAM COMMAND [options] [operands]`, also --help, --version, `help COMMAND`, `completion
 * bash` and `man`.  Long options take "--name value" and "--name=value"; "--" ends them; options and operands may be
 * mixed.
 * --no-NAME switches a flag off that a config file switched on.
 */
int program_main(const struct program *p, int argc, char **argv);

#endif
