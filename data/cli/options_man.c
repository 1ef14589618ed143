/* Part of options.h: manual pages, one of the program and one of each command, as roff for man(7). */
#include "data/cli/options_impl.h"

#include "data/util/build.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 72 };

/* One character with what roff would take for its own made harmless. */
static int put(FILE *f, char c)
{
    if (c == '\\')
        return fprintf(f, "\\e");
    if (c == '-')
        return fprintf(f, "\\-");
    if (c == '\'')
        return fprintf(f, "\\(aq");
    return fprintf(f, "%c", c);
}

static void line(FILE *f, const char *text)
{
    while (*text)
        put(f, *text++);
    fputc('\n', f);
}

/* Words in lines of WIDTH bytes; an empty line starts a paragraph. */
static void words(FILE *f, const char *text)
{
    int at = 0; /* bytes of the line */
    while (*text) {
        size_t n = strcspn(text, " \n");
        bool full = at + (int)n > WIDTH;
        if (at)
            fputc(full ? '\n' : ' ', f);
        at = full ? 0 : at + 1;
        if (at <= 1 && (*text == '.' || *text == '\''))
            at += fprintf(f, "\\&");
        for (const char *end = text + n; text < end; text++)
            at += put(f, *text);
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", f);
            at = 0;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', f);
}

/* The head of a page and of its first section: "NAME \- summary". */
static void title(const char *name, const char *manual, const char *summary, FILE *f)
{
    fputs(".TH ", f);
    for (const char *c = name; *c; c++)
        fputc(toupper((unsigned char)*c), f);
    fprintf(f, " 1 %s \"ambit %s\" \"%s\"\n.SH NAME\n", build_date(), build_version(), manual);
    for (const char *c = name; *c; c++)
        put(f, *c);
    fputs(" \\-\n", f);
    words(f, summary);
}

/* A paragraph with a tag. */
static void item(FILE *f, const char *tag, const char *text)
{
    fputs(".TP\n.B ", f);
    line(f, tag);
    words(f, text);
}

static void usage(const struct program *p, const struct command *c, FILE *f)
{
    char shown[128];
    fprintf(f, ".SH SYNOPSIS\n.B %s %s\n", p->name, c->name);
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].required) {
            struct option o = c->options[i];
            o.letter = 0;
            option_usage(&o, shown, sizeof shown);
            line(f, shown);
        }
    fputs("[options]\n", f);
    if (c->operands)
        fprintf(f, ".I %s\n", c->operands);
}

static void environment(FILE *f)
{
    fputs(".SH EXIT STATUS\n", f);
    for (const struct exit_meaning *e = exit_meanings; e->code; e++)
        item(f, e->code, e->text);
    fputs(".SH ENVIRONMENT\n", f);
    item(f, LOG_VARIABLE, LOG_MEANING);
    item(f, "NO_COLOR", "no colours when set");
}

static void options(const struct command *c, FILE *f)
{
    char left[128], text[1024];
    fputs(".SH OPTIONS\n", f);
    for (int i = 0; i < option_count(c->options); i++) {
        option_usage(&c->options[i], left, sizeof left);
        option_describe(&c->options[i], c->defaults, text, sizeof text);
        item(f, left, text);
    }
    item(f, "-h, --help", "prints the options");
}

void man_command(const struct program *p, const struct command *c, FILE *f)
{
    char name[128];
    snprintf(name, sizeof name, "%s-%s", p->name, c->name);
    title(name, p->name, c->summary, f);
    usage(p, c, f);
    if (c->details) {
        fputs(".SH DESCRIPTION\n", f);
        words(f, c->details);
    }
    options(c, f);
    environment(f);
    for (const struct file_note *n = c->files; n && n->name; n++) {
        if (n == c->files)
            fputs(".SH FILES\n", f);
        item(f, n->name, n->what);
    }
    fputs(".SH EXAMPLES\n.EX\n", f);
    for (int i = 0; i < ARRAY_LEN(c->examples); i++)
        line(f, c->examples[i]);
    fprintf(f, ".EE\n.SH SEE ALSO\n.BR %s (1)", p->name);
    for (int i = 0; i < p->n_commands; i++)
        if (p->commands[i] != c)
            fprintf(f, ",\n.BR %s-%s (1)", p->name, p->commands[i]->name);
    fputc('\n', f);
}

void man_program(const struct program *p, FILE *f)
{
    char text[256];
    title(p->name, "ambit", p->summary, f);
    fprintf(f, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[options] [operands]\n.SH COMMANDS\n", p->name);
    for (int i = 0; i < p->n_commands; i++) {
        const char *alias = command_alias(p, p->commands[i]);
        snprintf(text, sizeof text, "%s%s%s", p->commands[i]->summary, alias ? "; also called " : "",
                 alias ? alias : "");
        item(f, p->commands[i]->name, text);
    }
    item(f, "help COMMAND", "options of a command, also COMMAND --help");
    item(f, "man [COMMAND]", "the manual page, as roff");
    item(f, "completion SHELL", "completion for bash, zsh or fish");
    item(f, "--version", "version, commit, build options, libraries");
    environment(f);
    fputs(".SH SEE ALSO\n", f);
    for (int i = 0; i < p->n_commands; i++)
        fprintf(f, ".BR %s-%s (1)%s\n", p->name, p->commands[i]->name, i + 1 < p->n_commands ? "," : "");
}
