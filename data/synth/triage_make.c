#include "data/synth/triage_make.h"

#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/schema/schema_build.h"
#include "data/span/span_record.h"
#include "data/span/tag_source.h"
#include "data/synth/triage_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sources in parts of a thousand of all questions. */
enum make_source {
    MAKE_ANSWERABLE,
    MAKE_AMBIGUOUS,
    MAKE_UNANSWERABLE,
    MAKE_ELSEWHERE,
    MAKE_NATURAL,
    MAKE_NATURAL_CLEAR,
    MAKE_BEYOND,
    MAKE_FOLLOWING,
    MAKE_FOLLOWING_ELSEWHERE,
    MAKE_TALK,
    MAKE_SOURCES
};
static const int per_mille[MAKE_SOURCES] = { 235, 160, 165, 65, 70, 70, 60, 45, 20, 110 };

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
    return c->table ? c->table : "table";
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
        if (n >= SHORT_WORD && rng_below(rng, 3))
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

/* The name in a schema; the caller frees it. */
static char *name_of(struct triage_maker *t, const char *name, bool shortened)
{
    return shortened ? short_name(&t->rng, name) : xstrdup(name);
}

static int add_schema(struct triage_maker *t, const struct span_record *r, const char *db_id, struct error *err)
{
    bool shortened = rng_below(&t->rng, 100) < SHORT_PERCENT;
    struct strings tables = { 0 };
    struct schema_build b;
    struct schema s;

    schema_build_init(&b, db_id);
    for (int i = 0; i < r->n_columns; i++) {
        int n = tables.n, table = strings_add(&tables, table_of(&r->columns[i]));
        char *column = name_of(t, r->columns[i].name, shortened);
        if (table == n) {
            char *name = name_of(t, table_of(&r->columns[i]), shortened);
            schema_build_table(&b, name, NULL);
            free(name);
        }
        schema_build_column(&b, table, column, NULL, r->columns[i].type);
        free(column);
    }
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    strings_release(&tables);
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
    enum triage_class class;
    const struct span_record *on; /* the record whose columns and values the schema has; NULL: values are unknown */
    bool by_values;               /* the class depends on the stored values */
    bool follows;                 /* the question has an earlier one in any case */
};

/* Writes a question and frees its text. */
static int write_question(struct triage_maker *t, const struct made_question *q, struct error *err)
{
    json_t *o =
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:s}", "id", (json_int_t)++t->written, "db_id", q->db_id, "question",
                  q->text, "class", triage_class_name(q->class), "source", "made", "source_class", q->origin);

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
    t->counts->of_class[q->class]++;
    json_decref(o);
    free(q->text);
    return rc;
}

static enum triage_class class_of(const struct span_record *r)
{
    enum triage_class class = TRIAGE_ANSWERABLE;

    for (int i = 0; i < r->n_spans; i++) {
        if (r->spans[i].label == SPAN_UNK)
            return TRIAGE_UNANSWERABLE;
        if (r->spans[i].label == SPAN_AMB)
            class = TRIAGE_AMBIGUOUS;
    }
    return class;
}

static int64_t wanted(const struct triage_maker *t, enum make_source source)
{
    return t->q->questions * per_mille[source] / 1000;
}

/* Whether the edit concerns values alone. */
static bool is_of_values(const struct span_record *r)
{
    return strncmp(r->kind, "value-", strlen("value-")) == 0;
}

static int write_spans(struct triage_maker *t, const int *order, enum make_source source, enum triage_class class,
                       struct error *err)
{
    int64_t left = wanted(t, source);

