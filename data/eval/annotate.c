#include "data/eval/annotate.h"

#include "data/base/records.h"
#include "data/db/result_match.h"
#include "data/eval/dfpl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_gold(struct annotation *a, const json_t *o, const char *where, struct error *err)
{
    struct annotate_gold *g = &a->golds[a->n_golds++];

    *g = (struct annotate_gold){ .covered_by = -1, .sql = json_get_string(o, "sql", where, err) };
    if (!g->sql || (json_object_get(o, "text") && !(g->text = json_get_string(o, "text", where, err))))
        return -1;
    return trial_texts_add(&a->gold_sql, json_object_get(o, "sql"), "sql", where, err);
}

static int read_golds(struct annotation *a, const json_t *list, const char *where, struct error *err)
{
    char inner[640];
    size_t n = json_array_size(list);

    a->golds = xcalloc(n + 1, sizeof *a->golds);
    for (size_t i = 0; i < n; i++) {
        snprintf(inner, sizeof inner, "%.500s, gold %zu", where, i + 1);
        if (read_gold(a, json_array_get(list, i), inner, err))
            return -1;
    }
    if (n == 1 && !a->golds[0].text)
        a->golds[0].text = a->question;
    return n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: field \"golds\" is empty", where);
}

static int read_interpretation(struct annotation *a, const json_t *o, const char *where, struct error *err)
{
    struct annotate_interpretation *r = &a->interpretations[a->n_interpretations++];
    const json_t *sql = json_object_get(o, "sql");

    *r = (struct annotate_interpretation){ .first = a->sql.n,
                                           .same_as = -1,
                                           .text = json_get_string(o, "text", where, err) };
    if (!r->text || (sql && trial_texts_add(&a->sql, sql, "sql", where, err)))
        return -1;
    r->n = a->sql.n - r->first;
    return 0;
}

static int read_interpretations(struct annotation *a, const json_t *list, const char *where, struct error *err)
{
    char inner[640];
    size_t n = json_array_size(list);

    a->interpretations = xcalloc(n + 1, sizeof *a->interpretations);
    for (size_t i = 0; i < n; i++) {
        snprintf(inner, sizeof inner, "%.500s, reading %zu", where, i + 1);
        if (read_interpretation(a, json_array_get(list, i), inner, err))
            return -1;
    }
    return 0;
}

int annotation_read(struct annotation *a, const json_t *record, const char *where, struct error *err)
{
    json_t *golds, *interpretations = NULL;

    *a = (struct annotation){ 0 };
    if (!(a->db_id = json_get_string(record, "db_id", where, err)) ||
        !(a->question = json_get_string(record, "question", where, err)) ||
        !(golds = json_get_array(record, "golds", where, err)) || read_golds(a, golds, where, err))
        return -1;
    if (json_object_get(record, "readings") && !(interpretations = json_get_array(record, "readings", where, err)))
        return -1;
    return read_interpretations(a, interpretations, where, err);
}

void annotation_release(struct annotation *a)
{
    free(a->golds);
    free(a->interpretations);
    free(a->gold_sql.sql);
    free(a->sql.sql);
    free(a->existing);
    *a = (struct annotation){ 0 };
}

void annotate_trial(struct trial *t, const struct annotation *a, enum trial_rule rule, struct exec_db *db)
{
    trial_run(t, rule, db, trial_texts_part(&a->gold_sql, 0, a->gold_sql.n), trial_texts_part(&a->sql, 0, a->sql.n));
}

/* Adds a reading to the kept ones. */
static void annotate_keep(struct annotation *a, int interpretation)
{
    GROW(a->existing, a->n_existing, a->existing_cap);
    a->existing[a->n_existing++] = interpretation;
}

static json_t *golds_json(const struct annotation *a)
{
    json_t *list = json_array();
    for (int g = 0; g < a->n_golds; g++) {
        const struct annotate_gold *gold = &a->golds[g];
        json_array_append_new(list, json_pack("{s:s?, s:s, s:o}", "text", gold->text, "sql", gold->sql, "covered_by",
                                              gold->covered_by < 0 ? json_null() : json_integer(gold->covered_by)));
    }
    return list;
}

static json_t *sql_json(const struct annotation *a, const struct annotate_interpretation *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n; i++)
        json_array_append_new(list, json_string(a->sql.sql[r->first + i]));
    return list;
}

