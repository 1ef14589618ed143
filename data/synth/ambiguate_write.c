#include "data/synth/ambiguate_write.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/corpora/ambrosia.h"
#include "data/corpora/question_source.h"
#include "data/db/column_values.h"
#include "data/db/db_path.h"
#include "data/db/schema_sqlite.h"
#include "data/eval/score.h"
#include "data/schema/schema_build.h"
#include "data/synth/ambiguate_published.h"
#include "data/synth/ambiguate_resolved.h"
#include "data/synth/materialise.h"
#include "data/synth/sql_edit.h"
#include "kernels/rng.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The altered schema of a record as one line of text, with sample values and without them: "table : column (v1, v2,
 * v3), column (...) | table : ...". The columns of each table are in random order; for T and P the tables are too. The
 * form without values is the other one with all text between parentheses removed. As in the published strings, this
 * leaves blanks before commas and parts of values that contain parentheses. The caller frees both texts. s has
 * lower-case names. values may be NULL: the parentheses are then empty. */
struct schema_texts {
    char *with_content, *without_content;
};

/* The schema texts of a published file of AmbiQT records, used instead of generated texts. */
struct published_texts {
    json_t *by_key; /* lists of records with the same question and interpretations, in file order */
    int used;
};

enum { MAX_SAMPLES = 3, MAX_COUNT = 10 };

/* Texts of columns or of tables, to be shuffled and joined. */
struct element_texts {
    char **items;
    int n, cap;
};

struct schema_renderer {
    const struct ambiguity *a;
    const struct schema *s;
    const struct column_values *values;
    struct rng *rng;
    struct element_texts tables;
    char *sample; /* J: the sample values of the split column in its own table */
};

static void add(struct element_texts *t, char *text)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n++] = text;
}

static void add_copy(struct element_texts *t, const char *text)
{
    add(t, xstrdup(text));
}

static void release(struct element_texts *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct element_texts){ 0 };
}

/* The caller frees the result. */
static char *join(const struct element_texts *t, const char *between)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    for (int i = 0; i < t->n; i++)
        fprintf(f, "%s%s", i ? between : "", t->items[i]);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return text;
}

/* Returns three random sample values (drawn with replacement), or all if there are at most three. The caller frees the
 * text. */
static char *sample(const struct schema_renderer *r, int column)
{
    const char *shown[MAX_SAMPLES] = { "", "", "" };
    int have = r->values && column >= 0 ? r->values->counts[column] : 0, n = have < MAX_SAMPLES ? have : MAX_SAMPLES;
    char *text = NULL;

    for (int i = 0; i < n; i++) {
        int pick = have > MAX_SAMPLES ? (int)rng_below(r->rng, (uint32_t)have) : i;
        shown[i] = r->values->columns[column][pick];
    }
    CHECK(asprintf(&text, "%s%s%s%s%s", shown[0], n > 1 ? ", " : "", shown[1], n > 2 ? ", " : "", shown[2]) >= 0,
          "cannot format a sample");
    return text;
}

static char *column_text(const char *name, const char *values)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s (%s)", name, values) >= 0, "cannot format %s", name);
    return text;
}

/* Takes ownership of the columns. */
static void add_table(struct schema_renderer *r, const char *name, struct element_texts *columns)
{
    char *list = join(columns, ", "), *text = NULL;
    CHECK(asprintf(&text, "%s : %s", name, list) >= 0, "cannot format %s", name);
    add(&r->tables, text);
    free(list);
    release(columns);
}

