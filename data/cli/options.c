#include "data/cli/options.h"

#include "data/cli/options_impl.h"
#include "data/util/build.h"
#include "data/util/log.h"
#include "data/util/startup.h"
#include "data/util/stop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command *find_command(const struct program *p, const char *name)
{
    for (const struct alias *a = p->aliases; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            name = a->command;
    for (int i = 0; i < p->n_commands; i++)
        if (strcmp(p->commands[i]->name, name) == 0)
            return p->commands[i];
    return NULL;
}

const char *command_alias(const struct program *p, const struct command *c)
{
    for (const struct alias *a = p->aliases; a && a->name; a++)
        if (strcmp(a->command, c->name) == 0)
            return a->name;
    return NULL;
}

static int unknown_command(const struct program *p, const char *name)
{
    struct nearest best = { 0 };
    for (int i = 0; i < p->n_commands; i++)
        nearest_try(&best, name, p->commands[i]->name);
    for (const struct alias *a = p->aliases; a && a->name; a++)
        nearest_try(&best, name, a->name);
    if (best.word)
        log_error("%s: unknown command '%.100s', did you mean '%s'?", p->name, name, best.word);
    else
        log_error("%s: unknown command '%.100s', see %s --help", p->name, name, p->name);
    return EXIT_CODE_USAGE;
}

/* Prints the page of the program, or of the command that is named. */
static int print_page(const struct program *p, const char *name, void (*whole)(const struct program *, FILE *),
                      void (*one)(const struct program *, const struct command *, FILE *))
{
    const struct command *c = name ? find_command(p, name) : NULL;
    if (name && !c)
        return unknown_command(p, name);
    if (c)
        one(p, c, stdout);
    else
        whole(p, stdout);
    return EXIT_CODE_OK;
}

static int print_completion(const struct program *p, const char *shell)
{
    static const struct {
        const char *name;
        void (*write)(const struct program *, FILE *);
    } shells[] = { { "bash", completion_bash }, { "zsh", completion_zsh }, { "fish", completion_fish } };
    for (int i = 0; shell && i < ARRAY_LEN(shells); i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].write(p, stdout);
            return EXIT_CODE_OK;
        }
    log_error("%s completion: expected bash, zsh or fish, got '%.100s'", p->name, shell ? shell : "");
    return EXIT_CODE_USAGE;
}

static int print_version(const struct program *p)
{
    printf("%s %s (commit %s)\n%s\n", p->name, build_version(), build_commit(), build_summary());
    return EXIT_CODE_OK;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The words every program knows. */
static int builtin(const struct program *p, int argc, char **argv)
{
    const char *word = argv[1], *next = argc > 2 ? argv[2] : NULL;
    if (is_help(word))
        return print_page(p, NULL, help_program, help_command);
    if (strcmp(word, "help") == 0)
        return print_page(p, next && is_help(next) ? NULL : next, help_program, help_command);
    if (strcmp(word, "--version") == 0)
        return print_version(p);
    if (strcmp(word, "man") == 0)
        return print_page(p, next, man_program, man_command);
    if (strcmp(word, "completion") == 0)
        return print_completion(p, next);
    if (word[0] == '-') {
        log_error("%s: %.100s: the command comes first, see %s --help", p->name, word, p->name);
        return EXIT_CODE_USAGE;
    }
    return unknown_command(p, word);
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i]))
            return true;
    return false;
}

/* Of a run that goes on all but its folder. */
static bool may_be_kept(const struct command *c, const struct command_line *line, const struct option *o)
{
    return c->keeps_settings && !o->writes && options_resume(c, line);
}

static int check_complete(const struct command *c, const struct command_line *line, struct error *err)
{
    char shown[128];
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].required && !line->seen[i] && !may_be_kept(c, line, &c->options[i])) {
            option_usage(&c->options[i], shown, sizeof shown);
            return error_set(err, EXIT_CODE_USAGE, "%s is required", shown);
        }
    if (line->n_operands < c->min_operands)
        return error_set(err, EXIT_CODE_USAGE, "expected %s", c->operands);
    if (line->n_operands > c->max_operands)
        return error_set(err, EXIT_CODE_USAGE, "'%.200s' is one operand too many", line->argv[c->max_operands]);
    for (int i = 0; i < line->n_operands; i++)
        if (options_check_operand(c, line->argv[i], err))
            return -1;
    return 0;
}

