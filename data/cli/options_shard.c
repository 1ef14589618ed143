/* Part of options.h: a command that works on a shard of its records.  The command itself only reads its range. */
#include "data/cli/options_impl.h"
#include "data/shard/shard.h"
#include "data/util/build.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/sums.h"
#include "data/util/whole_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A shard on its way. */
struct shard_work {
    const char *records, *out; /* paths */
    char *mark;                /* its path */
    int lock;                  /* -1: not taken */
    struct shard_mark done;    /* what will stand there */
};

static void *field_of(const struct option *o, void *settings)
{
    return (char *)settings + o->offset;
}

static const struct option *find(const struct command *c, const char *name)
{
    int i = option_find(c->options, name, strlen(name));

    return i < 0 ? NULL : &c->options[i];
}

/* The option, where its value asks for a shard; else NULL. */
static const struct option *shard_option(const struct command *c, void *settings)
{
    const struct option *o = find(c, "shard");

    return o && o->type == OPTION_SHARD && ((struct shard *)field_of(o, settings))->count ? o : NULL;
}

/* The file of the records; NULL where none is named. */
static const char *records_path(const struct command *c, const struct command_line *line, const struct option *shard)
{
    if (shard->records)
        return *(const char *const *)field_of(find(c, shard->records), line->settings);
    return line->n_operands ? line->argv[0] : NULL;
}

/* A run that writes something else than records' lines has no shards. */
static int check_outputs(const struct command *c, void *settings, struct error *err)
{
    const struct option *dry = find(c, "dry-run");

    if (dry && *(const bool *)field_of(dry, settings))
        return error_set(err, EXIT_CODE_USAGE, "--shard: expected no --dry-run, which writes nothing");
    for (const struct option *o = c->options; o->name; o++)
        if (o->writes && strcmp(o->name, "out") != 0 && *(const char **)field_of(o, settings))
            return error_set(err, EXIT_CODE_USAGE, "--shard: expected no --%s, which is of all records", o->name);
    return 0;
}

int options_name_shard(const struct command *c, struct command_line *line, struct texts *texts, struct error *err)
{
    const struct option *o = shard_option(c, line->settings);
    const struct shard *s = o ? field_of(o, line->settings) : NULL;
    const char *records = o ? records_path(c, line, o) : NULL;

    if (!o)
        return 0;
    const char **out = field_of(find(c, "out"), line->settings);
    if (strcmp(*out, "-") == 0)
        return error_set(err, EXIT_CODE_USAGE, "--shard: expected --out FILE, after which parts are named");
    if (!records || strcmp(records, "-") == 0)
        return error_set(err, EXIT_CODE_USAGE, "--shard: expected a file of records, which is read twice");
    if (check_outputs(c, line->settings, err))
        return -1;
    char *path = shard_path(*out, s->index, s->count);
    *out = texts_add(texts, path);
    free(path);
    return 0;
}

static int count_records(const char *path, enum record_form form, int64_t *n, struct error *err)
{
    struct record_reader *in = record_reader_open(path, form, err);
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

/* {"records", "sum"} of a file that can be read again and again; NULL with err. */
static json_t *input_json(const char *path, enum record_form form, struct error *err)
{
    FILE *f = whole_file_open(path, DATABASE_MAX_BYTES, err);
    int64_t records;
    char text[24];

    if (!f)
        return NULL;
    fclose(f);
    if (count_records(path, form, &records, err))
        return NULL;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)sum_file(path));
    return json_pack("{s:I, s:s}", "records", records, "sum", text);
}

/* Not what is different from shard to shard, or from one start of it to the next. */
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

/* What shard.h says of a run; takes the input. */
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

/* Finds the shard's range and takes its mark. */
static int begin(struct shard_work *w, const struct command *c, struct command_line *line, const char *program,
                 struct error *err)
{
    const struct option *o = find(c, "shard"), *form = find(c, "format-in");
    struct shard *s = field_of(o, line->settings);

    w->records = records_path(c, line, o);
    w->out = *(const char *const *)field_of(find(c, "out"), line->settings);
    CHECK(asprintf(&w->mark, "%s.shard", w->out) >= 0, "no memory for a name");
    json_t *input = input_json(w->records, *(const enum record_form *)field_of(form, line->settings), err);
    if (!input)
        return -1;
    int64_t records = json_integer_value(json_object_get(input, "records"));
    shard_cut(s, records, (int64_t)o->low);
    w->done = (struct shard_mark){ .shard = *s, .run = run_json(c, line->settings, o, program, input) };
    log_info("shard %d of %d: %lld of %lld records, from record %lld", s->index, s->count,
             (long long)(s->range.end - s->range.first), (long long)records, (long long)s->range.first + 1);
    return (w->lock = shard_mark_lock(w->mark, err)) < 0 ? -1 : 0;
}

/* Whether an earlier start of the run left all that this one would make. */
static bool is_done(const struct shard_work *w, bool *failed)
{
    struct shard_mark m = { 0 };
    struct stat st;
    struct error err;
    bool done = stat(w->mark, &st) == 0 && st.st_size > 0 && shard_mark_parse(&m, w->mark, &err) == 0 &&
                json_equal(m.run, w->done.run) && m.shard.index == w->done.shard.index &&
                m.shard.count == w->done.shard.count && stat(w->out, &st) == 0 && st.st_size == m.bytes &&
                sum_file(w->out) == m.sum;

    *failed = m.failed;
    shard_mark_release(&m);
    return done;
}

/* Tells in the mark what was written. */
static int finish(struct shard_work *w, bool failed, struct error *err)
{
    struct stat st;

    if (stat(w->out, &st))
        return error_set(err, EXIT_CODE_FAILURE, "%s: is gone", w->out);
    w->done.bytes = st.st_size;
    w->done.sum = sum_file(w->out);
    w->done.failed = failed;
    return shard_mark_write(w->mark, &w->done, err);
}

/* An empty mark stays where records were worked on. */
static void end(struct shard_work *w, bool started)
{
    struct stat st;

    if (w->lock >= 0 && !started && fstat(w->lock, &st) == 0 && st.st_size == 0)
        unlink(w->mark);
    if (w->lock >= 0)
        close(w->lock);
    shard_mark_release(&w->done);
    free(w->mark);
}

static enum exit_code run_shard(const struct command *c, struct command_line *line, const char *program,
                                struct error *err)
{
    struct shard_work w = { .lock = -1 };
    bool failed = false;
    enum exit_code rc;

    if (begin(&w, c, line, program, err)) {
        rc = err->code;
    } else if (options_resume(c, line) && is_done(&w, &failed)) {
        log_info("%s: is whole already", w.out);
        rc = failed ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
    } else {
        rc = c->run(&(struct call){ line->settings, line->seen, line->argv, line->n_operands }, err);
        if ((rc == EXIT_CODE_OK || rc == EXIT_CODE_RECORDS) && finish(&w, rc == EXIT_CODE_RECORDS, err))
            rc = err->code;
    }
    end(&w, rc != EXIT_CODE_USAGE);
    return rc;
}

enum exit_code options_run(const struct command *c, struct command_line *line, const char *program, struct error *err)
{
    if (shard_option(c, line->settings))
        return run_shard(c, line, program, err);
    return c->run(&(struct call){ line->settings, line->seen, line->argv, line->n_operands }, err);
}
