/* Part of commands.h: ambit-data plans. */
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/out_file.h"
#include "data/base/records.h"
#include "data/cmd/commands.h"
#include "data/corpora/ambiqt.h"
#include "data/corpora/ambiqt_text.h"
#include "data/corpora/spider.h"
#include "data/corpora/split.h"
#include "data/db/db_path.h"
#include "data/prompt/parser_text.h"
#include "data/prompt/schema_text.h"
#include "data/prompt/template_constraint.h"
#include "data/sql/sql.h"
#include "kernels/rng.h"

#include <stdlib.h>
#include <string.h>

/* The form of Spider's schemas: in their own order; as AmbiQT, in random order with other blanks; or the latter, with
 * only the named tables in train and valid. */
enum plans_schema { PLANS_SCHEMA_SPIDER, PLANS_SCHEMA_AMBIQT, PLANS_SCHEMA_NAMED };

struct plans_request {
    const char *spider; /* folder with tables.json, train_spider.json and dev.json */
    const char *ambiqt; /* AmbiQT's records, or NULL */
    const char *db;     /* as in db_path.h, or NULL: values for constraints */
    const char *out;
    enum parser_form form;
    enum plans_schema schema;
    double valid;    /* share of the training databases */
    bool any_number; /* as in struct template_names */
    int64_t seed;
    bool constraints, force;
};

enum plans_split { PLANS_TRAIN, PLANS_VALID, PLANS_TEST, PLANS_AMBIQT, PLANS_SPLITS };
static const char *const split_labels[] = { "train", "valid", "test", "ambiqt" };

enum { SQL_ARENA_BYTES = 16 << 20 };
enum { CONSTRAINTS = PARSER_MODELS, PLANS_FILES = (PARSER_MODELS + 1) * PLANS_SPLITS };

/* Files for each model and split, and for constraints. */
struct plans_job {
    const struct plans_request *q;
    struct schema_set schemas;
    struct out_file files[PLANS_FILES]; /* see file_of */
    int counts[PLANS_SPLITS], unfit[PLANS_SPLITS];
    struct rng rng;
    const struct schema *valued; /* the schema of `values` */
    struct column_values values;
};

/* A question with a gold statement. */
struct plans_example {
    const char *id, *db_id, *question, *sql;
    const char *schema_text;
    const struct schema *schema; /* of AmbiQT's records, for constraints */
    struct template_names names;
};

/* The file of a model, or of CONSTRAINTS. */
static struct out_file *file_of(struct plans_job *p, int model, enum plans_split split)
{
    return p->files + model * PLANS_SPLITS + split;
}

static json_t *record_of(const struct plans_job *p, const struct plans_example *e, enum parser_model m,
                         const char *template)
{
    const struct parser_question q = { e->question, e->db_id, e->schema_text };
    char *input = parser_input(p->q->form, m, &q, m == PARSER_FILL ? template : NULL);
    char *target = parser_target(p->q->form, m, e->db_id, e->sql, &e->names);
    json_t *record = json_pack("{s:s, s:s}", "id", e->id, "db_id", e->db_id);

    if (p->q->form == PARSER_CHAT)
        json_object_set_new(record, "messages",
                            json_pack("[{s:s, s:s}, {s:s, s:s}]", "role", "user", "content", input, "role", "assistant",
                                      "content", target));
    else
        json_object_update_new(record, json_pack("{s:s, s:s}", "prompt", input, "completion", target));
    free(target);
    free(input);
    return record;
}

/* Reads the values of a database; they stay until another one is needed. */
static int read_values(struct plans_job *p, const struct schema *s, struct error *err)
{
    if (!p->q->db || p->valued == s)
        return 0;
    char *path = db_path(p->q->db, s->db_id, err);
    column_values_release(&p->values);
    p->valued = NULL;
    int rc = path ? column_values_read(&p->values, s, path, err) : -1;
    free(path);
    if (rc == 0)
        p->valued = s;
    return rc;
}

/* A template that does not fit the schema gets no line, and is counted. */
static int write_constraint(struct plans_job *p, const struct plans_example *e, enum plans_split split,
                            const char *template, struct error *err)
{
    struct out_file *o = file_of(p, CONSTRAINTS, split);
    struct error why = { 0 };

    if (!o->f)
        return 0;
    if (read_values(p, e->schema, err))
        return -1;
    const struct template_question q = { e->schema, e->question, p->valued ? &p->values : NULL };
    json_t *line = template_constraint(&q, template, &why);
    if (!line) {
        log_warn("%s %s: %s", split_labels[split], e->id, why.text);
        p->unfit[split]++;
        return 0;
    }
    json_object_set_new(line, "id", json_string(e->id));
    int rc = json_write_line(o, line, err);
    json_decref(line);
    return rc;
}

