#include "data/clarify/candidates.h"

#include "data/base/stop.h"
#include "data/clarify/calibration.h"
#include "data/corpora/ambiqt_text.h"
#include "data/corpora/ambrosia.h"
#include "data/eval/dfpl.h"
#include "data/published/ambiqt_map.h"
#include "data/published/ambiqt_score.h"
#include "data/published/spider_cases.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql_form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Destination of the records of a source. */
struct candidates_sink {
    const struct candidates_request *request;
    struct candidates_counts *counts;
    struct calibration calibration;
    struct out_file out;
};

/* A source.  Returns 0, -1 with err when its file cannot be read, or 1 after a signal. */
typedef int candidates_source(struct candidates_sink *s, struct error *err);

/* Checks the fields of a record other than its candidates. */
static int check(const json_t *record, const char *where, struct error *err)
{
    const json_t *golds = json_object_get(record, "gold"), *gold;
    size_t i;

    if (!json_get_string(record, "db_id", where, err) || !json_get_string(record, "question", where, err))
        return -1;
    if (golds && !json_get_array(record, "gold", where, err))
        return -1;
    json_array_foreach(golds, i, gold)
    {
        if (!json_is_string(gold))
            return error_set(err, EXIT_CODE_DATA, "%s: gold[%zu]: expected a string", where, i);
    }
    return 0;
}

/* Drops the candidates after the k-th and normalises the probabilities of the others. */
static void cut(json_t *record, int64_t k)
{
    json_t *items = json_object_get(record, "candidates"), *item;
    double sum = 0;
    size_t i;

    if (!json_is_array(items) || (int64_t)json_array_size(items) <= k)
        return;
    while ((int64_t)json_array_size(items) > k)
        json_array_remove(items, json_array_size(items) - 1);
    json_array_foreach(items, i, item)
    {
        sum += json_number_value(json_object_get(item, "p"));
    }
    json_array_foreach(items, i, item)
    {
        if (json_object_get(item, "p") && sum > 0)
            json_object_set_new(item, "p", json_real(json_number_value(json_object_get(item, "p")) / sum));
    }
    json_object_del(record, "none_of_the_above");
}

static int weigh(struct candidates_sink *s, json_t *record, const char *where, struct error *err)
{
    struct candidate_list list = { 0 };

    int rc = check(record, where, err);
    if (rc == 0)
        cut(record, s->request->k);
    if (rc == 0)
        rc = candidate_list_read(&list, record, where, err);
    if (rc == 0 && s->request->calibration)
        calibration_apply(&s->calibration, &list);
    for (int i = 0; i < list.n && rc == 0; i++) {
        json_t *items = json_object_get(record, "candidates"), *item = json_array_get(items, (size_t)i);
        if (json_is_string(item)) {
            json_array_set_new(items, (size_t)i, json_pack("{s:O}", "sql", item));
            item = json_array_get(items, (size_t)i);
        }
        json_object_del(item, "logprob");
        json_object_set_new(item, "p", json_real(list.p[i]));
    }
    if (rc == 0 && list.p_none > 0)
        json_object_set_new(record, "none_of_the_above", json_real(list.p_none));
    s->counts->candidates += rc == 0 ? list.n : 0;
    candidate_list_release(&list);
    return rc;
}

/* Writes the id and the error of a record that a source could not make; clears err. */
static int candidates_emit_error(struct candidates_sink *s, json_t *id, struct error *err)
{
    json_t *o = json_pack("{s:o?, s:o}", "id", id, "error", json_message(err->text));

    *err = (struct error){ 0 };
    s->counts->records++;
    s->counts->failed++;
    int rc = json_write_line(&s->out, o, err);
    json_decref(o);
    return rc;
}

