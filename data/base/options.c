#include "data/base/options.h"

#include "data/base/build.h"
#include "data/base/compression.h"
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/option_pages.h"
#include "data/base/option_parse.h"
#include "data/base/option_rows.h"
#include "data/base/record_reader.h"
#include "data/base/shard.h"
#include "data/base/startup.h"
#include "data/base/stop.h"
#include "data/base/table_writer.h"
#include "data/base/whole_file.h"
#include "data/base/yaml.h"
#include "kernels/module_path.h"

#include <ctype.h>
#include <fts.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Options that every command has in addition to its table. */

struct common_settings {
    bool quiet, verbose;
    int64_t threads; /* 0: not set */
};

#define AT(field) offsetof(struct common_settings, field)

static const struct option common_table[] = {
    FLAG_OPTION("quiet", AT(quiet), "log errors only", .group = "general"),
    FLAG_OPTION("verbose", AT(verbose), "log details too"),
    INT_OPTION("threads", AT(threads), "N", 1, THREADS_MAX, "number of CPU threads (default: OMP_NUM_THREADS)"),
};

static size_t aligned(size_t size)
{
    return (size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

/* A copy of command c with the common options; their settings are behind those of c. */
static struct command *extend(const struct command *c)
{
    struct command *made = xmalloc(sizeof *made);
    size_t own = (size_t)option_count(c->options);
    size_t at = aligned(c->size);
    struct option *options = xcalloc(own + ARRAY_LEN(common_table) + 1, sizeof *options);
    char *defaults = xcalloc(1, at + sizeof(struct common_settings));

    if (own)
        memcpy(options, c->options, own * sizeof *options);
    memcpy(options + own, common_table, sizeof common_table);
    for (size_t i = own; i < own + ARRAY_LEN(common_table); i++)
        options[i].offset += at;
    if (c->defaults)
        memcpy(defaults, c->defaults, c->size);
    *made = *c;
    made->options = options;
    made->defaults = defaults;
    made->size = at + sizeof(struct common_settings);
    return made;
}

static void discard(const void *made)
{
    free((void *)(uintptr_t)made);
}

static int count_modes(const struct command *c)
{
    int n = 0;
    while (c->modes && c->modes[n])
        n++;
    return n;
}

/* The number of modes that have the option. */
static int modes_with(const struct command *c, const char *name)
{
    int n = 0;
    for (int i = 0; i < count_modes(c); i++)
        n += option_find(c->modes[i]->options, name, strlen(name)) >= 0;
    return n;
}

/* Adds the options of a mode that are its own, or those of several modes that are not in the table yet. */
static void add_mode_options(struct option *table, const struct command *c, const struct command *mode, size_t at,
                             bool own)
{
    int n = option_count(table), first = n;

    for (const struct option *o = mode->options; o && o->name; o++) {
        if ((modes_with(c, o->name) == 1) != own || option_find(table, o->name, strlen(o->name)) >= 0)
            continue;
        table[n] = *o;
        table[n].offset += at;
        table[n].required = false;
        table[n].group = n == first && (own || n == 0) ? (own ? mode->name : "several modes") : NULL;
        n++;
    }
}

/* One table of all modes, for the pages; the settings of the modes follow each other.  The caller frees options and
 * defaults. */
static struct command merge_modes(const struct command *c)
{
    struct command all = *c;
    size_t options = 1;

    for (int i = 0; i < count_modes(c); i++) {
        options += (size_t)option_count(c->modes[i]->options);
        all.size += aligned(c->modes[i]->size);
    }
    struct option *table = xcalloc(options, sizeof *table);
    char *defaults = xcalloc(1, all.size);
    for (int own = 0; own < 2; own++)
        for (size_t i = 0, at = 0; c->modes[i]; at += aligned(c->modes[i++]->size)) {
            add_mode_options(table, c, c->modes[i], at, own);
            memcpy(defaults + at, c->modes[i]->defaults, c->modes[i]->size);
        }
    all.options = table;
    all.defaults = defaults;
    return all;
}

/* Copies of the modes, whose names begin with that of the command: "infilling annotate". */
static const struct command **extend_modes(const struct command *c)
{
    const struct command **made = xcalloc((size_t)count_modes(c) + 1, sizeof *made);

    for (int i = 0; i < count_modes(c); i++) {
        struct command *mode = extend(c->modes[i]);
        char *name = NULL;
        CHECK(asprintf(&name, "%s %s", c->name, mode->name) >= 0, "no memory for a name");
        mode->name = name;
        made[i] = mode;
    }
    return made;
}

static struct command *extend_all(const struct command *c)
{
    if (!c->modes)
        return extend(c);
    struct command all = merge_modes(c), *made = extend(&all);
    discard(all.options);
    discard(all.defaults);
    made->modes = extend_modes(c);
    return made;
}

/* A copy of the program with the common options; program_release frees it. */
static struct program program_extend(const struct program *p)
{
    const struct command **commands = xcalloc((size_t)p->n_commands + 1, sizeof *commands);
    struct program made = *p;

    for (int i = 0; i < p->n_commands; i++)
        commands[i] = extend_all(p->commands[i]);
    made.commands = commands;
    return made;
}

static void release_extended(const struct command *c)
{
    for (int i = 0; i < count_modes(c); i++) {
        discard(c->modes[i]->name);
        release_extended(c->modes[i]);
    }
    discard(c->modes);
    discard(c->options);
    discard(c->defaults);
    discard(c);
}

static void program_release(struct program *p)
{
    for (int i = 0; i < p->n_commands; i++)
        release_extended(p->commands[i]);
    discard(p->commands);
}

/* Applies the common settings of an extended command. */
static int common_obey(const struct command *c, const void *settings, struct error *err)
{
    struct common_settings s;

    memcpy(&s, (const char *)settings + c->size - sizeof s, sizeof s);
    if (s.quiet && s.verbose)
        return error_set(err, EXIT_CODE_USAGE, "--quiet and --verbose cannot be used together");
    if (s.quiet || s.verbose)
        log_set_level(s.quiet ? LOG_ERROR : LOG_DEBUG);
    if (s.threads)
        threads_set((int)s.threads);
    return 0;
}

/* Operands that are a text although a file is expected. */

/* Whether the word starts with SELECT or WITH and continues.  A question may start so too, but not in capitals. */
static bool is_statement(const char *word, bool capitals)
{
    static const char *const starts[] = { "SELECT", "WITH" };

    word += strspn(word, " \t\r\n(");
    for (int i = 0; i < ARRAY_LEN(starts); i++) {
        size_t n = strlen(starts[i]);
        if ((capitals ? strncmp : strncasecmp)(word, starts[i], n) == 0 && isspace((unsigned char)word[n]))
            return true;
    }
    return false;
}

/* Whether the word is a text: it has blanks, and its name is not that of a file of records. */
static bool is_text(const char *word)
{
    static const char *const ends[] = { ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt" };

    for (int i = 0; i < ARRAY_LEN(ends); i++)
        if (record_file_ends(word, ends[i]))
            return false;
    return strpbrk(word, " \t\n") && access(word, F_OK) != 0;
}

/* If the command has --question and the only operand is a question, the operand becomes the value of that option. */
static void take_question(const struct command *c, struct command_line *line)
{
    int i = option_find(c->options, "question", strlen("question"));

    if (i < 0 || line->seen[i] || line->n_operands != 1 || !is_text(line->argv[0]) || is_statement(line->argv[0], true))
        return;
    *(const char **)((char *)line->settings + c->options[i].offset) = line->argv[0];
    line->seen[i] = true;
    line->n_operands = 0;
}

/* -1 with EXIT_CODE_USAGE if the word is a question or a statement, and no such file exists. */
static int options_check_operand(const struct command *c, const char *word, struct error *err)
{
    bool statement = is_statement(word, false);
    const char *way = statement ? "its lines are {\"sql\": \"...\"}" : "it has a JSON object in each line";

    if (!strstr(c->operands, ".json") || (!statement && !is_text(word)) || access(word, F_OK) == 0)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "expected a file, %s, got \"%.200s\"; %s", c->operands, word, way);
}

/* Checks of outputs: no command overwrites its inputs, and names match the formats that are written. */

/* A path that the command will write, and the file that exists there. */
struct written_path {
    const struct option *option;
    const char *path;
    struct stat st;
    int levels; /* levels of an input folder to search for it */
};

/* Whether the name is that of a result, which no command reads from a folder.  A result may be replaced in the folder
 * of a model or of databases. */
static bool is_result(const char *name)
{
    static const char *const ends[] = { ".jsonl", ".html", ".gguf" };

    for (int i = 0; i < ARRAY_LEN(ends); i++)
        if (record_file_ends(name, ends[i]))
            return true;
    return false;
}

static bool is_file_of(const FTSENT *e, const struct stat *st)
{
    return e->fts_info == FTS_F && e->fts_statp->st_dev == st->st_dev && e->fts_statp->st_ino == st->st_ino;
}

/* Whether the folder contains the file of the output, under any name. */
static bool folder_holds(const char *folder, const struct written_path *o)
{
    char *copy = xstrdup(folder), *paths[] = { copy, NULL };
    FTS *walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    bool found = false;

    for (FTSENT *e; walk && !found && (e = fts_read(walk));) {
        found = is_file_of(e, &o->st) && (o->levels == 1 || !is_result(e->fts_name));
        if (e->fts_level >= o->levels)
            fts_set(walk, e, FTS_SKIP);
    }
    if (walk)
        fts_close(walk);
    free(copy);
    return found;
}

static int check_input(const struct written_path *o, const char *input, const char *dashes, const char *name,
                       struct error *err)
{
    struct stat st;

    if (strcmp(input, "-") == 0 || stat(input, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return 0;
    bool same = st.st_dev == o->st.st_dev && st.st_ino == o->st.st_ino;
    if (!same && !(S_ISDIR(st.st_mode) && S_ISREG(o->st.st_mode) && folder_holds(input, o)))
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "--%s: %s is an input of this command (%s%s); choose another %s",
                     o->option->name, o->path, dashes, name, S_ISDIR(o->st.st_mode) ? "folder" : "file");
}

/* Whether --resume was given. */
static bool options_resume(const struct command *c, const struct command_line *line)
{
    int i = option_find(c->options, "resume", strlen("resume"));

    return i >= 0 && *(const bool *)((const char *)line->settings + c->options[i].offset);
}

/* The input path that an option names, or NULL.  A resumed run finds its settings in its output folder, so its config
 * file does not count as input. */
static const char *input_of(const struct command *c, const struct command_line *line, const struct option *in,
                            const struct option *out)
{
    bool config = in->type == OPTION_CONFIG && !options_resume(c, line);

    if (out->continues && strcmp(out->continues, in->name) == 0)
        return NULL;
    if (config || option_reads(in))
        return *(const char *const *)((const char *)line->settings + in->offset);
    return NULL;
}

/* A missing file, or one that is not regular such as a terminal, cannot be overwritten. */
static int check_output(const struct command *c, const struct command_line *line, struct written_path *o,
                        struct error *err)
{
    if (stat(o->path, &o->st) || (!S_ISREG(o->st.st_mode) && !S_ISDIR(o->st.st_mode)))
        return 0;
    for (int i = 0; i < line->n_operands; i++)
        if (check_input(o, line->argv[i], "", c->operands, err))
            return -1;
    for (int i = 0; i < option_count(c->options); i++) {
        const char *input = input_of(c, line, &c->options[i], o->option);
        if (input && check_input(o, input, "--", c->options[i].name, err))
            return -1;
    }
    return 0;
}

/* Checks the files that the notes of the command name in the folder: "DIR/a.json, DIR/b.json". */
static int check_folder_files(const struct command *c, const struct command_line *line, const struct option *out,
                              const char *folder, struct error *err)
{
    char path[PATH_MAX];
    int rc = 0;

    for (const struct file_note *note = c->files; note && note->name && rc == 0; note++)
        for (const char *at = note->name; rc == 0 && (at = strstr(at, "DIR/"));) {
            at += strlen("DIR/");
            struct written_path o = { .option = out, .path = path, .levels = 1 };
            if (snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(at, ","), at) < (int)sizeof path)
                rc = check_output(c, line, &o, err);
        }
    return rc;
}

/* Checks the output and the temporary files through which it is written. */
static int check_path(const struct command *c, const struct command_line *line, const struct option *out,
                      const char *value, struct error *err)
{
    static const char *const ends[] = { "", ".tmp", ".part" };
    char path[PATH_MAX];
    char *real = realpath(value, NULL);
    int rc = 0;

    for (int i = 0; i < ARRAY_LEN(ends) && rc == 0; i++) {
        struct written_path o = { .option = out, .path = path, .levels = INT_MAX };
        if (snprintf(path, sizeof path, "%s%s", i && real ? real : value, ends[i]) < (int)sizeof path)
            rc = check_output(c, line, &o, err);
    }
    free(real);
    return rc ? rc : check_folder_files(c, line, out, value, err);
}

/* The value of an output option; NULL for other options. */
static const char *output_of(const struct command_line *line, const struct option *o)
{
    return o->writes ? *(const char *const *)((const char *)line->settings + o->offset) : NULL;
}

/* The resolved path of a file or folder, or of the place where it would be created.  The caller frees it. */
static char *own_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = strndup(slash ? path : ".", slash ? (size_t)(name - path) : 1);
    char *real = realpath(path, NULL), *above = real ? NULL : realpath(folder, NULL);

    if (above)
        CHECK(asprintf(&real, "%s/%s", above, name) >= 0, "no memory for a path");
    free(folder);
    free(above);
    return real ? real : xstrdup(path);
}

/* Checks that no output option before option i has the same path. */
static int check_others(const struct command *c, const struct command_line *line, int i, struct error *err)
{
    char *own = own_path(output_of(line, &c->options[i]));
    int rc = 0;

    for (int k = 0; k < i && rc == 0; k++) {
        const char *other = output_of(line, &c->options[k]);
        char *path = other ? own_path(other) : NULL;
        if (path && strcmp(path, own) == 0)
            rc = error_set(err, EXIT_CODE_USAGE, "--%s: %s is also the output of --%s; choose another name",
                           c->options[i].name, output_of(line, &c->options[i]), c->options[k].name);
        free(path);
    }
    free(own);
    return rc;
}

/* Whether the word is one of `words`, which are separated by |. */
static bool lists(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == n && memcmp(at, word, n) == 0)
            return true;
    return false;
}

