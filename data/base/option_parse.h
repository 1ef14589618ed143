/*
 * option_parse.h - finds and sets single options of a table, and parses a command line into a struct.
 *
 * Errors are usage errors (EXIT_CODE_USAGE).  Strings stay borrowed from argv or the file that was read.
 */
#ifndef DATA_BASE_OPTION_PARSE_H
#define DATA_BASE_OPTION_PARSE_H

#include "data/base/options.h"

/* The closest known word to a mistyped one.  Start with { NULL, 0 }; word stays NULL if no known word is close. */
struct nearest {
    const char *word;
    int distance;
};
void nearest_try(struct nearest *best, const char *typed, const char *known);

/* Index of the option with a long name of n characters, where '_' counts as '-'; -1 if there is none. */
int option_find(const struct option *table, const char *name, size_t n);
int option_count(const struct option *table);
const char *option_nearest(const struct option *table, const char *typed);

/* The kind of value that follows an option.  EXPECT_FILE and EXPECT_FOLDER are paths. */
enum expected { EXPECT_NOTHING, EXPECT_WORDS, EXPECT_VALUE, EXPECT_FILE, EXPECT_FOLDER };
enum expected option_expects(const struct option *o);

/* The word that chooses a mode of a program that program_main has extended: the end of the mode's name. */
const char *mode_word(const struct command *mode);

/* Whether the option names a source of settings: a config file or a preset. */
bool option_is_source(const struct option *o);

struct command_line {
    void *settings;
    bool *seen;  /* [number of options] options given on the command line or in a config file */
    char **argv; /* words behind the command's name; parsing moves the operands to the front */
    int argc, n_operands;
};
/* Parses the words.  With only_config, only options that name sources of settings are set; without it, all others. */
int options_parse(const struct option *table, struct command_line *line, bool only_config, struct error *err);

#endif