static int write_example(struct plans_job *p, const struct plans_example *e, enum plans_split split, struct error *err)
{
    char *normal = parser_normal_query(e->sql), *template = sql_template(&e->names, normal, SQL_TEMPLATE_TRAINING);
    int rc = write_constraint(p, e, split, template, err);

    for (int m = 0; m < PARSER_MODELS && rc == 0; m++) {
        json_t *record = record_of(p, e, (enum parser_model)m, template);
        rc = json_write_line(file_of(p, m, split), record, err);
        json_decref(record);
    }
    p->counts[split]++;
    free(template);
    free(normal);
    return rc;
}

/* "table : column , column | table : ..." with the columns of each table in random order. */
static char *shuffled_schema(const struct schema *s, struct rng *rng)
{
    struct schema mixed = *s;

    mixed.columns = xcalloc((size_t)s->n_columns + 1, sizeof *mixed.columns);
    if (s->n_columns)
        memcpy(mixed.columns, s->columns, (size_t)s->n_columns * sizeof *mixed.columns);
    for (int t = 0; t < s->n_tables; t++)
        rng_shuffle(rng, mixed.columns + s->tables[t].first_column, s->tables[t].n_columns, sizeof *mixed.columns);
    char *plain = parser_schema(&mixed);
    char *spaced = text_replace(plain, ",", " ,"), *text = text_replace(spaced, " |", "  |");
    free(spaced);
    free(plain);
    free(mixed.columns);
    return text;
}

/* Marks the tables that a statement reads; false if it cannot be parsed. */
static bool read_tables(bool *named, const struct schema *s, const char *sql)
{
    struct sql_uses uses;
    struct arena arena;

    CHECK(arena_init(&arena, SQL_ARENA_BYTES, NULL) == 0, "no %d bytes of memory", SQL_ARENA_BYTES);
    struct sql_query *query = sql_parse(&arena, sql, NULL);
    bool understood = query && sql_resolve(&arena, query, s, &uses, NULL) == 0;
    for (int i = 0; understood && i < uses.n; i++)
        named[uses.list[i].table] = true;
    arena_release(&arena);
    return understood;
}

/* Moves the named tables to the front of the copy and returns their number. If the statement cannot be parsed or names
 * none, all tables count. */
static int named_tables(struct schema_table *copy, const struct schema *s, const char *sql)
{
    bool *read = xcalloc((size_t)s->n_tables + 1, sizeof *read);
    int named = 0;

    if (read_tables(read, s, sql))
        for (int t = 0; t < s->n_tables; t++)
            if (read[t])
                copy[named++] = s->tables[t];
    free(read);
    return named ? named : s->n_tables;
}

/* The text of the schema with the tables that sql names. */
static char *named_schema(const struct schema *s, const char *sql, struct rng *rng)
{
    struct schema part = *s;

    part.tables = xcalloc((size_t)s->n_tables + 1, sizeof *part.tables);
    if (s->n_tables)
        memcpy(part.tables, s->tables, (size_t)s->n_tables * sizeof *part.tables);
    part.n_tables = named_tables(part.tables, s, sql);
    char *text = shuffled_schema(&part, rng);
    free(part.tables);
    return text;
}

static char *schema_text(struct plans_job *p, const struct schema *s, const char *sql, enum plans_split split)
{
    if (p->q->schema == PLANS_SCHEMA_NAMED && split != PLANS_TEST)
        return named_schema(s, sql, &p->rng);
    return p->q->schema == PLANS_SCHEMA_SPIDER ? parser_schema(s) : shuffled_schema(s, &p->rng);
}

static int write_question(struct plans_job *p, const struct spider_question *q, int number, enum plans_split split,
                          struct error *err)
{
    const struct schema *s = schema_find(&p->schemas, q->db_id);
    struct plans_example e = { .db_id = q->db_id, .question = q->question, .sql = q->query, .schema = s };
    char id[64];

    if (!s)
        return error_set(err, EXIT_CODE_DATA, "record %d: db_id \"%s\" is not in tables.json", number, q->db_id);
    snprintf(id, sizeof id, "%s-%d", split == PLANS_TEST ? "dev" : "train", number);
    char *text = schema_text(p, s, q->query, split);
    e.id = id;
    e.schema_text = text;
    template_names_of_schema(&e.names, s);
    e.names.any_number = p->q->any_number;
    int rc = write_example(p, &e, split, err);
    template_names_release(&e.names);
    free(text);
    return rc;
}