enum { ENDING_TEXT = 32 }; /* size of the text of an ending; longer ones are cut */

/* Endings of files of records and of texts, besides .jsonl. */
#define RECORD_ENDINGS "ndjson|json|txt|out|prompts|answers"

/* The ending of a name without .gz, .xz or .zst: letters and digits behind the last dot.  Returns NULL if there is
 * none; numbers such as that of 1.5 or 2-of-3 are none. */
static const char *ending_of(const char *path, char text[ENDING_TEXT])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int n = (int)(strlen(name) - strlen(coding_ending(coding_of_name(path))));
    int from = n, letters = 0;

    while (from > 0 && isalnum((unsigned char)name[from - 1]))
        letters += isalpha((unsigned char)name[--from]) != 0;
    if (from < 2 || name[from - 1] != '.' || !letters)
        return NULL;
    snprintf(text, ENDING_TEXT, ".%.*s", n - from, name + from);
    return text;
}

/* Whether one of the names in the value of an option, such as OUT.jsonl|OUT.csv, has this ending. */
static bool value_has(const char *value, const char *ending)
{
    for (const char *at = value; (at = strstr(at, ending)); at++)
        if (at[strlen(ending)] == '|' || !at[strlen(ending)])
            return true;
    return false;
}

/* Whether the option writes records: its value names JSONL or no ending at all. */
static bool writes_records(const struct option *o)
{
    return !strchr(o->value, '.') || value_has(o->value, ".jsonl");
}

