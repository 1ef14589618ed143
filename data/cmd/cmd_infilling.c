/* Part of commands.h: ambit-data infilling, the data of "Disambiguate First, Parse Later".  Each mode is a command. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/records.h"
#include "data/base/shard.h"
#include "data/cmd/commands.h"
#include "data/corpora/ambrosia.h"
#include "data/db/db_cache.h"
#include "data/db/db_path.h"
#include "data/eval/annotate.h"
#include "data/eval/dfpl.h"
#include "data/eval/score.h"
#include "data/prompt/prompter.h"
#include "data/synth/rewrite.h"
#include "data/synth/substitute.h"

#include <stdlib.h>
#include <string.h>

/* rewrite */

static const struct rewrite_request rewrite_defaults = { .out = "-" };

#define AT(field) offsetof(struct rewrite_request, field)

static const struct option rewrite_options[] = {
    DB_OPTION(AT(db), "", .required = true, .group = "input"),
    FORMAT_IN_OPTION(AT(format_in)),
    OUT_JSONL_OPTION(AT(out)),
    SEED_OPTION(AT(seed), "random seed", .group = "generation"),
    { 0 },
};

#undef AT

static enum exit_code run_rewrite(const struct call *call, struct error *err)
{
    return job_exit_code(rewrite_write(call->options, call->operands[0], err), 0, err);
}

static const struct command rewrite_mode = {
    .name = "rewrite",
    .summary = "write interpretations as text without a language model",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(rewrite_options, rewrite_defaults),
    .details = "Reads records of `ambiguate --materialise`, or rows of AMBROSIA with their texts. Names the "
               "altered element in the question, and lets some of the gold interpretations exist: none (15 %), all "
               "(15 %) or some. Records whose interpretations return the same rows are omitted. Guide: "
               "docs/guides/infilling-data.md.",
    .examples = { "ambit-data infilling rewrite ambiguous.jsonl --db altered -o rewritten.jsonl",
                  "ambit-data infilling rewrite ambrosia.jsonl --db databases --seed 1 -o rewritten.jsonl" },
    .run = run_rewrite,
};

/* annotate */

struct annotate_request {
    const char *db, *interpretations, *out; /* readings: for records that have none, or NULL */
    enum record_format format_in;
    struct shard shard;
    struct prompter_options prompt;
    bool published;
    enum annotate_target target; /* targets other than INFILL ignore readings */
};

struct annotate_counts {
    struct record_counts all;
    int64_t covered; /* INFILL: records without a missing gold */
};

/* The state of a run. */
struct annotate_job {
    const struct annotate_request *q;
    struct annotate_counts *counts;
    struct annotate_interpretations interpretations;
    struct db_cache databases;
    struct prompter prompter;
    struct python_random random;
    struct progress progress;
};

/* The record in our form; a new reference. */
static json_t *own_record(const struct annotate_job *run, json_t *record, const char *where, struct error *bad)
{
    int64_t number = run->q->shard.range.first + run->counts->all.records;

    if (dfpl_is_rewritten(record))
        return dfpl_rewritten_record(record, number + 1, run->q->published, where, bad);
    return ambrosia_is_row(record) ? ambrosia_record(record, number, where, bad) : json_deep_copy(record);
}

/* The record in our form, with readings; a new reference. */
static json_t *prepare(struct annotate_job *run, json_t *record, const char *where, struct error *bad)
{
    json_t *own = own_record(run, record, where, bad);
    db_path_name(run->q->db, own);
    if (!own || !run->q->interpretations || json_object_get(own, "readings"))
        return own;
    const char *db_id = json_get_string(own, "db_id", where, bad);
    const char *question = db_id ? json_get_string(own, "question", where, bad) : NULL;
    json_t *list = question ? annotate_interpretations_find(&run->interpretations, db_id, question) : NULL;
    if (list) {
        json_object_set(own, "readings", list);
        return own;
    }
    if (question)
        error_set(bad, EXIT_CODE_DATA, "%s: %s has no readings of this question of %s", where, run->q->interpretations,
                  db_id);
    json_decref(own);
    return NULL;
}