static json_t *interpretations_json(const struct annotation *a)
{
    json_t *list = json_array();
    for (int i = 0; i < a->n_interpretations; i++) {
        const struct annotate_interpretation *r = &a->interpretations[i];
        json_t *o = json_pack("{s:s, s:o}", "text", r->text, "sql", sql_json(a, r));
        if (r->dropped)
            json_object_set_new(o, "dropped", json_string(r->dropped));
        if (r->same_as >= 0)
            json_object_set_new(o, "same_as", json_integer(r->same_as));
        json_array_append_new(list, o);
    }
    return list;
}

/* Lines joined by newlines, or the sentence if there are none. */
static json_t *joined(const json_t *lines, const char *sentence)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory stream");
    for (size_t i = 0; i < json_array_size(lines); i++)
        fprintf(f, "%s%s", i ? "\n" : "", json_string_value(json_array_get(lines, i)));
    fclose(f);
    json_t *all = json_string(json_array_size(lines) ? text : sentence);
    free(text);
    return all;
}

/* The texts of uncovered golds; NULL with an error if one has no text. */
static json_t *missing_texts(const struct annotation *a, struct error *err)
{
    json_t *list = json_array();
    for (int g = 0; g < a->n_golds; g++) {
        if (a->golds[g].covered_by >= 0)
            continue;
        if (!a->golds[g].text) {
            error_set(err, EXIT_CODE_DATA, "gold %d: expected a text, since no reading covers it", g + 1);
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, json_string(a->golds[g].text));
    }
    return list;
}

json_t *annotation_json(const struct annotation *a, struct error *err)
{
    json_t *missing = missing_texts(a, err), *existing = json_array(), *o = NULL;
    for (int i = 0; i < a->n_existing; i++)
        json_array_append_new(existing, json_string(a->interpretations[a->existing[i]].text));
    if (missing)
        o = json_pack("{s:O, s:o, s:O, s:o, s:o, s:o}", "existing", existing, "existing_text",
                      joined(existing, ANNOTATE_NONE_EXIST), "missing", missing, "target",
                      joined(missing, ANNOTATE_ALL_COVERED), "golds", golds_json(a), "readings",
                      interpretations_json(a));
    json_decref(existing);
    json_decref(missing);
    return o;
}

/* Targets of models that write everything at once. */

int annotate_golds(const struct annotation *a, struct exec_db *db, bool published, struct error *err)
{
    struct trial t;

    trial_run(&t, published ? TRIAL_PUBLISHED : TRIAL_STRICT, db, trial_texts_part(&a->gold_sql, 0, a->gold_sql.n),
              (struct trial_text){ 0 });
    int rc = t.why ? error_set(err, EXIT_CODE_DATA, "%s", t.why) : 0;
    trial_release(&t);
    return rc;
}

static json_t *gold_json(const struct annotate_gold *g)
{
    return json_pack("{s:s*, s:s}", "text", g->text, "sql", g->sql);
}

const char *const annotate_targets[] = { "infill", "e2e", "gold", "pairs" };

/* Writes a gold's part of the target. -1 with err. */
static int write_part(FILE *out, const struct annotation *a, int gold, enum annotate_target target, struct error *err)
{
    const struct annotate_gold *g = &a->golds[gold];
    size_t n = strlen(g->sql);

    if (target != ANNOTATE_E2E && !g->text)
        return error_set(err, EXIT_CODE_DATA, "gold %d: --target %s requires a text", gold + 1,
                         annotate_targets[target]);
    if (gold > 0)
        fputs(target == ANNOTATE_GOLD ? "\n" : "\n\n", out);
    if (target != ANNOTATE_E2E)
        fputs(g->text, out);
    if (target == ANNOTATE_PAIRS)
        fputc('\n', out);
    if (target != ANNOTATE_GOLD)
        fputs(g->sql, out);
    if (target == ANNOTATE_PAIRS && !(n && g->sql[n - 1] == ';'))
        fputc(';', out);
    return 0;
}

