#include "data/synth/rewrite.h"

#include "data/base/log.h"
#include "data/base/record_reader.h"
#include "data/base/records.h"
#include "data/corpora/ambrosia.h"
#include "data/db/db_cache.h"
#include "data/db/db_path.h"
#include "data/db/schema_sqlite.h"
#include "data/eval/score.h"
#include "data/schema/element_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_WORDS = 256 };

static const float NONE = .15f, ALL = .15f, SINGLE_NONE = .2f;

/* A word of the question. */
struct word {
    int start, end;
    uint32_t hash;
};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static int find_words(const char *text, struct word words[MAX_WORDS])
{
    int n = 0;

    for (int i = 0; text[i] && n < MAX_WORDS;) {
        int start = i;
        while (text[i] && is_letter(text[i]))
            i++;
        if (i == start) {
            i++;
            continue;
        }
        words[n] = (struct word){ .start = start, .end = i };
        char *word = strndup(text + start, (size_t)(i - start));
        words_read(word, &words[n++].hash, 1);
        free(word);
    }
    return n;
}

/* Returns true if the name's k words start at words[at]. */
static bool stands_at(const struct word *words, int n, int at, const uint32_t *name, int k)
{
    for (int i = 0; i < k; i++)
        if (at + i >= n || words[at + i].hash != name[i])
            return false;
    return k > 0;
}

/* Phrases whose words name no element; "" matches any word. */
static const struct {
    const char *before, *word, *behind;
} phrases[] = {
    { "in", "order", "" },
    { "alphabetical", "order", "" },
    { "alphabetic", "order", "" },
    { "ascending", "order", "" },
    { "descending", "order", "" },
    { "increasing", "order", "" },
    { "decreasing", "order", "" },
    { "lexicographic", "order", "" },
    { "lexicographical", "order", "" },
    { "chronological", "order", "" },
    { "reverse", "order", "" },
    { "numerical", "order", "" },
    { "", "order", "by" },
    { "", "group", "by" },
    { "", "number", "of" },
    { "", "count", "the" },
    { "", "count", "all" },
    { "", "count", "how" },
    { "", "select", "the" },
    { "", "select", "all" },
    { "", "total", "number" },
    { "in", "total", "" },
    { "in", "case", "" },
    { "to", "date", "" },
};

/* Function words never name an element. */
static const char *const glue[] = { "a",  "all", "an", "and", "as", "at",   "by", "for",  "from",  "in",   "is",
                                    "no", "not", "of", "on",  "or", "than", "to", "with", "where", "which" };

static bool has_hash(const struct word *words, int n, int at, const char *word)
{
    return !*word || (at >= 0 && at < n && words[at].hash == word_hash(word));
}

/* Returns true if the word belongs to a phrase. */
static bool is_phrase(const struct word *words, int n, int at)
{
    for (int i = 0; i < ARRAY_LEN(glue); i++)
        if (words[at].hash == word_hash(glue[i]))
            return true;
    for (int i = 0; i < ARRAY_LEN(phrases); i++)
        if (words[at].hash == word_hash(phrases[i].word) && has_hash(words, n, at - 1, phrases[i].before) &&
            has_hash(words, n, at + 1, phrases[i].behind))
            return true;
    return false;
}

/* Returns true if words[at] to words[at + k - 1] lie inside an occurrence of this longer name. */
static bool is_inside(const struct word *words, int n, int at, int k, const char *name)
{
    uint32_t longer[NAME_MAX_WORDS];
    int m = words_read(name, longer, NAME_MAX_WORDS);

    for (int i = at + k - m; m > k && i <= at; i++)
        if (i >= 0 && stands_at(words, n, i, longer, m))
            return true;
    return false;
}

/* Returns true if the words belong to another element of the schema or to a phrase. */
static bool is_other(const struct word *words, int n, int at, int k, const char *schema_text)
{
    char *copy = xstrdup(schema_text ? schema_text : ""), *state = NULL;
    bool found = k == 1 && is_phrase(words, n, at);

    for (char *name = strtok_r(copy, "|:,", &state); name && !found; name = strtok_r(NULL, "|:,", &state))
        found = is_inside(words, n, at, k, name);
    free(copy);
    return found;
}

/* Writes a name with blanks for underscores. */
static void put_name(FILE *out, const char *name)
{
    for (; *name; name++)
        putc(*name == '_' ? ' ' : tolower((unsigned char)*name), out);
}

static bool ends_in_s(const char *text, int length)
{
    return length > 1 && (text[length - 1] | 32) == 's';
}

