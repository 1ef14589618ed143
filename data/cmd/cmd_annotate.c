#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/corpora/ambrosia.h"
#include "data/exec/db_cache.h"
#include "data/prompt/prompter.h"
#include "data/score/annotate.h"
#include "data/score/annotate_readings.h"
#include "data/score/score.h"
#include "data/util/log.h"

#include <stdlib.h>

struct annotate_arguments {
    const char *db, *readings, *out;
    struct prompter_options prompt;
    bool published;
};

static const struct annotate_arguments defaults = { .out = "-", .prompt = PROMPTER_DEFAULTS };

#define AT(field) offsetof(struct annotate_arguments, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .required = true),
    STRING_OPTION("readings", AT(readings), "FILE",
                  "a model's readings, for records that have none: JSONL, or a published prediction file"),
    OUT_JSONL_OPTION(AT(out)),
    FLAG_OPTION("published", AT(published), "filter and cover as \"Disambiguate First, Parse Later\" does"),
    PROMPTER_OPTIONS(AT(prompt)),
    { 0 },
};

/* What the whole run needs. */
struct annotating {
    const struct annotate_arguments *a;
    struct annotate_readings readings;
    struct db_cache databases;
    struct prompter prompter;
    struct python_random random;
    struct json_reader *in;
    struct out_file out;
    struct progress progress;
    int64_t records, failed, covered;
};

/* The record in our form, with readings; a reference of the caller's own. */
static json_t *prepare(struct annotating *run, json_t *record, const char *where, struct error *bad)
{
    json_t *own = ambrosia_is_row(record) ? ambrosia_record(record, run->records, where, bad) : json_deep_copy(record);
    if (!own || !run->a->readings || json_object_get(own, "readings"))
        return own;
    const char *db_id = json_get_string(own, "db_id", where, bad);
    const char *question = db_id ? json_get_string(own, "question", where, bad) : NULL;
    json_t *list = question ? annotate_readings_find(&run->readings, db_id, question) : NULL;
    if (list) {
        json_object_set(own, "readings", list);
        return own;
    }
    if (question)
        error_set(bad, EXIT_CODE_DATA, "%s: %s has no readings of this question of %s", where, run->a->readings, db_id);
    json_decref(own);
    return NULL;
}

/* What a model is taught: the prompt that asks for what is missing, and the target; -1 with `bad`. */
static int add_messages(struct annotating *run, const struct annotation *a, const char *path, json_t *found,
                        struct error *bad)
{
    const char *database = prompter_database(&run->prompter, path, bad);
    if (!database)
        return -1;
    const char *slots[] = { database, a->question, json_string_value(json_object_get(found, "existing_text")) };
    const char *target = json_string_value(json_object_get(found, "target"));
    return json_object_set_new(found, "messages", prompter_messages(&run->prompter, PROMPT_FILL, slots, target));
}

static json_t *annotate(struct annotating *run, struct annotation *a, const char *where, struct error *bad)
{
    char *path = score_db_path(run->a->db, a->db_id, bad);
    struct exec_db *db = path ? db_cache_file(&run->databases, path, bad) : NULL;
    int rc = -1;

    if (db)
        rc = run->a->published ? annotate_published(a, db, &run->random, bad) : annotate_honest(a, db, bad);
    json_t *found = rc ? NULL : annotation_json(a, bad);
    if (found && add_messages(run, a, path, found, bad)) {
        json_decref(found);
        found = NULL;
    }
    free(path);
    if (!found)
        error_prefix(bad, "%s", where);
    else
        run->covered += json_array_size(json_object_get(found, "missing")) == 0;
    return found;
}

/* Adds what was found to the line; -1 with `bad`. */
static int annotate_record(struct annotating *run, const json_t *own, json_t *line, const char *where,
                           struct error *bad)
{
    struct annotation a;
    json_t *found = annotation_read(&a, own, where, bad) ? NULL : annotate(run, &a, where, bad);

    if (found) {
        json_object_set_new(line, "question", json_string(a.question));
        json_object_set_new(line, "ambiguous", json_boolean(a.n_golds > 1));
        json_object_update(line, found);
    }
    json_decref(found);
    annotation_release(&a);
    return found ? 0 : -1;
}

/* Where a record comes from. */
static void copy_fields(json_t *line, const json_t *record)
{
    static const char *const fields[] = { "source_db", "kind" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(record, fields[i]))
            json_object_set(line, fields[i], json_object_get(record, fields[i]));
}

