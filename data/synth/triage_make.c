#include "data/synth/triage_make.h"

#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/schema/schema_build.h"
#include "data/span/span_record.h"
#include "data/span/span_schema.h"
#include "data/span/tag_source.h"
#include "data/synth/triage_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sources, the kind of their questions and their share in parts of a thousand. */
enum make_source {
    MAKE_ANSWERABLE, /* MAKE_ANSWERABLE to MAKE_OUT_OF_SCOPE: records with marked words */
    MAKE_DOUBLED,
    MAKE_VALUE_COPIED,
    MAKE_DELETED,
    MAKE_VALUE_DELETED,
    MAKE_OUT_OF_SCOPE,
    MAKE_TABLE_DELETED,
    MAKE_ELSEWHERE,
    MAKE_NATURAL_CLEAR, /* MAKE_NATURAL_CLEAR to MAKE_NATURAL_AGGREGATE: data folder */
    MAKE_NATURAL_SCHEMA,
    MAKE_NATURAL_WORDING,
    MAKE_NATURAL_AGGREGATE,
    MAKE_REQUEST, /* MAKE_REQUEST and following: templates */
    MAKE_KNOWLEDGE,
    MAKE_TIME,
    MAKE_TIME_EXACT,
    MAKE_AGGREGATE,
    MAKE_AGGREGATE_EXACT,
    MAKE_FOLLOWING,
    MAKE_FOLLOWING_ELSEWHERE,
    MAKE_TALK,
    MAKE_SOURCES
};
static const struct {
    int per_mille;
    enum triage_kind kind;
    const char *origin; /* NULL: the record's own word */
} sources[MAKE_SOURCES] = {
    [MAKE_ANSWERABLE] = { 185, KIND_ANSWERABLE, NULL },
    [MAKE_DOUBLED] = { 85, KIND_SCHEMA, NULL },
    [MAKE_VALUE_COPIED] = { 35, KIND_AMBIGUOUS_VALUE, NULL },
    [MAKE_DELETED] = { 65, KIND_COLUMN, NULL },
    [MAKE_VALUE_DELETED] = { 50, KIND_MISSING_VALUE, NULL },
    [MAKE_OUT_OF_SCOPE] = { 15, KIND_REQUEST, NULL },
    [MAKE_TABLE_DELETED] = { 45, KIND_TABLE, "table deleted" },
    [MAKE_ELSEWHERE] = { 40, KIND_TABLE, "another database" },
    [MAKE_NATURAL_CLEAR] = { 60, KIND_ANSWERABLE, "natural" },
    [MAKE_NATURAL_SCHEMA] = { 25, KIND_SCHEMA, "natural" },
    [MAKE_NATURAL_WORDING] = { 30, KIND_WORDING, "natural" },
    [MAKE_NATURAL_AGGREGATE] = { 20, KIND_AGGREGATE, "natural" },
    [MAKE_REQUEST] = { 30, KIND_REQUEST, "beyond SQL" },
    [MAKE_KNOWLEDGE] = { 40, KIND_KNOWLEDGE, "outside knowledge" },
    [MAKE_TIME] = { 35, KIND_TIME, "vague time" },
    [MAKE_TIME_EXACT] = { 30, KIND_ANSWERABLE, "exact time" },
    [MAKE_AGGREGATE] = { 40, KIND_AGGREGATE, "vague filter" },
    [MAKE_AGGREGATE_EXACT] = { 35, KIND_ANSWERABLE, "exact filter" },
    [MAKE_FOLLOWING] = { 40, KIND_ANSWERABLE, "following" },
    [MAKE_FOLLOWING_ELSEWHERE] = { 15, KIND_COLUMN, "following, another database" },
    [MAKE_TALK] = { 80, KIND_IMPROPER, "small talk" },
};

struct triage_maker {
    const struct triage_make_request *q;
    struct triage_counts *counts;
    struct rng rng;
    struct span_record_list spans;
    struct dataset natural;
    struct schema_set schemas;
    struct strings contents; /* schemas of records as JSON; contents.items[i] made schema names.items[i] */
    struct strings names;
    struct out_file out;
    int64_t written;
};

static const char *table_of(const struct span_column *c)
{
    return c->table ? c->table : SPAN_TABLE;
}

/* Percentage of the schemas with abbreviated names, which real databases have. */
enum { SHORT_PERCENT = 30, SHORT_WORD = 5 /* letters of the shortest word that is abbreviated */ };

