#include "data/corpora/labels.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/corpora/ambrosia.h"
#include "data/corpora/split.h"
#include "data/db/db_path.h"
#include "data/db/schema_sqlite.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SQL_ARENA = 64 << 20, SHOWN_FAULTS = 20 };

struct label_reader {
    struct dataset *data;
    const char *db, *schema;
    enum record_format format_in;
    struct arena sql;
    struct strings text;     /* of the current record */
    int64_t records, faults; /* of the current file */
    int64_t dropped_sql;     /* records whose invalid SQL was dropped */
    struct error first_mute;
    bool whole;
    const char *field, *yes; /* name of the label field, and its value for yes, or NULL for the words of yes and no */
};

/* --- Records --- */

/* Returns a field, or NULL if it is missing or empty like a table cell. */
static const json_t *given(const json_t *o, const char *field)
{
    const json_t *v = json_object_get(o, field);
    bool empty =
        json_is_null(v) || (json_is_string(v) && !*json_string_value(v)) || (json_is_array(v) && !json_array_size(v));

    return empty ? NULL : v;
}

/* Reads the schema of a database when it is first named. */
static const struct schema *find_schema(struct label_reader *r, const char *db_id, struct error *err)
{
    const struct schema *known = schema_find(&r->data->schemas, db_id);
    struct schema_set one = { 0 };

    if (known)
        return known;
    if (!r->db) {
        error_set(err, EXIT_CODE_DATA, "expected a db_id of %s, got \"%.100s\"", r->schema, db_id);
        return NULL;
    }
    char *path = db_path(r->db, db_id, err);
    int rc = path ? schema_set_open_sqlite(&one, path, true, err) : -1;
    if (rc == 0) {
        one.n = 0;
        rc = schema_set_add(&r->data->schemas, &one.schemas[0], err);
    }
    schema_set_close(&one);
    free(path);
    return rc ? NULL : schema_find(&r->data->schemas, db_id);
}

static int take_question(struct example *e, const json_t *o, const char *where, struct error *err)
{
    const char *c = e->question = json_get_string(o, "question", where, err);

    if (!c)
        return -1;
    while (isspace((unsigned char)*c))
        c++;
    return *c ? 0
              : error_set(err, EXIT_CODE_DATA, "%s: field \"question\": expected a question, got an empty text", where);
}

static int take_answer(const struct label_reader *r, struct example *e, const json_t *o, const char *where,
                       struct error *err)
{
    const json_t *v = json_object_get(o, r->field);

    if (!v)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"%s\" is missing: expected %s; use --label-field to name another field", where,
                         r->field, r->yes ? "a text" : "yes or no");
    if (!r->yes)
        return record_get_bool(o, r->field, &e->ambiguous, where, err);
    if (!json_is_string(v))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected a text, \"%s\" for yes", where, r->field,
                         r->yes);
    e->ambiguous = strcmp(json_string_value(v), r->yes) == 0;
    return 0;
}

/* A field that holds the label is no ambiguity type. */
static int take_type(const struct label_reader *r, struct example *e, const json_t *o, const char *where,
                     struct error *err)
{
    const json_t *v = strcmp(r->field, "type") == 0 ? NULL : given(o, "type");
    const char *word = json_string_value(v);

    int type = ambiguity_type_find(word);
    e->type = ambiguity_type_schema(type);
    e->linguistic = ambiguity_type_linguistic(type);
    if (!v || type >= 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: field \"type\": expected one of " AMBIGUITY_TYPE_NAMES ", got \"%.60s\"",
                     where, word ? word : "no text");
}

/* Reads a list of strings, or a text that is split at each `cut`, into out. Returns how many, or -1. */
static int take_list(struct label_reader *r, const json_t *o, const char *field, char cut, int most, const char **out,
                     const char *where, struct error *err)
{
    const json_t *v = given(o, field);
    const char *text = json_string_value(v);
    int n = 0;

    for (size_t i = 0; i < json_array_size(v); i++, n++)
        if (n < most && !(out[n] = json_string_value(json_array_get(v, i))))
            return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": element %zu is not a string", where, field, i);
    while (text && *text) {
        size_t length = cut && strchr(text, cut) ? (size_t)(strchr(text, cut) - text) : strlen(text), skip = length;
        while (length && isspace((unsigned char)*text))
            text++, length--, skip--;
        while (length && isspace((unsigned char)text[length - 1]))
            length--;
        if (n < most)
            out[n] = strings_printf(&r->text, "%.*s", (int)length, text);
        n++;
        text += skip + (text[skip] != 0);
    }
    if (v && !json_is_array(v) && !json_is_string(v))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected a text or a list of texts", where, field);
    if (n > most)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected at most %d, got %d", where, field, most, n);
    return n;
}