/* The value of the option of that type, NULL when there is none. */
static const char *source_of(const struct command *c, const void *settings, enum option_type type)
{
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].type == type)
            return *(const char *const *)((const char *)settings + c->options[i].offset);
    return NULL;
}

static int read_preset(const struct command *c, struct command_line *line, struct texts *texts, struct error *err)
{
    const char *name = source_of(c, line->settings, OPTION_PRESET);
    const struct preset *p = c->presets;

    if (!name)
        return 0;
    while (p->name && strcmp(p->name, name))
        p++;
    CHECK(p->name, "preset %s has no text", name);
    return yaml_read_text(name, p->text, strlen(p->text), c->options, line->settings, line->seen, texts, err);
}

/* Defaults, then a preset, then the config file, then the command line. */
static int read_settings(const struct command *c, struct command_line *line, struct texts *texts, struct error *err)
{
    if (c->defaults)
        memcpy(line->settings, c->defaults, c->size);
    if (options_parse(c->options, line, true, err))
        return -1;
    const char *path = source_of(c, line->settings, OPTION_CONFIG);
    if (read_preset(c, line, texts, err))
        return -1;
    if (path && yaml_read(path, c->options, line->settings, line->seen, texts, err))
        return -1;
    if (options_parse(c->options, line, false, err))
        return -1;
    if (check_complete(c, line, err) || options_check_endings(c, line, err) || options_name_shard(c, line, texts, err))
        return -1;
    return options_check_outputs(c, line, err);
}

static int run_command(const struct program *p, const struct command *c, int argc, char **argv)
{
    struct error err = { .code = EXIT_CODE_FAILURE };
    struct command_line line = { .argv = argv, .argc = argc };
    struct texts texts = { 0 };
    enum exit_code rc;

    line.settings = xcalloc(1, c->size);
    line.seen = xcalloc((size_t)option_count(c->options), sizeof *line.seen);
    bool ready = read_settings(c, &line, &texts, &err) == 0 && common_obey(c, line.settings, &err) == 0;
    rc = ready ? options_run(c, &line, p->name, &err) : err.code;
    if (rc != EXIT_CODE_OK && rc != EXIT_CODE_RECORDS && *err.text)
        log_error("%s %s: %s", p->name, c->name, err.text);
    if (!ready)
        log_error("see %s help %s", p->name, c->name);
    free(line.settings);
    free(line.seen);
    texts_release(&texts);
    return (int)rc;
}

/* Pages and results that did not reach standard output are a failure, whatever wrote them. */
static int finish(const struct program *p, int rc)
{
    bool bad = ferror(stdout) != 0;
    if (fclose(stdout) == 0 && !bad)
        return rc;
    log_error("%s: cannot write to standard output", p->name);
    return rc == EXIT_CODE_OK ? EXIT_CODE_FAILURE : rc;
}

enum exit_code usage_error(struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_set(err, EXIT_CODE_USAGE, "%s", text);
    return EXIT_CODE_USAGE;
}

enum exit_code job_exit_code(int rc, int64_t failed, const struct error *err)
{
    if (rc)
        return rc < 0 ? err->code : stop_exit_code();
    return failed ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}

static int run_program(const struct program *p, int argc, char **argv)
{
    struct error err;

    if (argc < 2) {
        help_program(p, stderr);
        return EXIT_CODE_USAGE;
    }
    const struct command *c = find_command(p, argv[1]);
    if (!c)
        return builtin(p, argc, argv);
    if (asks_help(argc - 2, argv + 2))
        return print_page(p, c->name, help_program, help_command);
    base_warn = log_warn;
    if (log_check_environment(&err) == 0 && threads_check_environment(&err) == 0)
        return run_command(p, c, argc - 2, argv + 2);
    log_error("%s", err.text);
    return EXIT_CODE_USAGE;
}

int program_main(const struct program *p, int argc, char **argv)
{
    struct program whole = program_extend(p);
    int rc = run_program(&whole, argc, argv);

    program_release(&whole);
    return finish(p, rc);
}