/* The line for one record; NULL record: one that could not be read. */
static int write_record(struct annotating *run, json_t *record, struct error *bad, struct error *err)
{
    const char *where = json_reader_where(run->in);
    json_t *own = record ? prepare(run, record, where, bad) : NULL, *line = json_object();
    json_t *id = json_object_get(own ? own : record, "id"), *db_id = json_object_get(own ? own : record, "db_id");

    json_object_set_new(line, "id", id ? json_incref(id) : json_integer(run->records));
    json_object_set_new(line, "db_id", db_id ? json_incref(db_id) : json_null());
    copy_fields(line, own);
    if (!own || annotate_record(run, own, line, where, bad)) {
        json_object_set_new(line, "error", json_message(bad->text));
        run->failed++;
    }
    run->records++;
    progress_update(&run->progress, run->records, (double)run->records, NULL);
    int rc = json_write_line(&run->out, line, err);
    json_decref(line);
    json_decref(own);
    return rc;
}

static int write_records(struct annotating *run, struct error *err)
{
    int rc;

    do {
        json_t *record = NULL;
        struct error bad = { 0 };
        rc = json_reader_next(run->in, &record, &bad);
        bool stop = rc && write_record(run, record, &bad, err);
        json_decref(record);
        if (stop)
            return -1;
    } while (rc);
    return 0;
}

static int annotate_file(struct annotating *run, const char *input, struct error *err)
{
    if (prompter_open(&run->prompter, &run->a->prompt, err) ||
        (run->a->readings && annotate_readings_open(&run->readings, run->a->readings, err)) ||
        !(run->in = json_reader_open(input, err)) || out_file_open(&run->out, run->a->out, err))
        return -1;
    progress_start(&run->progress, "annotating", "records", 0);
    if (write_records(run, err))
        return -1;
    progress_end(&run->progress);
    return out_file_commit(&run->out, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct annotating run = { .a = call->options };

    db_cache_init(&run.databases);
    run.databases.limits.python_text = run.a->published;
    python_random_seed(&run.random, ANNOTATE_SEED);
    int rc = annotate_file(&run, call->operands[0], err);
    out_file_abort(&run.out);
    json_reader_close(run.in);
    db_cache_release(&run.databases);
    prompter_release(&run.prompter);
    annotate_readings_release(&run.readings);
    if (rc)
        return err->code;
    log_info("%lld records, %lld with every gold covered, %lld failed", (long long)run.records, (long long)run.covered,
             (long long)run.failed);
    return run.failed ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}

const struct command command_annotate = {
    .name = "annotate",
    .summary = "finds by execution which gold readings a model's readings cover, and writes infilling examples",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "A record is {\"id\", \"db_id\", \"question\", \"golds\": [{\"sql\", \"text\"}], \"readings\": [{\"text\", "
        "\"sql\"}]}; the sql of a reading is a string or a list of strings, and a single gold may go without a text. "
        "Rows of AMBROSIA (with gold_queries) are read too. --readings FILE has {\"db_id\", \"question\", "
        "\"readings\"} on each line.\n\n"
        "Each line of the output is an example that ambit-train infill learns from: the record's id, db_id and "
        "question; messages: the prompt that asks for missing readings, and the target as its answer. Where it comes "
        "from stands beside: existing: texts of the readings that are kept, existing_text: the same as one text; "
        "missing: texts of golds that none of them covers; target: the same as one text, or "
        "\"" ANNOTATE_ALL_COVERED "\"; golds with covered_by, the number of a reading or null; readings with "
        "dropped, why, and same_as, the number of the reading whose result they "
        "repeat.\n\n"
        "A reading means what the first of its SQLs that runs returns. It covers "
        "the gold with the same rows, in the same order where the gold orders them; "
        "of readings with the same rows the first is kept. Also dropped are "
        "readings without text or SQL that runs, texts that end with a colon, and "
        "texts that are SQL themselves. --published instead drops texts that hold a "
        "capital word of SQL or are shorter than half the question, compares cells, "
        "and keeps one reading of each result, drawn as Python's random.choice with "
        "seed 42 draws.\n\n"
        "A record that fails, for one because its golds fail or have the same "
        "result, has an error instead, and the exit code is 7.",
    .run = run,
};