static bool is_written(const struct option *o, const char *ending)
{
    if (value_has(o->value, ending) || (o->formats && lists(o->formats, ending + 1)) ||
        (o->endings && lists(o->endings, ending + 1)))
        return true;
    return writes_records(o) && (strcmp(ending, ".jsonl") == 0 || lists(RECORD_ENDINGS, ending + 1));
}

/* Whether the value is a path with an ending that the option writes, or with none.  Pipes and devices need none. */
static bool is_known(const struct option *o, const char *path, char text[ENDING_TEXT])
{
    const char *ending = ending_of(path, text);
    struct stat st;

    return !ending || is_written(o, ending) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static int unknown_ending(const struct option *o, const char *path, const char *ending, struct error *err)
{
    return error_set(err, EXIT_CODE_USAGE,
                     "--%s: %s: cannot write %s; expected %s%s, or no ending; .gz, .xz or .zst after it compress",
                     o->name, path, ending, strchr(o->value, '.') ? o->value : "OUT.jsonl",
                     writes_records(o) ? ", .ndjson, .json, .txt, .out, .prompts or .answers" : "");
}

static int check_ending(const struct option *o, const char *path, struct error *err)
{
    const struct coding *coding = coding_of_name(path);
    char ending[ENDING_TEXT];

    if (!is_known(o, path, ending))
        return unknown_ending(o, path, ending, err);
    if (coding && !text_encoder_has(coding))
        return error_set(err, EXIT_CODE_USAGE, "--%s: %s: this build has no %s; expected .gz or .xz", o->name, path,
                         coding_name(coding));
    return 0;
}

/* If the name of the output ends in one of its formats, sets --format to it.  -1 if --format is another one. */
static int choose_format(const struct command *c, const struct command_line *line, const struct option *o,
                         const char *path, struct error *err)
{
    int i = option_find(c->options, "format", strlen("format"));
    int ending = o->formats ? format_of_ending(o->formats, path) : -1;
    char given[32], named[32];

    if (ending < 0)
        return 0;
    int *format = (int *)((char *)line->settings + c->options[i].offset);
    if (!line->seen[i] || *format == ending) {
        *format = ending;
        return 0;
    }
    option_show(&c->options[i], line->settings, given, sizeof given);
    *format = ending;
    option_show(&c->options[i], line->settings, named, sizeof named);
    return error_set(err, EXIT_CODE_USAGE, "--format %s and the ending of %s, which means %s, cannot be used together",
                     given, path, named);
}

/* Chooses formats by the endings of outputs.  -1 with EXIT_CODE_USAGE if an ending is not one that the option writes.
 */
static int options_check_endings(const struct command *c, const struct command_line *line, struct error *err)
{
    for (const struct option *o = c->options; o->name; o++) {
        const char *value = output_of(line, o);
        bool file = o->value && (strstr(o->value, "FILE") || strchr(o->value, '.'));
        if (value && file && (check_ending(o, value, err) || choose_format(c, line, o, value, err)))
            return -1;
    }
    return 0;
}

/* -1 with EXIT_CODE_USAGE if an output is the same file as an operand or as the path of another option. */
static int options_check_outputs(const struct command *c, const struct command_line *line, struct error *err)
{
    for (int i = 0; i < option_count(c->options); i++) {
        const char *value = output_of(line, &c->options[i]);
        if (value && (check_others(c, line, i, err) ||
                      (strcmp(value, "-") != 0 && check_path(c, line, &c->options[i], value, err))))
            return -1;
    }
    return 0;
}

/* Commands that process a shard of their records.  The command itself only reads its range. */

/* A shard in progress. */
struct shard_work {
    const char *records, *out;  /* paths */
    char *manifest;             /* path of the manifest */
    int lock;                   /* -1: not locked */
    struct shard_manifest done; /* the manifest to write at the end */
};

static void *field_of(const struct option *o, void *settings)
{
    return (char *)settings + o->offset;
}

static const struct option *find_option(const struct command *c, const char *name)
{
    int i = option_find(c->options, name, strlen(name));

    return i < 0 ? NULL : &c->options[i];
}

/* The shard option if its value names a shard; otherwise NULL. */
static const struct option *shard_option(const struct command *c, void *settings)
{
    const struct option *o = find_option(c, "shard");

    return o && o->type == OPTION_SHARD && ((struct shard *)field_of(o, settings))->count ? o : NULL;
}

/* The path of the records; NULL if none is given. */
static const char *records_path(const struct command *c, const struct command_line *line, const struct option *shard)
{
    if (shard->records)
        return *(const char *const *)field_of(find_option(c, shard->records), line->settings);
    return line->n_operands ? line->argv[0] : NULL;
}

/* Refuses outputs other than one line for each record. */
static int check_shard_outputs(const struct command *c, void *settings, struct error *err)
{
    const struct option *dry = find_option(c, "dry-run"), *format = find_option(c, "format");
    char text[32] = "";

    if (format)
        option_show(format, settings, text, sizeof text);
    if (strcmp(text, "csv") == 0 || strcmp(text, "html") == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--shard: expected --format jsonl or text, got %s, whose head stands once", text);
    if (dry && *(const bool *)field_of(dry, settings))
        return error_set(err, EXIT_CODE_USAGE, "--shard and --dry-run cannot be used together");
    for (const struct option *o = c->options; o->name; o++)
        if (o->writes && strcmp(o->name, "out") != 0 && *(const char **)field_of(o, settings))
            return error_set(err, EXIT_CODE_USAGE, "--shard and --%s cannot be used together", o->name);
    return 0;
}

/* If the command line names a shard, names the output after it.  `texts` owns the new name. */
static int options_name_shard(const struct command *c, struct command_line *line, struct texts *texts,
                              struct error *err)
{
    const struct option *o = shard_option(c, line->settings);
    const struct shard *s = o ? field_of(o, line->settings) : NULL;
    const char *records = o ? records_path(c, line, o) : NULL;

    if (!o)
        return 0;
    const char **out = field_of(find_option(c, "out"), line->settings);
    if (strcmp(*out, "-") == 0)
        return error_set(err, EXIT_CODE_USAGE, "--shard: expected --out FILE, got standard output");
    if (!records || strcmp(records, "-") == 0)
        return error_set(err, EXIT_CODE_USAGE, "--shard: expected a file of records, since it is read twice");
    if (check_shard_outputs(c, line->settings, err))
        return -1;
    char *path = shard_path(*out, s->index, s->count);
    *out = texts_add(texts, path);
    free(path);
    return 0;
}

static int count_records(const char *path, enum record_format format, int64_t *n, struct error *err)
{
    struct record_reader *in = record_reader_open(path, format, err);
    int rc = in ? 1 : -1;

    while (rc) {
        rc = in ? record_reader_skip(in, err) : -1;
        if (rc < 0 && (!in || record_reader_failed(in)))
            break;
    }
    *n = in ? record_reader_place(in) : 0;
    record_reader_close(in);
    return rc;
}

/* {"records", "hash"} of an input file, which must be regular to be read twice; NULL with err. */
static json_t *input_json(const char *path, enum record_format format, struct error *err)
{
    FILE *f = whole_file_open(path, DATABASE_MAX_BYTES, err);
    int64_t records;
    char text[24];

    if (!f)
        return NULL;
    fclose(f);
    if (count_records(path, format, &records, err))
        return NULL;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash_file(path));
    return json_pack("{s:I, s:s}", "records", records, "hash", text);
}

/* Whether the option must be equal in all shards and all starts of a shard. */
static bool is_setting(const struct option *o, const struct option *shard)
{
    static const char *const others[] = { "resume", "quiet", "verbose", "threads" };
    bool input = shard->records && strcmp(o->name, shard->records) == 0;

    for (int i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(o->name, others[i]) == 0)
            return false;
    return o != shard && !o->writes && !input && !option_is_source(o);
}

static json_t *setting_json(const struct option *o, const void *settings)
{
    char text[64];

    if (o->type == OPTION_STRING || o->type == OPTION_WORD) {
        const char *value = *(const char *const *)((const char *)settings + o->offset);
        return json_message(value ? value : "");
    }
    option_show(o, settings, text, sizeof text);
    return json_string(text);
}

static json_t *sample_json(const struct option *o, const void *settings)
{
    const char *path = *(const char *const *)((const char *)settings + o->offset);
    char text[24];

    if (!path)
        return NULL;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)shard_sample(path));
    return json_string(text);
}