/* Adds column c of the altered schema. C and R have both names with the same sample; D has none. */
static void add_column(struct schema_renderer *r, struct element_texts *columns, int c)
{
    const struct ambiqt_record *record = &r->a->record;
    const struct schema_column *column = &r->s->columns[c];
    bool here = record->column && strcmp(r->s->tables[column->table].name, record->table) == 0 &&
                strcmp(column->name, record->column) == 0;
    if (here && r->a->type == AMBIGUITY_DELETED)
        return;
    char *values = sample(r, c);
    if (here && record->type == SIA_COLUMN) {
        add(columns, column_text(record->names[0], values));
        add(columns, column_text(record->names[1], values));
    } else {
        add(columns, column_text(column->name, values));
    }
    if (here && record->type == SIA_JOIN)
        r->sample = values;
    else
        free(values);
}

/* J: the new table follows its parent. */
static void add_split_table(struct schema_renderer *r, int table)
{
    const struct ambiqt_record *record = &r->a->record;
    struct element_texts columns = { 0 };
    char *keys = sample(r, ambiguity_column(r->s, table, record->key));

    add(&columns, column_text(record->key, keys));
    add(&columns, column_text(record->column, r->sample ? r->sample : ""));
    rng_shuffle(r->rng, columns.items, columns.n, sizeof *columns.items);
    add_table(r, record->new_table, &columns);
    free(keys);
}

/* Returns the column of that name in the first of the record's tables that has it, or -1. */
static int source_column(const struct schema_renderer *r, const char *name)
{
    for (int i = 0; i < r->a->n_tables; i++) {
        int c = ambiguity_column(r->s, ambiguity_table(r->s, r->a->tables[i]), name);
        if (c >= 0)
            return c;
    }
    return -1;
}

static void add_aggregate(struct schema_renderer *r, struct element_texts *columns, const char *name, const char *raw)
{
    char *values = sample(r, source_column(r, raw));
    add(columns, column_text(name, values));
    free(values);
}

static void add_number(struct schema_renderer *r, struct element_texts *columns)
{
    char text[64];
    int n[3];

    for (int i = 0; i < 3; i++)
        n[i] = 1 + (int)rng_below(r->rng, MAX_COUNT);
    snprintf(text, sizeof text, "number(%d, %d, %d)", n[0], n[1], n[2]);
    add_copy(columns, text);
}

/* P in the form of the training file: the new table has the table's other columns too. */
static void add_other_columns(struct schema_renderer *r, struct element_texts *columns)
{
    int t = ambiguity_table(r->s, r->a->record.table);
    const struct schema_table *table = &r->s->tables[t];

    for (int c = table->first_column; c < table->first_column + table->n_columns; c++)
        if (strcmp(r->s->columns[c].name, r->a->record.column) != 0)
            add_column(r, columns, c);
    for (int i = 0; i < r->a->record.n_new_columns; i++) {
        char *values = sample(r, ambiguity_column(r->s, t, r->a->record.column));
        add(columns, column_text(r->a->record.new_columns[i], values));
        free(values);
    }
}

static void add_aggregate_table(struct schema_renderer *r)
{
    const struct ambiguity *a = r->a;
    struct element_texts columns = { 0 };

    if (a->one_table)
        add_other_columns(r, &columns);
    for (int i = 0; i < a->n_plain; i++)
        add_aggregate(r, &columns, a->stored[i], a->stored[i]);
    if (a->number)
        add_number(r, &columns);
    for (int i = a->n_plain + a->number; i < a->n_stored; i++)
        for (int k = 0; k < 4; k++) {
            int at = a->n_plain + a->number + 4 * (i - a->n_plain - a->number) + k;
            add_aggregate(r, &columns, a->record.new_columns[at], a->stored[i]);
        }
    rng_shuffle(r->rng, columns.items, columns.n, sizeof *columns.items);
    add_table(r, a->record.new_table, &columns);
}

/* T: both copies show the same values and replace the table. */
static void add_doubled_table(struct schema_renderer *r, struct element_texts *columns)
{
    char *list = join(columns, ", ");

    release(columns);
    for (int k = 0; k < 2; k++) {
        struct element_texts one = { 0 };
        add_copy(&one, list);
        add_table(r, r->a->record.names[k], &one);
    }
    free(list);
}