/* Writes the word [n] as its first letters, or without vowels after the first letter. */
static void write_short(FILE *f, struct rng *rng, const char *word, int n)
{
    bool begins = rng_below(rng, 2);
    int kept = begins ? 3 + (int)rng_below(rng, 2) : n;

    for (int i = 0; i < n && i < kept; i++)
        if (begins || i == 0 || !strchr("aeiouAEIOU", word[i]))
            fputc(word[i], f);
}

/* Whether the word [n] can be cut at any byte. */
static bool is_ascii(const char *word, int n)
{
    for (int i = 0; i < n; i++)
        if ((unsigned char)word[i] >= 0x80)
            return false;
    return true;
}

/* The name with about two thirds of its long words abbreviated, joined by a mark or nothing; the caller frees it. */
static char *short_name(struct rng *rng, const char *name)
{
    static const char *const joints[] = { "_", " ", "" };
    const char *joint = joints[rng_below(rng, ARRAY_LEN(joints))];
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a name");
    for (const char *p = name; *p;) {
        int n = (int)strcspn(p, " _");
        if (n >= SHORT_WORD && is_ascii(p, n) && rng_below(rng, 3))
            write_short(f, rng, p, n);
        else
            fwrite(p, 1, (size_t)n, f);
        p += n;
        if (*p) {
            fputs(joint, f);
            p++;
        }
    }
    fclose(f);
    return text;
}

/* A span_name_fn for abbreviated names. */
static char *shorten(void *user, const char *name)
{
    return short_name(user, name);
}

static int add_schema(struct triage_maker *t, const struct span_record *r, const char *db_id, struct error *err)
{
    bool shortened = rng_below(&t->rng, 100) < SHORT_PERCENT;
    struct schema s;

    span_schema_init(&s, db_id, r->columns, r->n_columns, shortened ? shorten : NULL, &t->rng);
    return schema_set_add(&t->schemas, &s, err);
}

/* The db_id of a record's columns, which become a schema if they are new.  NULL with err. */
static const char *schema_of(struct triage_maker *t, const struct span_record *r, struct error *err)
{
    json_t *list = json_array();
    char name[40];

    for (int i = 0; i < r->n_columns; i++)
        json_array_append_new(
            list, json_pack("[s, s, i]", table_of(&r->columns[i]), r->columns[i].name, (int)r->columns[i].type));
    char *text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    int n = t->contents.n, at = strings_add(&t->contents, text);
    free(text);
    snprintf(name, sizeof name, "spans_%d", at + 1);
    if (at == n) {
        strings_add(&t->names, name);
        if (add_schema(t, r, name, err))
            return NULL;
    }
    return t->names.items[at];
}

static const struct span_record *draw_record(struct triage_maker *t)
{
    return &t->spans.items[rng_below(&t->rng, (uint32_t)t->spans.n)];
}

static const struct span_column *draw_column(struct triage_maker *t, const struct span_record *r)
{
    return r->n_columns ? &r->columns[rng_below(&t->rng, (uint32_t)r->n_columns)] : NULL;
}

/* The stored values of the record's columns in the question. */
static json_t *values_json(const struct span_record *r, const char *question)
{
    struct tag_source source;
    struct tag_matches matches;
    json_t *list = json_array();

    tag_source_of(&source, r->columns, r->n_columns);
    struct tag_question q = tag_source_ask(&source, question, &matches);
    for (int i = 0; i < q.n_values; i++)
        json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:i}", "column", q.values[i].column, "text",
                                              q.values[i].text, "start", q.values[i].start, "end", q.values[i].end));
    tag_matches_release(&matches);
    tag_source_close(&source);
    return list;
}

/* Percentage of the questions with an earlier one. */
enum { CONTEXT_PERCENT = 40 };

struct made_question {
    const char *db_id, *origin;
    char *text; /* owned */
    enum triage_kind kind;
    const struct span_record *on; /* the record whose columns and values the schema has; NULL: values are unknown */
    bool by_values;               /* the class depends on the stored values */
    bool follows;                 /* the question has an earlier one in any case */
};