/* The run as shard.h describes it.  Takes ownership of the input. */
static json_t *run_json(const struct command *c, const void *settings, const struct option *shard, const char *program,
                        json_t *input)
{
    json_t *values = json_object(), *files = json_object();

    for (const struct option *o = c->options; o->name; o++) {
        const bool read = option_reads(o);
        if (is_setting(o, shard))
            json_object_set_new(read ? files : values, o->name,
                                read ? sample_json(o, settings) : setting_json(o, settings));
    }
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "command", json_sprintf("%s %s", program, c->name), "version",
                     build_version(), "input", input, "settings", values, "files", files);
}

/* Determines the range of the shard and locks its manifest. */
static int begin_shard(struct shard_work *w, const struct command *c, struct command_line *line, const char *program,
                       struct error *err)
{
    const struct option *o = find_option(c, "shard"), *form = find_option(c, "format-in");
    struct shard *s = field_of(o, line->settings);

    w->records = records_path(c, line, o);
    w->out = *(const char *const *)field_of(find_option(c, "out"), line->settings);
    CHECK(asprintf(&w->manifest, "%s.shard", w->out) >= 0, "no memory for a name");
    json_t *input = input_json(w->records, *(const enum record_format *)field_of(form, line->settings), err);
    if (!input)
        return -1;
    int64_t records = json_integer_value(json_object_get(input, "records"));
    shard_cut(s, records, (int64_t)o->low);
    w->done = (struct shard_manifest){ .shard = *s, .run = run_json(c, line->settings, o, program, input) };
    log_info("shard %d of %d: %lld of %lld records, from record %lld", s->index, s->count,
             (long long)(s->range.end - s->range.first), (long long)records, (long long)s->range.first + 1);
    return (w->lock = shard_manifest_lock(w->manifest, err)) < 0 ? -1 : 0;
}

