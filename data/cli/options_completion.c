/* Part of options.h: completion of commands, options, choices and paths for bash, zsh and fish. */
#include "data/cli/options_impl.h"

#include <string.h>

#define SHELLS "bash zsh fish"

/* "ambit-data" as the name of a function. */
static void function_name(const struct program *p, char *name, size_t size)
{
    snprintf(name, size, "_%s", p->name);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
}

static void put_choices(const char *choices, FILE *f)
{
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, f);
}

static void put_commands(const struct program *p, FILE *f)
{
    for (int i = 0; i < p->n_commands; i++)
        fprintf(f, "%s%s", i ? " " : "", p->commands[i]->name);
}

/* "sql|parse": what a command answers to, parted by the sign. */
static void put_names(const struct program *p, const struct command *c, char sign, FILE *f)
{
    const char *alias = command_alias(p, c);
    fputs(c->name, f);
    if (alias)
        fprintf(f, "%c%s", sign, alias);
}

static void bash_options(const struct program *p, const struct command *c, FILE *f)
{
    fputs("        ", f);
    put_names(p, c, '|', f);
    fputs(") words='", f);
    for (int i = 0; i < option_count(c->options); i++)
        fprintf(f, "--%s ", c->options[i].name);
    fputs("--help' ;;\n", f);
}

/* Choices of an option are offered behind it; behind other options, and as operands, files. */
static void bash_choices(const struct command *c, FILE *f)
{
    for (int i = 0; i < option_count(c->options); i++) {
        const struct option *o = &c->options[i];
        if (option_expects(o) != EXPECT_WORDS)
            continue;
        fprintf(f, "        %s:--%s) words='", c->name, o->name);
        put_choices(o->choices, f);
        fputs("' ;;\n", f);
    }
}

void completion_bash(const struct program *p, FILE *f)
{
    char name[64];
    function_name(p, name, sizeof name);
    fprintf(f, "%s() {\n    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words=''\n", name);
    fputs("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='help man completion --help --version ", f);
    put_commands(p, f);
    fputs("'\n    elif [[ $word == -* ]]; then\n        case ${COMP_WORDS[1]} in\n", f);
    for (int i = 0; i < p->n_commands; i++)
        bash_options(p, p->commands[i], f);
    fputs("        esac\n    else\n        case ${COMP_WORDS[1]}:$last in\n        help:help|man:man) words='", f);
    put_commands(p, f);
    fputs("' ;;\n        completion:completion) words='" SHELLS "' ;;\n", f);
    for (int i = 0; i < p->n_commands; i++)
        bash_choices(p->commands[i], f);
    fprintf(f,
            "        esac\n    fi\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
            "complete -o default -F %s %s\n",
            name, p->name);
}