/* Writes a question and frees its text. */
static int write_question(struct triage_maker *t, const struct made_question *q, struct error *err)
{
    enum triage_class class = triage_kind_class(q->kind);
    json_t *o = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s}", "id", (json_int_t)++t->written, "db_id", q->db_id,
                          "question", q->text, "class", triage_class_name(class), "kind", triage_kind_name(q->kind),
                          "source", "made", "source_class", q->origin);

    if (q->on && (q->follows || rng_below(&t->rng, 100) < CONTEXT_PERCENT)) {
        const struct span_column *c = draw_column(t, q->on);
        char *opening = triage_opening(&t->rng, c ? c->table : NULL, c ? c->name : NULL);
        json_object_set_new(o, "context", json_pack("[s]", opening));
        free(opening);
    }
    if (q->on)
        json_object_set_new(o, "values", values_json(q->on, q->text));
    if (q->by_values)
        json_object_set_new(o, "by_values", json_true());
    int rc = json_write_line(&t->out, o, err);
    t->counts->of_class[class]++;
    json_decref(o);
    free(q->text);
    return rc;
}

static enum triage_kind kind_of(const struct span_record *r)
{
    bool by_values = strncmp(r->kind, "value-", strlen("value-")) == 0;
    enum triage_kind kind = KIND_ANSWERABLE;

    for (int i = 0; i < r->n_spans; i++) {
        if (r->spans[i].label == SPAN_UNK && strcmp(r->kind, "out-of-scope") == 0)
            return KIND_REQUEST;
        if (r->spans[i].label == SPAN_UNK)
            return by_values ? KIND_MISSING_VALUE : KIND_COLUMN;
        if (r->spans[i].label == SPAN_AMB)
            kind = by_values ? KIND_AMBIGUOUS_VALUE : KIND_SCHEMA;
    }
    return kind;
}

static int64_t wanted(const struct triage_maker *t, enum make_source source)
{
    return t->q->questions * sources[source].per_mille / 1000;
}

/* Writes the question, whose text it takes, about the columns of a record. */
static int write_about(struct triage_maker *t, enum make_source source, const struct span_record *on, char *text,
                       const char *origin, struct error *err)
{
    enum triage_kind kind = sources[source].kind;
    const char *db_id = schema_of(t, on, err);
    const struct made_question q = { .db_id = db_id,
                                     .origin = origin,
                                     .text = text,
                                     .kind = kind,
                                     .on = on,
                                     .by_values = kind == KIND_AMBIGUOUS_VALUE || kind == KIND_MISSING_VALUE,
                                     .follows = source == MAKE_FOLLOWING || source == MAKE_FOLLOWING_ELSEWHERE };

    if (db_id)
        return write_question(t, &q, err);
    free(text);
    return -1;
}

static int write_spans(struct triage_maker *t, const int *order, enum make_source source, struct error *err)
{
    int64_t left = wanted(t, source);

    for (int i = 0; i < t->spans.n && left; i++) {
        const struct span_record *r = &t->spans.items[order[i]];
        if (kind_of(r) != sources[source].kind)
            continue;
        if (write_about(t, source, r, xstrdup(r->question), r->kind, err))
            return -1;
        left--;
    }
    return 0;
}

/* A table that the record's marked words use, while other columns have another table; NULL: there is none. */
static const char *used_table(struct rng *rng, const struct span_record *r)
{
    const struct marked_span *s = r->n_spans ? &r->spans[rng_below(rng, (uint32_t)r->n_spans)] : NULL;
    const char *table = s && s->n_alternatives ? r->columns[s->alternatives[0].column].table : NULL;

    for (int i = 0; table && i < r->n_columns; i++)
        if (strcmp(table_of(&r->columns[i]), table) != 0)
            return table;
    return NULL;
}

/* Answerable questions, without the columns of a table that they use. */
static int write_without_table(struct triage_maker *t, const int *order, struct error *err)
{
    int64_t left = wanted(t, MAKE_TABLE_DELETED);

    for (int i = 0; i < t->spans.n && left; i++) {
        const struct span_record *r = &t->spans.items[order[i]];
        const char *table = kind_of(r) == KIND_ANSWERABLE ? used_table(&t->rng, r) : NULL;
        if (!table)
            continue;
        struct span_record part = *r;
        part.columns = xcalloc((size_t)r->n_columns, sizeof *part.columns);
        part.n_columns = 0;
        for (int k = 0; k < r->n_columns; k++)
            if (strcmp(table_of(&r->columns[k]), table) != 0)
                part.columns[part.n_columns++] = r->columns[k];
        int rc =
            write_about(t, MAKE_TABLE_DELETED, &part, xstrdup(r->question), sources[MAKE_TABLE_DELETED].origin, err);
        free(part.columns);
        if (rc)
            return -1;
        left--;
    }
    return 0;
}