/* Writes the other name in place of text [start, end), with the capital or plural of that text. */
static void put_instead(FILE *out, const char *text, const char *element, const char *name)
{
    int length = (int)strlen(text), k = (int)strlen(name), e = (int)strlen(element);
    bool plural = ends_in_s(text, length) && !ends_in_s(element, e) && !ends_in_s(name, k);
    char *copy = xstrdup(name);

    if (isupper((unsigned char)*text))
        *copy = (char)toupper((unsigned char)*copy);
    bool ies = plural && k > 2 && copy[k - 1] == 'y' && !strchr("aeiou", copy[k - 2]);
    for (int i = 0; i < k - ies; i++)
        putc(copy[i] == '_' ? ' ' : i ? tolower((unsigned char)copy[i]) : copy[i], out);
    fputs(ies ? "ies" : plural ? "s" : "", out);
    free(copy);
}

/* Opens a memory stream. */
static FILE *start_text(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    CHECK(out, "out of memory");
    return out;
}

static void end_text(FILE *out)
{
    CHECK(fclose(out) == 0, "out of memory");
}

char *rewrite_question(const char *question, const char *element, const char *name, const char *schema_text)
{
    struct word words[MAX_WORDS];
    uint32_t wanted[NAME_MAX_WORDS];
    int n = find_words(question, words), k = words_read(element, wanted, NAME_MAX_WORDS), from = 0;
    char *text = NULL;
    size_t size;
    FILE *out = start_text(&text, &size);

    for (int i = 0; i + k <= n; i++) {
        if (!stands_at(words, n, i, wanted, k) || is_other(words, n, i, k, schema_text))
            continue;
        int start = words[i].start, end = words[i + k - 1].end;
        char *old = strndup(question + start, (size_t)(end - start));
        fwrite(question + from, 1, (size_t)(start - from), out);
        put_instead(out, old, element, name);
        free(old);
        from = end;
        i += k - 1;
    }
    fputs(question + from, out);
    if (from == 0) {
        fputs(" (", out);
        put_name(out, element);
        fputs(": ", out);
        put_name(out, name);
        putc(')', out);
    }
    end_text(out);
    return text;
}

/* Returns "QUESTION (WHAT TABLE)". */
static char *with_table(const char *question, const char *column, const char *what, const char *table)
{
    char *text = NULL;
    size_t size;
    FILE *out = start_text(&text, &size);

    fprintf(out, "%s (", question);
    if (column)
        put_name(out, column);
    fprintf(out, "%s%s ", column ? " " : "", what);
    put_name(out, table);
    putc(')', out);
    end_text(out);
    return text;
}

void rewrite_golds(char *texts[2], const struct ambiqt_record *r)
{
    for (int i = 0; i < 2; i++) {
        const char *table = i ? r->new_table : r->table;
        if (!ambiguity_types[r->type].new_table)
            texts[i] = rewrite_question(r->question, r->type == SIA_COLUMN ? r->column : r->table, r->names[i],
                                        r->schema_text);
        else if (r->type == SIA_JOIN)
            texts[i] = with_table(r->question, r->column, "from", table);
        else
            texts[i] = with_table(r->question, NULL, i ? "stored in" : "computed from", table);
    }
}

/* Draws the number of existing interpretations of n golds. */
static size_t draw_count(size_t n, struct rng *rng)
{
    float u = rng_uniform(rng);

    if (n == 1)
        return u >= SINGLE_NONE;
    if (u < NONE + ALL)
        return u < NONE ? 0 : n;
    return 1 + rng_below(rng, (uint32_t)n - 1);
}

void rewrite_interpretations(json_t *record, struct rng *rng)
{
    json_t *golds = json_object_get(record, "golds"), *left = json_copy(golds), *interpretations = json_array();

    for (size_t n = draw_count(json_array_size(golds), rng); n > 0; n--) {
        size_t i = rng_below(rng, (uint32_t)json_array_size(left));
        const json_t *gold = json_array_get(left, i);
        json_array_append_new(interpretations, json_pack("{s:O, s:O}", "text", json_object_get(gold, "text"), "sql",
                                                         json_object_get(gold, "sql")));
        json_array_remove(left, i);
    }
    json_decref(left);
    json_object_set_new(record, "readings", interpretations);
}

enum { TRIES = 8 };

/* A record of `ambit-data ambiguate` or a row of AMBROSIA. */
struct rewrite_source {
    json_t *json;
    char *where;
    int number; /* index in the corpus, -1 for a row of AMBROSIA */
};

/* The records of one original database. */
struct rewrite_members {
    int *items; /* indices in the corpus */
    int n, cap;
};