static void add_tables(struct schema_renderer *r)
{
    const struct ambiqt_record *record = &r->a->record;
    struct element_texts doubled = { 0 };

    for (int t = 0; t < r->s->n_tables; t++) {
        const struct schema_table *table = &r->s->tables[t];
        bool here = record->table && strcmp(table->name, record->table) == 0;
        struct element_texts columns = { 0 };
        for (int i = 0; i < table->n_columns; i++)
            add_column(r, &columns, table->first_column + i);
        rng_shuffle(r->rng, columns.items, columns.n, sizeof *columns.items);
        if (here && record->type == SIA_TABLE)
            doubled = columns;
        else
            add_table(r, table->name, &columns);
        if (here && record->type == SIA_JOIN)
            add_split_table(r, t);
    }
    if (record->type == SIA_TABLE)
        add_doubled_table(r, &doubled);
    if (record->type == SIA_AGGREGATE)
        add_aggregate_table(r);
}

/* Removes the text between each "(" and the next ")". A ")" inside a value ends the removal, as in the published
 * strings. */
static char *without_parentheses(const char *s)
{
    char *out = xstrdup(s), *to = out;
    bool inside = false;

    for (; *s; s++) {
        if (*s == '(')
            inside = true;
        else if (*s == ')')
            inside = false;
        else if (!inside)
            *to++ = *s;
    }
    *to = 0;
    return out;
}

static void strip(char *s)
{
    size_t n = strlen(s), skip = strspn(s, " ");
    while (n > skip && s[n - 1] == ' ')
        n--;
    memmove(s, s + skip, n - skip);
    s[n - skip] = 0;
}

static struct schema_texts ambiguate_schema_texts(const struct ambiguity *a, const struct schema *s,
                                                  const struct column_values *values, struct rng *rng)
{
    struct schema_renderer r = { .a = a, .s = s, .values = values, .rng = rng };
    struct schema_texts out;

    add_tables(&r);
    if (a->record.type == SIA_TABLE || a->record.type == SIA_AGGREGATE)
        rng_shuffle(rng, r.tables.items, r.tables.n, sizeof *r.tables.items);
    out.with_content = join(&r.tables, " | ");
    out.without_content = without_parentheses(out.with_content);
    if (!ambiguity_types[a->record.type].new_table)
        strip(out.without_content);
    release(&r.tables);
    free(r.sample);
    return out;
}

static void copy_fields(json_t *o, const json_t *question, const char *const *fields, int n)
{
    for (int i = 0; i < n; i++) {
        json_t *value = json_object_get(question, fields[i]);
        if (value)
            json_object_set(o, fields[i], value);
    }
}

static json_t *strings_array(const char *const *items, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_string(items[i]));
    return array;
}

/* Returns {key: value} and takes ownership of value. */
static json_t *map(const char *key, json_t *value)
{
    json_t *o = json_object();
    json_object_set_new(o, key, value);
    return o;
}

static void set_split(json_t *o, const struct ambiqt_record *r, json_t *value)
{
    json_object_set_new(o, "split_map", map(r->table, value));
    json_object_set_new(o, "primary_key", map(r->table, json_string(r->key)));
}

static void set_aggregates(json_t *o, const struct ambiguity *a, const struct schema *s)
{
    json_t *tables = json_array();

    for (int i = 0; i < a->n_tables; i++) {
        const char *key = ambiguity_key(s, ambiguity_table(s, a->tables[i]));
        json_array_append_new(tables, json_pack("[s,s?]", a->tables[i], key));
    }
    json_object_set_new(o, "all_cols", strings_array(a->record.new_columns, a->record.n_new_columns));
    json_object_set_new(o, "all_raw_cols", strings_array(a->stored, a->n_stored));
    json_object_set_new(o, "new_table_name", json_string(a->record.new_table));
    json_object_set_new(o, "tables_with_pkeys", tables);
}