/* Adds the prompt, with the existing interpretations for INFILL, and the target. -1 with `bad`. */
static int add_messages(struct annotate_job *run, const struct annotation *a, const char *path, json_t *found,
                        struct error *bad)
{
    static const enum prompt_kind kinds[] = {
        [ANNOTATE_INFILL] = PROMPT_FILL,
        [ANNOTATE_E2E] = PROMPT_E2E,
        [ANNOTATE_GOLD] = PROMPT_GOLD,
        [ANNOTATE_PAIRS] = PROMPT_PAIRS,
    };
    const char *database = prompter_database(&run->prompter, path, bad);
    if (!database)
        return -1;
    const char *slots[] = { database, a->question, json_string_value(json_object_get(found, "existing_text")) };
    const char *target = json_string_value(json_object_get(found, "target"));
    json_t *messages = prompter_messages(&run->prompter, kinds[run->q->target], slots, target);
    if (!messages)
        return error_set(bad, EXIT_CODE_DATA, "the prompt is not UTF-8");
    json_object_set_new(found, "task", json_string(annotate_targets[run->q->target]));
    return json_object_set_new(found, "messages", messages);
}

/* The fields of the target; NULL with `bad`. */
static json_t *find_target(struct annotate_job *run, struct annotation *a, struct exec_db *db, struct error *bad)
{
    const struct annotate_request *q = run->q;

    if (q->target != ANNOTATE_INFILL)
        return annotate_golds(a, db, q->published, bad) ? NULL : annotation_target_json(a, q->target, bad);
    int rc = q->published ? annotate_published(a, db, &run->random, bad) : annotate_honest(a, db, bad);
    return rc ? NULL : annotation_json(a, bad);
}

static json_t *annotate(struct annotate_job *run, struct annotation *a, const char *where, struct error *bad)
{
    char *path = db_path(run->q->db, a->db_id, bad);
    struct exec_db *db = path ? db_cache_file(&run->databases, path, bad) : NULL;
    json_t *found = db ? find_target(run, a, db, bad) : NULL;

    if (found && add_messages(run, a, path, found, bad)) {
        json_decref(found);
        found = NULL;
    }
    free(path);
    if (!found)
        error_prefix(bad, "%s", where);
    else if (run->q->target == ANNOTATE_INFILL)
        run->counts->covered += json_array_size(json_object_get(found, "missing")) == 0;
    return found;
}