static int take_alternatives(struct label_reader *r, struct example *e, const struct schema *s, const json_t *o,
                             const char *where, struct error *err)
{
    const char *text = json_string_value(json_object_get(o, "alternatives"));
    int table, column,
        n = take_list(r, o, "alternatives", text && strchr(text, '|') ? '|' : ',', 2, e->alternatives, where, err);

    if (n < 0)
        return -1;
    if (n == 1 || (n && !e->ambiguous))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"alternatives\": expected %s, got %d", where,
                         e->ambiguous ? "two elements" : "none of a question that is not ambiguous", n);
    for (int i = 0; i < n; i++)
        if (example_element(s, e->alternatives[i], &table, &column))
            return error_set(err, EXIT_CODE_DATA,
                             "%s: field \"alternatives\": database %s has no table or table.column \"%.100s\"", where,
                             s->db_id, e->alternatives[i]);
    return 0;
}

static int check_sql(struct label_reader *r, const char *text, const struct schema *s, struct error *err)
{
    struct sql_uses uses;

    arena_reset(&r->sql, 0);
    struct sql_query *q = sql_parse(&r->sql, text, err);
    return q ? sql_resolve(&r->sql, q, s, &uses, err) : -1;
}

/* Reads the SQL of a record. Invalid SQL is dropped if it is published or not used for training. */
static int take_sql(struct label_reader *r, struct example *e, const struct schema *s, const json_t *o, bool published,
                    const char *where, struct error *err)
{
    e->n_sql = take_list(r, o, "sql", 0, EXAMPLE_MAX_SQL, e->sql, where, err);
    for (int i = 0; i < e->n_sql; i++)
        if (check_sql(r, e->sql[i], s, err)) {
            error_prefix(err, "%s: field \"sql\"", where);
            if (!published && !r->whole)
                return -1;
            e->n_sql = 0;
            if (!r->dropped_sql++)
                r->first_mute = *err;
        }
    return e->n_sql < 0 ? -1 : 0;
}

static int parse(struct label_reader *r, struct example *e, const json_t *o, bool published, const char *where,
                 struct error *err)
{
    const struct schema *s;
    char id[RECORD_ID_TEXT];

    *e = (struct example){ .slice = EXAMPLE_CUSTOM };
    if (take_question(e, o, where, err) ||
        (published ? record_get_bool(o, "ambiguous", &e->ambiguous, where, err) : take_answer(r, e, o, where, err)) ||
        !(e->db_id = json_get_string(o, "db_id", where, err)))
        return -1;
    if (!(s = find_schema(r, e->db_id, err)))
        return error_prefix(err, "%s: field \"db_id\"", where);
    const json_t *source = given(o, "source_db");
    if (source && !json_is_string(source))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"source_db\": expected a text", where);
    e->source_db = source ? json_string_value(source) : e->db_id;
    e->id = strings_keep(&r->text, record_id_text(o, id));
    return take_type(r, e, o, where, err) || take_alternatives(r, e, s, o, where, err) ||
                   take_sql(r, e, s, o, published, where, err)
               ? -1
               : 0;
}

/* Adds a label, or a row of AMBROSIA. */
static int add_record(struct label_reader *r, struct example_list *list, json_t *record, const char *where,
                      struct error *err)
{
    bool published = ambrosia_is_row(record);
    json_t *label = published ? ambrosia_label(record, r->records, where, err) : json_incref(record);
    struct example e;

    if (!label)
        return -1;
    db_path_name(r->db, label);
    int rc = parse(r, &e, label, published, where, err);
    if (rc == 0)
        example_list_add(list, &e);
    json_decref(label);
    return rc;
}