static void set_alteration(json_t *o, const struct ambiguity *a, const struct schema *s)
{
    const struct ambiqt_record *r = &a->record;

    if (a->type == AMBIGUITY_DELETED)
        json_object_set_new(o, "deleted_map", map(r->table, json_string(r->column)));
    else if (r->type == SIA_COLUMN)
        json_object_set_new(o, "extra_map", map(r->table, map(r->column, strings_array(r->names, 2))));
    else if (r->type == SIA_TABLE)
        json_object_set_new(o, "extra_table_map", map(r->table, strings_array(r->names, 2)));
    else if (r->type == SIA_JOIN)
        set_split(o, r, json_string(r->column));
    else if (a->one_table)
        set_split(o, r, strings_array(r->new_columns, r->n_new_columns));
    else
        set_aggregates(o, a, s);
}

/* Copies the interpretations of the input: query1, query2 and so on, and their texts. */
static void set_given(json_t *o, const json_t *question)
{
    const json_t *golds = json_object_get(question, "golds");
    json_t *texts = json_array();

    for (size_t i = 0; i < json_array_size(golds); i++) {
        const json_t *gold = json_array_get(golds, i);
        json_t *text = json_object_get(gold, "text");
        char name[32];
        snprintf(name, sizeof name, "query%zu", i + 1);
        json_object_set(o, name, json_object_get(gold, "sql"));
        json_array_append(texts, text ? text : json_null());
    }
    json_object_set_new(o, "interpretations", texts);
}

static void set_interpretations(json_t *o, const struct ambiguity *a, const json_t *question, const struct schema *s)
{
    if (a->type == AMBIGUITY_GIVEN) {
        set_given(o, question);
        return;
    }
    json_object_set_new(o, "orig_query", json_string(a->record.original));
    if (a->type != AMBIGUITY_DELETED) {
        json_object_set_new(o, "query1", json_string(a->record.interpretations[0]));
        json_object_set_new(o, "query2", json_string(a->record.interpretations[1]));
    }
    set_alteration(o, a, s);
}

/* Returns the record with every field of the published form and of ambit. The caller owns the reference. `question` is
 * the input record: its parse, tokens and evidence are copied if present. number counts the records of this type. */
static json_t *ambiguate_record(const struct ambiguity *a, int number, const json_t *question, const struct schema *s,
                                const struct schema_texts *texts)
{
    static const char *const taken[] = { "question_toks", "query_toks", "query_toks_no_value", "sql", "corpus",
                                         "question_id",   "evidence",   "ambig_type" };
    const struct ambiqt_record *r = &a->record;
    const char *letter = ambiguity_letter(a->type);
    char id[32];

    snprintf(id, sizeof id, "%s%d", letter, number);
    json_t *o = json_pack("{ssssssss}", "id", id, "type", letter, "db_id", r->db_id, "question", r->question);
    copy_fields(o, question, taken, ARRAY_LEN(taken));
    set_interpretations(o, a, question, s);
    json_object_set_new(o, "schema_with_content", json_string(texts->with_content));
    json_object_set_new(o, "schema_without_content", json_string(texts->without_content));
    if (a->type != SIA_JOIN && a->type != SIA_AGGREGATE)
        json_object_set_new(o, "orig_example_idx", json_integer(a->question));
    if (a->synonyms.source)
        json_object_set_new(o, "synonym_source", json_string(synonym_source_name(a->synonyms.source)));
    return o;
}

/* Returns a key of the question and both interpretations, or NULL if a field is missing. The caller frees it. */
static char *key_of(const json_t *record)
{
    static const char *const fields[] = { "db_id", "question", "query1", "query2" };
    const char *f[ARRAY_LEN(fields)];
    char *key = NULL;

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (!(f[i] = json_string_value(json_object_get(record, fields[i]))))
            return NULL;
    CHECK(asprintf(&key, "%s\n%s\n%s\n%s", f[0], f[1], f[2], f[3]) >= 0, "cannot format the key of %s", f[1]);
    return key;
}

