#include "data/score/annotate_write.h"

#include "data/corpora/ambrosia.h"
#include "data/exec/db_cache.h"
#include "data/exec/db_path.h"
#include "data/score/annotate.h"
#include "data/score/annotate_readings.h"
#include "data/score/score.h"
#include "data/util/log.h"

#include <stdlib.h>

/* What the whole run needs. */
struct annotate_job {
    const struct annotate_request *q;
    struct annotate_counts *counts;
    struct annotate_readings readings;
    struct db_cache databases;
    struct prompter prompter;
    struct python_random random;
    struct progress progress;
};

/* The record in our form, with readings; a reference of the caller's own. */
static json_t *prepare(struct annotate_job *run, json_t *record, const char *where, struct error *bad)
{
    int64_t number = run->q->shard.range.first + run->counts->all.records;
    json_t *own = ambrosia_is_row(record) ? ambrosia_record(record, number, where, bad) : json_deep_copy(record);
    db_path_name(run->q->db, own);
    if (!own || !run->q->readings || json_object_get(own, "readings"))
        return own;
    const char *db_id = json_get_string(own, "db_id", where, bad);
    const char *question = db_id ? json_get_string(own, "question", where, bad) : NULL;
    json_t *list = question ? annotate_readings_find(&run->readings, db_id, question) : NULL;
    if (list) {
        json_object_set(own, "readings", list);
        return own;
    }
    if (question)
        error_set(bad, EXIT_CODE_DATA, "%s: %s has no readings of this question of %s", where, run->q->readings, db_id);
    json_decref(own);
    return NULL;
}

/* What a model is taught: the prompt, which of INFILL says what exists, and the target; -1 with `bad`. */
static int add_messages(struct annotate_job *run, const struct annotation *a, const char *path, json_t *found,
                        struct error *bad)
{
    static const enum prompt_kind kinds[] = {
        [ANNOTATE_INFILL] = PROMPT_FILL, [ANNOTATE_E2E] = PROMPT_E2E, [ANNOTATE_GOLD] = PROMPT_GOLD
    };
    static const char *const teaches[] = {
        [ANNOTATE_INFILL] = "infill", [ANNOTATE_E2E] = "e2e", [ANNOTATE_GOLD] = "gold"
    };
    const char *database = prompter_database(&run->prompter, path, bad);
    if (!database)
        return -1;
    const char *slots[] = { database, a->question, json_string_value(json_object_get(found, "existing_text")) };
    const char *target = json_string_value(json_object_get(found, "target"));
    json_t *messages = prompter_messages(&run->prompter, kinds[run->q->target], slots, target);
    if (!messages)
        return error_set(bad, EXIT_CODE_DATA, "the prompt is not UTF-8");
    json_object_set_new(found, "teaches", json_string(teaches[run->q->target]));
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

/* Adds what was found to the line; -1 with `bad`. */
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

/* Where a record comes from. */
static void copy_fields(json_t *line, const json_t *record)
{
    static const char *const fields[] = { "source_db", "kind" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(record, fields[i]))
            json_object_set(line, fields[i], json_object_get(record, fields[i]));
}

/* Fields that our form of the record may have changed. */
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
        (run->q->readings && annotate_readings_open(&run->readings, run->q->readings, err)))
        return -1;
    progress_start(&run->progress, "annotating", "records", 0);
    if (records_to_lines(input, run->q->form, &run->q->shard.range, run->q->out, write_line, run, &run->counts->all,
                         err))
        return -1;
    progress_end(&run->progress);
    return 0;
}

int annotate_write(const struct annotate_request *q, const char *input, struct annotate_counts *counts,
                   struct error *err)
{
    struct annotate_job run = { .q = q, .counts = counts };

    db_cache_init(&run.databases);
    run.databases.limits.python_text = q->published;
    python_random_seed(&run.random, ANNOTATE_SEED);
    int rc = annotate_file(&run, input, err);
    db_cache_release(&run.databases);
    prompter_release(&run.prompter);
    annotate_readings_release(&run.readings);
    return rc;
}