/* Takes and writes a record.  An unusable record is written as its id and "error".  Returns -1 when writing fails. */
static int candidates_emit(struct candidates_sink *s, json_t *record, const char *where, struct error *err)
{
    int rc;

    if (weigh(s, record, where, err)) {
        rc = candidates_emit_error(s, json_incref(json_object_get(record, "id")), err);
    } else {
        s->counts->records++;
        rc = json_write_line(&s->out, record, err);
    }
    json_decref(record);
    return rc;
}

/* Opens the records of the request. */
static struct record_reader *candidates_open(const struct candidates_request *q, struct error *err)
{
    return record_reader_open_range(q->file, q->format_in, &q->shard.range, err);
}

static int candidates_of_records(struct candidates_sink *s, struct error *err)
{
    struct record_reader *in = candidates_open(s->request, err);
    int rc = in ? 1 : -1;

    while (rc > 0 && !stop_requested()) {
        json_t *record = NULL;
        int got = record_reader_next(in, &record, err);
        if (got == 0) {
            rc = 0;
            break;
        }
        if (got < 0 && record_reader_failed(in)) {
            rc = -1;
            break;
        }
        if (got < 0 ? candidates_emit_error(s, json_integer(record_reader_number(in)), err)
                    : candidates_emit(s, record, record_reader_where(in), err))
            rc = -1;
    }
    if (in)
        record_reader_close(in);
    return rc;
}

enum { ARENA_BYTES = 64 << 20 }; /* for the tree of one statement; unused pages are never touched */

struct ambiqt_converter {
    struct candidates_sink *sink;
    struct ambiqt_cases cases;
    struct schema_set schemas; /* with --schema */
    struct arena scratch;
};

/* Returns the name at the start of a piece of the schema's text.  A double quote starts a stray value. */
static char *take_name(const char *from, const char *to)
{
    const char *quote = memchr(from, '"', (size_t)(to - from));

    to = quote ? quote : to;
    while (from < to && strchr(" \t", *from))
        from++;
    while (to > from && strchr(" \t", to[-1]))
        to--;
    char *name = xcalloc((size_t)(to - from) + 1, 1);
    memcpy(name, from, (size_t)(to - from));
    return name;
}

/* Adds the table of "table : column , column", from `from` to `to`. */
static void add_table(struct schema_build *b, const char *from, const char *to)
{
    const char *colon = memchr(from, ':', (size_t)(to - from));
    char *name = colon ? take_name(from, colon) : NULL;

    if (!name || !*name) {
        free(name);
        return;
    }
    int table = schema_build_table(b, name, NULL);
    free(name);
    for (const char *at = colon + 1, *end; at <= to; at = end + 1) {
        end = memchr(at, ',', (size_t)(to - at));
        end = end ? end : to;
        name = take_name(at, end);
        if (*name)
            schema_build_column(b, table, name, NULL, COLUMN_TEXT);
        free(name);
    }
}

static int built_column(const struct schema *s, const char *name)
{
    for (int c = 0; c < s->n_columns; c++)
        if (strcasecmp(s->columns[c].name, name) == 0)
            return c;
    return -1;
}

/* Tells whether a word of the gold statement names a table with that column. */
static bool table_has(const struct schema *s, const struct ambiqt_words *reading, const char *column)
{
    for (int i = 0; i < reading->n; i++) {
        int t = schema_table_find(s, reading->items[i]);
        if (t >= 0 && schema_column_find(s, t, column) >= 0)
            return true;
    }
    return false;
}

/* Adds columns that the gold statements use and some schemas lack: for P those that the new table repeats, for J the
 * column of the old table. */
static void add_needed(struct schema_build *b, const struct schema *s, const struct ambiqt_record *r)
{
    int old = schema_table_find(s, r->table), new = schema_table_find(s, r->new_table);
    struct strings added = { 0 };
    struct ambiqt_words w;

    if (r->type == SIA_JOIN && old >= 0 && schema_column_find(s, old, r->column) < 0)
        schema_build_column(b, old, r->column, NULL, COLUMN_TEXT);
    ambiqt_words_split(&w, r->interpretations[1]);
    for (int i = 0; i < w.n && r->type == SIA_AGGREGATE && new >= 0; i++) {
        const char *name = ambiqt_without_alias(w.items[i]);
        if (built_column(s, name) < 0 || table_has(s, &w, name) || strings_find(&added, name) >= 0)
            continue;
        strings_add(&added, name);
        schema_build_column(b, new, name, NULL, COLUMN_TEXT);
    }
    strings_release(&added);
    ambiqt_words_release(&w);
}

