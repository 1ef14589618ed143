#include "data/base/option_pages.h"

#include "data/base/build.h"
#include "data/base/option_parse.h"

#include <ctype.h>
#include <string.h>

#define LOG_VARIABLE "AMBIT_LOG"
#define LOG_MEANING "the level of messages on standard error: error, warn, info or debug"

/* The alternative name of a command, or NULL. */
static const char *command_alias(const struct program *p, const struct command *c)
{
    for (const struct alias *a = p->aliases; a && a->name; a++)
        if (strcmp(a->command, c->name) == 0)
            return a->name;
    return NULL;
}

/* The --help texts. */

enum { WIDTH = 100, INDENT = 30 };

void option_usage(const struct option *o, char *text, size_t size)
{
    int n = o->letter ? snprintf(text, size, "-%c, ", o->letter) : 0;
    snprintf(text + n, size - (size_t)n, "--%s%s%s", o->name, o->type == OPTION_FLAG ? "" : " ",
             o->type == OPTION_FLAG ? "" : (o->value ? o->value : "VALUE"));
}

/* Writes text from column `at` on, wrapped at WIDTH; new lines start at column `indent`.  Line feeds are kept. */
static void wrap(FILE *f, const char *text, int at, int indent)
{
    bool first = true;
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (!first && at + 1 + n > WIDTH) {
            fprintf(f, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        fprintf(f, "%s%.*s", first ? "" : " ", n, text);
        at += n + !first;
        first = false;
        text += n;
        if (*text == '\n') {
            fprintf(f, "\n%*s", text[1] == '\n' ? 0 : indent, "");
            at = indent;
            first = true;
        }
        text += *text != '\0';
    }
    fputc('\n', f);
}

static void entry(FILE *f, const char *left, const char *text)
{
    int n = fprintf(f, "  %s", left);
    if (n + 2 > INDENT) {
        fputc('\n', f);
        n = 0;
    }
    fprintf(f, "%*s", INDENT - n, "");
    wrap(f, text, INDENT, INDENT);
}

/* An integer below its lower limit means "not set". */
static bool is_none(const struct option *o, const void *defaults)
{
    return o->type == OPTION_INT && o->low < o->high &&
           (double)*(const int64_t *)((const char *)defaults + o->offset) < o->low;
}

/* Writes the help of an option with its choices and default. */
static void option_describe(const struct option *o, const void *defaults, char *text, size_t size)
{
    char value[256] = "";
    if (defaults && o->type != OPTION_FLAG && !is_none(o, defaults))
        option_show(o, defaults, value, sizeof value);
    int n = snprintf(text, size, "%s", o->help ? o->help : "");
    if (o->choices)
        n += snprintf(text + n, size - (size_t)n, ": %s", o->choices);
    if (o->required)
        snprintf(text + n, size - (size_t)n, " (required)");
    else if (*value)
        snprintf(text + n, size - (size_t)n, " (default %s)", value);
}

static void usage_line(const struct program *p, const struct command *c, const char *start, FILE *f)
{
    char shown[128];
    fprintf(f, "%s %s %s", start, p->name, c->name);
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].required) {
            struct option o = c->options[i];
            o.letter = 0;
            option_usage(&o, shown, sizeof shown);
            fprintf(f, " %s", shown);
        }
    fprintf(f, " [options]%s%s\n", c->operands ? " " : "", c->operands ? c->operands : "");
}

struct exit_meaning {
    const char *code, *text;
};

/* Ends with a NULL code. */
static const struct exit_meaning exit_meanings[] = {
    { "0", "success" },
    { "1", "failure" },
    { "2", "invalid command line or configuration" },
    { "3", "invalid input data" },
    { "4", "device error" },
    { "5", "out of memory" },
    { "6", "corrupt or incompatible checkpoint or model folder" },
    { "7", "some records failed" },
    { "130 and 143", "interrupted after saving" },
    { 0 },
};