/* Whether an earlier start completed this shard. */
static bool is_done(const struct shard_work *w, bool *failed)
{
    struct shard_manifest m = { 0 };
    struct stat st;
    struct error err;
    bool done = stat(w->manifest, &st) == 0 && st.st_size > 0 && shard_manifest_parse(&m, w->manifest, &err) == 0 &&
                json_equal(m.run, w->done.run) && m.shard.index == w->done.shard.index &&
                m.shard.count == w->done.shard.count && stat(w->out, &st) == 0 && st.st_size == m.bytes &&
                hash_file(w->out) == m.hash;

    *failed = m.failed;
    shard_manifest_release(&m);
    return done;
}

/* Writes the manifest for the completed output. */
static int finish_shard(struct shard_work *w, bool failed, struct error *err)
{
    struct stat st;

    if (stat(w->out, &st))
        return error_set(err, EXIT_CODE_FAILURE, "%s: expected the output of the command, got nothing", w->out);
    w->done.bytes = st.st_size;
    w->done.hash = hash_file(w->out);
    w->done.failed = failed;
    return shard_manifest_write(w->manifest, &w->done, err);
}

/* Releases the lock.  An empty manifest is kept if the command started. */
static void end_shard(struct shard_work *w, bool started)
{
    struct stat st;

    if (w->lock >= 0 && !started && fstat(w->lock, &st) == 0 && st.st_size == 0)
        unlink(w->manifest);
    if (w->lock >= 0)
        close(w->lock);
    shard_manifest_release(&w->done);
    free(w->manifest);
}