/* Adds the annotation to the line; -1 with `bad`. */
static int annotate_record(struct annotate_job *run, const json_t *own, json_t *line, const char *where,
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

/* Copies the origin of a record. */
static void copy_fields(json_t *line, const json_t *record)
{
    static const char *const fields[] = { "source_db", "type" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(record, fields[i]))
            json_object_set(line, fields[i], json_object_get(record, fields[i]));
}

/* Sets fields that our form of the record may have changed. */
static void set_names(json_t *line, const json_t *own)
{
    static const char *const fields[] = { "id", "db_id" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(own, fields[i]))
            json_object_set(line, fields[i], json_object_get(own, fields[i]));
}

static int write_line(void *job, json_t *record, json_t *line, const char *where, struct error *bad)
{
    struct annotate_job *run = job;
    json_t *own = prepare(run, record, where, bad);
    int64_t done = run->counts->all.records + 1;

    set_names(line, own);
    copy_fields(line, own);
    int rc = own ? annotate_record(run, own, line, where, bad) : -1;
    json_decref(own);
    progress_update(&run->progress, done, (double)done, NULL);
    return rc;
}

static int annotate_file(struct annotate_job *run, const char *input, struct error *err)
{
    if (db_path_check(run->q->db, err) || prompter_open(&run->prompter, &run->q->prompt, err) ||
        (run->q->interpretations && annotate_interpretations_open(&run->interpretations, run->q->interpretations, err)))
        return -1;
    progress_start(&run->progress, "annotating", "records",
                   record_file_total(input, run->q->format_in, &run->q->shard.range));
    if (records_to_lines(input, run->q->format_in, &run->q->shard.range, run->q->out, write_line, run,
                         &run->counts->all, err))
        return -1;
    progress_end(&run->progress);
    return 0;
}

/* -1 with err. */
static int annotate_write(const struct annotate_request *q, const char *input, struct annotate_counts *counts,
                          struct error *err)
{
    struct annotate_job run = { .q = q, .counts = counts };

    db_cache_init(&run.databases);
    run.databases.limits.python_text = q->published;
    python_random_seed(&run.random, ANNOTATE_SEED);
    int rc = annotate_file(&run, input, err);
    db_cache_release(&run.databases);
    prompter_release(&run.prompter);
    annotate_interpretations_release(&run.interpretations);
    return rc;
}

static const struct annotate_request annotate_defaults = { .out = "-", .prompt = PROMPTER_DEFAULTS };

#define AT(field) offsetof(struct annotate_request, field)

static const struct option annotate_options[] = {
    DB_OPTION(AT(db), "", .required = true, .group = "input"),
    STRING_OPTION("interpretations", AT(interpretations), "FILE",
                  "a model's interpretations, for records that have none"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_JSONL_OPTION(AT(out)),
    CHOICE_OPTION("target", AT(target), "WHAT", "infill|e2e|gold|pairs",
                  "missing interpretations, SQL of all, text of all, or both of all", .group = "generation"),
    FLAG_OPTION("published", AT(published), "filter as \"Disambiguate First, Parse Later\" does"),
    PROMPTER_OPTIONS(AT(prompt)),
    { 0 },
};

#undef AT

static enum exit_code run_annotate(const struct call *call, struct error *err)
{
    const struct annotate_request *q = call->options;
    struct annotate_counts counts = { 0 };

    if (q->shard.count && q->published)
        return usage_error(
            err,
            "--shard and --published cannot be used together: the published filter samples in the order of the records");
    if (q->interpretations && q->target != ANNOTATE_INFILL)
        return usage_error(err, "--interpretations requires --target infill");
    int rc = annotate_write(q, call->operands[0], &counts, err);

    if (rc == 0 && q->target != ANNOTATE_INFILL)
        log_info("%lld records, %lld failed", (long long)counts.all.records, (long long)counts.all.failed);
    else if (rc == 0)
        log_info("%lld records, %lld with every gold covered, %lld failed", (long long)counts.all.records,
                 (long long)counts.covered, (long long)counts.all.failed);
    return job_exit_code(rc, counts.all.failed, err);
}

static const struct command annotate_mode = {
    .name = "annotate",
    .summary = "write training examples of existing and missing interpretations",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(annotate_options, annotate_defaults),
    .details = "A record has id, db_id, question, golds [{\"sql\", \"text\"}] and a model's readings [{\"text\", "
               "\"sql\"}]; rows of AMBROSIA and the authors' interpretations_tbl_col_train are read too. All SQL is "
               "executed. A gold interpretation is missing if no reading returns its rows. Each line of the output "
               "holds the prompt and the missing interpretations as messages.\n\n"
               "A record whose golds fail or return the same rows gets an error, and the exit code is 7. Fields: "
               "docs/reference/records.md. Guide: docs/guides/infilling-data.md.",
    .examples = { "ambit-data infilling annotate records.jsonl --db databases -o examples.jsonl",
                  "ambit-data infilling annotate ambrosia.jsonl --db databases --target e2e -o e2e.jsonl" },
    .run = run_annotate,
};

/* substitute */

static const struct substitute_request substitute_defaults = { .out = "-", .copies = 1, .common = 100 };

#define AT(field) offsetof(struct substitute_request, field)

static const struct option substitute_options[] = {
    CHOICE_OPTION("format-in", AT(format_in), "FORMAT", RECORD_FORMS, FORMAT_IN_HELP, .group = "input"),
    OUT_JSONL_OPTION(AT(out)),
    INT_OPTION("copies", AT(copies), "N", 1, 1000, "different copies of each record", .group = "generation"),
    INT_OPTION("common", AT(common), "N", 0, 1 << 20, "number of most frequent words to keep"),
    SEED_OPTION(AT(seed), "random seed"),
    { 0 },
};

#undef AT

static enum exit_code run_substitute(const struct call *call, struct error *err)
{
    const char *path = call->operands[0];

    if (strcmp(path, "-") == 0)
        return usage_error(err, "IN.jsonl: expected a file, got -: the input is read twice");
    return job_exit_code(substitute_write(call->options, path, err), 0, err);
}

static const struct command substitute_mode = {
    .name = "substitute",
    .summary = "copy training examples with substituted words, against memorisation",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(substitute_options, substitute_defaults),
    .details = "Reads output of `infilling annotate` or `plans`. In each copy every word becomes another word of the "
               "file, the same one throughout the record; frequent words and SQL's keywords stay. A small model then "
               "learns to copy from the prompt instead of memorising names. Copies are for training only: they "
               "describe no database. Guide: docs/guides/infilling-data.md.",
    .examples = { "ambit-data infilling substitute examples.jsonl -o other-words.jsonl",
                  "ambit-data infilling substitute examples.jsonl --copies 4 --common 200 --seed 1 -o other-words.jsonl" },
    .run = run_substitute,
};

/* prompts */

struct prompts_arguments {
    const char *out;
    bool force;
};

static const struct prompts_arguments prompts_defaults = { 0 };

#define AT(field) offsetof(struct prompts_arguments, field)

static const struct option prompts_options[] = {
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    { 0 },
};

static enum exit_code run_prompts(const struct call *call, struct error *err)
{
    const struct prompts_arguments *a = call->options;

    if (prompts_write(a->out, a->force, err))
        return err->code;
    log_info("%s: nine prompts written; use them with --prompt-dir", a->out);
    return EXIT_CODE_OK;
}

static const struct file_note prompts_files[] = {
    { "DIR/def.txt, DIR/fill.txt, DIR/sql.txt, DIR/rewrite.txt, DIR/e2e.txt, DIR/gold.txt, DIR/e2e-shots.txt, "
      "DIR/correct.txt, DIR/pairs.txt",
      "the prompts" },
    { 0 },
};

static const struct command prompts_mode = {
    .name = "prompts",
    .summary = "write the built-in prompts as files to edit",
    OPTIONS(prompts_options, prompts_defaults),
    .details = "def.txt asks for all interpretations, fill.txt for the missing ones, sql.txt for the SQL of one, "
               "rewrite.txt for a question with another name, e2e.txt and e2e-shots.txt for the SQL of all, "
               "gold.txt for the text of all, correct.txt for a review of interpretations, pairs.txt for all "
               "interpretations with their SQL. Each {} is a slot: database, question or existing interpretations. "
               "Guide: docs/guides/infilling-data.md.",
    .examples = { "ambit-data infilling prompts -o prompts", "ambit-data infilling prompts --out prompts/changed" },
    .files = prompts_files,
    .run = run_prompts,
};

static const struct command *const modes[] = { &rewrite_mode, &annotate_mode, &substitute_mode, &prompts_mode, NULL };

const struct command command_infilling = {
    .name = "infilling",
    .summary = "make training data of infilling models",
    .details =
        "`rewrite` writes the interpretations of ambiguous questions in words, `annotate` the training examples "
        "of infilling models and of models that write everything at once. `MODE --help` has the details of a mode. Guide: "
        "docs/guides/infilling-data.md.",
    .examples = { "ambit-data infilling rewrite ambiguous.jsonl --db altered -o rewritten.jsonl",
                  "ambit-data infilling annotate rewritten.jsonl --db altered -o examples.jsonl" },
    .modes = modes,
};
