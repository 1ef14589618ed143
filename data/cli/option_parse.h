/*
 * option_parse.h - one option of a table: found by its name, set from a word; and a command line as values.
 */
#ifndef DATA_CLI_OPTION_PARSE_H
#define DATA_CLI_OPTION_PARSE_H

#include "data/cli/options.h"

/* The known word that a mistyped one was meant to be; start with { NULL, 0 }.  word stays NULL when none is near. */
struct nearest {
    const char *word;
    int distance;
};
void nearest_try(struct nearest *best, const char *typed, const char *known);

/* Index of a long name (n characters of it; '_' is taken for '-') in the table, or -1. */
int option_find(const struct option *table, const char *name, size_t n);
int option_count(const struct option *table);
const char *option_nearest(const struct option *table, const char *typed);

/* What stands behind an option; from EXPECT_FILE on a path. */
enum expected { EXPECT_NOTHING, EXPECT_WORDS, EXPECT_VALUE, EXPECT_FILE, EXPECT_FOLDER };
enum expected option_expects(const struct option *o);

/* Whether its value says where others come from: a config file or a preset. */
bool option_is_source(const struct option *o);

struct command_line {
    void *settings;
    bool *seen;  /* [options of the table] those given, here or in a config file */
    char **argv; /* words behind the command's name; operands are gathered at the front */
    int argc, n_operands;
};
/* With only_config, values of such options are taken and all else is only looked at; without it the reverse.
 */
int options_parse(const struct option *table, struct command_line *line, bool only_config, struct error *err);

#endif