/* The split of each training question, by its database. */
static int *split_questions(const struct plans_job *p, const struct spider_corpus *c, struct error *err)
{
    struct strings names = { 0 };
    int *split = xcalloc((size_t)c->n + 1, sizeof *split), *by_name = xcalloc((size_t)c->n + 1, sizeof *by_name);

    for (int i = 0; i < c->n; i++)
        strings_add(&names, c->items[i].db_id);
    if (!split_names((const char *const *)names.items, names.n, p->q->valid, 0, p->q->seed, by_name)) {
        error_set(err, EXIT_CODE_DATA, "%d training databases are too few for a validation split of %g", names.n,
                  p->q->valid);
        free(split);
        split = NULL;
    }
    for (int i = 0; split && i < c->n; i++)
        split[i] = by_name[strings_find(&names, c->items[i].db_id)] == 1 ? PLANS_VALID : PLANS_TRAIN;
    strings_release(&names);
    free(by_name);
    return split;
}

/* Converts one of Spider's files; records are numbered from 0, as in AmbiQT. */
static int write_file(struct plans_job *p, const char *name, bool test, struct error *err)
{
    char *path = path_in(p->q->spider, name);
    struct spider_corpus c;
    int *split = NULL, rc = spider_read(&c, path, err);

    if (rc == 0 && !test && !(split = split_questions(p, &c, err)))
        rc = -1;
    for (int i = 0; i < c.n && rc == 0; i++)
        if ((rc = write_question(p, c.items + i, i, test ? PLANS_TEST : (enum plans_split)split[i], err)))
            error_prefix(err, "%s", path);
    free(split);
    spider_release(&c);
    free(path);
    return rc;
}

/* Writes one interpretation of a record. */
static int write_interpretation(struct plans_job *p, struct plans_example *e, const char *where, struct error *err)
{
    int rc = template_names_of_text(&e->names, e->schema_text, err);

    e->names.any_number = p->q->any_number;
    if (rc)
        error_prefix(err, "%s", where);
    else
        rc = write_example(p, e, PLANS_AMBIQT, err);
    template_names_release(&e->names);
    return rc;
}

/* Writes both interpretations, with the record's own schema. */
static int write_both(struct plans_job *p, const struct ambiqt_record *r, const char *number, const char *where,
                      struct error *err)
{
    struct schema_set own = { 0 };
    char id[64];
    int rc = 0;

    if (!r->schema_text)
        return error_set(err, EXIT_CODE_DATA, "%s: expected \"schema_without_content\"", where);
    if (p->q->constraints &&
        (rc = schema_of_text(&own, r->db_id, r->schema_text, schema_find(&p->schemas, r->db_id), err)))
        error_prefix(err, "%s", where);
    for (int i = 0; i < 2 && rc == 0; i++) {
        struct plans_example e = {
            id, r->db_id, r->question, .sql = r->interpretations[i], r->schema_text, own.schemas
        };
        snprintf(id, sizeof id, "%s-%d", number, i + 1);
        rc = write_interpretation(p, &e, where, err);
    }
    p->valued = NULL;
    schema_set_close(&own);
    return rc;
}

/* A record of AmbiQT; a record_fn. */
static int write_record(void *job, json_t *record, const char *where, struct error *err)
{
    struct ambiqt_corpus c = { 0 };
    char number[RECORD_ID_TEXT];
    int kind = ambiqt_kind(record), rc = -1;

    if (kind < 0)
        error_set(err, EXIT_CODE_DATA, "%s: expected a record of AmbiQT", where);
    else if ((rc = ambiqt_add(&c, (enum sia_type)kind, record, where, err)) == 0)
        rc = write_both(job, c.items, record_id_text(record, number), where, err);
    ambiqt_release(&c);
    return rc;
}

static int open_file(struct plans_job *p, int model, enum plans_split split, const char *dir, struct error *err)
{
    bool constraints = model == CONSTRAINTS;
    char name[64];

    snprintf(name, sizeof name, "%s.%s%s.jsonl",
             parser_model_name(constraints ? PARSER_FILL : (enum parser_model)model), split_labels[split],
             constraints ? ".constraints" : "");
    char *path = path_in(dir, name);
    int rc = out_file_open(file_of(p, model, split), path, err);
    free(path);
    return rc;
}

static int open_files(struct plans_job *p, const char *dir, struct error *err)
{
    for (int f = 0; f < PLANS_SPLITS; f++) {
        if (f == PLANS_AMBIQT && !p->q->ambiqt)
            continue;
        bool constraints = p->q->constraints && f != PLANS_TRAIN;
        for (int m = 0; m < PARSER_MODELS + constraints; m++)
            if (open_file(p, m, (enum plans_split)f, dir, err))
                return -1;
    }
    return 0;
}