static bool same_database(const struct span_record *a, const struct span_record *b)
{
    return a->db_id && b->db_id && strcmp(a->db_id, b->db_id) == 0;
}

/* Answerable questions on the columns of another database. */
static int write_elsewhere(struct triage_maker *t, const int *order, struct error *err)
{
    int64_t left = wanted(t, MAKE_ELSEWHERE);

    for (int i = 0; i < t->spans.n && left; i++) {
        const struct span_record *r = &t->spans.items[order[i]], *other = draw_record(t);
        if (kind_of(r) != KIND_ANSWERABLE || same_database(r, other))
            continue;
        if (write_about(t, MAKE_ELSEWHERE, other, xstrdup(r->question), sources[MAKE_ELSEWHERE].origin, err))
            return -1;
        left--;
    }
    return 0;
}

static bool has_column(const struct span_record *r, const struct span_column *c)
{
    for (int i = 0; i < r->n_columns; i++)
        if (strcasecmp(r->columns[i].name, c->name) == 0)
            return true;
    return false;
}

/* A question that follows another one about the record.  elsewhere: about a column that the record lacks; NULL if the
 * drawn column is not lacking. */
static char *draw_following(struct triage_maker *t, const struct span_record *r, bool elsewhere)
{
    const struct span_column *c = draw_column(t, elsewhere ? draw_record(t) : r);
    bool alone = !elsewhere && rng_below(&t->rng, 3) == 0;

    if (!c || (elsewhere && has_column(r, c)))
        return NULL;
    return triage_following(&t->rng, alone ? NULL : c->name);
}

static bool is_id(const char *name)
{
    size_t n = strlen(name);
    return n >= 2 && strcasecmp(name + n - 2, "id") == 0;
}

/* A column of the type in the table, or NULL.  Numbers that identify rows are left out. */
static const char *column_of_type(struct triage_maker *t, const struct span_record *r, const char *table,
                                  enum column_type type)
{
    int first = (int)rng_below(&t->rng, (uint32_t)r->n_columns);

    for (int i = 0; i < r->n_columns; i++) {
        const struct span_column *c = &r->columns[(first + i) % r->n_columns];
        if (strcmp(table_of(c), table) == 0 && c->type == type && !is_id(c->name))
            return c->name;
    }
    return NULL;
}

/* A question with a vague or exact time or filter; NULL if the record lacks a column that it needs. */
static char *draw_vague(struct triage_maker *t, const struct span_record *r, enum triage_kind kind, bool exact)
{
    static const char *const nouns[] = { "entry", "row", "record" };
    const struct span_column *c = draw_column(t, r);

    if (!c)
        return NULL;
    struct triage_subject about = { .table = c->table ? c->table : nouns[rng_below(&t->rng, ARRAY_LEN(nouns))],
                                    .column = c->name,
                                    .number = column_of_type(t, r, table_of(c), COLUMN_NUMBER),
                                    .time = column_of_type(t, r, table_of(c), COLUMN_TIME) };
    if (!(kind == KIND_TIME ? about.time : about.number))
        return NULL;
    about.number = about.number ? about.number : about.time;
    about.time = about.time ? about.time : about.column;
    return triage_vague(&t->rng, kind, exact, &about);
}

/* A question of the source; NULL where nothing fits the record. */
static char *draw_template(struct triage_maker *t, const struct span_record *r, enum make_source source)
{
    const struct span_column *c = draw_column(t, r);

    switch (source) {
    case MAKE_TALK:
        return triage_small_talk(&t->rng);
    case MAKE_FOLLOWING:
    case MAKE_FOLLOWING_ELSEWHERE:
        return draw_following(t, r, source == MAKE_FOLLOWING_ELSEWHERE);
    case MAKE_TIME:
    case MAKE_TIME_EXACT:
        return draw_vague(t, r, KIND_TIME, source == MAKE_TIME_EXACT);
    case MAKE_AGGREGATE:
    case MAKE_AGGREGATE_EXACT:
        return draw_vague(t, r, KIND_AGGREGATE, source == MAKE_AGGREGATE_EXACT);
    default:
        return triage_beyond(&t->rng, sources[source].kind, c && c->table ? c->table : "player", c ? c->name : "age");
    }
}

enum { TRIES = 20 /* for a question */ };

