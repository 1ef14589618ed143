#include "data/ambiguate/ambiguate_write.h"

#include "data/ambiguate/ambiguate_impl.h"
#include "data/ambiguate/ambiguate_record.h"
#include "data/ambiguate/materialise.h"
#include "data/exec/db_path.h"
#include "data/score/score.h"

#include <stdlib.h>
#include <string.h>

/* All that one record after the other needs. */
struct record_writer {
    struct ambiguate_input *in;
    const struct ambiguate_options *o;
    struct column_values *values; /* by schema; read when first asked for */
    struct published_texts published;
    struct materialiser *materialiser;
    struct out_file out;
};

static int start(struct record_writer *w, struct error *err)
{
    const struct ambiguate_options *o = w->o;
    const struct materialise_options m = { o->db, o->materialise, o->seed, o->published_databases, o->force };

    w->values = xcalloc((size_t)w->in->schemas.n + 1, sizeof *w->values);
    if ((o->schema_strings && published_texts_read(&w->published, o->schema_strings, err)) ||
        (o->materialise && !(w->materialiser = materialiser_open(&m, err))))
        return -1;
    return out_file_open(&w->out, o->out, err);
}

static void finish(struct record_writer *w)
{
    for (int i = 0; i < w->in->schemas.n; i++)
        column_values_release(&w->values[i]);
    free(w->values);
    published_texts_release(&w->published);
    materialiser_close(w->materialiser);
    out_file_abort(&w->out);
}

/* The values of the record's database, NULL without databases or when this one is missing, which `missing` then says.
 */
static int find_values(const struct column_values **values, struct error *missing, struct record_writer *w,
                       const struct ambiguity *a, struct error *err)
{
    struct column_values *v = &w->values[a->schema];

    *values = w->o->db ? v : NULL;
    if (!w->o->db || v->columns)
        return 0;
    char *path = db_path(w->o->db, a->record.db_id, missing);
    if (!path) {
        *values = NULL;
        return 0;
    }
    int rc = column_values_read(v, &w->in->schemas.schemas[a->schema], path, err);
    free(path);
    return rc;
}

/* A place of its own in the sequence of random numbers, so that a record's do not depend on the other kinds. */
static struct rng record_rng(const struct ambiguate_options *o, int kind, int number)
{
    return (struct rng){ o->seed, (uint64_t)kind << 56 | (uint64_t)number << 24 };
}

static void set_materialised(json_t *record, const struct materialised *m, bool readings)
{
    if (m->state == MATERIALISED_FAILED) {
        json_object_set_new(record, "materialise_error", json_message(m->message));
        return;
    }
    json_object_set_new(record, "db_file", json_string(m->file));
    if (readings)
        json_object_set_new(record, "coincide", json_boolean(m->state == MATERIALISED_COINCIDE));
}

/* The fault of a materialised record of the resolved query; AMBIGUITY_FAULTS means that it has none. */
static enum ambiguity_fault fault_of(const struct materialised *m)
{
    if (m->state == MATERIALISED_FAILED)
        return FAULT_FAILS;
    return m->other_rows ? FAULT_ROWS : AMBIGUITY_FAULTS;
}

static void set_filter(json_t *record, struct ambiguate_counts *counts, const struct ambiguity *a,
                       const struct materialised *m)
{
    const char *why = materialise_published_filter(a, m);

    counts->found += !why || strcmp(why, "lost") != 0;
    counts->kept += !why;
    json_object_set_new(record, "published_filter", json_string(why ? why : "kept"));
}

/* *fault tells why a record must be left out. */
static int add_database(struct record_writer *w, struct ambiguate_counts *counts, json_t *record,
                        const struct ambiguity *a, enum ambiguity_fault *fault, struct error *err)
{
    struct materialised m;

    const char *text = json_string_value(json_object_get(record, "schema_without_content"));
    if (materialise(w->materialiser, &m, a, &w->in->schemas.schemas[a->schema], text, err))
        return -1;
    if (a->resolved && (*fault = fault_of(&m)) != AMBIGUITY_FAULTS)
        return 0;
    if (m.state != MATERIALISED_FAILED)
        materialiser_keep(w->materialiser, m.file);
    set_materialised(record, &m, a->kind != AMBIGUITY_DELETED);
    counts->differ += m.state == MATERIALISED_DIFFER;
    counts->coincide += m.state == MATERIALISED_COINCIDE;
    counts->failed += m.state == MATERIALISED_FAILED;
    if (w->o->published_databases)
        set_filter(record, counts, a, &m);
    return 0;
}