static enum exit_code run_shard(const struct command *c, struct command_line *line, const char *program,
                                struct error *err)
{
    struct shard_work w = { .lock = -1 };
    bool failed = false;
    enum exit_code rc;

    if (begin_shard(&w, c, line, program, err)) {
        rc = err->code;
    } else if (options_resume(c, line) && is_done(&w, &failed)) {
        log_info("%s: already complete", w.out);
        rc = failed ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
    } else {
        rc = c->run(&(struct call){ line->settings, line->seen, line->argv, line->n_operands }, err);
        if ((rc == EXIT_CODE_OK || rc == EXIT_CODE_RECORDS) && finish_shard(&w, rc == EXIT_CODE_RECORDS, err))
            rc = err->code;
    }
    end_shard(&w, rc != EXIT_CODE_USAGE);
    return rc;
}

/* Runs the command.  For a shard, determines its range, locks its manifest and writes it at the end. */
static enum exit_code options_run(const struct command *c, struct command_line *line, const char *program,
                                  struct error *err)
{
    if (shard_option(c, line->settings))
        return run_shard(c, line, program, err);
    return c->run(&(struct call){ line->settings, line->seen, line->argv, line->n_operands }, err);
}

/* Programs. */

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

/* The commands of all programs.  A user who asks the wrong program is sent to the right one. */
static const struct {
    const char *program, *commands;
} all_programs[] = {
    { "ambit-infer", "detect|tag|parse|clarify|ask|infill|generate|loss" },
    { "ambit-train",
      "ablate|adapt|gatekeeper|infill|reward|seq2seq|tag|triage|words|evaluate|tokenizer|export|doctor|inspect" },
    { "ambit-data",
      "ambiguate|calibrate|candidates|contrast|counterfactual|execute|infilling|join|memory|natural|noisysp|plans|"
      "practice|probe|score|split|sql|triage" },
};