static int write_templates(struct triage_maker *t, enum make_source source, struct error *err)
{
    int64_t left = wanted(t, source);

    for (int64_t tries = TRIES * left; left && tries; tries--) {
        const struct span_record *r = draw_record(t);
        char *text = draw_template(t, r, source);
        if (text && write_about(t, source, r, text, sources[source].origin, err))
            return -1;
        left -= text != NULL;
    }
    return 0;
}

static enum triage_kind kind_of_example(const struct example *e)
{
    if (!e->ambiguous)
        return KIND_ANSWERABLE;
    if (e->linguistic != LINGUISTIC_NONE)
        return KIND_WORDING;
    return e->type == SIA_AGGREGATE ? KIND_AGGREGATE : KIND_SCHEMA;
}

static int write_example(struct triage_maker *t, const struct example *e, enum make_source source, struct error *err)
{
    const struct schema *s = schema_find(&t->natural.schemas, e->db_id);
    struct schema copy;

    if (!schema_find(&t->schemas, e->db_id)) {
        schema_join(&copy, &s, 1);
        if (schema_set_add(&t->schemas, &copy, err))
            return -1;
    }
    const struct made_question q = {
        .db_id = e->db_id, .origin = sources[source].origin, .text = xstrdup(e->question), .kind = sources[source].kind
    };
    return write_question(t, &q, err);
}

static int write_natural(struct triage_maker *t, enum make_source source, struct error *err)
{
    const struct example_list *list = &t->natural.splits[t->q->split];
    int64_t left = wanted(t, source);
    int *order = xmalloc((size_t)(list->n + 1) * sizeof *order), rc = 0;

    for (int i = 0; i < list->n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, list->n, sizeof *order);
    for (int i = 0; i < list->n && left && rc == 0; i++) {
        const struct example *e = &list->items[order[i]];
        if (kind_of_example(e) != sources[source].kind)
            continue;
        rc = write_example(t, e, source, err);
        left--;
    }
    free(order);
    return rc;
}

static int write_source(struct triage_maker *t, const int *order, enum make_source source, struct error *err)
{
    if (source == MAKE_TABLE_DELETED)
        return write_without_table(t, order, err);
    if (source == MAKE_ELSEWHERE)
        return write_elsewhere(t, order, err);
    if (source <= MAKE_OUT_OF_SCOPE)
        return write_spans(t, order, source, err);
    return source <= MAKE_NATURAL_AGGREGATE ? write_natural(t, source, err) : write_templates(t, source, err);
}

static int write_all(struct triage_maker *t, struct error *err)
{
    int *order = xmalloc((size_t)(t->spans.n + 1) * sizeof *order), rc = 0;

    for (int i = 0; i < t->spans.n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, t->spans.n, sizeof *order);
    for (int i = 0; i < MAKE_SOURCES && rc == 0; i++)
        rc = write_source(t, order, (enum make_source)i, err);
    free(order);
    return rc;
}

static int write_tables(const struct triage_maker *t, const char *dir, struct error *err)
{
    char *path = path_in(dir, "tables.json");
    struct out_file o;
    int rc = out_file_open(&o, path, err);

    if (rc == 0)
        rc = dataset_write_schemas(&t->schemas, &o, err) || out_file_commit(&o, err) ? -1 : 0;
    out_file_abort(&o);
    free(path);
    return rc;
}

static int write_folder(struct triage_maker *t, const char *dir, struct error *err)
{
    char *path = path_in(dir, "questions.jsonl");
    int rc = out_file_open(&t->out, path, err);

    if (rc == 0)
        rc = write_all(t, err) || out_file_commit(&t->out, err) || write_tables(t, dir, err) ? -1 : 0;
    out_file_abort(&t->out);
    free(path);
    return rc;
}

int triage_make(const struct triage_make_request *q, struct triage_counts *n, struct error *err)
{
    struct triage_maker t = { .q = q, .counts = n, .rng = { .seed = q->seed } };
    struct out_folder folder = { 0 };
    int rc = span_records_read(&t.spans, q->spans, err) || (q->natural && dataset_read(&t.natural, q->natural, err));

    if (rc == 0 && !t.spans.n)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected records with marked words, got none", q->spans);
    if (rc == 0)
        rc = out_folder_open(&folder, q->out, err) || write_folder(&t, folder.tmp, err) ||
             out_folder_commit(&folder, q->force, err);
    out_folder_abort(&folder);
    span_records_release(&t.spans);
    dataset_release(&t.natural);
    schema_set_close(&t.schemas);
    strings_release(&t.contents);
    strings_release(&t.names);
    return rc ? -1 : 0;
}
