/*
 * options.h - the command line: one table per command yields parsing, --help, the manual page and shell completion.
 *
 * A program is a table of commands.  A command's options fill a plain struct of its own: each option names the field by
 * its offset (option_rows.h writes the rows).  Unknown words are answered with the nearest known one.
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
    OPTION_REAL,   /* double, likewise; NAN: none */
    OPTION_CHOICE, /* an enum or int: the place of the word in `choices`, separated by |; -1: none */
    OPTION_WORD,   /* const char *, one of the words in `choices` */
    OPTION_CONFIG, /* const char *, a YAML file (yaml.h) whose keys are the other options, which override it */
    OPTION_PRESET, /* const char *, one of `choices`: the name of a built-in YAML text; a config file overrides it */
    OPTION_SHARD   /* struct shard: only these records, into an output of their own; low is the grain of shard_cut */
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
    const char *group; /* of the first option of a group: its title in the help; NULL: the group goes on */
    bool required;
    bool writes;           /* a file or folder that the command makes; every other path is read */
    const char *continues; /* of one that is made: the option whose file it may replace, for it holds that and more */
    const char *records;   /* of OPTION_SHARD: the option that names their file; NULL: the operand does */
};

/* The value of an option as text, "" for none, and back: for what is stored beside a model.  -1 with EXIT_CODE_USAGE
 * and a text that starts with what was expected: the caller puts the option's name before it.  Strings are borrowed. */
void option_show(const struct option *o, const void *settings, char *text, size_t size);
int option_set(const struct option *o, void *settings, const char *text, struct error *err);
/* Whether its value is the path of a file or a folder that is read; a config file is none of them. */
bool option_reads(const struct option *o);

struct preset {
    const char *name, *text; /* the text as yaml.h reads it */
};

/* A file or folder that a command leaves or reads beside those that are named to it. */
struct file_note {
    const char *name, *what;
};

/* One use of a command. */
struct call {
    const void *options;   /* the struct that they fill */
    const bool *seen;      /* [options] those that were given, here or in a config file; NULL: all */
    char *const *operands; /* [n_operands] */
    int n_operands;
};

struct command {
    const char *name, *summary;
    const char *operands; /* as shown in the usage, "IN.jsonl"; NULL when there are none */
    int min_operands, max_operands;
    const struct option *options;
    const void *defaults;          /* the struct that options fill, with its default values */
    size_t size;                   /* its size */
    const char *details;           /* paragraphs for --help and the manual page, or NULL */
    const char *examples[2];       /* command lines */
    const struct file_note *files; /* ended by a NULL name; or NULL */
    bool keeps_settings;           /* in --out: with --resume, what is required may be left out */
    const struct preset *presets;  /* of its OPTION_PRESET, ended by a NULL name; or NULL */
    /* Returns an exit code; on anything but OK and RECORDS err says why and the program prints it. */
    enum exit_code (*run)(const struct call *call, struct error *err);
};

/* Members of struct command: one operand of that name; the table and the struct of the default values. */
#define ONE_OPERAND(text) .operands = (text), .min_operands = 1, .max_operands = 1
#define OPTIONS(table, values) .options = (table), .defaults = &(values), .size = sizeof(values)

/* Another name of a command, that of earlier versions. */
struct alias {
    const char *name, *command;
};

struct program {
    const char *name, *summary;
    const struct command *const *commands;
    int n_commands;
    const struct alias *aliases; /* ended by a NULL name; or NULL */
};

/*
 * The whole of main(): `PROGRAM COMMAND [options] [operands]`, also --help, --version, `help COMMAND`, `completion
 * SHELL` and `man [COMMAND]`.  Every command has --quiet and --verbose.  Long options take "--name value" and
 * "--name=value"; "--" ends them; options and operands may be mixed.  --no-NAME switches a flag off that a config file
 * switched on.
 */
int program_main(const struct program *p, int argc, char **argv);

/* For run: EXIT_CODE_USAGE, with the text in err. */
enum exit_code usage_error(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For run: the code of a job that returned rc: 0 with so many records that failed, -1 with err, or more than 0 after a
 * signal. */
enum exit_code job_exit_code(int rc, int64_t failed, const struct error *err);

#endif