static void build_schema(struct schema *s, const struct ambiqt_record *r, const struct schema *told)
{
    struct schema_build b;

    schema_build_init(&b, r->db_id);
    for (const char *at = r->schema_text, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "|");
        add_table(&b, at, end);
    }
    if (told)
        add_needed(&b, told, r);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

/* Reads the altered schema of a record.  It has names without types, so every column is text. */
static void read_schema(struct schema *s, const struct ambiqt_record *r)
{
    struct schema told;

    build_schema(&told, r, NULL);
    build_schema(s, r, &told);
    schema_release(&told);
}

/* The gold statements that prediction i matches by AmbiQT's exact set match. */
static json_t *marks_json(struct ambiqt_converter *c, const struct ambiqt_case *of, const struct spider_schema *s,
                          int i)
{
    const struct ambiqt_judge judge = { s, NULL, false };
    const struct ambiqt_case one = { of->record, of->row, { of->predictions.items + i, 1, 1 } };
    struct ambiqt_found found = ambiqt_score(&judge, &c->cases, &one);
    json_t *golds = json_array();

    for (int g = 0; g < 2; g++)
        if (found.interpretation[AMBIQT_EM][g])
            json_array_append_new(golds, json_integer(g));
    return golds;
}

static void mark(struct ambiqt_converter *c, const struct ambiqt_case *of, json_t *item, int i)
{
    struct spider_schema s;

    spider_schema_init(&s, schema_find(&c->schemas, c->cases.corpus.items[of->record].db_id));
    json_object_set_new(item, "gold", marks_json(c, of, &s, i));
    spider_schema_release(&s);
}

/* Returns the query with valid column names for the schema, which the caller frees, or NULL with an error. */
static char *readable(struct ambiqt_converter *c, const struct ambiqt_record *r, const struct schema *s,
                      const char *sql, struct error *why)
{
    struct form_store store = { 0 };
    struct error again;
    char *text = xstrdup(sql);

    if (!form_of_text(&store, text, s, &c->scratch, why)) {
        free(text);
        text = r->type == SIA_JOIN ? ambiqt_qualify(r, s, sql) : NULL;
        if (text && !form_of_text(&store, text, s, &c->scratch, &again)) {
            free(text);
            text = NULL;
        }
    }
    form_store_release(&store);
    return text;
}

/* Predictions that are invalid on the schema are rejected. */
static json_t *candidates_json(struct ambiqt_converter *c, const struct ambiqt_case *of, const struct schema *s,
                               json_t *rejected)
{
    const struct ambiqt_record *r = &c->cases.corpus.items[of->record];
    json_t *list = json_array();

    for (int i = 0; i < of->predictions.n; i++) {
        const char *sql = ambiqt_query_of(r, of->predictions.items[i]);
        double rank = (double)json_array_size(list);
        struct error why = { 0 };
        char *text = readable(c, r, s, sql, &why);
        if (!text) {
            json_array_append_new(
                rejected, json_pack("{s:i, s:s, s:o}", "candidate", i, "sql", sql, "error", json_message(why.text)));
            continue;
        }
        json_t *item = json_pack("{s:s, s:f}", "sql", text, "logprob", -rank / c->sink->request->temperature);
        if (c->sink->request->tables)
            mark(c, of, item, i);
        json_array_append_new(list, item);
        free(text);
    }
    return list;
}