static void exit_codes(FILE *f)
{
    char text[512];
    int n = snprintf(text, sizeof text, "Exit codes:");
    for (const struct exit_meaning *e = exit_meanings; e->code; e++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s %s%s", e->code, e->text, e[1].code ? "," : ".");
    wrap(f, text, 0, 0);
}

void help_program(const struct program *p, FILE *f)
{
    char text[256];
    fprintf(f, "%s - %s\n\nusage: %s COMMAND [options] [operands]\n\ncommands:\n", p->name, p->summary, p->name);
    for (int i = 0; i < p->n_commands; i++) {
        const char *alias = command_alias(p, p->commands[i]);
        snprintf(text, sizeof text, "%s%s%s%s", p->commands[i]->summary, alias ? " (also: " : "", alias ? alias : "",
                 alias ? ")" : "");
        entry(f, p->commands[i]->name, text);
    }
    entry(f, "help COMMAND", "show the options of a command (also COMMAND --help)");
    entry(f, "man [COMMAND]", "print the manual page in roff");
    entry(f, "completion SHELL", "print completion for bash, zsh or fish: source <(PROGRAM completion bash)");
    entry(f, "--version", "print version, commit, build options and libraries");
    fputs("\nThe environment variable " LOG_VARIABLE " sets " LOG_MEANING ".\n", f);
    exit_codes(f);
}

static void options_entries(const struct command *c, FILE *f)
{
    char left[128], text[1024];
    if (!option_count(c->options) || !c->options->group)
        fputs("\noptions:\n", f);
    for (int i = 0; i < option_count(c->options); i++) {
        if (!c->options[i].help)
            continue;
        if (c->options[i].group)
            fprintf(f, "\n%s:\n", c->options[i].group);
        option_usage(&c->options[i], left, sizeof left);
        option_describe(&c->options[i], c->defaults, text, sizeof text);
        entry(f, left, text);
    }
    entry(f, "-h, --help", "show this help");
}

/* A usage line for the command, or for each of its modes. */
static void usage_lines(const struct program *p, const struct command *c, FILE *f)
{
    if (!c->modes)
        usage_line(p, c, "usage:", f);
    for (int i = 0; c->modes && c->modes[i]; i++)
        usage_line(p, c->modes[i], i ? "      " : "usage:", f);
}

static void modes_entries(const struct command *c, FILE *f)
{
    for (int i = 0; c->modes && c->modes[i]; i++)
        entry(f, mode_word(c->modes[i]), c->modes[i]->summary);
}

void help_command(const struct program *p, const struct command *c, FILE *f)
{
    usage_lines(p, c, f);
    fputc('\n', f);
    wrap(f, c->summary, 0, 0);
    if (c->modes)
        fputs("\nmodes:\n", f);
    modes_entries(c, f);
    if (c->details) {
        fputc('\n', f);
        wrap(f, c->details, 0, 0);
    }
    options_entries(c, f);
    for (const struct file_note *n = c->files; n && n->name; n++) {
        if (n == c->files)
            fputs("\nfiles:\n", f);
        entry(f, n->name, n->what);
    }
    fputc('\n', f);
    exit_codes(f);
    fputs("\nexamples:\n", f);
    for (int i = 0; i < ARRAY_LEN(c->examples); i++)
        fprintf(f, "  %s\n", c->examples[i]);
}

/* Manual pages in roff for man(7): one for the program and one for each command. */

enum { ROFF_WIDTH = 72 };

/* Writes a character and escapes those that are special in roff.  Returns the number of bytes. */
static int put_roff(FILE *f, char c)
{
    if (c == '\\')
        return fprintf(f, "\\e");
    if (c == '-')
        return fprintf(f, "\\-");
    if (c == '\'')
        return fprintf(f, "\\(aq");
    if (c == '|') /* a long list of words may continue in the next line */
        return fprintf(f, "|\\:");
    return fprintf(f, "%c", c);
}

static void roff_line(FILE *f, const char *text)
{
    while (*text)
        put_roff(f, *text++);
    fputc('\n', f);
}

/* Writes words in lines of ROFF_WIDTH bytes; an empty line starts a paragraph. */
static void roff_words(FILE *f, const char *text)
{
    int at = 0; /* bytes of the current line */
    while (*text) {
        size_t n = strcspn(text, " \n");
        bool full = at + (int)n > ROFF_WIDTH;
        if (at)
            fputc(full ? '\n' : ' ', f);
        at = full ? 0 : at + 1;
        if (at <= 1 && (*text == '.' || *text == '\''))
            at += fprintf(f, "\\&");
        for (const char *end = text + n; text < end; text++)
            at += put_roff(f, *text);
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", f);
            at = 0;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', f);
}

/* Writes the title line, without justification of the text, and the NAME section: "NAME \- summary". */
static void roff_title(const char *name, const char *manual, const char *summary, FILE *f)
{
    fputs(".TH ", f);
    for (const char *c = name; *c; c++)
        fputc(toupper((unsigned char)*c), f);
    fprintf(f, " 1 %s \"ambit %s\" \"%s\"\n.ad l\n.SH NAME\n", build_date(), build_version(), manual);
    for (const char *c = name; *c; c++)
        put_roff(f, *c);
    fputs(" \\-\n", f);
    roff_words(f, summary);
}

/* Writes a tagged paragraph. */
static void roff_item(FILE *f, const char *tag, const char *text)
{
    fputs(".TP\n.B ", f);
    roff_line(f, tag);
    roff_words(f, text);
}

static void roff_usage(const struct program *p, const struct command *c, FILE *f)
{
    char shown[128];
    fprintf(f, ".B %s %s\n", p->name, c->name);
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].required) {
            struct option o = c->options[i];
            o.letter = 0;
            option_usage(&o, shown, sizeof shown);
            roff_line(f, shown);
        }
    fputs("[options]\n", f);
    if (c->operands)
        fprintf(f, ".I %s\n", c->operands);
}