/* A record_fn. */
static int add_published(void *texts, json_t *record, const char *where, struct error *err)
{
    struct published_texts *p = texts;
    char *key = key_of(record);

    if (!key || !json_get_string(record, "schema_without_content", where, err)) {
        free(key);
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected strings \"db_id\", \"question\", \"query1\", \"query2\" and "
                         "\"schema_without_content\"",
                         where);
    }
    json_t *list = json_object_get(p->by_key, key);
    if (!list) {
        list = json_array();
        json_object_set_new(p->by_key, key, list);
    }
    json_array_append(list, record);
    free(key);
    return 0;
}

static int published_texts_read(struct published_texts *p, const char *path, struct error *err)
{
    *p = (struct published_texts){ .by_key = json_object() };
    return records_each_as_is(path, RECORDS_AUTO, add_published, p, err);
}

/* Copies the texts of the file's next record with the same question and interpretations, byte for byte. */
static void published_texts_apply(struct published_texts *p, json_t *record)
{
    static const char *const texts[] = { "schema_with_content", "schema_without_content" };
    char *key = key_of(record);
    json_t *list = key ? json_object_get(p->by_key, key) : NULL;

    if (json_array_size(list) > 0) {
        copy_fields(record, json_array_get(list, 0), texts, ARRAY_LEN(texts));
        json_array_remove(list, 0);
        p->used++;
    }
    free(key);
}

static void published_texts_release(struct published_texts *p)
{
    json_decref(p->by_key);
    *p = (struct published_texts){ 0 };
}

/* The caller frees the result. */
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

/* Returns a schema with lower-case names. `in` owns it. */
static const struct schema *ambiguate_lower(struct ambiguate_input *in, int number)
{
    struct schema *s = &in->lower[number];
    if (!s->block)
        make_lower(s, &in->schemas.schemas[number]);
    return s;
}

/* Reads the schema of each database that a question refers to. */
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
            one.n = 0; /* the set owns the schema now */
        }
        schema_set_close(&one);
        if (rc)
            return error_prefix(err, "question %zu", i + 1);
    }
    return 0;
}

/* A record_fn that adds a question. If schemas were read before, its database must be among them. */
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
        error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\": expected a database with a schema, got \"%s\"", where,
                  db_id);
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

/* Marks the schemas of the questions; the caller frees. */
static bool *used_schemas(const struct ambiguate_input *in)
{
    bool *used = xcalloc((size_t)in->schemas.n + 1, sizeof *used);
    json_t *question;
    size_t i;

    json_array_foreach(in->questions, i, question)
    {
        const struct schema *s = schema_find(&in->schemas, json_string_value(json_object_get(question, "db_id")));
        if (s)
            used[s - in->schemas.schemas] = true;
    }
    return used;
}

static struct synonym_scope scope_of(const struct ambiguate_input *in, const bool types[AMBIGUATE_TYPES], bool *used)
{
    return (struct synonym_scope){ &in->schemas, used, types[SIA_COLUMN], types[SIA_TABLE] };
}

int ambiguate_prompts(const struct ambiguate_input *in, const bool types[AMBIGUATE_TYPES], const char *out, int64_t *n,
                      struct error *err)
{
    bool *used = used_schemas(in);
    struct synonym_scope scope = scope_of(in, types, used);
    int rc = synonym_prompts_write(&scope, out, n, err);

    free(used);
    return rc;
}

int ambiguate_answers(struct ambiguate_input *in, const bool types[AMBIGUATE_TYPES], const struct synonym_answers *from,
                      struct synonym_counts *counts, struct error *err)
{
    bool *used = used_schemas(in);
    struct synonym_scope scope = scope_of(in, types, used);
    int rc = from->answers
                 ? synonym_answers_read(&in->columns, &in->tables, &scope, from->answers, counts, err)
                 : synonym_answers_ask(&in->columns, &in->tables, &scope, &from->server, from->seed, counts, err);