static json_t *record_json(struct ambiqt_converter *c, const struct ambiqt_case *of, json_t *id)
{
    const struct ambiqt_record *r = &c->cases.corpus.items[of->record];
    json_t *rejected = json_array();
    struct schema s;

    read_schema(&s, r);
    json_t *list = candidates_json(c, of, &s, rejected);
    json_t *o = json_pack("{s:o, s:s, s:s, s:b, s:s, s:f, s:o, s:[s, s], s:o, s:o}", "id", id, "db_id", r->db_id,
                          "question", r->question, "ambiguous", true, "type", sia_type_letter(r->type), "temperature",
                          c->sink->request->temperature, "candidates", list, "gold", r->interpretations[0],
                          r->interpretations[1], "rejected", rejected, "schema", schema_to_json(&s));
    schema_release(&s);
    return o;
}

/* Sets err if a record has no candidates. */
static void check_case(const struct ambiqt_converter *c, const struct ambiqt_case *of, const char *where,
                       struct error *err)
{
    const struct ambiqt_record *r = &c->cases.corpus.items[of->record];
    const char *tables = c->sink->request->tables;

    if (!r->schema_text)
        error_set(err, EXIT_CODE_DATA, "%s: field \"schema_without_content\" is missing", where);
    else if (tables && !schema_find(&c->schemas, r->db_id))
        error_set(err, EXIT_CODE_DATA, "%s: db_id: no schema \"%s\" in %s", where, r->db_id, tables);
    else if (of->predictions.n == 0)
        error_set(err, EXIT_CODE_DATA, "%s: no predictions", where);
}

static int emit_case(struct ambiqt_converter *c, const struct ambiqt_case *of, struct error *err)
{
    json_t *id = json_sprintf("%s-%d", sia_type_letter(c->cases.corpus.items[of->record].type), of->row);
    struct error why = { 0 };
    char where[512];

    snprintf(where, sizeof where, "%.400s: row %d", c->sink->request->file, of->row);
    check_case(c, of, where, &why);
    if (why.text[0])
        return candidates_emit_error(c->sink, id, &why);
    return candidates_emit(c->sink, record_json(c, of, id), where, err);
}

static int candidates_of_ambiqt(struct candidates_sink *s, struct error *err)
{
    struct ambiqt_converter c = { .sink = s };
    const struct candidates_request *q = s->request;
    int rc = ambiqt_cases_read(&c.cases, q->gold, q->file, q->k, err);

    if (rc == 0 && q->tables)
        rc = schema_set_open(&c.schemas, q->tables, err);
    if (rc == 0)
        rc = arena_init(&c.scratch, ARENA_BYTES, err);
    for (int i = 0; i < c.cases.n && rc == 0; i++)
        rc = stop_requested() ? 1 : emit_case(&c, &c.cases.items[i], err);
    arena_release(&c.scratch);
    schema_set_close(&c.schemas);
    ambiqt_cases_release(&c.cases);
    return rc;
}

/* Equally probable candidates; duplicates count twice. */
static json_t *equally_likely(const char *const *sql, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "sql", sql[i], "p", 1.0 / n));
    return list;
}

static json_t *strings_json(const char *const *strings, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(strings[i]));
    return list;
}

/* Names AMBROSIA's database "data/scope/Job Postings/roles/roles.sqlite" Job_Postings__roles, and any other by its
 * file. The caller frees it. */
static char *database_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    int n = dot ? (int)(dot - name) : (int)strlen(name);
    const char *folder = slash, *domain;
    char *id = NULL;

    while (folder && folder > path && folder[-1] != '/')
        folder--;
    domain = folder && folder > path + 1 ? folder - 1 : NULL;
    while (domain && domain > path && domain[-1] != '/')
        domain--;
    bool nested = domain && slash - folder == n && strncmp(folder, name, (size_t)n) == 0;
    int size = nested ? asprintf(&id, "%.*s__%.*s", (int)(folder - 1 - domain), domain, n, name)
                      : asprintf(&id, "%.*s", n, name);
    CHECK(size >= 0, "cannot format the name of %s", path);
    for (char *p = id; nested && *p; p++)
        if (*p == ' ')
            *p = '_';
    return id;
}

