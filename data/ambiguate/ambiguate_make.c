#include "data/ambiguate/ambiguate_make.h"

#include "data/ambiguate/ambiguate_impl.h"
#include "data/corpora/ambrosia.h"
#include "data/corpora/question_source.h"
#include "data/exec/db_path.h"
#include "data/exec/schema_sqlite.h"
#include "data/schema/schema_build.h"
#include "data/score/score.h"
#include "data/util/records.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller frees it. */
static char *lower(const char *name)
{
    char *s = xstrdup(name);
    for (char *p = s; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return s;
}

static void make_lower(struct schema *out, const struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, s->db_id);
    for (int t = 0; t < s->n_tables; t++) {
        char *name = lower(s->tables[t].name);
        schema_build_form(&b, schema_build_table(&b, name, s->tables[t].text), s->tables[t].form);
        free(name);
    }
    for (int c = 0; c < s->n_columns; c++) {
        const struct schema_column *column = &s->columns[c];
        char *name = lower(column->name);
        schema_build_column(&b, column->table, name, column->text, column->type);
        if (column->primary)
            schema_build_primary(&b, c);
        free(name);
    }
    for (int k = 0; k < s->n_foreign_keys; k++)
        schema_build_foreign_key(&b, s->foreign_keys[k].from, s->foreign_keys[k].to);
    schema_build_finish(&b, out);
}

const struct schema *ambiguate_lower(struct ambiguate_input *in, int number)
{
    struct schema *s = &in->lower[number];
    if (!s->block)
        make_lower(s, &in->schemas.schemas[number]);
    return s;
}

/* One schema for each database that a question is about. */
static int read_schemas(struct ambiguate_input *in, struct error *err)
{
    json_t *record;
    size_t i;

    json_array_foreach(in->questions, i, record)
    {
        const char *db_id = json_string_value(json_object_get(record, "db_id"));
        struct schema_set one = { 0 };
        if (schema_find(&in->schemas, db_id))
            continue;
        char *path = db_path(in->db, db_id, err);
        int rc = path ? schema_set_open_sqlite(&one, path, true, err) : -1;
        free(path);
        if (rc == 0) {
            rc = schema_set_add(&in->schemas, one.schemas, err);
            one.n = 0; /* handed over */
        }
        schema_set_close(&one);
        if (rc)
            return error_prefix(err, "question %zu", i + 1);
    }
    return 0;
}

/* A record_fn: a question as a row has it.  Schemas that were read before must have its database's. */
static int read_question(void *input, json_t *row, const char *where, struct error *err)
{
    struct ambiguate_input *in = input;

    if (!ambrosia_is_row(row))
        db_path_name(in->db, row);
    json_t *question = question_from_row(row, (int64_t)json_array_size(in->questions), where, err);
    const char *db_id = json_string_value(json_object_get(question, "db_id"));

    if (!question)
        return -1;
    if (in->schemas.n && !schema_find(&in->schemas, db_id)) {
        error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\": no schema \"%s\"", where, db_id);
        json_decref(question);
        return -1;
    }
    return json_array_append_new(in->questions, question);
}

int ambiguate_input_read(struct ambiguate_input *in, const struct ambiguate_files *f, struct error *err)
{
    *in = (struct ambiguate_input){ .db = f->db, .questions = json_array() };
    if (db_path_check(f->db, err) || (f->tables && schema_set_open(&in->schemas, f->tables, err)) ||
        records_each_as_is(f->questions, RECORDS_AUTO, read_question, in, err) ||
        (!f->tables && read_schemas(in, err)) ||
        (f->column_synonyms && synonyms_read(&in->columns, f->column_synonyms, err)) ||
        (f->table_synonyms && synonyms_read(&in->tables, f->table_synonyms, err)))
        return -1;
    in->finder.columns = f->column_synonyms ? &in->columns : NULL;
    in->finder.tables = f->table_synonyms ? &in->tables : NULL;
    in->lower = xcalloc((size_t)in->schemas.n + 1, sizeof *in->lower);
    return 0;
}

void ambiguate_input_release(struct ambiguate_input *in)
{
    for (int i = 0; in->lower && i < in->schemas.n; i++)
        schema_release(&in->lower[i]);
    free(in->lower);
    json_decref(in->questions);
    schema_set_close(&in->schemas);
    synonyms_release(&in->columns);
    synonyms_release(&in->tables);
    synonym_finder_release(&in->finder);
    *in = (struct ambiguate_input){ 0 };
}

/* Leaves out those whose element is of a view or a virtual table, of which none can stand twice. */
static void keep_stored(struct ambiguities *out, int from, const struct schema *s, bool resolved)
{
    int n = from;

    for (int i = from; i < out->n; i++) {
        const char *table = out->items[i].record.table;
        int t = table ? schema_table_find(s, table) : -1;
        if (t < 0 || schema_table_is_stored(s, t))
            out->items[n++] = out->items[i];
        else if (resolved)
            ambiguity_leave_out(out, FAULT_FORM);
    }
    out->n = n;
}

static void make_one(struct ambiguities *out, struct ambiguate_input *in, const struct ambiguate_question *q, int kind)
{
    switch (kind) {
    case SIA_COLUMN:
        (q->resolved ? resolved_columns : ambiguate_columns)(out, q, &in->finder);
        break;
    case SIA_TABLE:
        (q->resolved ? resolved_tables : ambiguate_tables)(out, q, &in->finder);
        break;
    case SIA_JOIN:
        (q->resolved ? resolved_joins : ambiguate_joins)(out, q);
        break;
    case SIA_AGGREGATE:
        if (in->one_table)
            (q->resolved ? resolved_one_table : ambiguate_one_table)(out, q);
        else
            (q->resolved ? resolved_aggregates : ambiguate_aggregates)(out, q);
        break;
    case AMBIGUITY_DELETED:
        ambiguate_deleted(out, q);
        break;
    case AMBIGUITY_REPLACED:
        ambiguate_replaced(out, q);
        break;
    default:
        ambiguity_add(out, q, kind);
    }
}

int ambiguate_make(struct ambiguities *out, struct ambiguate_input *in, int kind, struct error *err)
{
    json_t *record;
    size_t i;

    json_array_foreach(in->questions, i, record)
    {
        const char *db_id = json_string_value(json_object_get(record, "db_id"));
        const char *query = json_string_value(json_object_get(record, "query")); /* NULL: it has several */
        const struct schema *s = schema_find(&in->schemas, db_id);
        if (!s)
            return error_set(err, EXIT_CODE_DATA, "question %zu: field \"db_id\": no schema \"%s\"", i + 1, db_id);
        if ((query == NULL) != (kind == AMBIGUITY_GIVEN))
            continue;
        struct ambiguate_question q = { .db_id = db_id,
                                        .question = json_string_value(json_object_get(record, "question")),
                                        .number = (int)i,
                                        .resolved =
                                            !in->as_ambiqt || kind >= SIA_KINDS || json_object_get(record, "corpus"),
                                        .schema_number = (int)(s - in->schemas.schemas) };
        q.schema = ambiguate_lower(in, q.schema_number);
        ambiguate_question_init(&q, query ? query : "");
        int before = out->n;
        make_one(out, in, &q, kind);
        keep_stored(out, before, q.schema, q.resolved);
        ambiguate_question_release(&q);
    }
    return 0;
}
