/*
 * option_pages.h - pages and scripts made of the tables of a program: --help, manual pages, shell completion.
 */
#ifndef DATA_CLI_OPTION_PAGES_H
#define DATA_CLI_OPTION_PAGES_H

#include "data/cli/options.h"

#include <stdio.h>

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

#endif