static int emit_example(struct candidates_sink *s, const struct dfpl_example *e, int number, struct error *err)
{
    char where[512], *db_id = database_name(e->db_file);

    snprintf(where, sizeof where, "%.400s: example %d", s->request->file, number);
    json_t *o = json_pack("{s:o, s:s, s:s, s:b, s:s?, s:o, s:o}", "id", json_sprintf("%d", number), "db_id", db_id,
                          "question", e->question, "ambiguous", e->ambiguous, "type", e->type, "candidates",
                          equally_likely(e->sql.sql, e->sql.n), "gold", strings_json(e->golds.sql, e->golds.n));
    free(db_id);
    return candidates_emit(s, o, where, err);
}

static int candidates_of_dfpl(struct candidates_sink *s, struct error *err)
{
    struct dfpl_file f;
    int rc = dfpl_read(&f, s->request->file, err);

    for (int i = 0; i < f.n && rc == 0; i++)
        rc = stop_requested() ? 1 : emit_example(s, &f.items[i], i + 1, err);
    dfpl_release(&f);
    return rc;
}

/* Writes a row with the gold statements as candidates and as golds. */
static int emit_row(struct candidates_sink *s, const json_t *row, int number, const char *where, struct error *err)
{
    json_t *record = ambrosia_record(row, number, where, err), *item;
    json_t *golds = json_object_get(record, "golds");
    const char **sql = xmalloc((json_array_size(golds) + 1) * sizeof *sql);
    size_t i;

    if (!record) {
        free(sql);
        return candidates_emit_error(s, json_sprintf("%d", number), err);
    }
    json_array_foreach(golds, i, item)
    {
        sql[i] = json_string_value(json_object_get(item, "sql"));
    }
    int n = (int)json_array_size(golds);
    json_t *o = json_pack("{s:o, s:O, s:O, s:O?, s:O?, s:o, s:o}", "id", json_sprintf("%d", number), "db_id",
                          json_object_get(record, "db_id"), "question", json_object_get(record, "question"),
                          "ambiguous", json_object_get(row, "is_ambiguous"), "type", json_object_get(row, "ambig_type"),
                          "candidates", equally_likely(sql, n), "gold", strings_json(sql, n));
    free(sql);
    json_decref(record);
    return candidates_emit(s, o, where, err);
}

static int candidates_of_ambrosia(struct candidates_sink *s, struct error *err)
{
    struct record_reader *in = candidates_open(s->request, err);
    int rc = in ? 1 : -1, number = (int)s->request->shard.range.first;

    if (in)
        record_reader_leave_ids(in);
    while (rc > 0 && !stop_requested()) {
        json_t *row = NULL;
        int got = record_reader_next(in, &row, err);
        if (got == 0) {
            rc = 0;
            break;
        }
        if (got < 0 && record_reader_failed(in)) {
            rc = -1;
            break;
        }
        number++;
        if (got < 0 ? candidates_emit_error(s, json_sprintf("%d", number), err)
                    : emit_row(s, row, number, record_reader_where(in), err))
            rc = -1;
        json_decref(row);
    }
    if (in)
        record_reader_close(in);
    return rc;
}

/* The candidates of a prediction: its own, or its statements weighed by rank. The caller owns the reference. */
static json_t *case_candidates(const struct candidates_sink *s, const struct spider_case *c)
{
    json_t *own = json_object_get(c->prediction, "candidates"), *list = own ? json_deep_copy(own) : json_array();

    for (int i = 0; i < c->n && !own; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "sql", c->sql[i], "logprob", -i / s->request->temperature));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_string(json_array_get(list, i)))
            json_array_set_new(list, i, json_pack("{s:O}", "sql", json_array_get(list, i)));
    return list;
}

/* Marks the candidates that equal the gold statement by Spider's exact set match. Returns -1 if its grammar rejects the
 * gold statement, or without candidates. */