    in->finder.columns = &in->columns;
    in->finder.tables = &in->tables;
    in->finder.by_model = true;
    free(used);
    return rc;
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

/* Removes records about views and virtual tables, which cannot be duplicated. */
static void keep_stored(struct ambiguities *out, int from, const struct schema *s, bool resolved)
{
    int n = from;

    for (int i = from; i < out->n; i++) {
        const char *table = out->items[i].record.table;
        int t = table ? schema_table_find(s, table) : -1;
        if (t < 0 || schema_table_is_stored(s, t))
            out->items[n++] = out->items[i];
        else if (resolved)
            ambiguity_reject(out, FAULT_FORM);
    }
    out->n = n;
}

static void ambiguate_given(struct ambiguities *out, const struct ambiguate_question *q)
{
    ambiguity_add(out, q, AMBIGUITY_GIVEN);
}

/* The generators of each type: from the resolved query, and AmbiQT's own. */
static const struct generators {
    ambiguate_generator *resolved, *published;
} generators[AMBIGUATE_TYPES] = {
    [SIA_COLUMN] = { resolved_columns, ambiguate_columns },
    [SIA_TABLE] = { resolved_tables, ambiguate_tables },
    [SIA_JOIN] = { resolved_joins, ambiguate_joins },
    [SIA_AGGREGATE] = { resolved_aggregates, ambiguate_aggregates },
    [AMBIGUITY_DELETED] = { ambiguate_deleted, ambiguate_deleted },
    [AMBIGUITY_REPLACED] = { ambiguate_replaced, ambiguate_replaced },
    [AMBIGUITY_GIVEN] = { ambiguate_given, ambiguate_given },
};

static ambiguate_generator *generator_of(const struct ambiguate_input *in, int type, bool resolved)
{
    if (type == SIA_AGGREGATE && in->one_table)
        return resolved ? resolved_one_table : ambiguate_one_table;
    return resolved ? generators[type].resolved : generators[type].published;
}

/* Appends the records of one type (less than AMBIGUATE_TYPES) in order of the questions. */
static int ambiguate_make(struct ambiguities *out, struct ambiguate_input *in, int type, struct error *err)
{
    json_t *record;
    size_t i;

    json_array_foreach(in->questions, i, record)
    {
        const char *db_id = json_string_value(json_object_get(record, "db_id"));
        const char *query =
            json_string_value(json_object_get(record, "query")); /* NULL if the question has several interpretations */
        const struct schema *s = schema_find(&in->schemas, db_id);
        if (!s)
            return error_set(err, EXIT_CODE_DATA,
                             "question %zu: field \"db_id\": expected a database with a schema, got \"%s\"", i + 1,
                             db_id);
        if ((query == NULL) != (type == AMBIGUITY_GIVEN))
            continue;
        struct ambiguate_question q = { .db_id = db_id,
                                        .question = json_string_value(json_object_get(record, "question")),
                                        .number = (int)i,
                                        .resolved =
                                            !in->as_ambiqt || type >= AMBIQT_TYPES || json_object_get(record, "corpus"),
                                        .schema_number = (int)(s - in->schemas.schemas),
                                        .synonyms = &in->finder };
        q.schema = ambiguate_lower(in, q.schema_number);
        ambiguate_question_init(&q, query ? query : "");
        int before = out->n;
        generator_of(in, type, q.resolved)(out, &q);
        keep_stored(out, before, q.schema, q.resolved);
        ambiguate_question_release(&q);
    }
    return 0;
}

/* The state of writing the records of all types. */
struct record_writer {
    struct ambiguate_input *in;
    const struct ambiguate_options *o;
    struct column_values *values; /* [schemas.n] read on first use */
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

/* Finds the values of the record's database. *values is NULL without databases or if this one is missing; `missing`
 * then holds the message. */
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

/* Returns a random stream of the record's own, so that it does not depend on the other types. */
static struct rng record_rng(const struct ambiguate_options *o, int type, int number)
{
    return (struct rng){ o->seed, (uint64_t)type << 56 | (uint64_t)number << 24 };
}

static void set_materialised(json_t *record, const struct materialised *m, bool interpretations)
{
    if (m->state == MATERIALISED_FAILED) {
        json_object_set_new(record, "materialise_error", json_message(m->message));
        return;
    }
    json_object_set_new(record, "db_file", json_string(m->file));
    if (interpretations)
        json_object_set_new(record, "coincide", json_boolean(m->state == MATERIALISED_COINCIDE));
}

/* Returns the fault of an altered database, or AMBIGUITY_FAULTS if it has none. */
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

/* *fault is the reason to reject the record, or AMBIGUITY_FAULTS. */
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
    set_materialised(record, &m, a->type != AMBIGUITY_DELETED);
    counts->differ += m.state == MATERIALISED_DIFFER;
    counts->coincide += m.state == MATERIALISED_COINCIDE;
    counts->failed += m.state == MATERIALISED_FAILED;
    if (w->o->published_databases)
        set_filter(record, counts, a, &m);
    return 0;
}

/* Returns the record as JSON. The caller owns the reference. */
static json_t *make_record(struct record_writer *w, const struct ambiguate_counts *counts, const struct ambiguity *a,
                           const struct column_values *values)
{
    const struct schema *s = ambiguate_lower(w->in, a->schema);
    struct rng rng = record_rng(w->o, a->type, counts->records);
    struct schema_texts texts = ambiguate_schema_texts(a, s, values, &rng);
    const json_t *question = json_array_get(w->in->questions, (size_t)a->question);
    json_t *record = ambiguate_record(a, counts->records, question, s, &texts);

    if (w->published.by_key)
        published_texts_apply(&w->published, record);
    free(texts.with_content);
    free(texts.without_content);
    return record;
}

/* Runs the checks that need no altered database. */
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
    bool alters = a->type != AMBIGUITY_GIVEN;
    json_t *record = make_record(w, counts, a, values);