struct rewrite_job {
    const struct rewrite_request *q;
    struct rewrite_source *sources;
    int n, cap;
    struct ambiqt_corpus corpus;     /* the records in file order */
    struct strings names;            /* original databases */
    struct rewrite_members *members; /* [names.n] */
    int members_cap;
    struct db_cache databases;
    struct strings written; /* databases with their questions */
    struct rng rng;
    struct out_file out;
    int ambiguous, plain, coincide, failed, alike, again;
};

static int add_source(struct rewrite_job *w, json_t *json, const char *where, struct error *err)
{
    int kind = ambiqt_kind(json);
    bool row = ambrosia_is_row(json);

    GROW(w->sources, w->n, w->cap);
    w->sources[w->n++] = (struct rewrite_source){ json_incref(json), xstrdup(where), row ? -1 : w->corpus.n };
    if (row)
        return 0;
    if (kind < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: expected a record of ambit-data ambiguate or a row of AMBROSIA",
                         where);
    if (!json_get_string(json, "db_file", where, err))
        return error_prefix(err, "made without --materialise");
    return ambiqt_add(&w->corpus, (enum sia_type)kind, json, where, err);
}

static int read_source(void *job, json_t *json, const char *where, struct error *err)
{
    struct rewrite_job *w = job;

    if (!json_object_get(json, "materialise_error") && !json_object_get(json, "error"))
        return add_source(w, json, where, err);
    w->failed++;
    return 0;
}

static void group_records(struct rewrite_job *w)
{
    for (int i = 0; i < w->corpus.n; i++) {
        int known = w->names.n, db = strings_add(&w->names, w->corpus.items[i].db_id);
        if (db == known) {
            GROW(w->members, db, w->members_cap);
            w->members[db] = (struct rewrite_members){ 0 };
        }
        struct rewrite_members *m = &w->members[db];
        GROW(m->items, m->n, m->cap);
        m->items[m->n++] = i;
    }
}

static json_t *database_json(const char *file)
{
    char *db_id = schema_db_id(file);
    json_t *o = json_string(db_id);

    free(db_id);
    return o;
}

static json_t *gold_json(const char *text, const char *sql)
{
    return json_pack("{s:s, s:s}", "sql", sql, "text", text);
}

/* Returns the question with both interpretations, or NULL if their texts are equal. */
static json_t *record_json(const struct rewrite_source *s, const struct ambiqt_record *r)
{
    char *texts[2];
    json_t *o = NULL;

    rewrite_golds(texts, r);
    if (strcasecmp(texts[0], texts[1]) != 0)
        o = json_pack("{s:O?, s:o, s:s, s:s, s:s, s:[o, o]}", "id", json_object_get(s->json, "id"), "db_id",
                      database_json(json_string_value(json_object_get(s->json, "db_file"))), "source_db", r->db_id,
                      "type", sia_type_letter(r->type), "question", r->question, "golds",
                      gold_json(texts[0], r->interpretations[0]), gold_json(texts[1], r->interpretations[1]));
    free(texts[0]);
    free(texts[1]);
    return o;
}

/* Returns true if the SQL contains this whole word. */
static bool says(const char *sql, const char *word)
{
    uint32_t words[512], wanted[NAME_MAX_WORDS];
    int n = words_read(sql, words, ARRAY_LEN(words)), k = words_read(word, wanted, NAME_MAX_WORDS);

    for (int i = 0; i + k <= n; i++)
        if (k && memcmp(words + i, wanted, (size_t)k * sizeof *wanted) == 0)
            return true;
    return false;
}

/* Returns true if another question of the original database has one meaning on the altered copy too: its SQL runs and
 * does not use the duplicated element. */
static bool stays_plain(struct rewrite_job *w, const char *db_file, const struct ambiqt_record *altered,
                        const struct ambiqt_record *other, struct error *err)
{
    const char *element = altered->column ? altered->column : altered->table;
    char *name = schema_db_id(db_file), *path = db_path(w->q->db, name, err);
    bool ok = false;

    struct exec_db *db = path ? db_cache_file(&w->databases, path, err) : NULL;
    if (db && !says(other->original, element)) {
        struct exec_result r = exec_run(db, other->original);
        ok = r.status == EXEC_OK;
        exec_result_release(&r);
    }
    free(path);
    free(name);
    return ok;
}

/* Returns true if the database did not have the question before, and remembers it. */
static bool is_new(struct rewrite_job *w, const char *db_file, const char *question)
{
    char key[2048];
    int n = w->written.n;

    snprintf(key, sizeof key, "%s\x1f%s", db_file, question);
    return strings_add(&w->written, key) == n;
}