/* The record as JSON; the caller owns the reference. */
static json_t *make_record(struct record_writer *w, const struct ambiguate_counts *counts, const struct ambiguity *a,
                           const struct column_values *values)
{
    const struct schema *s = ambiguate_lower(w->in, a->schema);
    struct rng rng = record_rng(w->o, a->kind, counts->records);
    struct schema_texts texts = ambiguate_schema_texts(a, s, values, &rng);
    const json_t *question = json_array_get(w->in->questions, (size_t)a->question);
    json_t *record = ambiguate_record(a, counts->records, question, s, &texts);

    if (w->published.by_key)
        published_texts_apply(&w->published, record);
    free(texts.with_content);
    free(texts.without_content);
    return record;
}

/* Whether the record is right, as far as it can be seen before its database is made. */
static int check(struct record_writer *w, enum ambiguity_fault *fault, const struct ambiguity *a, bool has_database,
                 struct error *err)
{
    char *path = has_database ? db_path(w->o->db, a->record.db_id, err) : NULL;

    *fault = AMBIGUITY_FAULTS;
    if (has_database && !path)
        return -1;
    int rc = a->resolved ? ambiguity_check(fault, a, ambiguate_lower(w->in, a->schema), path, err) : 0;
    free(path);
    return rc;
}

static int write_checked(struct record_writer *w, struct ambiguate_counts *counts, const struct ambiguity *a,
                         const struct column_values *values, const struct error *missing, struct error *err)
{
    enum ambiguity_fault fault = AMBIGUITY_FAULTS;
    bool alters = a->kind != AMBIGUITY_GIVEN;
    json_t *record = make_record(w, counts, a, values);

    if (missing->code)
        json_object_set_new(record, "error", json_message(missing->text));
    int rc = w->materialiser && alters && !missing->code ? add_database(w, counts, record, a, &fault, err) : 0;
    if (rc == 0 && fault == AMBIGUITY_FAULTS) {
        counts->records++;
        counts->without_database += missing->code != 0;
        rc = json_write_line(&w->out, record, err);
    } else if (rc == 0)
        counts->left_out[fault]++;
    json_decref(record);
    return rc;
}

static int write_record(struct record_writer *w, struct ambiguate_counts *counts, const struct ambiguity *a,
                        struct error *err)
{
    const struct column_values *values;
    struct error missing = { 0 };
    enum ambiguity_fault fault;

    if (find_values(&values, &missing, w, a, err) || check(w, &fault, a, w->o->db && !missing.code, err))
        return -1;
    if (fault == AMBIGUITY_FAULTS)
        return write_checked(w, counts, a, values, &missing, err);
    counts->left_out[fault]++;
    return 0;
}

static int write_kind(struct record_writer *w, struct ambiguate_counts *counts, int kind, struct error *err)
{
    struct ambiguities made = { 0 };
    int before = w->published.used, rc = ambiguate_make(&made, w->in, kind, err);

    memcpy(counts->left_out, made.left_out, sizeof counts->left_out);
    for (int i = 0; i < made.n && rc == 0; i++)
        rc = write_record(w, counts, &made.items[i], err);
    counts->kept_texts = w->published.used - before;
    ambiguities_release(&made);
    return rc;
}

int ambiguate_write(struct ambiguate_counts counts[AMBIGUITY_KINDS], struct ambiguate_input *in,
                    const struct ambiguate_options *o, struct error *err)
{
    struct record_writer w = { .in = in, .o = o };
    int rc = start(&w, err);

    memset(counts, 0, AMBIGUITY_KINDS * sizeof *counts);
    for (int k = 0; k < AMBIGUITY_KINDS && rc == 0; k++)
        if (o->kinds[k])
            rc = write_kind(&w, &counts[k], k, err);
    if (rc == 0 && w.materialiser)
        materialiser_prune(w.materialiser);
    if (rc == 0)
        rc = out_file_commit(&w.out, err);
    finish(&w);
    return rc;
}