/* Writes the programs that have a command of this name, as in "ambit-infer tag or ambit-train tag". */
static void programs_of(char *text, size_t size, const char *name)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < ARRAY_LEN(all_programs) && n < size; i++)
        if (lists(all_programs[i].commands, name))
            n += (size_t)snprintf(text + n, size - n, "%s%s %s", n ? " or " : "", all_programs[i].program, name);
}

static int unknown_command(const struct program *p, const char *name)
{
    struct nearest best = { 0 };
    char others[200];

    programs_of(others, sizeof others, name);
    if (others[0]) {
        log_error("%s: unknown command '%.100s', did you mean %s?", p->name, name, others);
        return EXIT_CODE_USAGE;
    }
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

/* The mode of a command that the word chooses, or NULL. */
static const struct command *find_mode(const struct command *c, const char *word)
{
    for (int i = 0; word && i < count_modes(c); i++)
        if (strcmp(mode_word(c->modes[i]), word) == 0)
            return c->modes[i];
    return NULL;
}

/* Writes "rewrite, annotate or substitute". */
static void list_modes(const struct command *c, char *text, size_t size)
{
    int n = count_modes(c);
    size_t at = 0;

    *text = '\0';
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s",
                               i == 0      ? ""
                               : i < n - 1 ? ", "
                                           : " or ",
                               mode_word(c->modes[i]));
}

static int unknown_mode(const struct program *p, const struct command *c, const char *word)
{
    struct nearest best = { 0 };
    char modes[256];

    list_modes(c, modes, sizeof modes);
    for (int i = 0; word && i < count_modes(c); i++)
        nearest_try(&best, word, mode_word(c->modes[i]));
    if (!word)
        log_error("%s %s: expected a mode: %s", p->name, c->name, modes);
    else if (best.word)
        log_error("%s %s: unknown mode '%.100s', did you mean '%s'?", p->name, c->name, word, best.word);
    else
        log_error("%s %s: expected %s as the first word, got '%.100s'", p->name, c->name, modes, word);
    log_error("see %s help %s", p->name, c->name);
    return EXIT_CODE_USAGE;
}