static void add_fault(struct label_reader *r, const struct error *fault)
{
    if (++r->faults <= SHOWN_FAULTS)
        log_error("%s", fault->text);
    else if (r->faults == SHOWN_FAULTS + 1)
        log_error("and more");
}

/* --- Files --- */

static int read_file(struct label_reader *r, struct example_list *list, const char *path, struct error *err)
{
    struct record_reader *in = record_reader_open(path, r->format_in, err);
    struct error fault;
    json_t *record;
    int rc;

    if (!in)
        return -1;
    r->records = r->faults = r->dropped_sql = 0;
    while ((rc = record_reader_next(in, &record, &fault)) != 0 && !record_reader_failed(in)) {
        r->records++;
        if (rc > 0) {
            rc = add_record(r, list, record, record_reader_where(in), &fault);
            json_decref(record);
        }
        if (rc < 0)
            add_fault(r, &fault);
        strings_release(&r->text);
    }
    record_reader_close(in);
    if (rc < 0) {
        *err = fault;
        return -1;
    }
    if (r->dropped_sql)
        log_warn("%s: the SQL of %lld questions is invalid and was dropped; the first error: %s", path,
                 (long long)r->dropped_sql, r->first_mute.text);
    if (r->faults)
        return error_set(err, EXIT_CODE_DATA, "%s: %lld of %lld records are wrong", path, (long long)r->faults,
                         (long long)r->records);
    return 0;
}

/* Training needs both labels. */
static int check_labels(const struct example_list *list, const char *path, struct error *err)
{
    int ambiguous = 0;

    for (int i = 0; i < list->n; i++)
        ambiguous += list->items[i].ambiguous;
    if (ambiguous && ambiguous < list->n)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: expected questions that are ambiguous and questions that are not, got %d and %d", path,
                     ambiguous, list->n - ambiguous);
}

static int read_one(struct label_reader *r, const struct labels_request *q, struct error *err)
{
    struct example_list all = { 0 };
    int rc = read_file(r, &all, q->path, err) || check_labels(&all, q->path, err) ? -1 : 0;

    if (rc == 0)
        labels_split(r->data, &all, q->seed, q->path);
    example_list_release(&all);
    return rc;
}

static int read_splits(struct label_reader *r, const struct labels_request *q, struct error *err)
{
    char path[PATH_MAX];

    for (int f = 0; f < SPLITS; f++) {
        if (snprintf(path, sizeof path, "%s/%s.jsonl", q->path, split_name((enum data_split)f)) >= (int)sizeof path)
            return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", q->path);
        if (f == SPLIT_TEST && access(path, F_OK) != 0)
            continue;
        if (read_file(r, &r->data->splits[f], path, err) ||
            (f == SPLIT_TRAIN && check_labels(&r->data->splits[f], path, err)))
            return -1;
    }
    return 0;
}

static int open_schemas(struct label_reader *r, struct error *err)
{
    return r->db ? db_path_check(r->db, err) : schema_set_open(&r->data->schemas, r->schema, err);
}

/* Parses "FIELD" or "FIELD=VALUE". */
static int read_label(struct label_reader *r, char *text, struct error *err)
{
    char *cut = strchr(text, '=');

    r->field = text;
    r->yes = cut ? cut + 1 : NULL;
    if (cut)
        *cut = 0;
    return *text && (!cut || cut[1])
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "--label-field: expected FIELD or FIELD=VALUE, one of them is empty");
}

int labels_read(struct dataset *d, const struct labels_request *q, struct error *err)
{
    struct label_reader r = {
        .data = d, .db = q->db, .schema = q->schema, .format_in = q->format_in, .whole = q->whole
    };
    char *label = xstrdup(q->label_field ? q->label_field : "ambiguous");
    struct stat st;

    *d = (struct dataset){ 0 };
    bool folder = stat(q->path, &st) == 0 && S_ISDIR(st.st_mode);
    int rc = read_label(&r, label, err) || open_schemas(&r, err) || arena_init(&r.sql, SQL_ARENA, err) ? -1 : 0;
    if (rc == 0 && q->whole)
        rc = read_file(&r, &d->splits[SPLIT_TEST], q->path, err);
    else if (rc == 0)
        rc = folder ? read_splits(&r, q, err) : read_one(&r, q, err);
    arena_release(&r.sql);
    strings_release(&r.text);
    free(label);
    return rc;
}

