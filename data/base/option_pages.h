/*
 * option_pages.h - writes the --help texts, manual pages and shell completions of a program from its tables.
 *
 * The functions write to f; the caller checks the stream.
 */
#ifndef DATA_BASE_OPTION_PAGES_H
#define DATA_BASE_OPTION_PAGES_H

#include "data/base/options.h"

#include <stdio.h>

/* Pages and completion scripts, written to f. */
void help_program(const struct program *p, FILE *f);
void help_command(const struct program *p, const struct command *c, FILE *f);
void man_program(const struct program *p, FILE *f);
void man_command(const struct program *p, const struct command *c, FILE *f);
void completion_bash(const struct program *p, FILE *f);
void completion_zsh(const struct program *p, FILE *f);
void completion_fish(const struct program *p, FILE *f);

/* The usage of an option as shown on the pages: "-o, --out FILE". */
void option_usage(const struct option *o, char *text, size_t size);

#endif