    if (missing->code)
        json_object_set_new(record, "error", json_message(missing->text));
    int rc = w->materialiser && alters && !missing->code ? add_database(w, counts, record, a, &fault, err) : 0;
    if (rc == 0 && fault == AMBIGUITY_FAULTS) {
        counts->records++;
        counts->without_database += missing->code != 0;
        rc = json_write_line(&w->out, record, err);
    } else if (rc == 0)
        counts->rejected[fault]++;
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
    counts->rejected[fault]++;
    return 0;
}

static int write_type(struct record_writer *w, struct ambiguate_counts *counts, int type, struct error *err)
{
    struct ambiguities made = { 0 };
    int before = w->published.used, rc = ambiguate_make(&made, w->in, type, err);

    memcpy(counts->rejected, made.rejected, sizeof counts->rejected);
    for (int i = 0; i < made.n && rc == 0; i++)
        rc = write_record(w, counts, &made.items[i], err);
    counts->kept_texts = w->published.used - before;
    ambiguities_release(&made);
    return rc;
}

int ambiguate_write(struct ambiguate_counts counts[AMBIGUATE_TYPES], struct ambiguate_input *in,
                    const struct ambiguate_options *o, struct error *err)
{
    struct record_writer w = { .in = in, .o = o };
    int rc = start(&w, err);

    memset(counts, 0, AMBIGUATE_TYPES * sizeof *counts);
    for (int k = 0; k < AMBIGUATE_TYPES && rc == 0; k++)
        if (o->types[k])
            rc = write_type(&w, &counts[k], k, err);
    if (rc == 0 && w.materialiser)
        materialiser_prune(w.materialiser);
    if (rc == 0)
        rc = out_file_commit(&w.out, err);
    finish(&w);
    return rc;
}
