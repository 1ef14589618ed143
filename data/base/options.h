/*
 * options.h - command lines: from one table for each command come the parser, --help, the manual page and shell
 * completion.
 *
 * A program is a table of commands.  The options of a command fill a plain struct of that command; each option names
 * its field by the offset (option_rows.h has macros for the rows).  For an unknown word, the message suggests the
 * closest known one.
 *
 * Tables and settings are borrowed.  A command returns its exit code and an error, which the program prints.
 */
#ifndef DATA_BASE_OPTIONS_H
#define DATA_BASE_OPTIONS_H

#include "kernels/base.h"

#include <float.h>
#include <math.h>

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_STRING, /* const char *, borrowed from argv */
    OPTION_INT,    /* int64_t, must be in low..high if low < high */
    OPTION_REAL,   /* double with the same limits; NAN: no value */
    OPTION_CHOICE, /* an enum or int: index of the word in `choices`, separated by |; -1: no value */
    OPTION_WORD,   /* const char *, one of the words in `choices` */
    OPTION_CONFIG, /* const char *, a YAML file (yaml.h) that sets the other options; the command line overrides it */
    OPTION_PRESET, /* const char *, one of `choices`: the name of a built-in YAML text; a config file overrides it */
    OPTION_SHARD   /* struct shard: process only these records, into a separate output; low is the granularity for
                      shard_cut */
};

/* Value of `low`: any number above zero.  `high` is HUGE_VAL without an upper limit. */
#define OPTION_ABOVE_ZERO DBL_MIN

struct option {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* short form, or 0 */
    enum option_type type;
    size_t offset;
    const char *value; /* name of the value in the help: N, NAME; FILE, DIR and RUN (of ambit-train) are paths */
    const char *help;  /* NULL: a key of config files only, unknown to the command line and its help */
    const char *choices;
    double low, high;
    const char *group; /* title of the group in the help, at its first option; otherwise NULL */
    bool required;
    bool writes;           /* the path of an output; all other paths are inputs */
    const char *continues; /* of an output: the option whose file it may replace, since it contains that file's data */
    const char *formats;   /* of an output: words of --format; those that are endings of its name choose the format */
    const char *endings;   /* of an output: endings of its name besides those in `value`, separated by | */
    const char *records;   /* of OPTION_SHARD: the option that names the input file; NULL: the operand */
};

/* Convert the value of an option to text, "" for no value, and back.  Models store their settings in this form.
 * option_set returns -1 with EXIT_CODE_USAGE and a text to which the caller prefixes the option's name.  Strings are
 * borrowed. */
void option_show(const struct option *o, const void *settings, char *text, size_t size);
int option_set(const struct option *o, void *settings, const char *text, struct error *err);
/* Whether the value is the path of an input file or folder; config files do not count. */
bool option_reads(const struct option *o);

struct preset {
    const char *name, *text; /* the text in the format of yaml.h */
};

/* A file or folder that a command reads or writes besides those on its command line. */
struct file_note {
    const char *name, *what;
};

/* A call of a command. */
struct call {
    const void *options;   /* the settings struct */
    const bool *seen;      /* [number of options] options given on the command line or in a config file; NULL: all */
    char *const *operands; /* [n_operands] */
    int n_operands;
};

struct command {
    const char *name, *summary;
    const char *operands; /* as shown in the usage, "IN.jsonl"; NULL: none */
    int min_operands, max_operands;
    const struct option *options;
    const void *defaults;          /* the settings struct with the default values */
    size_t size;                   /* size of that struct */
    const char *details;           /* paragraphs for --help and the manual page; may be NULL */
    const char *examples[2];       /* example command lines */
    const struct file_note *files; /* ends with a NULL name; may be NULL */
    bool keeps_settings;           /* settings are kept in --out: with --resume, required options may be omitted */
    const struct preset *presets;  /* presets of its OPTION_PRESET, ending with a NULL name; may be NULL */
    /* Modes, ending with NULL: commands of their own, which the first word after the command's name chooses.  A command
     * with modes has a name, summary, details and examples only; its pages show the options of all modes. */
    const struct command *const *modes;
    /* Returns an exit code.  Unless that is OK or RECORDS, err holds the reason, which the program prints. */
    enum exit_code (*run)(const struct call *call, struct error *err);
};

/* Members of struct command: exactly one operand of that name; an option table with its defaults. */
#define ONE_OPERAND(text) .operands = (text), .min_operands = 1, .max_operands = 1
#define OPTIONS(table, values) .options = (table), .defaults = &(values), .size = sizeof(values)

/* An alternative name of a command. */
struct alias {
    const char *name, *command;
};

struct program {
    const char *name, *summary;
    const struct command *const *commands;
    int n_commands;
    const struct alias *aliases; /* ends with a NULL name; may be NULL */
};

/*
 * The whole main() of a program: `PROGRAM COMMAND [MODE] [options] [operands]`, --help, --version, `help COMMAND
 * [MODE]`, `completion SHELL` and `man [COMMAND]`.  Every command also has --quiet, --verbose and --threads.  Long
 * options are written
 * "--name value" or "--name=value"; "--" ends the options.  Options and operands may be mixed.  --no-NAME turns off a
 * flag that a config file turned on.
 */
int program_main(const struct program *p, int argc, char **argv);

/* For `run`: sets err and returns EXIT_CODE_USAGE. */
enum exit_code usage_error(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For `run`: the exit code of a job that returned rc: 0 with this many failed records, -1 with err, or more than 0
 * after a signal. */
enum exit_code job_exit_code(int rc, int64_t failed, const struct error *err);

#endif