/* Prints the page of the program, or of the command and its mode that the words name. */
static int print_page(const struct program *p, const char *name, const char *mode,
                      void (*whole)(const struct program *, FILE *),
                      void (*one)(const struct program *, const struct command *, FILE *))
{
    const struct command *c = name ? find_command(p, name) : NULL;
    if (name && !c)
        return unknown_command(p, name);
    if (c && find_mode(c, mode))
        c = find_mode(c, mode);
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

/* Handles the commands and options that every program has. */
static int builtin(const struct program *p, int argc, char **argv)
{
    const char *word = argv[1], *next = argc > 2 ? argv[2] : NULL, *mode = argc > 3 ? argv[3] : NULL;
    if (is_help(word))
        return print_page(p, NULL, NULL, help_program, help_command);
    if (strcmp(word, "help") == 0)
        return print_page(p, next && is_help(next) ? NULL : next, mode, help_program, help_command);
    if (strcmp(word, "--version") == 0)
        return print_version(p);
    if (strcmp(word, "man") == 0)
        return print_page(p, next, NULL, man_program, man_command);
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

/* Whether an option may be omitted because a resumed run reads it from its folder. */
static bool may_be_kept(const struct command *c, const struct command_line *line, const struct option *o)
{
    return c->keeps_settings && !o->writes && options_resume(c, line);
}

/* A command without operands reads its records from the first option that names an input file. */
static int unexpected_operand(const struct command *c, const struct command_line *line, struct error *err)
{
    const char *word = line->argv[c->max_operands];
    int i = 0, n = c->max_operands ? 0 : option_count(c->options);

    while (i < n && !(option_reads(&c->options[i]) && option_expects(&c->options[i]) == EXPECT_FILE))
        i++;
    if (i == n && c->max_operands)
        return error_set(err, EXIT_CODE_USAGE, "'%.200s' is an unexpected operand; expected one %s%s", word,
                         c->operands, strstr(c->operands, "QUESTION") ? "; put a question in quotes" : "");
    if (i == n)
        return error_set(err, EXIT_CODE_USAGE, "'%.200s' is an unexpected operand", word);
    return error_set(err, EXIT_CODE_USAGE, "'%.200s' is an unexpected operand, did you mean --%s %.200s?", word,
                     c->options[i].name, word);
}

static int check_complete(const struct command *c, struct command_line *line, struct error *err)
{
    char shown[128];
    for (int i = 0; i < option_count(c->options); i++)
        if (c->options[i].required && !line->seen[i] && !may_be_kept(c, line, &c->options[i])) {
            option_usage(&c->options[i], shown, sizeof shown);
            return error_set(err, EXIT_CODE_USAGE, "%s is required", shown);
        }
    take_question(c, line);
    if (line->n_operands < c->min_operands)
        return error_set(err, EXIT_CODE_USAGE, "expected %s", c->operands);
    if (line->n_operands > c->max_operands)
        return unexpected_operand(c, line, err);
    for (int i = 0; i < line->n_operands; i++)
        if (options_check_operand(c, line->argv[i], err))
            return -1;
    return 0;
}

/* The value of the option of this type; NULL if there is none. */
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

/* Applies the defaults, then a preset, then the config file, then the command line. */
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
    if (check_complete(c, line, err) || options_check_outputs(c, line, err) || options_check_endings(c, line, err) ||
        options_name_shard(c, line, texts, err))
        return -1;
    return shard_option(c, line->settings) ? options_check_outputs(c, line, err) : 0;
}

/* A command with databases needs the process that reads them.  Without it, each record would fail.  -1 with
 * EXIT_CODE_FAILURE. */
static int check_sql_worker(const struct command *c, const struct command_line *line, struct error *err)
{
    int i = option_find(c->options, "db", strlen("db"));
    bool needed = i >= 0 && *(const char *const *)((const char *)line->settings + c->options[i].offset);
    char *path = needed ? sql_worker_path(err) : NULL;

    free(path);
    return needed && !path ? -1 : 0;
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
    if (ready && check_sql_worker(c, &line, &err))
        rc = err.code;
    else
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

/* Reports a failed write to standard output, whichever code wrote. */
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
    const char *word = argc > 2 ? argv[2] : NULL;
    const struct command *mode = find_mode(c, word);
    if (asks_help(argc - 2, argv + 2))
        return print_page(p, c->name, word, help_program, help_command);
    if (c->modes && !mode)
        return unknown_mode(p, c, word);
    base_warn = log_warn;
    if (log_check_environment(&err) == 0 && threads_check_environment(&err) == 0)
        return run_command(p, mode ? mode : c, argc - (mode ? 3 : 2), argv + (mode ? 3 : 2));
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
