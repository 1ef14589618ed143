/*
 * options_impl.h - what the files behind options.h and yaml.h share: words, single values, and the pages made of
 * tables.
 */
#ifndef DATA_CLI_OPTIONS_IMPL_H
#define DATA_CLI_OPTIONS_IMPL_H

#include "data/cli/options.h"
#include "data/cli/yaml.h"

#include <stdio.h>

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

/* Whether --resume was given. */
bool options_resume(const struct command *c, const struct command_line *line);
/* -1 with EXIT_CODE_USAGE where an output's name promises a form that is not written. */
int options_check_endings(const struct command *c, const struct command_line *line, struct error *err);
/* -1 with EXIT_CODE_USAGE where the word is a question or a statement, and no file has that name. */
int options_check_operand(const struct command *c, const char *word, struct error *err);
/* -1 with EXIT_CODE_USAGE where an output is what an operand or another option names, by whatever names. */
int options_check_outputs(const struct command *c, const struct command_line *line, struct error *err);

/* Where the command line asks for a shard: names the output after it.  The texts keep the name. */
int options_name_shard(const struct command *c, struct command_line *line, struct texts *texts, struct error *err);
/* Runs the command, a shard of it where that is asked for: finds its range, holds its mark, and writes that behind it.
 */
enum exit_code options_run(const struct command *c, struct command_line *line, const char *program, struct error *err);

/* The program whose commands have in their tables what all have too; program_release frees it. */
struct program program_extend(const struct program *p);
void program_release(struct program *p);
/* Does what the settings of an extended command say of these. */
int common_obey(const struct command *c, const void *settings, struct error *err);

/* The other name of the command, or NULL. */
const char *command_alias(const struct program *p, const struct command *c);

/* Pages and scripts, written to f. */
void help_program(const struct program *p, FILE *f);
void help_command(const struct program *p, const struct command *c, FILE *f);
void man_program(const struct program *p, FILE *f);
void man_command(const struct program *p, const struct command *c, FILE *f);
void completion_bash(const struct program *p, FILE *f);
void completion_zsh(const struct program *p, FILE *f);
void completion_fish(const struct program *p, FILE *f);

/* What the pages have in common.  "-o, --out FILE" */
void option_usage(const struct option *o, char *text, size_t size);
/* The help of the table, with choices and default. */
void option_describe(const struct option *o, const void *defaults, char *text, size_t size);
struct exit_meaning {
    const char *code, *text;
};
extern const struct exit_meaning exit_meanings[]; /* ended by a NULL code */
#define LOG_VARIABLE "AMBIT_LOG"
#define LOG_MEANING "what is told on standard error: error, warn, info or debug"

#endif