json_t *annotation_target_json(const struct annotation *a, enum annotate_target target, struct error *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *golds = json_array(), *o = NULL;
    int rc = 0;

    CHECK(out, "out of memory");
    for (int g = 0; g < a->n_golds && rc == 0; g++) {
        rc = write_part(out, a, g, target, err);
        json_array_append_new(golds, gold_json(&a->golds[g]));
    }
    CHECK(fclose(out) == 0, "out of memory");
    if (rc == 0)
        o = json_pack("{s:s, s:O}", "target", text, "golds", golds);
    json_decref(golds);
    free(text);
    return o;
}

/* The filter by results. */

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

static bool ends_with_colon(const char *text)
{
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return n && text[n - 1] == ':';
}

static bool runs(struct exec_db *db, const char *text)
{
    struct exec_result r = exec_run(db, text);
    bool ok = r.status == EXEC_OK;
    exec_result_release(&r);
    return ok;
}

static const char *judge_text(struct exec_db *db, const char *text)
{
    if (is_blank(text))
        return "no text";
    if (ends_with_colon(text))
        return "introduction";
    return runs(db, text) ? "text is SQL" : NULL;
}

/* The first query of a reading that runs, or NULL. */
static const struct trial_query *meaning(const struct annotation *a, const struct trial *t, int interpretation)
{
    const struct annotate_interpretation *r = &a->interpretations[interpretation];
    for (int i = 0; i < r->n; i++) {
        const struct trial_query *q = &t->queries[trial_find(t, a->sql.sql[r->first + i])];
        if (q->result.status == EXEC_OK)
            return q;
    }
    return NULL;
}

/* The kept reading with the same meaning, or -1. */
static int find_same(const struct annotation *a, const struct trial *t, const struct trial_query *q)
{
    for (int i = 0; i < a->n_existing; i++)
        if (trial_alike(t, meaning(a, t, a->existing[i]), q))
            return a->existing[i];
    return -1;
}

static void judge(struct annotation *a, const struct trial *t, struct exec_db *db, int i)
{
    struct annotate_interpretation *r = &a->interpretations[i];
    const struct trial_query *q = meaning(a, t, i);

    r->dropped = judge_text(db, r->text);
    if (!r->dropped && !q)
        r->dropped = r->n ? "no SQL runs" : "no SQL";
    if (r->dropped)
        return;
    r->same_as = find_same(a, t, q);
    if (r->same_as >= 0) {
        r->dropped = "same result as another";
        return;
    }
    annotate_keep(a, i);
}

/* The kept reading that covers a gold, or -1. */
static int find_cover(const struct annotation *a, const struct trial *t, const struct trial_query *gold)
{
    for (int i = 0; i < a->n_existing; i++)
        if (trial_same(t, meaning(a, t, a->existing[i]), gold))
            return a->existing[i];
    return -1;
}

static void cover(struct annotation *a, const struct trial *t)
{
    for (int g = 0; g < a->n_golds; g++)
        for (int k = 0; k < t->n_golds; k++)
            if (strcmp(t->golds[k].sql, a->golds[g].sql) == 0)
                a->golds[g].covered_by = find_cover(a, t, &t->golds[k]);
}

void annotate_honest_filter(struct annotation *a, const struct trial *t, struct exec_db *db)
{
    for (int i = 0; i < a->n_interpretations; i++)
        judge(a, t, db, i);
}

int annotate_honest(struct annotation *a, struct exec_db *db, struct error *err)
{
    struct trial t;
    int rc = 0;

    annotate_trial(&t, a, TRIAL_STRICT, db);
    annotate_honest_filter(a, &t, db);
    if (t.why)
        rc = error_set(err, EXIT_CODE_DATA, "%s", t.why);
    else
        cover(a, &t);
    trial_release(&t);
    return rc;
}

/* The published filter. */

/* The authors' keywords and signs, without those that contain another. */
static const char *const keywords[] = {
    " != ",   " < ",        " <= ",     " = ",     " > ",    " >= ",    " | ",    "*",        "----",
    "ADD",    "ALTER",      "ANALYZE",  "AND",     "AS",     "BETWEEN", "CALL",   "CHECK",    "COMMIT",
    "CREATE", "DEALLOCATE", "DECLARE",  "DEFAULT", "DELETE", "DROP",    "END",    "EXCEPT",   "EXEC",
    "FROM",   "GLOB",       "GROUP BY", "IN",      "LIKE",   "LIMIT",   "MODIFY", "NOT",      "NULL",
    "ON",     "OR",         "PREPARE",  "PRIMARY", "REGEX",  "REMOVE",  "RENAME", "ROLLBACK", "SELECT",
    "SET",    "TRUNCATE",   "UNIQUE",   "UPDATE",  "VACUUM", "WHERE",   "WITH",   "```sql",
};