static void roff_synopsis(const struct program *p, const struct command *c, FILE *f)
{
    fputs(".SH SYNOPSIS\n", f);
    if (!c->modes)
        roff_usage(p, c, f);
    for (int i = 0; c->modes && c->modes[i]; i++) {
        fputs(i ? ".br\n" : "", f);
        roff_usage(p, c->modes[i], f);
    }
}

static void roff_modes(const struct command *c, FILE *f)
{
    if (c->modes)
        fputs(".SH MODES\n", f);
    for (int i = 0; c->modes && c->modes[i]; i++)
        roff_item(f, mode_word(c->modes[i]), c->modes[i]->summary);
}

static void roff_environment(FILE *f)
{
    fputs(".SH EXIT STATUS\n", f);
    for (const struct exit_meaning *e = exit_meanings; e->code; e++)
        roff_item(f, e->code, e->text);
    fputs(".SH ENVIRONMENT\n", f);
    roff_item(f, LOG_VARIABLE, LOG_MEANING);
    roff_item(f, "NO_COLOR", "turns colours off");
}

static void roff_options(const struct command *c, FILE *f)
{
    char left[128], text[1024];
    fputs(".SH OPTIONS\n", f);
    for (int i = 0; i < option_count(c->options); i++) {
        if (!c->options[i].help)
            continue;
        if (c->options[i].group)
            fprintf(f, ".SS %s\n", c->options[i].group);
        option_usage(&c->options[i], left, sizeof left);
        option_describe(&c->options[i], c->defaults, text, sizeof text);
        roff_item(f, left, text);
    }
    roff_item(f, "-h, --help", "show the options");
}

