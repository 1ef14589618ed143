#include "data/corpora/corpus_statistics.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "data/corpora/dataset.h"
#include "data/db/db_path.h"
#include "data/db/schema_catalog.h"
#include "data/sql/sql_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { ARENA_BYTES = 64 << 20 }; /* for the tree of one statement; unused pages are never touched */

/* A row of the table.  Functions and joins are those of the statements. */
struct statistics_row {
    const char *name; /* of the file, or "all" */
    int64_t questions, ambiguous, unambiguous, databases, tables, columns, statements, functions, joins, unparsed,
        failed;
    struct strings db_ids;
};

struct corpus_counter {
    const struct corpus_statistics_request *q;
    struct schema_catalog schemas;
    struct arena arena;
    struct statistics_row rows[SPLITS], all;
    struct strings names; /* of the rows */
    int n;
};

/* Adds the gold statements of a record to golds.  Returns -1 when a statement is no string. */
static int add_golds(json_t *golds, const json_t *record, const char *field)
{
    json_t *value = json_object_get(record, field), *one;
    size_t i;

    if (json_is_string(value))
        return json_array_append(golds, value);
    json_array_foreach(value, i, one)
    {
        if (!json_is_string(one))
            return -1;
        json_array_append(golds, one);
    }
    return value && !json_is_array(value) ? -1 : 0;
}

/* The fields with gold statements, in the order of precedence.  Spider has an object "sql" beside "query". */
static int read_golds(json_t *golds, const json_t *record, const char *where, struct error *err)
{
    static const char *const fields[] = { "query", "SQL", "query1", "gold_queries", "gold", "sql" };

    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        if (!json_object_get(record, fields[i]))
            continue;
        if (add_golds(golds, record, fields[i]) || (i == 2 && add_golds(golds, record, "query2")))
            return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected a string or a list of strings", where,
                             fields[i]);
        return 0;
    }
    return error_set(err, EXIT_CODE_DATA,
                     "%s: expected gold statements in \"query\", \"SQL\", \"query1\" and \"query2\", \"gold_queries\", "
                     "\"gold\" or \"sql\"",
                     where);
}

/* Counts a statement.  The first one of a file that cannot be parsed is logged. */
static void count_gold(struct corpus_counter *c, struct statistics_row *add, const char *sql, const char *where)
{
    struct error why = { 0 };

    arena_reset(&c->arena, 0);
    const struct sql_query *query = sql_parse(&c->arena, sql, &why);
    if (!query) {
        if (!c->rows[c->n].unparsed && !add->unparsed)
            log_warn("%s: %s", where, why.text);
        add->unparsed++;
        return;
    }
    struct sql_counts n = sql_count(query);
    add->statements++;
    add->functions += n.functions;
    add->joins += n.joins;
}

static int count_golds(struct corpus_counter *c, struct statistics_row *add, const json_t *record, const char *where,
                       struct error *err)
{
    json_t *golds = json_array(), *gold;
    int rc = read_golds(golds, record, where, err);
    size_t i;

    json_array_foreach(golds, i, gold)
    {
        if (rc == 0)
            count_gold(c, add, json_string_value(gold), where);
    }
    json_decref(golds);
    return rc;
}

static int count_label(struct statistics_row *add, const json_t *record, const char *where, struct error *err)
{
    const char *field = json_object_get(record, "ambiguous") ? "ambiguous" : "is_ambiguous";
    bool ambiguous = json_object_get(record, "query1") != NULL, labelled = json_object_get(record, field) != NULL;

    if (labelled && json_get_bool(record, field, &ambiguous, where, err))
        return -1;
    add->ambiguous += ambiguous;
    add->unambiguous += labelled && !ambiguous;
    return 0;
}

/* Counts a record in a row.  A database counts once. */
static void count_in_row(struct statistics_row *row, const struct statistics_row *add, const struct schema *s,
                         const char *db_id)
{
    int known = row->db_ids.n;

    if (strings_add(&row->db_ids, db_id) == known) {
        row->databases++;
        row->tables += s->n_tables;
        row->columns += s->n_columns;
    }
    row->questions++;
    row->ambiguous += add->ambiguous;
    row->unambiguous += add->unambiguous;
    row->statements += add->statements;
    row->functions += add->functions;
    row->joins += add->joins;
    row->unparsed += add->unparsed;
}

static int count_record(struct corpus_counter *c, const json_t *record, const char *where, struct error *err)
{
    struct statistics_row add = { 0 };
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct schema *s = db_id ? schema_catalog_of(&c->schemas, record, where, err) : NULL;

    if (!s || !json_get_string(record, "question", where, err) || count_label(&add, record, where, err) ||
        count_golds(c, &add, record, where, err))
        return -1;
    count_in_row(&c->rows[c->n], &add, s, db_id);
    count_in_row(&c->all, &add, s, db_id);
    return 0;
}

static void count_failure(struct corpus_counter *c, struct error *err)
{
    if (!c->rows[c->n].failed++)
        log_warn("%s", err->text);
    c->all.failed++;
    *err = (struct error){ 0 };
}