bool annotate_has_keyword(const char *text)
{
    for (int i = 0; i < ARRAY_LEN(keywords); i++)
        if (strstr(text, keywords[i]))
            return true;
    return false;
}

int64_t annotate_length(const char *text)
{
    int64_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80; /* bytes that begin a code point */
    return n;
}

/* The length of a blank as in Python's str.strip, or 0. */
static int blank_at(const char *s)
{
    static const char *const wide[] = { "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
                                        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80" };
    unsigned char c = (unsigned char)*s;
    if ((c >= '\t' && c <= '\r') || (c >= 0x1c && c <= ' '))
        return 1;
    for (int i = 0; i < ARRAY_LEN(wide); i++)
        if (strncmp(s, wide[i], strlen(wide[i])) == 0)
            return (int)strlen(wide[i]);
    bool spaces = strncmp(s, "\xe2\x80", 2) == 0 && (unsigned char)s[2] >= 0x80 && (unsigned char)s[2] <= 0x8a;
    return spaces ? 3 : 0; /* U+2000 to U+200A */
}

/* Python's str.strip; the caller frees. */
static char *strip(const char *text)
{
    int n;
    while ((n = blank_at(text)))
        text += n;
    const char *end = text;
    for (const char *s = text; *s; s += n ? n : 1) {
        n = blank_at(s);
        if (!n)
            end = s + 1;
    }
    return strndup(text, (size_t)(end - text));
}

static const char *judge_published(const char *interpretation, int64_t question_length)
{
    char *text = strip(interpretation);
    const char *dropped = NULL;
    if (annotate_has_keyword(text))
        dropped = "SQL keyword or sign";
    else if (2 * annotate_length(text) < question_length)
        dropped = "shorter than half the question";
    free(text);
    return dropped;
}

/* Readings whose SQL has equal results. */
struct interpretation_group {
    int query; /* the first query, with which others are compared */
    bool empty;
    int *interpretations;
    int n, cap;
};

struct interpretation_groups {
    struct interpretation_group *items;
    int n, cap;
};

static void join(struct interpretation_group *g, int interpretation)
{
    GROW(g->interpretations, g->n, g->cap);
    g->interpretations[g->n++] = interpretation;
}

static struct interpretation_group *find_group(const struct interpretation_groups *all, const struct trial *t,
                                               int query)
{
    const struct exec_result *r = &t->queries[query].result;
    for (int i = 0; i < all->n; i++) {
        struct interpretation_group *g = &all->items[i];
        if (g->empty ? r->n == 0 : r->n && match_cells(r, &t->queries[g->query].result))
            return g;
    }
    return NULL;
}

/* Adds a query. A group without rows keeps only the newest reading. */
static void add_query(struct interpretation_groups *all, const struct trial *t, int query, int interpretation)
{
    struct interpretation_group *g = find_group(all, t, query);
    if (!g) {
        GROW(all->items, all->n, all->cap);
        g = &all->items[all->n++];
        *g = (struct interpretation_group){ .query = query, .empty = t->queries[query].result.n == 0 };
    }
    if (g->empty)
        g->n = 0;
    join(g, interpretation);
}

/* The last remaining reading with the query, or -1. */
static int owner(const struct annotation *a, const char *sql)
{
    for (int i = a->n_interpretations - 1; i >= 0; i--)
        for (int k = 0; k < a->interpretations[i].n && !a->interpretations[i].dropped; k++)
            if (strcmp(a->sql.sql[a->interpretations[i].first + k], sql) == 0)
                return i;
    return -1;
}

/* Groups queries in order of their first occurrence in the remaining readings. */
static void group_queries(struct interpretation_groups *all, const struct annotation *a, const struct trial *t)
{
    uint8_t *seen = xcalloc((size_t)t->n_queries + 1, 1);
    for (int i = 0; i < a->n_interpretations; i++)
        for (int k = 0; k < a->interpretations[i].n && !a->interpretations[i].dropped; k++) {
            int q = trial_find(t, a->sql.sql[a->interpretations[i].first + k]);
            if (!seen[q] && t->queries[q].result.status == EXEC_OK)
                add_query(all, t, q, owner(a, t->queries[q].sql));
            seen[q] = 1;
        }
    free(seen);
}

static void choose(struct annotation *a, const struct trial *t, struct python_random *random)
{
    struct interpretation_groups all = { 0 };

    group_queries(&all, a, t);
    for (int i = 0; i < all.n; i++) {
        const struct interpretation_group *g = &all.items[i];
        annotate_keep(a, g->interpretations[python_random_choice(random, (uint32_t)g->n)]);
        free(g->interpretations);
    }
    free(all.items);
}

static bool is_existing(const struct annotation *a, int interpretation)
{
    for (int i = 0; i < a->n_existing; i++)
        if (a->existing[i] == interpretation)
            return true;
    return false;
}

/* The first gold with that text, or -1. */
static int find_gold(const struct annotation *a, const char *sql)
{
    for (int g = 0; g < a->n_golds; g++)
        if (strcmp(a->golds[g].sql, sql) == 0)
            return g;
    return -1;
}

/* A SQL covers only the first gold that it matches. */
static void cover_published(struct annotation *a, const struct trial *t, int interpretation)
{
    const struct annotate_interpretation *r = &a->interpretations[interpretation];
    for (int i = 0; i < r->n; i++) {
        int q = trial_find(t, a->sql.sql[r->first + i]), g = 0;
        while (g < t->n_golds && !t->hits[q * t->n_golds + g])
            g++;
        int gold = g < t->n_golds ? find_gold(a, t->golds[g].sql) : -1;
        if (gold >= 0 && a->golds[gold].covered_by < 0)
            a->golds[gold].covered_by = interpretation;
    }
}

void annotate_filter(struct annotation *a, const struct trial *t, struct python_random *random)
{
    char *question = strip(a->question);
    int64_t length = annotate_length(question);

    for (int i = 0; i < a->n_interpretations; i++)
        a->interpretations[i].dropped = judge_published(a->interpretations[i].text, length);
    choose(a, t, random);
    for (int i = 0; i < a->n_interpretations; i++)
        if (!a->interpretations[i].dropped && !is_existing(a, i))
            a->interpretations[i].dropped = "not sampled";
    free(question);
}

int annotate_published(struct annotation *a, struct exec_db *db, struct python_random *random, struct error *err)
{
    struct trial t;
    int rc = 0;

    annotate_trial(&t, a, TRIAL_PUBLISHED, db);
    annotate_filter(a, &t, random);
    for (int i = 0; i < a->n_existing && !t.why; i++)
        cover_published(a, &t, a->existing[i]);
    if (t.why)
        rc = error_set(err, EXIT_CODE_DATA, "%s", t.why);
    trial_release(&t);
    return rc;
}

static char *make_key(const char *db, int db_length, const char *question)
{
    char *key = NULL;
    int n = asprintf(&key, "%.*s\x1f%s", db_length, db, question);
    CHECK(n >= 0, "cannot format %s", question);
    return key;
}

/* Takes the list. -1 if the key is present. */
static int add(struct annotate_interpretations *r, char *key, json_t *list)
{
    int n = r->keys.n, i = strings_add(&r->keys, key);
    free(key);
    if (i < n) {
        json_decref(list);
        return -1;
    }
    GROW(r->lists, i, r->cap);
    r->lists[i] = list;
    return 0;
}

/* First bytes of keys that no database has. */
#define ANSWER_KEY "\x1e"
#define ERROR_KEY "\x1f"

/* The key of an id. A number may come back from other programs as a string. */
static char *id_key(const char *kind, const json_t *id)
{
    char *text = json_is_string(id) ? xstrdup(json_string_value(id)) : json_dumps(id, JSON_ENCODE_ANY), *key = NULL;
    CHECK(text, "out of memory");
    key = make_key(kind, 1, text);
    free(text);
    return key;
}

static int add_answer(struct annotate_interpretations *r, const json_t *record, const char *where, struct error *err)
{
    const json_t *id = json_object_get(record, "id");

    if (!json_get_string(record, "text", where, err))
        return -1;
    if (!json_is_string(id) && !json_is_integer(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\" is missing or no string or integer", where);
    if (add(r, id_key(ANSWER_KEY, id), json_incref(json_object_get(record, "text"))))
        return error_set(err, EXIT_CODE_DATA, "%s: duplicate id", where);
    return 0;
}

/* Keeps the reason why a completion is missing; a later line may have the completion. */
static void add_error(struct annotate_interpretations *r, const json_t *record)
{
    const json_t *id = json_object_get(record, "id");

    if ((json_is_string(id) || json_is_integer(id)) && !json_object_get(record, "db_id"))
        add(r, id_key(ERROR_KEY, id), json_incref(json_object_get(record, "error")));
}

/* A record_fn. */
static int add_record(void *interpretations, json_t *record, const char *where, struct error *err)
{
    struct annotate_interpretations *r = interpretations;
    const char *db = NULL, *question = NULL;
    json_t *list = NULL;

    if (json_object_get(record, "text") && !json_object_get(record, "readings"))
        return add_answer(r, record, where, err);
    if (json_object_get(record, "error") && !json_object_get(record, "readings")) {
        add_error(r, record);
        return 0;
    }
    if (!(db = json_get_string(record, "db_id", where, err)) ||
        !(question = json_get_string(record, "question", where, err)) ||
        !(list = json_get_array(record, "readings", where, err)))
        return -1;
    if (add(r, make_key(db, (int)strlen(db), question), json_incref(list)))
        return error_set(err, EXIT_CODE_DATA, "%s: duplicate database and question", where);
    return 0;
}

static json_t *list_of(const struct dfpl_example *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->n_interpretations; i++) {
        json_t *sql = json_array();
        for (int k = 0; k < e->interpretations[i].n; k++)
            json_array_append_new(sql, json_string(e->sql.sql[e->interpretations[i].first + k]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "text", e->interpretations[i].text, "sql", sql));
    }
    return list;
}

/* Reads a published file. The database is the file name without folders and extension. The first of duplicates counts.
 */
static int read_published(struct annotate_interpretations *r, const char *path, struct error *err)
{
    struct dfpl_file f;
    int rc = dfpl_read(&f, path, err);

    for (int i = 0; i < f.n && rc == 0; i++) {
        const char *slash = strrchr(f.items[i].db_file, '/'), *name = slash ? slash + 1 : f.items[i].db_file;
        const char *dot = strrchr(name, '.');
        int n = (int)(dot ? (size_t)(dot - name) : strlen(name));
        add(r, make_key(name, n, f.items[i].question), list_of(&f.items[i]));
    }
    dfpl_release(&f);
    return rc;
}

int annotate_interpretations_open(struct annotate_interpretations *r, const char *path, struct error *err)
{
    *r = (struct annotate_interpretations){ 0 };
    return dfpl_is_published(path) ? read_published(r, path, err)
                                   : records_each_as_is(path, RECORDS_AUTO, add_record, r, err);
}

json_t *annotate_interpretations_find(const struct annotate_interpretations *r, const char *db_id, const char *question)
{
    const char *name = strstr(db_id, "__");
    char *key = make_key(db_id, (int)strlen(db_id), question);
    int i = strings_find(&r->keys, key);
    free(key);
    if (i < 0 && name) {
        key = make_key(name + 2, (int)strlen(name + 2), question);
        i = strings_find(&r->keys, key);
        free(key);
    }
    return i < 0 ? NULL : r->lists[i];
}

static const char *find_text(const struct annotate_interpretations *r, const char *kind, const json_t *id)
{
    char *key = id_key(kind, id);
    int i = strings_find(&r->keys, key);
    free(key);
    return i < 0 ? NULL : json_string_value(r->lists[i]);
}

const char *annotate_interpretations_answer(const struct annotate_interpretations *r, const json_t *id)
{
    return find_text(r, ANSWER_KEY, id);
}

const char *annotate_interpretations_error(const struct annotate_interpretations *r, const json_t *id)
{
    return find_text(r, ERROR_KEY, id);
}

void annotate_interpretations_release(struct annotate_interpretations *r)
{
    for (int i = 0; i < r->keys.n; i++)
        json_decref(r->lists[i]);
    free(r->lists);
    strings_release(&r->keys);
    *r = (struct annotate_interpretations){ 0 };
}