/* Text inside single quotes, the signs of `special` behind a backslash. */
static void put_quoted(const char *text, const char *special, FILE *f)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", f);
        else
            fprintf(f, "%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void zsh_option(const struct option *o, FILE *f)
{
    if (o->letter)
        fprintf(f, " \\\n            '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter, o->name);
    else
        fprintf(f, " \\\n            '--%s[", o->name);
    put_quoted(o->help ? o->help : "", "[]\\", f);
    fputc(']', f);
    if (o->type != OPTION_FLAG) {
        fputc(':', f);
        put_quoted(o->value ? o->value : "VALUE", ":\\", f);
        fputc(':', f);
    }
    switch (option_expects(o)) {
    case EXPECT_NOTHING:
        break;
    case EXPECT_WORDS:
        fputc('(', f);
        put_choices(o->choices, f);
        fputc(')', f);
        break;
    case EXPECT_FILE:
        fputs("_files", f);
        break;
    case EXPECT_FOLDER:
        fputs("_files -/", f);
        break;
    case EXPECT_VALUE:
        fputc(' ', f);
    }
    fputc('\'', f);
}

static void zsh_command(const struct program *p, const struct command *c, FILE *f)
{
    fputs("        (", f);
    put_names(p, c, '|', f);
    fputs(") _arguments -S", f);
    for (int i = 0; i < option_count(c->options); i++)
        zsh_option(&c->options[i], f);
    fputs(" \\\n            '(-h --help)'{-h,--help}'[the options]'", f);
    if (c->operands) {
        fputs(" \\\n            '*:", f);
        put_quoted(c->operands, ":\\", f);
        fputs(":_files'", f);
    }
    fputs(" ;;\n", f);
}

void completion_zsh(const struct program *p, FILE *f)
{
    char name[64];
    function_name(p, name, sizeof name);
    fprintf(f, "#compdef %s\n%s() {\n    local -a commands=(\n", p->name, name);
    for (int i = 0; i < p->n_commands; i++) {
        fprintf(f, "        '%s:", p->commands[i]->name);
        put_quoted(p->commands[i]->summary, "", f);
        fputs("'\n", f);
    }
    fputs("    )\n"
          "    local -a words_of_all=('help:options of a command' 'man:the manual page' 'completion:for a shell')\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe -t commands command commands -- words_of_all\n        return\n    fi\n"
          "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n"
          "        (help|man) (( CURRENT == 2 )) && _describe -t commands command commands ;;\n"
          "        (completion) (( CURRENT == 2 )) && compadd " SHELLS " ;;\n",
          f);
    for (int i = 0; i < p->n_commands; i++)
        zsh_command(p, p->commands[i], f);
    fprintf(f,
            "    esac\n}\n"
            "if [ \"$funcstack[1]\" = %s ]; then\n    %s \"$@\"\nelse\n    compdef %s %s\nfi\n",
            name, name, name, p->name);
}

static void fish_option(const struct program *p, const struct command *c, const struct option *o, FILE *f)
{
    static const char *const ends[] = { [EXPECT_NOTHING] = "-f",
                                        [EXPECT_WORDS] = "-x",
                                        [EXPECT_FILE] = "-r -F",
                                        [EXPECT_FOLDER] = "-x",
                                        [EXPECT_VALUE] = "-x" };
    enum expected e = option_expects(o);

    fprintf(f, "complete -c %s -n '__fish_seen_subcommand_from ", p->name);
    put_names(p, c, ' ', f);
    fputc('\'', f);
    if (o->letter)
        fprintf(f, " -s %c", o->letter);
    fprintf(f, " -l %s %s", o->name, ends[e]);
    if (e == EXPECT_WORDS) {
        fputs(" -a '", f);
        put_choices(o->choices, f);
        fputc('\'', f);
    }
    if (e == EXPECT_FOLDER)
        fputs(" -a '(__fish_complete_directories)'", f);
    fputs(" -d '", f);
    put_quoted(o->help ? o->help : "", "\\", f);
    fputs("'\n", f);
}

static void fish_word(const struct program *p, const char *word, const char *text, FILE *f)
{
    fprintf(f, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", p->name, word);
    put_quoted(text, "\\", f);
    fputs("'\n", f);
}

void completion_fish(const struct program *p, FILE *f)
{
    for (int i = 0; i < p->n_commands; i++)
        fish_word(p, p->commands[i]->name, p->commands[i]->summary, f);
    fish_word(p, "help", "options of a command", f);
    fish_word(p, "man", "the manual page", f);
    fish_word(p, "completion", "for a shell", f);
    fprintf(f, "complete -c %s -n '__fish_seen_subcommand_from help man' -f -a '", p->name);
    put_commands(p, f);
    fprintf(f, "'\ncomplete -c %s -n '__fish_seen_subcommand_from completion' -f -a '" SHELLS "'\n", p->name);
    for (int i = 0; i < p->n_commands; i++)
        for (int k = 0; k < option_count(p->commands[i]->options); k++)
            fish_option(p, p->commands[i], &p->commands[i]->options[k], f);
    fprintf(f, "complete -c %s -s h -l help -f -d 'the options'\ncomplete -c %s -l version -f -d 'the version'\n",
            p->name, p->name);
}