/* --- Splits --- */

static const double SHARE = 0.2; /* share of validation, and of the test */

/* Questions that stay in the same split: those with the same text, ignoring case and white space. */
struct text_group {
    uint64_t order;
    bool ambiguous; /* one of them is ambiguous */
    int split;
};

int labels_text_number(struct strings *texts, const char *question)
{
    char *text = xstrdup(question), *to = text;

    for (const char *c = question; *c; c++)
        if (!isspace((unsigned char)*c))
            *to++ = (char)tolower((unsigned char)*c);
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    to -= to > text && to[-1] == ' ';
    *to = 0;
    int number = strings_add(texts, text);
    free(text);
    return number;
}

static int by_order(const void *a, const void *b)
{
    const struct text_group *const *x = a, *const *y = b;
    return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* Splits n groups of one label. If there are few, training comes first, then validation. */
static void choose_splits(struct text_group **list, int n)
{
    int share = (int)lround(SHARE * n), valid = n < 2 ? 0 : share ? share : 1, test = n < 4 ? 0 : share;

    qsort(list, (size_t)n, sizeof *list, by_order);
    for (int i = 0; i < n; i++)
        list[i]->split = i < test ? SPLIT_TEST : i < test + valid ? SPLIT_VALID : SPLIT_TRAIN;
}

static void split_by_question(const struct example_list *all, int64_t seed, int *split)
{
    struct strings texts = { 0 };
    int *group = xmalloc((size_t)all->n * sizeof *group);
    struct text_group *groups = xcalloc((size_t)all->n, sizeof *groups);
    struct text_group **list = xmalloc((size_t)all->n * sizeof *list);

    for (int i = 0; i < all->n; i++) {
        group[i] = labels_text_number(&texts, all->items[i].question);
        groups[group[i]].ambiguous |= all->items[i].ambiguous;
    }
    for (int label = 0; label < 2; label++) {
        int n = 0;
        for (int k = 0; k < texts.n; k++)
            if (groups[k].ambiguous == label) {
                groups[k].order = split_order(texts.items[k], seed);
                list[n++] = &groups[k];
            }
        choose_splits(list, n);
    }
    for (int i = 0; i < all->n; i++)
        split[i] = groups[group[i]].split;
    free(group);
    free(groups);
    free(list);
    strings_release(&texts);
}

/* Splits by database. Returns false if there are too few databases, or training would lack a label. */
static bool split_by_database(const struct example_list *all, int64_t seed, int *split)
{
    struct strings names = { 0 };
    int *of = xmalloc((size_t)all->n * sizeof *of), *split_of = xmalloc((size_t)all->n * sizeof *split_of);
    bool labels[2] = { false, false };

    for (int i = 0; i < all->n; i++)
        of[i] = strings_add(&names, all->items[i].source_db);
    bool enough = split_names((const char *const *)names.items, names.n, SHARE, SHARE, seed, split_of);
    for (int i = 0; enough && i < all->n; i++) {
        split[i] = split_of[of[i]];
        if (split[i] == SPLIT_TRAIN)
            labels[all->items[i].ambiguous] = true;
    }
    free(of);
    free(split_of);
    strings_release(&names);
    return enough && labels[0] && labels[1];
}

void labels_split(struct dataset *d, const struct example_list *all, int64_t seed, const char *name)
{
    int *split = xcalloc((size_t)all->n, sizeof *split), ambiguous = 0;
    bool by_database = split_by_database(all, seed, split);

    if (!by_database)
        split_by_question(all, seed, split);
    for (int i = 0; i < all->n; i++) {
        example_list_add(&d->splits[split[i]], &all->items[i]);
        ambiguous += all->items[i].ambiguous;
    }
    log_info(
        "%s: %d questions, %d of them ambiguous, about %d database%s; split by %s with seed %lld: %d to train, %d to "
        "validate, %d to test",
        name, all->n, ambiguous, d->schemas.n, d->schemas.n == 1 ? "" : "s", by_database ? "database" : "question",
        (long long)seed, d->splits[SPLIT_TRAIN].n, d->splits[SPLIT_VALID].n, d->splits[SPLIT_TEST].n);
    free(split);
}