static int mark_case(json_t *list, const char **hardness, const struct spider_case *c, const struct schema *schema,
                     struct error *why)
{
    struct spider_schema s;
    size_t i;
    json_t *item;

    if (json_array_size(list) == 0)
        return error_set(why, EXIT_CODE_DATA, "%s: no predictions", c->where);
    spider_schema_init(&s, schema);
    struct spider_query *gold = spider_query_new(&s, c->gold);
    *hardness = spider_hardness_name(spider_hardness(gold));
    json_array_foreach(list, i, item)
    {
        struct spider_query *query = spider_query_new(&s, json_string_value(json_object_get(item, "sql")));
        json_object_set_new(item, "gold", spider_match(&s, query, gold) ? json_pack("[i]", 0) : json_array());
        spider_query_free(query);
    }
    int rc = spider_query_parsed(gold)
                 ? 0
                 : error_set(why, EXIT_CODE_DATA, "%s: the gold statement is not in Spider's grammar", c->where);
    spider_query_free(gold);
    spider_schema_release(&s);
    return rc;
}

static int emit_spider_case(struct candidates_sink *s, const struct spider_case *c, const struct schema_set *schemas,
                            struct error *err)
{
    const struct schema *schema = schema_find(schemas, c->db_id);
    json_t *question = json_object_get(c->record, "question"), *list = case_candidates(s, c);
    const char *hardness = NULL;
    struct error why = { 0 };

    if (!schema)
        error_set(&why, EXIT_CODE_DATA, "%s: db_id: no schema \"%s\" in %s", c->where, c->db_id, s->request->tables);
    if (!schema || mark_case(list, &hardness, c, schema, &why)) {
        json_decref(list);
        return candidates_emit_error(s, json_incref(c->id), &why);
    }
    json_t *o = c->prediction ? json_copy(c->prediction) : json_object();
    json_object_del(o, "sql");
    json_object_del(o, "t2s_outs");
    json_t *ours = json_pack("{s:O, s:s, s:O?, s:s, s:o, s:[s]}", "id", c->id, "db_id", c->db_id, "question",
                             question ? question : json_object_get(c->prediction, "question"), "hardness", hardness,
                             "candidates", list, "gold", c->gold);
    json_object_update(o, ours);
    json_decref(ours);
    return candidates_emit(s, o, c->where, err);
}

static int candidates_of_spider(struct candidates_sink *s, struct error *err)
{
    const struct candidates_request *q = s->request;
    struct spider_cases cases;
    struct schema_set schemas = { 0 };
    int rc = spider_cases_read(&cases, q->gold, q->file, q->k, q->below, err);

    if (rc == 0)
        rc = schema_set_open(&schemas, q->tables, err);
    for (int i = 0; i < cases.n && rc == 0; i++)
        rc = stop_requested() ? 1 : emit_spider_case(s, &cases.items[i], &schemas, err);
    schema_set_close(&schemas);
    spider_cases_release(&cases);
    return rc;
}

static candidates_source *const sources[] = {
    [CANDIDATES_PLAIN] = candidates_of_records, [CANDIDATES_AMBIQT] = candidates_of_ambiqt,
    [CANDIDATES_DFPL] = candidates_of_dfpl,     [CANDIDATES_AMBROSIA] = candidates_of_ambrosia,
    [CANDIDATES_SPIDER] = candidates_of_spider,
};

int candidates_write(const struct candidates_request *q, struct candidates_counts *counts, struct error *err)
{
    struct candidates_sink s = { .request = q, .counts = counts };

    if (q->calibration && calibration_read(&s.calibration, q->calibration, err))
        return -1;
    if (out_file_open(&s.out, q->out, err))
        return -1;
    int rc = sources[q->from](&s, err);
    if (rc == 0)
        rc = out_file_commit(&s.out, err);
    out_file_abort(&s.out);
    return rc;
}
