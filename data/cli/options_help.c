/* Part of options.h: --help. */
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

/* Below its least value an integer stands for none. */
static bool is_none(const struct option *o, const void *defaults)
{
    return o->type == OPTION_INT && o->low < o->high &&
           (double)*(const int64_t *)((const char *)defaults + o->offset) < o->low;
}

void option_describe(const struct option *o, const void *defaults, char *text, size_t size)
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

const struct exit_meaning exit_meanings[] = {
    { "0", "done" },
    { "1", "failure" },
    { "2", "command line or configuration" },
    { "3", "input data" },
    { "4", "device" },
    { "5", "out of memory" },
    { "6", "checkpoint or model folder corrupt or incompatible" },
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
    entry(f, "help COMMAND", "options of a command, also COMMAND --help");
    entry(f, "man [COMMAND]", "the manual page, as roff");
    entry(f, "completion SHELL", "completion for bash, zsh or fish: source <(PROGRAM completion bash)");
    entry(f, "--version", "version, commit, build options, libraries");
    fputs("\nThe environment variable " LOG_VARIABLE " sets " LOG_MEANING ".\n", f);
    exit_codes(f);
}

static void options_entries(const struct command *c, FILE *f)
{
    char left[128], text[1024];
    fputs("\noptions:\n", f);
    for (int i = 0; i < option_count(c->options); i++) {
        option_usage(&c->options[i], left, sizeof left);
        option_describe(&c->options[i], c->defaults, text, sizeof text);
        entry(f, left, text);
    }
    entry(f, "-h, --help", "this page");
}

void help_command(const struct program *p, const struct command *c, FILE *f)
{
    usage_line(p, c, f);
    fputc('\n', f);
    wrap(f, c->summary, 0, 0);
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