    for (int i = 0; i < t->spans.n && left; i++) {
        const struct span_record *r = &t->spans.items[order[i]];
        if (class_of(r) != class)
            continue;
        const char *db_id = schema_of(t, r, err);
        if (!db_id)
            return -1;
        const struct made_question q = { .db_id = db_id,
                                         .origin = r->kind,
                                         .text = xstrdup(r->question),
                                         .class = class,
                                         .on = r,
                                         .by_values = class != TRIAGE_ANSWERABLE && is_of_values(r) };
        if (write_question(t, &q, err))
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
        const struct span_record *r = &t->spans.items[order[i]],
                                 *other = &t->spans.items[rng_below(&t->rng, (uint32_t)t->spans.n)];
        if (class_of(r) != TRIAGE_ANSWERABLE || same_database(r, other))
            continue;
        const char *db_id = schema_of(t, other, err);
        if (!db_id)
            return -1;
        const struct made_question q = { .db_id = db_id,
                                         .origin = "another database",
                                         .text = xstrdup(r->question),
                                         .class = TRIAGE_UNANSWERABLE,
                                         .on = other };
        if (write_question(t, &q, err))
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

/* Fills text, class and origin of a question of the source; the text is NULL where nothing fits the record. */
static void draw_template(struct triage_maker *t, struct made_question *q, enum make_source source)
{
    const struct span_column *c = draw_column(t, q->on);

    q->class = TRIAGE_UNANSWERABLE;
    switch (source) {
    case MAKE_TALK:
        q->class = TRIAGE_IMPROPER;
        q->origin = "small talk";
        q->text = triage_small_talk(&t->rng);
        return;
    case MAKE_FOLLOWING:
        q->class = TRIAGE_ANSWERABLE;
        q->origin = "following";
        q->follows = true;
        q->text = draw_following(t, q->on, false);
        return;
    case MAKE_FOLLOWING_ELSEWHERE:
        q->origin = "following, another database";
        q->follows = true;
        q->text = draw_following(t, q->on, true);
        return;
    default:
        q->origin = "beyond SQL";
        q->text = triage_request_beyond(&t->rng, c && c->table ? c->table : "player", c ? c->name : "age");
    }
}

static int write_templates(struct triage_maker *t, enum make_source source, struct error *err)
{
    for (int64_t left = wanted(t, source); left; left--) {
        struct made_question q = { .on = draw_record(t) };
        draw_template(t, &q, source);
        if (q.text && !(q.db_id = schema_of(t, q.on, err))) {
            free(q.text);
            return -1;
        }
        if (q.text && write_question(t, &q, err))
            return -1;
    }
    return 0;
}

static int write_natural(struct triage_maker *t, bool ambiguous, struct error *err)
{
    const struct example_list *list = &t->natural.splits[t->q->split];
    int64_t left = wanted(t, ambiguous ? MAKE_NATURAL : MAKE_NATURAL_CLEAR);
    int *order = xmalloc((size_t)(list->n + 1) * sizeof *order), rc = 0;

    for (int i = 0; i < list->n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, list->n, sizeof *order);
    for (int i = 0; i < list->n && left && rc == 0; i++) {
        const struct example *e = &list->items[order[i]];
        if (e->ambiguous != ambiguous)
            continue;
        const struct schema *s = schema_find(&t->natural.schemas, e->db_id);
        struct schema copy;
        if (!schema_find(&t->schemas, e->db_id)) {
            schema_join(&copy, &s, 1);
            rc = schema_set_add(&t->schemas, &copy, err);
        }
        const struct made_question q = { .db_id = e->db_id,
                                         .origin = "natural",
                                         .text = xstrdup(e->question),
                                         .class = ambiguous ? TRIAGE_AMBIGUOUS : TRIAGE_ANSWERABLE };
        rc = rc ? rc : write_question(t, &q, err);
        left--;
    }
    free(order);
    return rc;
}

static int write_all(struct triage_maker *t, struct error *err)
{
    int *order = xmalloc((size_t)(t->spans.n + 1) * sizeof *order);

    for (int i = 0; i < t->spans.n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, t->spans.n, sizeof *order);
    int rc = write_spans(t, order, MAKE_ANSWERABLE, TRIAGE_ANSWERABLE, err) ||
             write_spans(t, order, MAKE_AMBIGUOUS, TRIAGE_AMBIGUOUS, err) ||
             write_spans(t, order, MAKE_UNANSWERABLE, TRIAGE_UNANSWERABLE, err) || write_elsewhere(t, order, err) ||
             write_natural(t, true, err) || write_natural(t, false, err) || write_templates(t, MAKE_BEYOND, err) ||
             write_templates(t, MAKE_FOLLOWING, err) || write_templates(t, MAKE_FOLLOWING_ELSEWHERE, err) ||
             write_templates(t, MAKE_TALK, err);
    free(order);
    return rc ? -1 : 0;
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
