/* Part of options.h: no command writes over what it reads, or what is no such file under a name. */
#include "data/cli/options_impl.h"
#include "data/util/compression.h"
#include "data/util/record_reader.h"

#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* A value of a command line that is about to be written, and what stands there. */
struct written_path {
    const struct option *option;
    const char *path;
    struct stat st;
    int levels; /* of an input folder that may hold it too */
};

/* What a command writes and none finds in a folder: in the folder of a model or of databases it may be replaced. */
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

/* Whether the folder has the output's file, under whatever name. */
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
    return error_set(err, EXIT_CODE_USAGE, "--%s: %s is read by this command (%s%s); expected another %s",
                     o->option->name, o->path, dashes, name, S_ISDIR(o->st.st_mode) ? "folder" : "file");
}

bool options_resume(const struct command *c, const struct command_line *line)
{
    int i = option_find(c->options, "resume", strlen("resume"));

    return i >= 0 && *(const bool *)((const char *)line->settings + c->options[i].offset);
}

bool option_reads(const struct option *o)
{
    return o->type == OPTION_STRING && !o->writes && option_expects(o) >= EXPECT_FILE;
}

/* The path that the option names for reading; NULL when it names none.  A run that goes on finds its settings in the
 * folder that it writes to. */
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

/* What is not there yet, and what is no file, such as a terminal, is written over by nobody. */
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

/* The files of the folder that the command's notes name: "DIR/a.json, DIR/b.json". */
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

/* A file's own, and those that it is written to before it takes its name. */
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

/* The value of an option that writes; NULL of others. */
static const char *output_of(const struct command_line *line, const struct option *o)
{
    return o->writes ? *(const char *const *)((const char *)line->settings + o->offset) : NULL;
}

/* The file's or folder's own path, or where it would be made; the caller frees. */
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

/* That none before option i has the same. */
static int check_others(const struct command *c, const struct command_line *line, int i, struct error *err)
{
    char *own = own_path(output_of(line, &c->options[i]));
    int rc = 0;

    for (int k = 0; k < i && rc == 0; k++) {
        const char *other = output_of(line, &c->options[k]);
        char *path = other ? own_path(other) : NULL;
        if (path && strcmp(path, own) == 0)
            rc = error_set(err, EXIT_CODE_USAGE, "--%s: %s is what --%s writes; expected another name",
                           c->options[i].name, output_of(line, &c->options[i]), c->options[k].name);
        free(path);
    }
    free(own);
    return rc;
}

static bool ends_in(const char *path, size_t n, const char *ending)
{
    size_t e = strlen(ending);

    return n > e && strncasecmp(path + n - e, ending, e) == 0;
}

/* An ending of another format, which what is written under it would not be; NULL when there is none. */
static const char *foreign_ending(const char *path)
{
    static const char *const ends[] = { ".csv", ".tsv",  ".parquet", ".feather", ".arrow", ".avro",  ".orc", ".xlsx",
                                        ".xls", ".ods",  ".bz2",     ".lz4",     ".lzma",  ".br",    ".z",   ".zip",
                                        ".7z",  ".rar",  ".tar",     ".tgz",     ".txz",   ".pkl",   ".npy", ".npz",
                                        ".gz",  ".gzip", ".xz",      ".zst",     ".zstd",  ".duckdb" };
    size_t n = strlen(path) - strlen(coding_ending(coding_of_name(path)));

    for (int i = 0; i < ARRAY_LEN(ends); i++)
        if (ends_in(path, n, ends[i]))
            return path + n - strlen(ends[i]);
    return NULL;
}

static int check_ending(const struct option *o, const char *path, struct error *err)
{
    const struct coding *coding = coding_of_name(path);
    const char *foreign = foreign_ending(path);

    if (foreign)
        return error_set(err, EXIT_CODE_USAGE,
                         "--%s: %s: %s is not written; JSON lines are (OUT.jsonl), compressed where the name ends in "
                         ".gz, .xz or .zst",
                         o->name, path, foreign);
    if (coding && !text_encoder_has(coding))
        return error_set(err, EXIT_CODE_USAGE, "--%s: %s: this build has no %s; expected .gz or .xz", o->name, path,
                         coding_name(coding));
    return 0;
}

int options_check_endings(const struct command *c, const struct command_line *line, struct error *err)
{
    for (const struct option *o = c->options; o->name; o++) {
        const char *value = output_of(line, o);
        bool folder = o->value && strcmp(o->value, "DIR") == 0;
        if (value && !folder && check_ending(o, value, err))
            return -1;
    }
    return 0;
}

int options_check_outputs(const struct command *c, const struct command_line *line, struct error *err)
{
    for (int i = 0; i < option_count(c->options); i++) {
        const char *value = output_of(line, &c->options[i]);
        if (value && (check_others(c, line, i, err) ||
                      (strcmp(value, "-") != 0 && check_path(c, line, &c->options[i], value, err))))
            return -1;
    }
    return 0;
}