/* Returns an unambiguous question on the altered database of record i. NULL if there is none, or with err. */
static json_t *companion(struct rewrite_job *w, int i, struct error *err)
{
    const struct ambiqt_record *r = &w->corpus.items[w->sources[i].number];
    const char *db_file = json_string_value(json_object_get(w->sources[i].json, "db_file"));
    const struct rewrite_members *m = &w->members[strings_find(&w->names, r->db_id)];

    for (int try = 0; try < TRIES && !err->text[0]; try++) {
        const struct ambiqt_record *o = &w->corpus.items[m->items[rng_below(&w->rng, (uint32_t)m->n)]];
        if (strcmp(o->question, r->question) == 0)
            continue;
        if (!stays_plain(w, db_file, r, o, err) || !is_new(w, db_file, o->question))
            continue;
        char id[RECORD_ID_TEXT];
        return json_pack("{s:o, s:o, s:s, s:s, s:[o]}", "id",
                         json_sprintf("%s-plain", record_id_text(w->sources[i].json, id)), "db_id",
                         database_json(db_file), "source_db", r->db_id, "question", o->question, "golds",
                         gold_json(o->question, o->original));
    }
    return NULL;
}

/* Draws the existing interpretations of a record and writes it. */
static int write_record(struct rewrite_job *w, json_t *record, struct error *err)
{
    bool many = json_array_size(json_object_get(record, "golds")) > 1;

    rewrite_interpretations(record, &w->rng);
    w->ambiguous += many;
    w->plain += !many;
    int rc = json_write_line(&w->out, record, err);
    json_decref(record);
    return rc;
}

static int write_altered(struct rewrite_job *w, int i, struct error *err)
{
    const struct rewrite_source *s = &w->sources[i];
    struct error bad = { 0 };

    if (json_is_true(json_object_get(s->json, "coincide"))) {
        w->coincide++;
        return 0;
    }
    const struct ambiqt_record *r = &w->corpus.items[w->sources[i].number];
    if (!is_new(w, json_string_value(json_object_get(s->json, "db_file")), r->question)) {
        w->again++;
        return 0;
    }
    json_t *record = record_json(s, r);
    if (!record) {
        w->alike++;
        return 0;
    }
    if (write_record(w, record, err))
        return -1;
    json_t *plain = w->ambiguous % 2 ? companion(w, i, &bad) : NULL;
    if (bad.text[0])
        return error_set(err, bad.code, "%s: %s", s->where, bad.text);
    return plain ? write_record(w, plain, err) : 0;
}

/* A row needs texts for its golds. */
static int write_row(struct rewrite_job *w, int i, struct error *err)
{
    const struct rewrite_source *s = &w->sources[i];
    json_t *record = ambrosia_record(s->json, i, s->where, err), *golds = json_object_get(record, "golds"), *gold;
    size_t k;

    if (!record)
        return -1;
    if (json_array_size(golds) == 1)
        json_object_set(json_array_get(golds, 0), "text", json_object_get(record, "question"));
    json_array_foreach(golds, k, gold)
    {
        if (!json_object_get(gold, "text")) {
            json_decref(record);
            return error_set(err, EXIT_CODE_DATA,
                             "%s: field \"gold_interpretations\": expected a text for gold %zu, got none", s->where,
                             k + 1);
        }
    }
    return write_record(w, record, err);
}

static int rewrite(struct rewrite_job *w, const char *path, struct error *err)
{
    if (db_path_check(w->q->db, err) || records_each_as_is(path, w->q->format_in, read_source, w, err))
        return -1;
    group_records(w);
    if (out_file_open(&w->out, w->q->out, err))
        return -1;
    for (int i = 0; i < w->n; i++)
        if (w->sources[i].number < 0 ? write_row(w, i, err) : write_altered(w, i, err))
            return -1;
    return out_file_commit(&w->out, err);
}

static void release(struct rewrite_job *w)
{
    out_file_abort(&w->out);
    for (int i = 0; i < w->n; i++) {
        json_decref(w->sources[i].json);
        free(w->sources[i].where);
    }
    for (int i = 0; i < w->names.n; i++)
        free(w->members[i].items);
    free(w->members);
    free(w->sources);
    strings_release(&w->names);
    strings_release(&w->written);
    ambiqt_release(&w->corpus);
    db_cache_release(&w->databases);
}

int rewrite_write(const struct rewrite_request *q, const char *path, struct error *err)
{
    struct rewrite_job w = { .q = q, .rng = { .seed = (uint64_t)q->seed } };

    db_cache_init(&w.databases);
    int rc = rewrite(&w, path, err);
    if (rc == 0)
        log_info("wrote %d ambiguous and %d unambiguous records; rejected %d with equal results, %d that do not run, "
                 "%d with equal texts, %d duplicates",
                 w.ambiguous, w.plain, w.coincide, w.failed, w.alike, w.again);
    release(&w);
    return rc;
}
