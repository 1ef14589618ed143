#include "data/cli/options_impl.h"

#include <string.h>

enum { WIDTH = 100, INDENT = 30 };

void option_usage(const struct option *o, char *text, size_t size)
{
    int n = o->letter ? snprintf(text, size, "-%c, ", o->letter) : 0;
    snprintf(text + n, size - (size_t)n, "--%s%s%s", o->name, o->type == OPTION_FLAG ? "" : " ",
             o->type == OPTION_FLAG ? "" : (o->value ? o->value : "VALUE"));
}

/* Words of text from column `at` on; new lines start at `indent`.  Newlines in text stay. */
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

/* The sentence of the table, with choices and default. */
static void describe(const struct option *o, const void *defaults, char *text, size_t size)
{
    char value[256] = "";
    if (defaults && o->type != OPTION_FLAG)
        option_show(o, defaults, value, sizeof value);
    int n = snprintf(text, size, "%s", o->help ? o->help : "");
    if (o->choices)
        n += snprintf(text + n, size - (size_t)n, ": %s", o->choices);
    if (o->required)
        snprintf(text + n, size - (size_t)n, " (required)");
    else if (*value)
        snprintf(text + n, size - (size_t)n, " (default %s)", value);
}

static void usage_line(const struct program *p, const struct command *c, FILE *f)
{
    char shown[128];
    fprintf(f, "usage: %s %s", p->name, c->name);
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].required) {
            struct option o = c->options[i];
            o.letter = 0;
            option_usage(&o, shown, sizeof shown);
            fprintf(f, " %s", shown);
        }
    fprintf(f, " [options]%s%s\n", c->operands ? " " : "", c->operands ? c->operands : "");
}

static const char exit_codes[] =
    "Exit codes: 0 done, 1 failure, 2 command line or configuration, 3 input data, 4 device, 5 out of memory, 6 "
    "checkpoint or model folder corrupt or incompatible, 7 some records failed, 130 and 143 interrupted after saving.";

void help_program(const struct program *p, FILE *f)
{
    fprintf(f, "%s - %s\n\nusage: %s COMMAND [options] [operands]\n\ncommands:\n", p->name, p->summary, p->name);
    for (int i = 0; i < p->n_commands; i++)
        entry(f, p->commands[i]->name, p->commands[i]->summary);
    entry(f, "help COMMAND", "options of a command, also COMMAND --help");
    entry(f, "man", "the manual page, as roff");
    entry(f, "completion bash", "completion for the shell: source <(PROGRAM completion bash)");
    entry(f, "--version", "version, commit, build options, libraries");
    fputs("\nThe environment variable AMBIT_LOG sets what is told on standard error: error, warn, info or debug.\n", f);
    wrap(f, exit_codes, 0, 0);
}

void help_command(const struct program *p, const struct command *c, FILE *f)
{
    char left[128], text[1024];
    usage_line(p, c, f);
    fputc('\n', f);
    wrap(f, c->summary, 0, 0);
    if (c->details) {
        fputc('\n', f);
        wrap(f, c->details, 0, 0);
    }
    fputs("\noptions:\n", f);
    for (int i = 0; i < option_count(c->options); i++) {
        option_usage(&c->options[i], left, sizeof left);
        describe(&c->options[i], c->defaults, text, sizeof text);
        entry(f, left, text);
    }
    entry(f, "-h, --help", "this page");
    fputc('\n', f);
    wrap(f, exit_codes, 0, 0);
}

static void roff(FILE *f, const char *text)
{
    for (bool start = true; *text; start = *text == '\n', text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", f);
        if (*text == '\n' && text[1] == '\n') {
            fputs("\n.PP", f);
            continue;
        }
        if (*text == '\\')
            fputs("\\e", f);
        else if (*text == '-')
            fputs("\\-", f);
        else
            fputc(*text, f);
    }
    fputc('\n', f);
}

static void man_command(const struct program *p, const struct command *c, FILE *f)
{
    char left[128], text[1024];
    fprintf(f, ".SS %s %s\n", p->name, c->name);
    roff(f, c->summary);
    fputs(".PP\n", f);
    usage_line(p, c, f);
    if (c->details) {
        fputs(".PP\n", f);
        roff(f, c->details);
    }
    for (int i = 0; i < option_count(c->options); i++) {
        option_usage(&c->options[i], left, sizeof left);
        describe(&c->options[i], c->defaults, text, sizeof text);
        fputs(".TP\n.B ", f);
        roff(f, left);
        roff(f, text);
    }
}

void man_program(const struct program *p, FILE *f)
{
    fprintf(f, ".TH %s 1\n.SH NAME\n%s \\- ", p->name, p->name);
    roff(f, p->summary);
    fprintf(f, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[options] [operands]\n.SH COMMANDS\n", p->name);
    for (int i = 0; i < p->n_commands; i++)
        man_command(p, p->commands[i], f);
    fputs(".SH EXIT STATUS\n", f);
    roff(f, exit_codes);
    fputs(".SH ENVIRONMENT\n.TP\n.B AMBIT_LOG\nWhat is told on standard error: error, warn, info (the default) or "
          "debug.\n.TP\n.B NO_COLOR\nNo colours when set.\n",
          f);
}

static void complete_command(const struct command *c, FILE *f)
{
    fprintf(f, "        %s) words='", c->name);
    for (int i = 0; i < option_count(c->options); i++)
        fprintf(f, "--%s ", c->options[i].name);
    fputs("--help' ;;\n", f);
}

/* Choices of an option are offered behind it; behind other options, and as operands, files. */
static void complete_choices(const struct command *c, FILE *f)
{
    for (int i = 0; i < option_count(c->options); i++) {
        const struct option *o = &c->options[i];
        if (o->type != OPTION_CHOICE && o->type != OPTION_PRESET)
            continue;
        fprintf(f, "        %s:--%s) words='", c->name, o->name);
        for (const char *s = o->choices; *s; s++)
            fputc(*s == '|' ? ' ' : *s, f);
        fputs("' ;;\n", f);
    }
}

void completion_bash(const struct program *p, FILE *f)
{
    char name[64];
    snprintf(name, sizeof name, "_%s", p->name);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    fprintf(f, "%s() {\n    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words=''\n", name);
    fputs("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='help man completion --help --version", f);
    for (int i = 0; i < p->n_commands; i++)
        fprintf(f, " %s", p->commands[i]->name);
    fputs("'\n    elif [[ $word == -* ]]; then\n        case ${COMP_WORDS[1]} in\n", f);
    for (int i = 0; i < p->n_commands; i++)
        complete_command(p->commands[i], f);
    fputs("        esac\n    else\n        case ${COMP_WORDS[1]}:$last in\n", f);
    for (int i = 0; i < p->n_commands; i++)
        complete_choices(p->commands[i], f);
    fprintf(f,
            "        esac\n    fi\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\ncomplete -o "
            "default -F %s %s\n",
            name, p->name);
}
