#include "data/span/span_score.h"

#include "data/span/span_score_impl.h"
#include "data/span/tag_read.h"
#include "data/util/records.h"
#include "data/util/strings.h"

#include <stdlib.h>
#include <string.h>

struct span_run {
    struct span_record_list gold;
    struct strings ids, tables; /* of gold: ids[i] is record i's */
    bool *answered;
    struct span_tally tally;
    struct out_file evidence;
};

static void skip(struct span_run *run, const char *record, const char *why)
{
    json_array_append_new(run->tally.skipped,
                          json_pack("{s:o, s:o}", "record", json_message(record), "why", json_message(why)));
}

static int read_gold(struct span_run *run, const char *path, struct error *err)
{
    if (span_records_read(&run->gold, path, err))
        return -1;
    for (int i = 0; i < run->gold.n; i++) {
        if (strings_add(&run->ids, run->gold.items[i].id) != i)
            return error_set(err, EXIT_CODE_DATA, "%s: id \"%s\": expected one record of each id, got two", path,
                             run->gold.items[i].id);
        strings_add(&run->tables, run->gold.items[i].db_id);
    }
    size_t n = (size_t)run->gold.n + 1;
    run->answered = xcalloc(n, sizeof *run->answered);
    run->tally.groups = xcalloc(n, sizeof *run->tally.groups);
    run->tally.problem = xcalloc(n, sizeof *run->tally.problem);
    run->tally.is_problem = xcalloc(n, sizeof *run->tally.is_problem);
    run->tally.group = xcalloc(n, sizeof *run->tally.group);
    run->tally.n_groups = run->tables.n;
    return 0;
}

static int write_evidence(struct span_run *run, const struct span_record *r, const struct span_counts *c,
                          double problem, struct error *err)
{
    if (!run->evidence.f)
        return 0;
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:f}", "id", r->id, "db_id", r->db_id, "kind", r->kind,
                  "gold", (json_int_t)c->label[COUNT_ALL].gold, "tagged", (json_int_t)c->label[COUNT_ALL].tagged,
                  "exact", (json_int_t)c->label[COUNT_ALL].exact, "relaxed", (json_int_t)c->label[COUNT_ALL].gold_met,
                  "alarmed", c->alarmed > 0, "problem", problem);
    int rc = json_write_line(&run->evidence, o, err);
    json_decref(o);
    return rc;
}

static int count_answer(struct span_run *run, const struct span_record *r, const struct tag_answer *a,
                        struct error *err)
{
    struct span_tally *t = &run->tally;
    struct span_counts c = { 0 };

    span_count(&c, r, a);
    t->group[t->n] = strings_find(&run->tables, r->db_id);
    t->is_problem[t->n] = span_record_is_problem(r);
    t->problem[t->n] = a->problem;
    span_counts_add(&t->groups[t->group[t->n]], &c);
    t->n++;
    return write_evidence(run, r, &c, a->problem, err);
}

/* A record_fn: only what cannot be written ends the run. */
static int score_line(void *user, json_t *line, const char *where, struct error *err)
{
    struct span_run *run = user;
    struct error bad = { 0 };
    struct tag_answer a = { 0 };
    char text[RECORD_ID_TEXT];
    int i = strings_find(&run->ids, record_id_text(line, text)), rc = 0;

    if (i < 0 || run->answered[i]) {
        skip(run, where, i < 0 ? "its id is none of the gold records'" : "its id came before");
        return 0;
    }
    run->answered[i] = true;
    if (json_object_get(line, "error"))
        skip(run, where, "it is an error");
    else if (tag_read(&a, line, &run->gold.items[i], where, &bad))
        skip(run, where, bad.text);
    else
        rc = count_answer(run, &run->gold.items[i], &a, err);
    tag_answer_release(&a);
    return rc;
}

static int score_all(struct span_run *run, const struct score_request *q, struct error *err)
{
    if (read_gold(run, q->gold, err) || (q->per_example && out_file_open(&run->evidence, q->per_example, err)) ||
        records_each_as_is(q->pred, RECORDS_AUTO, score_line, run, err))
        return -1;
    for (int i = 0; i < run->gold.n; i++)
        if (!run->answered[i])
            skip(run, run->gold.items[i].id, "it has no answer");
    if (!run->tally.n)
        return error_set(err, EXIT_CODE_DATA, "%s: no line answers a record of %s", q->pred, q->gold);
    return run->evidence.f ? out_file_commit(&run->evidence, err) : 0;
}

static int print(const struct span_run *run, const struct score_request *q, struct error *err)
{
    if (!q->json) {
        span_score_print(&run->tally);
        return 0;
    }
    json_t *o = span_score_json(&run->tally);
    int rc = score_print_json(o, err);
    json_decref(o);
    return rc;
}

static void release(struct span_run *run)
{
    out_file_abort(&run->evidence);
    span_records_release(&run->gold);
    strings_release(&run->ids);
    strings_release(&run->tables);
    free(run->answered);
    free(run->tally.groups);
    free(run->tally.problem);
    free(run->tally.is_problem);
    free(run->tally.group);
    json_decref(run->tally.skipped);
}

enum exit_code score_spans(const struct score_request *q, struct error *err)
{
    struct span_run run = { .tally.skipped = json_array() };
    enum exit_code code = EXIT_CODE_OK;

    if (!q->gold)
        code = (error_set(err, EXIT_CODE_USAGE, "--rule spans: expected --gold too"), EXIT_CODE_USAGE);
    else if (score_all(&run, q, err) || print(&run, q, err))
        code = err->code;
    else if (json_array_size(run.tally.skipped))
        code = EXIT_CODE_RECORDS;
    release(&run);
    return code;
}