void man_command(const struct program *p, const struct command *c, FILE *f)
{
    char name[128];
    snprintf(name, sizeof name, "%s-%s", p->name, c->name);
    roff_title(name, p->name, c->summary, f);
    roff_synopsis(p, c, f);
    roff_modes(c, f);
    if (c->details) {
        fputs(".SH DESCRIPTION\n", f);
        roff_words(f, c->details);
    }
    roff_options(c, f);
    roff_environment(f);
    for (const struct file_note *n = c->files; n && n->name; n++) {
        if (n == c->files)
            fputs(".SH FILES\n", f);
        roff_item(f, n->name, n->what);
    }
    fputs(".SH EXAMPLES\n.EX\n", f);
    for (int i = 0; i < ARRAY_LEN(c->examples); i++)
        roff_line(f, c->examples[i]);
    fprintf(f, ".EE\n.SH SEE ALSO\n.BR %s (1)", p->name);
    for (int i = 0; i < p->n_commands; i++)
        if (p->commands[i] != c)
            fprintf(f, ",\n.BR %s-%s (1)", p->name, p->commands[i]->name);
    fputc('\n', f);
}

void man_program(const struct program *p, FILE *f)
{
    char text[256];
    roff_title(p->name, "ambit", p->summary, f);
    fprintf(f, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[options] [operands]\n.SH COMMANDS\n", p->name);
    for (int i = 0; i < p->n_commands; i++) {
        const char *alias = command_alias(p, p->commands[i]);
        snprintf(text, sizeof text, "%s%s%s", p->commands[i]->summary, alias ? "; also called " : "",
                 alias ? alias : "");
        roff_item(f, p->commands[i]->name, text);
    }
    roff_item(f, "help COMMAND", "show the options of a command (also COMMAND --help)");
    roff_item(f, "man [COMMAND]", "print the manual page in roff");
    roff_item(f, "completion SHELL", "print completion for bash, zsh or fish");
    roff_item(f, "--version", "print version, commit, build options and libraries");
    roff_environment(f);
    fputs(".SH SEE ALSO\n", f);
    for (int i = 0; i < p->n_commands; i++)
        fprintf(f, ".BR %s-%s (1)%s\n", p->name, p->commands[i]->name, i + 1 < p->n_commands ? "," : "");
}

/* Completion of commands, options, choices and paths for bash, zsh and fish. */

#define SHELLS "bash zsh fish"

/* The name of the completion function, with '_' for '-'. */
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

static void put_modes(const struct command *c, FILE *f)
{
    for (int i = 0; c->modes && c->modes[i]; i++)
        fprintf(f, "%s%s", i ? " " : "", mode_word(c->modes[i]));
}

/* Writes the names of a command, separated by `sign`: "sql|parse". */
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
        if (c->options[i].help)
            fprintf(f, "--%s ", c->options[i].name);
    fputs("--help' ;;\n", f);
}

/* Offers the choices of an option as its values.  Elsewhere, bash offers files. */
static void bash_choices(const struct command *c, FILE *f)
{
    if (c->modes) {
        fprintf(f, "        %s:%s) words='", c->name, c->name);
        put_modes(c, f);
        fputs("' ;;\n", f);
    }
    for (int i = 0; i < option_count(c->options); i++) {
        const struct option *o = &c->options[i];
        if (!o->help || option_expects(o) != EXPECT_WORDS)
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

/* Writes text within single quotes, with a backslash before the characters of `special`. */
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
        if (c->options[i].help)
            zsh_option(&c->options[i], f);
    fputs(" \\\n            '(-h --help)'{-h,--help}'[the options]'", f);
    if (c->modes) {
        fputs(" \\\n            '1:MODE:(", f);
        put_modes(c, f);
        fputs(")' '*:FILE:_files'", f);
    }
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

static void fish_modes(const struct program *p, const struct command *c, FILE *f)
{
    if (!c->modes)
        return;
    fprintf(f, "complete -c %s -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from ", p->name,
            c->name);
    put_modes(c, f);
    fputs("' -f -a '", f);
    put_modes(c, f);
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
    for (int i = 0; i < p->n_commands; i++) {
        fish_modes(p, p->commands[i], f);
        for (int k = 0; k < option_count(p->commands[i]->options); k++)
            if (p->commands[i]->options[k].help)
                fish_option(p, p->commands[i], &p->commands[i]->options[k], f);
    }
    fprintf(f, "complete -c %s -s h -l help -f -d 'the options'\ncomplete -c %s -l version -f -d 'the version'\n",
            p->name, p->name);
}