/* Fills the row c->n.  Returns 0, -1 with err, or 1 after a signal. */
static int count_file(struct corpus_counter *c, const char *path, struct error *err)
{
    struct record_reader *in = record_reader_open(path, c->q->format_in, err);
    int got = in ? 1 : -1;

    while (in && !stop_requested()) {
        json_t *record = NULL;
        got = record_reader_next(in, &record, err);
        if (got == 0 || (got < 0 && record_reader_failed(in)))
            break;
        db_path_name(c->q->db, record);
        if (got < 0 || count_record(c, record, record_reader_where(in), err))
            count_failure(c, err);
        json_decref(record);
        got = 1;
    }
    record_reader_close(in);
    return got;
}

static void print_row(const struct statistics_row *r)
{
    const int64_t counts[] = { r->questions, r->ambiguous,  r->unambiguous, r->databases, r->tables,
                               r->columns,   r->statements, r->functions,   r->joins,     r->unparsed };

    for (int i = 0; i < ARRAY_LEN(counts); i++)
        printf("%-12lld", (long long)counts[i]);
    puts(r->name);
}

static int print_json(const struct statistics_row *r, struct error *err)
{
    json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "file", r->name, "questions",
                          (json_int_t)r->questions, "ambiguous", (json_int_t)r->ambiguous, "unambiguous",
                          (json_int_t)r->unambiguous, "databases", (json_int_t)r->databases, "tables",
                          (json_int_t)r->tables, "columns", (json_int_t)r->columns, "statements",
                          (json_int_t)r->statements, "functions", (json_int_t)r->functions, "joins",
                          (json_int_t)r->joins, "unparsed", (json_int_t)r->unparsed, "failed", (json_int_t)r->failed);
    char *line = o ? json_dumps(o, JSON_COMPACT) : NULL;
    int rc = line ? 0 : error_set(err, EXIT_CODE_DATA, "%s: cannot be written as JSON", r->name);

    if (line)
        puts(line);
    free(line);
    json_decref(o);
    return rc;
}

/* The schemas of a tables.json, whether questions have them or not. */
static struct statistics_row schemas_row(const struct corpus_counter *c)
{
    struct statistics_row row = { .name = "tables.json", .databases = c->schemas.tables.n };

    for (int i = 0; i < c->schemas.tables.n; i++) {
        row.tables += c->schemas.tables.schemas[i].n_tables;
        row.columns += c->schemas.tables.schemas[i].n_columns;
    }
    return row;
}

static int print(const struct corpus_counter *c, struct error *err)
{
    const struct statistics_row schemas = schemas_row(c), *list[SPLITS + 2];
    int n = 0, rc = 0;

    for (int i = 0; i < c->n; i++)
        list[n++] = &c->rows[i];
    if (c->n > 1)
        list[n++] = &c->all;
    if (schemas.databases)
        list[n++] = &schemas;
    if (!c->q->json)
        printf("%-12s%-12s%-12s%-12s%-12s%-12s%-12s%-12s%-12s%-12s%s\n", "questions", "ambiguous", "unambiguous",
               "databases", "tables", "columns", "statements", "functions", "joins", "unparsed", "file");
    for (int i = 0; i < n && rc == 0; i++) {
        if (c->q->json)
            rc = print_json(list[i], err);
        else
            print_row(list[i]);
    }
    return rc;
}

/* Counts the files of a data folder, or the file. */
static int count_files(struct corpus_counter *c, bool folder, struct error *err)
{
    int rc = 0, files = folder ? SPLITS : 1;

    for (c->n = 0; rc == 0 && c->n < files; c->n++) {
        char name[32], *path = NULL;
        snprintf(name, sizeof name, "%s.jsonl", split_name((enum data_split)c->n));
        path = folder ? path_in(c->q->path, name) : xstrdup(c->q->path);
        rc = count_file(c, path, err);
        c->rows[c->n].name = strings_keep(&c->names, path);
        free(path);
    }
    return rc;
}

static void release(struct corpus_counter *c)
{
    for (int i = 0; i < SPLITS; i++)
        strings_release(&c->rows[i].db_ids);
    strings_release(&c->all.db_ids);
    strings_release(&c->names);
    schema_catalog_close(&c->schemas);
    arena_release(&c->arena);
}

int corpus_statistics_print(const struct corpus_statistics_request *q, int64_t *failed, struct error *err)
{
    struct corpus_counter c = { .q = q, .all = { .name = "all" } };
    struct stat st;
    bool folder = stat(q->path, &st) == 0 && S_ISDIR(st.st_mode);
    char *tables = folder && !q->schema && !q->db ? path_in(q->path, "tables.json") : NULL;
    int rc = -1;

    stop_install();
    if (schema_catalog_open(&c.schemas, tables ? tables : q->schema, q->db, err) == 0 &&
        arena_init(&c.arena, ARENA_BYTES, err) == 0)
        rc = count_files(&c, folder, err);
    if (rc == 0)
        rc = print(&c, err);
    *failed = c.all.failed + c.all.unparsed;
    release(&c);
    free(tables);
    return rc;
}