static int write_all(struct plans_job *p, const char *dir, struct error *err)
{
    if (open_files(p, dir, err) || write_file(p, "train_spider.json", false, err) ||
        write_file(p, "dev.json", true, err))
        return -1;
    if (p->q->ambiqt && records_each(p->q->ambiqt, RECORDS_AUTO, write_record, p, err))
        return -1;
    for (int i = 0; i < PLANS_FILES; i++)
        if (p->files[i].f && out_file_commit(p->files + i, err))
            return -1;
    return 0;
}

static void tell(const struct plans_job *p)
{
    for (int f = 0; f < PLANS_SPLITS; f++) {
        if (p->counts[f])
            log_info("%s: %d records for each model", split_labels[f], p->counts[f]);
        if (p->unfit[f])
            log_info("%s: %d gold templates without a constraint", split_labels[f], p->unfit[f]);
    }
}

/* Writes MODEL.train.jsonl, MODEL.valid.jsonl and MODEL.test.jsonl for each model, and MODEL.ambiqt.jsonl if
 * requested. Records have id, db_id, and prompt and completion, or messages. With constraints,
 * template-fill.SPLIT.constraints.jsonl lists the statements that gold templates allow, except for train. Logs the
 * counts of each split. -1 with err. */
static int plans_write(const struct plans_request *q, struct error *err)
{
    struct plans_job p = { .q = q, .rng = { (uint64_t)q->seed, 0 } };
    struct out_folder folder = { 0 };
    char *tables = path_in(q->spider, "tables.json");
    int rc = db_path_check(q->db, err);

    if (rc == 0)
        rc = schema_set_open(&p.schemas, tables, err);
    if (rc == 0)
        rc = out_folder_open(&folder, q->out, err) || write_all(&p, folder.tmp, err) ? -1 : 0;
    for (int i = 0; i < PLANS_FILES; i++)
        out_file_abort(p.files + i);
    if (rc == 0)
        rc = out_folder_commit(&folder, q->force, err);
    out_folder_abort(&folder);
    if (rc == 0)
        tell(&p);
    column_values_release(&p.values);
    schema_set_close(&p.schemas);
    free(tables);
    return rc;
}

static const struct plans_request defaults = { .valid = .05 };

#define AT(field) offsetof(struct plans_request, field)

static const struct option options[] = {
    STRING_OPTION("spider", AT(spider), "DIR", "Spider's folder: tables.json, train_spider.json, dev.json",
                  .required = true, .group = "input"),
    STRING_OPTION("ambiqt", AT(ambiqt), "FILE", "AmbiQT's records, as a second test split"),
    DB_OPTION(AT(db), ""),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    REAL_OPTION("valid-share", AT(valid), "X", 0, .5, "share of the training databases in the validation split",
                .group = "records"),
    CHOICE_OPTION("prompt", AT(form), "FORM", "seq2seq|chat", "published strings, or chat messages"),
    CHOICE_OPTION("schema-text", AT(schema), "FORM", "spider|ambiqt|named",
                  "Spider's order, AmbiQT's random order, or named tables only"),
    FLAG_OPTION("any-number", AT(any_number), "write the placeholder number for fractions and signed numbers too"),
    FLAG_OPTION("constraints", AT(constraints), "also write constraints that gold templates allow"),
    SEED_OPTION(AT(seed), "random seed"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct plans_request *q = call->options;

    if (q->db && !q->constraints)
        return usage_error(err, "--db requires --constraints");
    return job_exit_code(plans_write(q, err), 0, err);
}

static const struct file_note files[] = {
    { "DIR/MODEL.train.jsonl, DIR/MODEL.valid.jsonl, DIR/MODEL.test.jsonl", "records of a model's three splits" },
    { "DIR/MODEL.ambiqt.jsonl", "with --ambiqt: a record for each interpretation" },
    { "DIR/template-fill.valid.constraints.jsonl, DIR/template-fill.test.constraints.jsonl, "
      "DIR/template-fill.ambiqt.constraints.jsonl",
      "with --constraints: the statements that gold templates allow" },
    { 0 },
};

const struct command command_plans = {
    .name = "plans",
    .summary = "write the training data of LogicalBeam's models",
    OPTIONS(options, defaults),
    .details = "LogicalBeam (Bhaskar et al., EMNLP 2023) has four models: t2s, from question to SQL; template-gen, "
               "to a plan and a template; template-fill, from question and template to SQL; direct, to a plan and "
               "SQL. A plan counts the joins of a statement and the items of its first select list. A template has "
               "the words table, column, string and number in place of names and values.\n\n"
               "--constraints compiles each gold template to the statements that schema, question and database "
               "allow, for `ambit-infer generate --constraint`. Guide: docs/guides/parser-data.md.",
    .examples = { "ambit-data plans --spider spider -o plans",
                  "ambit-data plans --spider spider --prompt chat --constraints --db spider/db -o plans" },
    .files = files,
    .run = run,
};
